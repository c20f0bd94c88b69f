//! Observes this machine in each second of a run clock, and its accept queues in between. The owner
//! of the thread calls it when time has passed.

use engine::SpunTime;
use host::{
    BeforeLoad, MachineWatch, Observation, SHORTEST_OBSERVATION_NS, SpunThread, UsageFigures,
};

const SECOND_NS: u64 = 1_000_000_000;

/// Accept queues fill and empty within milliseconds, so they are looked at ten times a second.
const LOOK_NS: u64 = SECOND_NS / 10;

/// Receives each second that has passed.
pub(crate) type Tell = Box<dyn FnMut(u32, Observation) + Send>;

/// Observes the seconds of one run. Instants are nanoseconds of the monotonic clock.
pub(crate) struct SecondWatch {
    watch: MachineWatch,
    spun: Option<SpunTime>,
    /// The zero of the run clock.
    start_at: u64,
    /// The second that is being observed, and since when; `None` before the first.
    observed: Option<(u32, u64)>,
    /// What happened before the first second.
    before_load: Option<BeforeLoad>,
    ends_at: u64,
    looks_at: u64,
    /// What was done in this part of the run.
    part: UsageFigures,
    /// Whether a part ended within the second that is being observed.
    is_cut: bool,
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
        let begins_at = if missed < SHORTEST_OBSERVATION_NS {
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
            part: UsageFigures::default(),
            is_cut: false,
            tell,
        }
    }

    /// Subtracts the time that workers only waited on their CPUs from what they worked.
    pub(crate) fn without(mut self, spun: SpunTime) -> SecondWatch {
        self.spun = Some(spun);
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

    /// Ends a part of the run. Returns what was done in it.
    pub(crate) fn end_part(&mut self) -> UsageFigures {
        self.cut();
        std::mem::take(&mut self.part)
    }

    /// Observes the rest of the last second, if that is long enough to say something. Returns what
    /// was done in the last part without it: the run is over, and its load threads are gone.
    pub(crate) fn finish(&mut self) -> UsageFigures {
        let part = self.part;
        let now = engine::monotonic_ns();
        if let Some((second, from)) = self.observed.take()
            && now.saturating_sub(from) >= SHORTEST_OBSERVATION_NS
        {
            self.observe(second);
        }
        part
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
        let second = passed.saturating_add(SHORTEST_OBSERVATION_NS) / SECOND_NS;
        let ends = (second + 1).saturating_mul(SECOND_NS);
        self.observed = u32::try_from(second).ok().map(|second| (second, now));
        self.ends_at = self.start_at.saturating_add(ends);
        self.looks_at = now.saturating_add(LOOK_NS);
    }

    fn begin(&mut self, now: u64) {
        let spun = self.worker_spins();
        let before = self.watch.observe_before_load(&spun).ok();
        let is_before_load = now.saturating_sub(self.start_at) < SHORTEST_OBSERVATION_NS;
        self.before_load =
            before.filter(|before| is_before_load && before.elapsed_ns >= SHORTEST_OBSERVATION_NS);
    }

    /// Observes a second. One that cannot be read is missing, and the next one covers its time.
    fn observe(&mut self, second: u32) {
        let is_whole = !self.is_cut;
        if self.is_cut {
            self.cut();
        }
        let spun = self.worker_spins();
        let Ok(mut observation) = self.watch.observe(&spun) else {
            return;
        };
        self.is_cut = false;
        if is_whole {
            self.part.add(&observation);
        }
        if observation.elapsed_ns >= SHORTEST_OBSERVATION_NS {
            observation.before_load = self.before_load.take();
            (self.tell)(second, observation);
        }
    }

    /// Adds what was done since the last observation or cut to this part of the run.
    fn cut(&mut self) {
        let spun = self.worker_spins();
        if let Ok(observation) = self.watch.cut(&spun) {
            self.part.add(&observation);
            self.is_cut = true;
        }
    }

    /// How long each worker has waited on its CPU.
    fn worker_spins(&self) -> Vec<SpunThread> {
        let workers = self.spun.iter().flat_map(SpunTime::by_worker);
        let thread = |(worker, ns)| SpunThread {
            name: engine::thread_name(worker),
            ns,
        };
        workers.enumerate().map(thread).collect()
    }
}
