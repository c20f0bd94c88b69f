//! Events of an agent's session, and the actions it asks for.

use crate::{EndCause, Order, Report};
use proto::{FromAgent, FromCoordinator};
use std::time::Duration;

/// Something that happened to a session.
#[derive(Debug, Clone)]
pub enum SessionEvent {
    /// The stream that [`SessionAction::Connect`] asked for is open.
    Connected,
    /// The stream could not be opened, or has ended.
    Disconnected(Disconnection),
    /// A message from the coordinator.
    Received(FromCoordinator),
    /// A report from the runner.
    Reported(Report),
    /// Time has passed; due at [`crate::Session::wake_at`].
    Tick,
    /// The agent is to end: at once if it holds no run, else after stopping it and uploading. The
    /// second time, it ends at once.
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

/// Whether dialling again can help, and whether the end of the stream was expected after a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finality {
    /// The coordinator ended the stream in an orderly way; another one may come.
    Ended,
    /// Nothing listens there; a coordinator may come.
    Nobody,
    /// Dialling again can help.
    Retry,
    /// Dialling again cannot help, unless this agent was a member before: then another coordinator
    /// may be there only for a while.
    Final,
}

/// Something that a session asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionAction {
    /// Dial; answer with [`SessionEvent::Connected`] or [`SessionEvent::Disconnected`].
    Connect,
    /// Send a message, in order.
    Send(FromAgent),
    /// Drop the stream; no event about it is wanted.
    Disconnect,
    /// Pass an order to the runner.
    Order(Order),
    /// Log news for the user.
    Say(News),
    /// End, for this reason, or without one if the agent was asked to.
    Quit(Option<String>),
}

/// News for the user of an agent; each change of state once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// It is a member of the fleet.
    Joined {
        /// Version of the coordinator's program.
        coordinator_version: String,
    },
    /// It is not a member, and tries again; reported once per reason.
    Away {
        /// The cause.
        why: String,
    },
    /// Its coordinator has left after a run of which nothing is held here any more.
    RunOver,
    /// A sentence from the coordinator.
    Notice(String),
    /// A plan arrived.
    Preparing {
        /// Name of the run.
        run_name: String,
    },
    /// This agent cannot run the plan.
    CannotRun {
        /// Name of the run.
        run_name: String,
        /// The cause.
        problem: String,
    },
    /// This machine is being watched for a run.
    Watching {
        /// Name of the run.
        run_name: String,
    },
    /// The runner got its start order.
    Starting {
        /// Name of the run.
        run_name: String,
    },
    /// The coordinator was not heard for longer than a lease, so nothing is sent any more.
    LeaseExpired {
        /// Name of the run.
        run_name: String,
    },
    /// The run no longer fires.
    Ended {
        /// Name of the run.
        run_name: String,
        /// What ended it.
        cause: EndCause,
    },
    /// The coordinator has all it wants.
    Released {
        /// Name of the run.
        run_name: String,
        /// Intervals that it did not want, because it has given this agent up or does not know the
        /// run.
        dropped_intervals: usize,
    },
    /// The start instant came before a lease did; reported once per run. Another instant may be
    /// announced.
    MissedStart {
        /// Name of the run.
        run_name: String,
    },
    /// This coordinator names a run that another one has taken up since, so it is not obeyed.
    Outranked {
        /// Name of the run.
        run_name: String,
        /// The epoch of this coordinator.
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
    /// Data of a run is dropped, because it was kept for long enough or the agent ends.
    Dropped {
        /// Name of the run.
        run_name: String,
        /// Seconds of the run that were not delivered.
        intervals: usize,
        /// How long ago its load ended.
        kept: Duration,
    },
    /// Intervals that exceed memory cannot be put into a file; reported once. The load goes on
    /// until memory is full.
    CannotSpool {
        /// The cause.
        why: String,
    },
}
