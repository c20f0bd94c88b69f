//! Places of a worker: a *seat* is a virtual user of a closed loop or a connection of an open one,
//! and has as many *slots*, for one operation each, as its connection carries at once: one in
//! HTTP/1.1, `streams` in HTTP/2.

use crate::connection::{Http, WorkerConnection};
use crate::http2::Http2Connection;
use measure::{CellId, HandshakeKind};
use std::collections::VecDeque;
use std::ops::Range;

/// One connection, one session store, one identity.
#[derive(Default)]
pub(crate) struct Seat {
    /// Number in the cluster, from 0.
    pub(crate) user: u64,
    pub(crate) connection: Option<Box<WorkerConnection>>,
    /// The slot whose operation is opening the connection, from the lookup on.
    pub(crate) opener: Option<u32>,
    /// The slot that waits after a failed opening; the others wait for it.
    pub(crate) waiter: Option<u32>,
    /// Failed openings in a row.
    pub(crate) failures: u32,
    /// Counts connections, so that an event for a closed one is told apart.
    pub(crate) generation: u32,
    /// Whether the next handshake is to offer a session, where that is settled.
    pub(crate) offering: Option<bool>,
    /// The user may begin operations until then, nanoseconds of the run clock.
    pub(crate) active_until: u64,
    /// The seat stands in the open loop's list of seats without a connection.
    pub(crate) is_listed: bool,
    pub(crate) role: Role,
}

/// What a seat is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Role {
    /// A user, or a connection of an open loop: operations begin on it.
    #[default]
    Serving,
    /// A connection that takes no more operations, until those under way have ended; it was this
    /// seat's.
    Draining { home: u32 },
    /// Nothing, until another connection drains.
    Vacant,
}

/// Room for one operation.
#[derive(Default)]
pub(crate) struct Slot {
    pub(crate) flight: Option<Flight>,
    /// The slot stands in the open loop's stack of idle slots.
    pub(crate) stacked: bool,
    /// The slot goes on once its seat's connection can take another operation.
    pub(crate) parked: bool,
    /// Closed loop: where the slot's operation is.
    pub(crate) whereabouts: Whereabouts,
}

/// Where the operation of a closed loop's slot is, if it has one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Whereabouts {
    /// On its own seat.
    #[default]
    AtHome,
    /// On a connection that drains: the user waits for it.
    Away,
    /// The slot is a draining connection's: the operation of this other slot is here.
    Guest { home: u32 },
}

/// All seats of a worker with their slots.
pub(crate) struct Slots {
    seats: Vec<Seat>,
    slots: Vec<Slot>,
    width: u32,
    /// Seats for connections that drain, and those of them that may be vacant, the oldest first.
    draining: u32,
    vacant: VecDeque<u32>,
}

impl Slots {
    /// Seats with so many slots each.
    pub(crate) fn new(width: u32) -> Slots {
        Slots {
            seats: Vec::new(),
            slots: Vec::new(),
            width,
            draining: 0,
            vacant: VecDeque::new(),
        }
    }

    /// Adds a seat for this user; its number.
    pub(crate) fn add(&mut self, user: u64) -> u32 {
        self.seats.push(Seat {
            user,
            ..Seat::default()
        });
        self.slots
            .resize_with(self.slots.len() + self.width as usize, Slot::default);
        self.seats.len() as u32 - 1
    }

    /// Moves the seat's connection, and the operations that it still carries, to a seat of its own:
    /// that one's number.
    pub(crate) fn set_aside(&mut self, home: u32) -> u32 {
        let user = self.seats[home as usize].user;
        let number = self.vacant.pop_front().unwrap_or_else(|| {
            self.draining += 1;
            self.add(user)
        });
        let connection = self.seats[home as usize].connection.take();
        let seat = &mut self.seats[number as usize];
        (seat.user, seat.connection, seat.role) = (user, connection, Role::Draining { home });
        seat.generation = seat.generation.wrapping_add(1);
        number
    }

    /// The draining seat has nothing to do any more.
    pub(crate) fn vacate(&mut self, seat: u32) {
        if matches!(
            std::mem::replace(&mut self.seats[seat as usize].role, Role::Vacant),
            Role::Draining { .. }
        ) {
            self.vacant.push_back(seat);
        }
    }

    /// Seats on which operations begin.
    pub(crate) fn serving(&self) -> u32 {
        self.seats() - self.draining
    }

    /// The seat whose sessions this one's connection offers and keeps.
    pub(crate) fn owner(&self, seat: u32) -> u32 {
        match self.seats[seat as usize].role {
            Role::Draining { home } => home,
            Role::Serving | Role::Vacant => seat,
        }
    }

    /// The token of the seat's next connection.
    pub(crate) fn next_token(&mut self, number: u32) -> u64 {
        let seat = self.seat(number);
        seat.generation = seat.generation.wrapping_add(1);
        token(number, seat.generation)
    }

    /// Slots per seat.
    pub(crate) fn width(&self) -> u32 {
        self.width
    }

    pub(crate) fn seats(&self) -> u32 {
        self.seats.len() as u32
    }

    #[inline]
    pub(crate) fn seat_of(&self, slot: u32) -> u32 {
        if self.width == 1 {
            slot
        } else {
            slot / self.width
        }
    }

    /// Number of the slot among those of its seat.
    #[inline]
    pub(crate) fn lane_of(&self, slot: u32) -> u32 {
        if self.width == 1 {
            0
        } else {
            slot % self.width
        }
    }

    /// The slots of a seat.
    #[inline]
    pub(crate) fn of_seat(&self, seat: u32) -> Range<u32> {
        seat * self.width..(seat + 1) * self.width
    }

    #[inline]
    pub(crate) fn seat(&mut self, seat: u32) -> &mut Seat {
        &mut self.seats[seat as usize]
    }

    #[inline]
    pub(crate) fn slot(&mut self, slot: u32) -> &mut Slot {
        &mut self.slots[slot as usize]
    }

    #[inline]
    pub(crate) fn connection(&mut self, seat: u32) -> Option<&mut WorkerConnection> {
        self.seats[seat as usize].connection.as_deref_mut()
    }

    /// HTTP/2 of the seat's connection, where it speaks that.
    pub(crate) fn session(&mut self, seat: u32) -> Option<&mut Http2Connection> {
        match &mut self.connection(seat)?.http {
            Http::Two(session) => Some(session),
            Http::One(_) => None,
        }
    }

    #[inline]
    pub(crate) fn flight(&mut self, slot: u32) -> Option<&mut Flight> {
        self.slots[slot as usize].flight.as_mut()
    }

    /// The slot's operation and the connection of its seat, where there are both.
    #[inline]
    pub(crate) fn both(&mut self, slot: u32) -> Option<(&mut WorkerConnection, &mut Flight)> {
        let seat = self.seat_of(slot);
        Some((
            self.seats[seat as usize].connection.as_deref_mut()?,
            self.slots[slot as usize].flight.as_mut()?,
        ))
    }

    #[inline]
    pub(crate) fn is_flying(&self, slot: u32) -> bool {
        self.slots[slot as usize].flight.is_some()
    }

    /// Whether the slot has an operation, on its own seat or on a draining one.
    #[inline]
    pub(crate) fn is_taken(&self, slot: u32) -> bool {
        let slot = &self.slots[slot as usize];
        slot.flight.is_some() || slot.whereabouts == Whereabouts::Away
    }

    /// Whether any operation is under way on the seat.
    pub(crate) fn is_busy(&self, seat: u32) -> bool {
        self.of_seat(seat).any(|slot| self.is_flying(slot))
    }

    /// Whether the seat's connection is the one that `generation` counts.
    #[inline]
    pub(crate) fn stands(&self, seat: u32, generation: u32) -> bool {
        self.seats
            .get(seat as usize)
            .is_some_and(|seat| seat.generation == generation && seat.connection.is_some())
    }

    /// Whether the slot has to wait for its seat's connection before its next operation.
    #[inline]
    pub(crate) fn must_wait(&self, slot: u32) -> bool {
        let seat = &self.seats[self.seat_of(slot) as usize];
        let is_to_wait = seat.opener.is_some() || seat.waiter.is_some_and(|waiter| waiter != slot);
        is_to_wait
            || seat
                .connection
                .as_ref()
                .is_some_and(|connection| !connection.takes())
    }

    /// Whether the slot could send an operation at once.
    pub(crate) fn is_idle(&self, slot: u32) -> bool {
        let seat = &self.seats[self.seat_of(slot) as usize];
        let takes = seat
            .connection
            .as_ref()
            .is_some_and(|connection| connection.takes());
        takes && seat.opener.is_none() && !self.is_flying(slot)
    }

    /// Closes every connection.
    pub(crate) fn clear(&mut self) {
        self.seats.clear();
        self.slots.clear();
    }
}

/// An operation under way, instants in nanoseconds of the run clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flight {
    pub(crate) id: CellId,
    /// Number of the operation in the cluster.
    pub(crate) seq: u64,
    pub(crate) random: u64,
    pub(crate) intended_at: u64,
    /// Open loop: when the loop saw that it was due.
    pub(crate) noticed_at: Option<u64>,
    pub(crate) begun_at: u64,
    /// First act of its latest attempt; what follows is of that one alone.
    pub(crate) tried_at: u64,
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
    /// Whether its request may go out as early data.
    pub(crate) early: Early,
    /// It is counted as started: under its address, as soon as it has one.
    pub(crate) counted: bool,
    /// Bytes of its answer's body that are counted already, in the second in which they came.
    pub(crate) payload_counted: u64,
}

impl Flight {
    pub(crate) fn new(
        id: CellId,
        seq: u64,
        random: u64,
        intended_at: u64,
        begun_at: u64,
    ) -> Flight {
        Flight {
            id,
            seq,
            random,
            intended_at,
            noticed_at: None,
            begun_at,
            tried_at: begun_at,
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
            early: Early::May,
            counted: false,
            payload_counted: 0,
        }
    }

    /// Its request is as if it had not been sent, and goes out on this connection now that the
    /// handshake is done.
    pub(crate) fn withdraw(&mut self) {
        self.early = Early::MustNot;
        (self.sent_at, self.written_at, self.first_byte_at) = (None, None, None);
        self.payload_counted = 0;
    }

    /// It is to be sent once more, on this connection or another one: when it was due and begun
    /// stays, its phases are those of the new attempt.
    pub(crate) fn begin_retry(&mut self, now: u64) {
        self.resent = true;
        self.tried_at = now;
        (self.dns, self.connect, self.handshake, self.ready_at) = (None, None, None, None);
        (self.sent_at, self.written_at, self.first_byte_at) = (None, None, None);
        self.payload_counted = 0;
    }
}

/// What an operation has to do with early data (0-RTT).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Early {
    /// Its request may go out so, where its connection offers a session that allows it.
    May,
    /// Its request went out so.
    Went,
    /// The server wants its request after a handshake.
    MustNot,
}

/// Puts a seat and the number of its connection into an event's token.
pub(crate) fn token(seat: u32, generation: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(seat)
}

/// Takes a token apart.
pub(crate) fn seat_of(token: u64) -> (u32, u32) {
    (token as u32, (token >> 32) as u32)
}
