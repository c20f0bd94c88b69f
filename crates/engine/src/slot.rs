//! A virtual user of a closed loop, or a connection slot of an open one: the same thing to everything but the schedule.

use crate::connection::Connection;
use measure::{CellId, HandshakeKind};

/// One connection, one session store, one identity, one operation at a time.
#[derive(Default)]
pub(crate) struct Slot {
    /// Number in the cluster, from 0.
    pub(crate) user: u64,
    pub(crate) connection: Option<Box<Connection>>,
    pub(crate) flight: Option<Flight>,
    /// Failed openings in a row.
    pub(crate) failures: u32,
    /// Counts connections, so that an event for a closed one is told apart.
    pub(crate) generation: u32,
    /// The user may begin operations until then, nanoseconds of the run clock.
    pub(crate) active_until: u64,
    /// The slot stands in the open loop's stack of idle slots.
    pub(crate) stacked: bool,
}

/// An operation under way, instants in nanoseconds of the run clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flight {
    pub(crate) id: CellId,
    /// Number of the operation in the cluster.
    pub(crate) seq: u64,
    pub(crate) random: u64,
    pub(crate) intended_at: u64,
    pub(crate) begun_at: u64,
    pub(crate) ready_at: Option<u64>,
    pub(crate) sent_at: Option<u64>,
    pub(crate) written_at: Option<u64>,
    pub(crate) first_byte_at: Option<u64>,
    pub(crate) dns: Option<u64>,
    pub(crate) connect: Option<u64>,
    pub(crate) handshake: Option<(HandshakeKind, u64)>,
    /// It went over a connection that an earlier operation had opened.
    pub(crate) reused: bool,
    /// It has been sent a second time already.
    pub(crate) resent: bool,
    /// A lookup is under way for it.
    pub(crate) resolving: bool,
    /// It is counted as started: under its address, as soon as it has one.
    pub(crate) counted: bool,
}

impl Flight {
    pub(crate) fn new(id: CellId, seq: u64, random: u64, intended_at: u64, begun_at: u64) -> Flight {
        Flight {
            id,
            seq,
            random,
            intended_at,
            begun_at,
            ready_at: None,
            sent_at: None,
            written_at: None,
            first_byte_at: None,
            dns: None,
            connect: None,
            handshake: None,
            reused: false,
            resent: false,
            resolving: false,
            counted: false,
        }
    }
}

/// Puts slot and generation into an event's token.
pub(crate) fn token(slot: u32, generation: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(slot)
}

/// Takes a token apart.
pub(crate) fn slot_of(token: u64) -> (u32, u32) {
    (token as u32, (token >> 32) as u32)
}
