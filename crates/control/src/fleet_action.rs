//! Actions that a fleet asks for.

use crate::upload_id::UploadId;
use crate::wire::from_coordinator;
use crate::{FileParts, Observer, RunEvent, RunId};
use proto::{FromCoordinator, from_coordinator::Message};

/// A stream from an agent, numbered by the transport. Numbers are never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// Something that a fleet asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum FleetAction {
    /// Send a message, in order, ahead of files that are waiting.
    Send(ConnectionId, FromCoordinator),
    /// Send these files as there is room, in place of files that are still waiting.
    SendFiles(ConnectionId, FileParts),
    /// End the stream once everything sent has gone out; no event about it is wanted.
    Close(ConnectionId),
    /// Deliver an event of this run to its caller, in order. If it has a receipt, answer with
    /// [`crate::FleetEvent::Delivered`] when the caller has taken it.
    Deliver(RunId, RunEvent, Option<Receipt>),
}

/// Identifies an event that an answer waits for: once it is stored, the agent or monitor is
/// answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    pub(crate) run: RunId,
    pub(crate) what: Awaited,
}

/// What is to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// An upload that the agent with this index keeps until it is acknowledged.
    Upload(u32, UploadId),
    /// Which agents get the share of the one with this index. They are notified only afterwards, so
    /// that no other coordinator deals it differently.
    Dealing(u32),
    /// The observation of one second.
    Observation(Observer, u32),
    /// A part of a monitor's CPU profile.
    ProfilePart { monitor: u32, part: u32, parts: u32 },
    /// The start instant of this attempt. No agent fires before it is stored, so that no other
    /// coordinator believes that none has fired, and starts over.
    Start(u32),
}

impl Receipt {
    /// The receipt of an interval of the agent with this index, for tests that stand in for a
    /// fleet.
    #[must_use]
    pub fn for_interval(run: RunId, agent: u32, interval: u32) -> Receipt {
        Receipt {
            run,
            what: Awaited::Upload(agent, UploadId::Interval(interval)),
        }
    }
}

/// Collects actions.
#[derive(Debug, Default)]
pub(crate) struct Actions(Vec<FleetAction>);

impl Actions {
    pub(crate) fn send(&mut self, to: ConnectionId, message: Message) {
        self.0
            .push(FleetAction::Send(to, from_coordinator(message)));
    }

    pub(crate) fn send_files(&mut self, to: ConnectionId, files: FileParts) {
        self.0.push(FleetAction::SendFiles(to, files));
    }

    pub(crate) fn close(&mut self, connection: ConnectionId) {
        self.0.push(FleetAction::Close(connection));
    }

    pub(crate) fn tell(&mut self, run: RunId, event: RunEvent) {
        self.0.push(FleetAction::Deliver(run, event, None));
    }

    pub(crate) fn deliver(&mut self, event: RunEvent, receipt: Receipt) {
        self.0
            .push(FleetAction::Deliver(receipt.run, event, Some(receipt)));
    }

    pub(crate) fn into_vec(self) -> Vec<FleetAction> {
        self.0
    }
}
