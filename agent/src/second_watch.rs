//! Observes this machine in each second of a run clock, and its accept queues in between. The owner
//! of the thread calls it when time has passed.

use engine::SpunTime;
use host::{BeforeLoad, MachineWatch, Observation, SpunThread};
use std::time::Duration;

const SECOND_NS: u64 = 1_000_000_000;

/// Accept queues fill and empty within milliseconds, so they are looked at ten times a second.
const LOOK_NS: u64 = SECOND_NS / 10;

/// A shorter observation says nothing: the kernel counts CPU time in steps of 10 ms.
pub(crate) const SHORTEST: Duration = Duration::from_millis(200);

const SHORTEST_NS: u64 = SHORTEST.as_nanos() as u64;

/// Receives each second that has passed.
pub(crate) type Tell = Box<dyn FnMut(u32, Observation) + Send>;

/// Observes the seconds of one run. Instants are nanoseconds of the monotonic clock.
pub(crate) struct SecondWatch {
    watch: MachineWatch,
    spun: Option<SpunWatch>,
    /// The zero of the run clock.
    start_at: u64,
    /// The second that is being observed, and since when; `None` before the first.
    observed: Option<(u32, u64)>,
    /// What happened before the first second.
    before_load: Option<BeforeLoad>,
    ends_at: u64,
    looks_at: u64,
    tell: Tell,
}

impl SecondWatch {
    /// Observes from the start of the run on. If the start has passed, it begins now, in a second
    /// that has just begun, or otherwise with the next second.
    pub(crate) fn new(mut watch: MachineWatch, start_at: u64, tell: Tell) -> SecondWatch {
        let now = engine::monotonic_ns();
        if start_at > now {
            // What cannot be read now may be readable at the start.
            drop(watch.begin());
        }
        let missed = now.saturating_sub(start_at) % SECOND_NS;
        let begins_at = if missed < SHORTEST_NS {
            start_at.max(now)
        } else {
            now.saturating_add(SECOND_NS - missed)
        };
        SecondWatch {
            watch,
            spun: None,
            start_at,
            observed: None,
            before_load: None,
            ends_at: begins_at,
            looks_at: begins_at,
            tell,
        }
    }

    /// Subtracts the time that workers only waited on their CPUs from what they worked.
    pub(crate) fn without(mut self, spun: SpunTime) -> SecondWatch {
        self.spun = Some(SpunWatch::new(spun));
        self
    }

    /// When to call [`SecondWatch::wake`] next.
    pub(crate) fn wake_at(&self) -> u64 {
        self.ends_at.min(self.looks_at)
    }

    /// Does what is due by now.
    pub(crate) fn wake(&mut self) {
        let now = engine::monotonic_ns();
        if now >= self.ends_at {
            self.turn(now);
        } else if now >= self.looks_at {
            self.watch.look();
            self.looks_at = now.saturating_add(LOOK_NS);
        }
    }

    /// Observes the rest of the last second, if that is long enough to say something.
    pub(crate) fn finish(&mut self) {
        let now = engine::monotonic_ns();
        if let Some((second, from)) = self.observed.take()
            && now.saturating_sub(from) >= SHORTEST_NS
        {
            self.observe(second);
        }
    }

    pub(crate) fn watch(&mut self) -> &mut MachineWatch {
        &mut self.watch
    }

    fn turn(&mut self, now: u64) {
        match self.observed {
            Some((second, _)) => self.observe(second),
            // What cannot be read now may be readable at the end of the second.
            None => self.begin(now),
        }
        // A machine that was held up for longer has no time left in a second that is nearly over.
        let passed = now.saturating_sub(self.start_at);
        let second = passed.saturating_add(SHORTEST_NS) / SECOND_NS;
        let ends = (second + 1).saturating_mul(SECOND_NS);
        self.observed = u32::try_from(second).ok().map(|second| (second, now));
        self.ends_at = self.start_at.saturating_add(ends);
        self.looks_at = now.saturating_add(LOOK_NS);
    }

    fn begin(&mut self, now: u64) {
        let before = self.watch.observe_before_load().ok();
        let is_before_load = now.saturating_sub(self.start_at) < SHORTEST_NS;
        self.before_load =
            before.filter(|before| is_before_load && before.elapsed_ns >= SHORTEST_NS);
    }

    /// Observes a second. One that cannot be read is missing, and the next one covers its time.
    fn observe(&mut self, second: u32) {
        let spun = self
            .spun
            .as_mut()
            .map_or_else(Vec::new, SpunWatch::since_last);
        if let Ok(mut observation) = self.watch.observe(&spun)
            && observation.elapsed_ns >= SHORTEST_NS
        {
            observation.before_load = self.before_load.take();
            (self.tell)(second, observation);
        }
    }
}

/// How long each worker waited on its CPU since the last time it was asked.
struct SpunWatch {
    spun: SpunTime,
    before: Vec<u64>,
}

impl SpunWatch {
    fn new(spun: SpunTime) -> SpunWatch {
        let before = spun.by_worker().collect();
        SpunWatch { spun, before }
    }

    fn since_last(&mut self) -> Vec<SpunThread> {
        let now: Vec<u64> = self.spun.by_worker().collect();
        let before = std::mem::replace(&mut self.before, now);
        let grown = self.before.iter().zip(before);
        let thread = |(worker, (now, before)): (usize, (&u64, u64))| SpunThread {
            name: engine::thread_name(worker),
            ns: now.saturating_sub(before),
        };
        grown.enumerate().map(thread).collect()
    }
}
