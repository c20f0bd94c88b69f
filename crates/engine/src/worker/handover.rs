//! What a worker hands to the collector, and the figures of its run.

use measure::Interval;

/// What a worker hands to the collector.
pub(crate) enum Handover {
    /// The worker's first act, at this instant of the monotonic clock.
    Began { worker: usize, at: u64 },
    /// Nothing begins any more.
    Draining { worker: usize },
    /// An interval that will not change any more; all of the worker's earlier ones came before it.
    Interval {
        worker: usize,
        number: u32,
        interval: Interval,
    },
    /// The worker has died of a defect, with what it had not handed over; nothing follows.
    Died { worker: usize },
    /// The worker has ended; nothing follows.
    Ended {
        worker: usize,
        figures: WorkerFigures,
    },
}

/// What a worker spent, from the start instant on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// CPU time of the thread.
    pub cpu_ns: u64,
    /// Part of it that only waited for an arrival that was near.
    pub spun_ns: u64,
    /// Time it waited for events with nothing to do.
    pub idle_ns: u64,
    /// Time that passed.
    pub wall_ns: u64,
}

/// How a worker's run was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkerFigures {
    /// What it spent while operations began.
    pub firing: Spent,
    /// What it spent in all, the drain included.
    pub whole: Spent,
    /// Kernel's number of the thread.
    pub thread_id: i32,
    /// CPU it was pinned to.
    pub cpu: Option<u32>,
    /// Why it ended before its plan did.
    pub cut: Option<Cut>,
}

impl Spent {
    /// Share of the time in which the thread worked on a CPU, rather than waited there or
    /// elsewhere.
    #[must_use]
    pub fn working_share(&self) -> f64 {
        self.working_ns() as f64 / self.wall_ns.max(1) as f64
    }

    /// CPU time that the thread worked, rather than waited.
    #[must_use]
    pub fn working_ns(&self) -> u64 {
        self.cpu_ns.saturating_sub(self.spun_ns)
    }
}

/// What ended a worker's run before its plan did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    /// It was asked to stop.
    Stopped,
    /// Its lease ran out.
    LeaseExpired,
}
