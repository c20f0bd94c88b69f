//! The messages of a worker to the collector, and the figures of its run.

use measure::Interval;

/// A message of a worker to the collector.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all messages are intervals; another box would be made for each of them"
)]
pub(crate) enum Handover {
    /// The worker has begun, at this instant of the monotonic clock.
    Began { worker: usize, at: u64 },
    /// No more operations begin.
    Draining { worker: usize },
    /// An interval that will not change any more; all of the worker's earlier ones came before.
    Interval {
        worker: usize,
        number: u32,
        interval: Interval,
    },
    /// The worker has died of a defect; what it had not handed over is lost, and nothing follows.
    Died { worker: usize },
    /// The worker has ended; nothing follows.
    Ended {
        worker: usize,
        figures: WorkerFigures,
    },
}

/// The time that a worker spent, from the start instant on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// CPU time of the thread.
    pub cpu_ns: u64,
    /// The part of it that was only spent waiting for a near arrival.
    pub spun_ns: u64,
    /// Time spent waiting for events with nothing to do.
    pub idle_ns: u64,
    /// Elapsed time.
    pub wall_ns: u64,
}

/// The figures of a worker's run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkerFigures {
    /// The time spent while operations began.
    pub firing: Spent,
    /// The time spent overall, including the drain.
    pub whole: Spent,
    /// The kernel's id of the thread.
    pub thread_id: i32,
    /// The CPU it was pinned to.
    pub cpu: Option<u32>,
    /// Why it ended before its plan did.
    pub cut: Option<Cut>,
}

impl Spent {
    /// The share of time in which the thread worked on a CPU, rather than waiting there or
    /// elsewhere.
    #[must_use]
    pub fn working_share(&self) -> f64 {
        self.working_ns() as f64 / self.wall_ns.max(1) as f64
    }

    /// CPU time that the thread spent working rather than waiting.
    #[must_use]
    pub fn working_ns(&self) -> u64 {
        self.cpu_ns.saturating_sub(self.spun_ns)
    }
}

/// The reason why a worker's run ended before its plan did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    /// It was asked to stop.
    Stopped,
    /// Its lease expired.
    LeaseExpired,
}
