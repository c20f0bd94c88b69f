//! Waiting on the CPU: shortly before an arrival a worker looks for events instead of sleeping,
//! since waking up takes a halted CPU some 20 to 100 µs, and an arrival must not be that late.
//!
//! Nobody else is to suffer from it: each look gives the CPU to whoever wants it, and where
//! somebody did the worker sleeps for a while. The time is told, so that it does not count as work.

use nix::sys::resource::{UsageWho, getrusage};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// So long before an arrival a worker is awake: what waking up takes on a virtual machine, mostly.
const REACH_NS: u64 = 60_000;
/// Between two looks; more than this, and something else had the CPU: a thread, or another virtual
/// machine.
const GAP_NS: u64 = 20_000;
/// For so long a worker sleeps to its arrivals once another thread wanted its CPU.
const RESPITE_NS: u64 = 10_000_000;

/// A worker's waiting on the CPU.
#[derive(Debug)]
pub(crate) struct Spin {
    is_allowed: bool,
    spun: SpunTime,
    worker: usize,
    /// Run clock; not before.
    rests_until: u64,
    /// Times the kernel has taken the CPU from this thread; looked up where there is doubt.
    preemptions: Option<i64>,
    last_look: u64,
}

/// Time that workers had a CPU only to wait there, while a run lasts.
#[derive(Debug, Clone)]
pub struct SpunTime(Arc<[OwnLine]>);

/// A worker's time, on cache lines that no other worker writes: processors fetch them in pairs of
/// 64 bytes.
#[derive(Debug, Default)]
#[repr(align(128))]
struct OwnLine(AtomicU64);

impl SpunTime {
    /// Of so many workers, none of which has waited yet.
    #[must_use]
    pub fn of_workers(number: usize) -> SpunTime {
        SpunTime((0..number).map(|_| OwnLine::default()).collect())
    }

    /// Nanoseconds of each worker up to now, by its number.
    pub fn by_worker(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|ns| ns.0.load(Ordering::Relaxed))
    }
}

impl Spin {
    pub(crate) fn new(is_allowed: bool, spun: SpunTime, worker: usize) -> Spin {
        Spin {
            is_allowed,
            spun,
            worker,
            rests_until: 0,
            preemptions: None,
            last_look: 0,
        }
    }

    /// From when on to look instead of sleeping, where `arrival` is the next one.
    pub(crate) fn begins_at(&self, arrival: Option<u64>) -> Option<u64> {
        let begin = arrival?.saturating_sub(REACH_NS);
        (self.is_allowed && begin >= self.rests_until).then_some(begin)
    }

    /// The first look.
    pub(crate) fn begin(&mut self, now: u64) {
        self.last_look = now;
        self.preemptions.get_or_insert_with(preemptions);
    }

    /// After a look that ended at `now` and found nothing; whether to look again.
    pub(crate) fn goes_on(&mut self, now: u64) -> bool {
        let gap = self.looked(now);
        if gap > GAP_NS && self.was_preempted() {
            self.rests_until = now + RESPITE_NS;
            return false;
        }
        std::hint::spin_loop();
        rustix::thread::sched_yield();
        true
    }

    /// After any look: what passed since the last one. A gap was not spent by this thread, and is
    /// not counted.
    pub(crate) fn looked(&mut self, now: u64) -> u64 {
        let gap = now.saturating_sub(self.last_look);
        self.last_look = now;
        if gap <= GAP_NS {
            self.spun.0[self.worker].0.fetch_add(gap, Ordering::Relaxed);
        }
        gap
    }

    /// Nanoseconds of this worker up to now.
    pub(crate) fn spun_ns(&self) -> u64 {
        self.spun.0[self.worker].0.load(Ordering::Relaxed)
    }

    fn was_preempted(&mut self) -> bool {
        let before = self.preemptions.replace(preemptions());
        self.preemptions > before
    }
}

/// Times the kernel has taken the CPU from this thread, which giving it away by sched_yield(2)
/// counts as too.
fn preemptions() -> i64 {
    getrusage(UsageWho::RUSAGE_THREAD).map_or(0, |usage| usage.involuntary_context_switches())
}

#[cfg(test)]
mod tests {
    use super::{GAP_NS, REACH_NS, RESPITE_NS, Spin, SpunTime};

    fn spin(is_allowed: bool) -> Spin {
        Spin::new(is_allowed, SpunTime::of_workers(2), 1)
    }

    #[test]
    fn looking_begins_shortly_before_an_arrival() {
        assert_eq!(
            spin(true).begins_at(Some(1_000_000)),
            Some(1_000_000 - REACH_NS)
        );
        assert_eq!(spin(true).begins_at(Some(10)), Some(0));
        assert_eq!(spin(true).begins_at(None), None, "nothing arrives");
        assert_eq!(spin(false).begins_at(Some(1_000_000)), None, "not allowed");
    }

    #[test]
    fn only_time_on_the_cpu_is_told_as_spun() {
        let mut spin = spin(true);
        spin.begin(1_000);
        for now in [1_700, 2_500, 2_500 + GAP_NS + 1, 2_500 + GAP_NS + 501] {
            spin.looked(now);
        }
        assert_eq!(
            spin.spun.by_worker().collect::<Vec<_>>(),
            [0, 700 + 800 + 500]
        );
    }

    #[test]
    fn worker_rests_once_another_thread_wanted_its_cpu() {
        let mut spin = spin(true);
        spin.begin(0);
        assert!(spin.goes_on(GAP_NS), "no gap");
        // As if the kernel had counted one more since.
        spin.preemptions = Some(-1);
        let now = 3 * GAP_NS;
        assert!(!spin.goes_on(now));
        assert_eq!(spin.begins_at(Some(now + REACH_NS)), None);
        let later = now + RESPITE_NS;
        assert_eq!(spin.begins_at(Some(later + REACH_NS)), Some(later));
    }
}
