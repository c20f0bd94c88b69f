//! What happens to a fleet.

use crate::{ConnectionId, Receipt, RunHistory, RunRequest, Stop};
use proto::FromAgent;

/// What happens to a fleet.
#[derive(Debug, Clone)]
pub enum FleetEvent {
    /// A stream is open; its first message must be a hello.
    Opened(ConnectionId),
    /// An agent said something.
    Received(ConnectionId, FromAgent),
    /// The transport tells that a stream is gone; why, as far as known. Mostly the agent knows too
    /// then, so it is waited for less long than one that falls silent, which the fleet finds out
    /// itself: a transport that ends silent streams does so later than any lease.
    Closed(ConnectionId, String),
    /// Begin a run; only while [`crate::Fleet::is_idle`].
    Run(RunRequest),
    /// Take a run up that another coordinator began, as far as its record says; only while
    /// [`crate::Fleet::is_idle`]. Its agents are waited for.
    Resume(RunRequest, Box<RunHistory>),
    /// End the current run early.
    Stop(Stop),
    /// The caller has taken the event that this receipt came with.
    Delivered(Receipt),
    /// Time went by; due every [`crate::TICK`].
    Tick,
}
