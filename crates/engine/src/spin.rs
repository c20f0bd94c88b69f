//! Waiting on the CPU: shortly before an arrival a worker polls for events instead of sleeping. A
//! halted CPU takes some 20 to 100 µs to wake, and an arrival must not be that late.
//!
//! Other threads should not suffer from it: each look yields the CPU, and after another thread
//! wanted it the worker sleeps for a while. The time is reported separately, so that it does not
//! count as work.

use nix::sys::resource::{UsageWho, getrusage};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How long before an arrival a worker is awake: mostly the time to wake up on a virtual machine.
const REACH_NS: u64 = 60_000;
/// The longest gap between two looks. If it is longer, something else had the CPU: a thread, or
/// another virtual machine.
const GAP_NS: u64 = 20_000;
/// How long a worker sleeps until its arrivals after another thread wanted its CPU.
const RESPITE_NS: u64 = 10_000_000;

/// A worker's waiting on its CPU.
#[derive(Debug)]
pub(crate) struct Spin {
    is_allowed: bool,
    spun: SpunTime,
    worker: usize,
    /// It does not spin before this instant of the run clock.
    rests_until: u64,
    /// How often the kernel has taken the CPU from this thread; looked up only when in doubt.
    preemptions: Option<i64>,
    last_look: u64,
}

/// Time during which workers had a CPU only to wait on it, updated during the run.
#[derive(Debug, Clone)]
pub struct SpunTime(Arc<[OwnLine]>);

/// A worker's time, on cache lines that no other worker writes: processors fetch 64-byte lines in
/// pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct OwnLine(AtomicU64);

impl SpunTime {
    /// Creates it for `number` workers, none of which has waited yet.
    #[must_use]
    pub fn of_workers(number: usize) -> SpunTime {
        SpunTime((0..number).map(|_| OwnLine::default()).collect())
    }

    /// Nanoseconds of each worker so far, in the order of their numbers.
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

    /// When to begin looking instead of sleeping, if `arrival` is the next one.
    pub(crate) fn begins_at(&self, arrival: Option<u64>) -> Option<u64> {
        let begin = arrival?.saturating_sub(REACH_NS);
        (self.is_allowed && begin >= self.rests_until).then_some(begin)
    }

    /// Starts with the first look.
    pub(crate) fn begin(&mut self, now: u64) {
        self.last_look = now;
        self.preemptions.get_or_insert_with(preemptions);
    }

    /// Called after a look that ended at `now` and found nothing. Returns whether to look again.
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

    /// Called after any look. Returns the time since the previous one. A gap was not spent by this
    /// thread, and is not counted.
    pub(crate) fn looked(&mut self, now: u64) -> u64 {
        let gap = now.saturating_sub(self.last_look);
        self.last_look = now;
        if gap <= GAP_NS {
            self.spun.0[self.worker].0.fetch_add(gap, Ordering::Relaxed);
        }
        gap
    }

    /// Nanoseconds of this worker so far.
    pub(crate) fn spun_ns(&self) -> u64 {
        self.spun.0[self.worker].0.load(Ordering::Relaxed)
    }

    fn was_preempted(&mut self) -> bool {
        let before = self.preemptions.replace(preemptions());
        self.preemptions > before
    }
}

/// How often the kernel has taken the CPU from this thread; sched_yield(2) counts too.
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
        // Pretend that the kernel has counted one more since.
        spin.preemptions = Some(-1);
        let now = 3 * GAP_NS;
        assert!(!spin.goes_on(now));
        assert_eq!(spin.begins_at(Some(now + REACH_NS)), None);
        let later = now + RESPITE_NS;
        assert_eq!(spin.begins_at(Some(later + REACH_NS)), Some(later));
    }
}
