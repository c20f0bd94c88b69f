//! What a fleet asks for.

use crate::upload_id::UploadId;
use crate::wire::from_coordinator;
use crate::{FileParts, Observer, RunEvent, RunId};
use proto::{FromCoordinator, from_coordinator::Message};

/// A stream from an agent, numbered by the transport; never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// What a fleet asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum FleetAction {
    /// Send it, in order, and before files that wait.
    Send(ConnectionId, FromCoordinator),
    /// Send these as there is room, in place of files that still wait.
    SendFiles(ConnectionId, FileParts),
    /// End the stream once what was sent is out; no event is wanted about it.
    Close(ConnectionId),
    /// Hand it to the caller, in order; with a receipt: answer [`crate::FleetEvent::Delivered`]
    /// when the caller has taken it.
    Deliver(RunEvent, Option<Receipt>),
}

/// Names an event that something waits for: once it is stored, an agent is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    pub(crate) run: RunId,
    /// By index.
    pub(crate) agent: u32,
    pub(crate) what: Awaited,
}

/// What is to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// Something the agent keeps until it is acknowledged.
    Upload(UploadId),
    /// Who gets the agent's share: nobody is told before, so that nobody deals it otherwise.
    Dealing,
    /// What was observed in a second.
    Observation(Observer, u32),
    /// A part of the profile of the monitor of this number.
    ProfilePart { part: u32, parts: u32 },
    /// The start instant of this attempt: nobody fires before, so that no other coordinator
    /// believes that nobody did, and starts anew.
    Start(u32),
}

impl Receipt {
    /// That of an interval, for whoever stands in for a fleet; the agent by its index.
    #[must_use]
    pub fn for_interval(run: RunId, agent: u32, interval: u32) -> Receipt {
        Receipt {
            run,
            agent,
            what: Awaited::Upload(UploadId::Interval(interval)),
        }
    }
}

/// Actions as they gather.
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

    pub(crate) fn tell(&mut self, event: RunEvent) {
        self.0.push(FleetAction::Deliver(event, None));
    }

    pub(crate) fn deliver(&mut self, event: RunEvent, receipt: Receipt) {
        self.0.push(FleetAction::Deliver(event, Some(receipt)));
    }

    pub(crate) fn into_vec(self) -> Vec<FleetAction> {
        self.0
    }
}
