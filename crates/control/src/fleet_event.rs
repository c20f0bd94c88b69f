//! Events of a fleet.

use crate::{ConnectionId, Receipt, RunId, RunModel, RunRequest, Stop, TokenReport};
use proto::FromAgent;

/// Something that happened to a fleet.
#[derive(Debug, Clone)]
pub enum FleetEvent {
    /// A stream was opened; its first message must be a hello.
    Opened(ConnectionId),
    /// A message from an agent.
    Received(ConnectionId, FromAgent),
    /// The transport reports that a stream has ended, and why, as far as it knows. Usually the
    /// agent knows too, so it is waited for less long than one that falls silent. The fleet detects
    /// silence itself, because a transport ends silent streams later than any lease.
    Closed(ConnectionId, String),
    /// Begin a run, as soon as enough agents serve no other; ignored if the fleet serves it.
    Run(RunRequest),
    /// Take up a run that another coordinator began, as its record tells it; ignored unless
    /// [`crate::Fleet::can_resume`]. Its agents are waited for.
    Resume(RunRequest, Box<RunModel>),
    /// The caller asked for a token that all agents of this run have in common. Agents get it, also
    /// those that come back later.
    Token(RunId, TokenReport),
    /// End this run early.
    Stop(RunId, Stop),
    /// The caller has taken the event that came with this receipt.
    Delivered(Receipt),
    /// Time has passed; due every [`crate::TICK`].
    Tick,
}
