//! What happens to an agent's session, and what it asks for.

use crate::{EndCause, Order, Report};
use proto::{FromAgent, FromCoordinator};
use std::time::Duration;

/// What happens to a session.
#[derive(Debug, Clone)]
pub enum SessionEvent {
    /// The stream that [`SessionAction::Connect`] asked for is open.
    Connected,
    /// It could not be opened, or it is gone.
    Disconnected(Disconnection),
    /// The coordinator said something.
    Received(FromCoordinator),
    /// Whoever fires said something.
    Reported(Report),
    /// Time went by; due at [`crate::Session::wake_at`].
    Tick,
    /// The agent shall end: at once without a run, else after stopping it and uploading. A second
    /// time: at once.
    ShutDown,
}

/// Why there is no stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disconnection {
    /// A sentence that names the cure.
    pub why: String,
    /// What follows from it.
    pub finality: Finality,
}

/// Whether dialling again may help, and whether that was to be expected after a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finality {
    /// The coordinator ended the stream in order; another one may come.
    Ended,
    /// Nobody listens; somebody may come.
    Nobody,
    /// Dialling again may help.
    Retry,
    /// It would not, unless this agent was a member before: then another coordinator may stand
    /// there for a while.
    Final,
}

/// What a session asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionAction {
    /// Dial; answer [`SessionEvent::Connected`] or [`SessionEvent::Disconnected`].
    Connect,
    /// Send it, in order.
    Send(FromAgent),
    /// Drop the stream; no event is wanted about it.
    Disconnect,
    /// Give it to whoever fires.
    Order(Order),
    /// Tell whoever watches.
    Say(News),
    /// The end: without a reason, as asked.
    Quit(Option<String>),
}

/// What whoever watches an agent may like to know; each change of state once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// It is a member of the fleet.
    Joined {
        /// Version of the coordinator's program.
        coordinator_version: String,
    },
    /// It is not, and tries again; said once per reason.
    Away {
        /// What is the cause.
        why: String,
    },
    /// Its coordinator has gone after a run of which nothing is held here any more.
    RunOver,
    /// A sentence from the coordinator.
    Notice(String),
    /// A plan came.
    Preparing {
        /// Name of the run.
        run_name: String,
    },
    /// This agent cannot run it.
    CannotRun {
        /// Name of the run.
        run_name: String,
        /// What is the cause.
        problem: String,
    },
    /// This machine is watched for a run.
    Watching {
        /// Name of the run.
        run_name: String,
    },
    /// The start order is given.
    Starting {
        /// Name of the run.
        run_name: String,
    },
    /// The coordinator was not heard for longer than a lease; nothing is sent any more.
    LeaseExpired {
        /// Name of the run.
        run_name: String,
    },
    /// It fires no more.
    Ended {
        /// Name of the run.
        run_name: String,
        /// What is the cause.
        cause: EndCause,
    },
    /// The coordinator has all it wants.
    Released {
        /// Name of the run.
        run_name: String,
        /// Intervals that it did not want: it has given this agent up, or does not know the run.
        dropped_intervals: usize,
    },
    /// The start instant came before a lease did; said once in a run. Another instant may be named.
    MissedStart {
        /// Name of the run.
        run_name: String,
    },
    /// This coordinator speaks of a run that another one has taken up since: it is not obeyed.
    Outranked {
        /// Name of the run.
        run_name: String,
        /// The epoch that this coordinator is of.
        epoch: u64,
        /// The epoch that the agent obeys.
        obeyed: u64,
    },
    /// This coordinator does not know a run that is kept here for another one.
    Holding {
        /// Name of the run.
        run_name: String,
        /// Seconds of the run that are not delivered.
        intervals: usize,
        /// How much longer they are kept.
        left: Duration,
    },
    /// Data of a run is dropped, since it was kept for long enough or the agent ends.
    Dropped {
        /// Name of the run.
        run_name: String,
        /// Seconds of the run that were not delivered.
        intervals: usize,
        /// Since when its load is over.
        kept: Duration,
    },
    /// What is more than memory holds cannot be put into a file; said once. The load goes on until
    /// memory is full.
    CannotSpool {
        /// What is the cause.
        why: String,
    },
}
