//! An arrival of an open loop: which operation is due, and when.

use measure::Period;

/// One arrival of the cluster's schedule that a worker serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Its number in its part of the run, over the whole cluster.
    pub(crate) seq: u64,
    /// When it is due, in nanoseconds of the run clock.
    pub(crate) intended_at: u64,
    pub(crate) period: Period,
}

/// What waits for a connection that any may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    Arrival(WaitingArrival),
    /// The next step of a journey that shares connections, of the user at this place.
    Step {
        place: u32,
        /// Since when it has waited; `None` if no connection has been looked for yet.
        since: Option<u64>,
    },
}

/// An arrival that waits for a connection, or for a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WaitingArrival {
    pub(crate) arrival: Arrival,
    /// When the loop noticed that it was due.
    pub(crate) noticed_at: u64,
}
