//! A worker's places for connections and operations. A *seat* is a virtual user of a closed loop or
//! a connection of an open one. It has as many *slots*, each for one operation, as its connection
//! carries at once: one in HTTP/1.1, `streams` in HTTP/2.

mod abroad;

use crate::connection::WorkerConnection;
use crate::connection_key::ConnectionKey;
use crate::live_operation::LiveOperation;
use crate::slot::Slot;
use crate::tls::Offer;
use crate::unique_stack::UniqueStack;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// One connection, one session store, one identity.
#[derive(Default)]
pub(crate) struct Seat {
    /// The user's number in the cluster, from 0.
    pub(crate) user: u64,
    pub(crate) connection: Option<Box<WorkerConnection>>,
    pub(crate) opener: Opener,
    /// Failed openings in a row.
    pub(crate) failures: u32,
    /// Counts connections, so that events of a closed one are recognised.
    pub(crate) generation: u32,
    /// What the next handshake is to offer; `None` until that is settled.
    pub(crate) offering: Option<Offer>,
    /// Until when the user may begin operations, nanoseconds of the run clock.
    pub(crate) active_until: u64,
    pub(crate) role: SeatRole,
}

/// The slot that opens the seat's next connection; the other slots wait for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Opener {
    /// None yet: the slot whose operation begins first.
    #[default]
    Nobody,
    /// The operation of this slot is opening it, from the lookup on.
    Opens(u32),
    /// This slot will, once its pause after a failed opening is over.
    BacksOff(u32),
}

/// The purpose of a seat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum SeatRole {
    /// For a user, or a connection of an open loop: operations begin on it.
    #[default]
    Serving,
    /// For a connection that came from the seat `home` and takes no more operations, until those
    /// under way have ended.
    Draining { home: u32 },
    /// For nothing, until another connection drains.
    Vacant,
    /// For the operations of the seat `home` that redirects have led to another of the target's
    /// destinations. Each lane of both seats has one slot with an operation at most.
    Abroad { home: u32, origin: u16 },
}

/// All seats of a worker with their slots, and how they wait.
pub(crate) struct SeatTable {
    seats: Vec<Seat>,
    slots: Vec<Slot>,
    width: u32,
    /// Operations under way.
    live: u32,
    /// Open loop: slots that could send at once when they were pushed.
    idle: UniqueStack,
    /// Open loop: seats that had no connection when they were pushed.
    unconnected: UniqueStack,
    /// The number of seats on which no operations begin, and the vacant ones for draining
    /// connections, oldest first.
    others: u32,
    vacant: VecDeque<u32>,
    /// By home and origin: the seats abroad.
    abroad: BTreeMap<(u32, u16), u32>,
}

impl Seat {
    /// Its operations are over, or its connection is open.
    pub(crate) fn end_opening(&mut self) {
        if let Opener::Opens(_) = self.opener {
            self.opener = Opener::Nobody;
        }
    }

    /// The slot whose operation opens its connection.
    #[inline]
    pub(crate) fn opening_slot(&self) -> Option<u32> {
        match self.opener {
            Opener::Opens(slot) => Some(slot),
            Opener::Nobody | Opener::BacksOff(_) => None,
        }
    }

    /// Whether it has a connection that takes another operation.
    #[inline]
    fn takes(&self) -> bool {
        self.connection
            .as_ref()
            .is_some_and(|connection| connection.takes())
    }
}

impl SeatTable {
    /// Creates a table whose seats have `width` slots each.
    pub(crate) fn new(width: u32) -> SeatTable {
        SeatTable {
            seats: Vec::new(),
            slots: Vec::new(),
            width,
            live: 0,
            idle: UniqueStack::default(),
            unconnected: UniqueStack::default(),
            others: 0,
            vacant: VecDeque::new(),
            abroad: BTreeMap::new(),
        }
    }

    /// Adds a seat for `user`. Returns the seat's number.
    pub(crate) fn add(&mut self, user: u64) -> u32 {
        self.seats.push(Seat {
            user,
            ..Seat::default()
        });
        self.slots
            .resize_with(self.slots.len() + self.width as usize, Slot::default);
        self.seats.len() as u32 - 1
    }

    /// Moves the seat's connection to a draining seat. Returns that seat's number.
    pub(crate) fn set_aside(&mut self, home: u32) -> u32 {
        let user = self.seats[home as usize].user;
        let number = self.vacant.pop_front().unwrap_or_else(|| {
            self.others += 1;
            self.add(user)
        });
        let connection = self.seats[home as usize].connection.take();
        // The generation is new, so that events of the connection that was here before are
        // recognised.
        let seat = &mut self.seats[number as usize];
        seat.user = user;
        seat.connection = connection;
        seat.role = SeatRole::Draining { home };
        seat.generation = seat.generation.wrapping_add(1);
        number
    }

    /// Moves an operation whose request has been sent to the slot `guest` of a draining seat.
    /// Returns whether there was one. The slot `home` is free afterwards, or `Away` if it waits for
    /// the operation.
    pub(crate) fn lend(&mut self, home: u32, guest: u32, home_waits: bool) -> bool {
        let Some(operation) = self.operation(home).filter(|one| one.is_sent()).copied() else {
            return false; // requests that have not been sent stay
        };
        self.slots[home as usize] = if home_waits { Slot::Away } else { Slot::Free };
        self.slots[guest as usize] = Slot::Busy {
            operation,
            home: home_waits.then_some(home),
        };
        true
    }

    /// The slot whose user waits for the operation of `guest`.
    pub(crate) fn home_of(&self, guest: u32) -> Option<u32> {
        match &self.slots[guest as usize] {
            Slot::Busy { home, .. } => *home,
            Slot::Free | Slot::Parked | Slot::Over { .. } | Slot::Away => None,
        }
    }

    /// Moves the operation of `guest` back to the slot `home`, to be sent again from there.
    pub(crate) fn bring_home(&mut self, guest: u32, home: u32) {
        if let Slot::Busy { operation, .. } = std::mem::take(&mut self.slots[guest as usize]) {
            self.slots[home as usize].begin(operation);
        }
    }

    /// Frees `guest`, whose operation is over. Returns the slot whose user waited for it and can go
    /// on.
    pub(crate) fn leave(&mut self, guest: u32) -> Option<u32> {
        // An operation dropped here would never end.
        debug_assert!(!matches!(self.slots[guest as usize], Slot::Busy { .. }));
        let Slot::Over { home } = std::mem::take(&mut self.slots[guest as usize]) else {
            return None;
        };
        self.slots[home as usize] = Slot::Free;
        Some(home)
    }

    /// Marks the draining seat as vacant.
    pub(crate) fn vacate(&mut self, seat: u32) {
        let before = std::mem::replace(&mut self.seats[seat as usize].role, SeatRole::Vacant);
        if let SeatRole::Draining { .. } = before {
            self.vacant.push_back(seat);
        }
    }

    /// Seats on which operations begin.
    pub(crate) fn serving(&self) -> u32 {
        self.seats() - self.others
    }

    /// The seat whose sessions this seat's connection offers and keeps.
    pub(crate) fn owner(&self, seat: u32) -> u32 {
        match self.seats[seat as usize].role {
            SeatRole::Draining { home } => home,
            // A user has sessions of its own with each origin.
            SeatRole::Serving | SeatRole::Abroad { .. } | SeatRole::Vacant => seat,
        }
    }

    /// An operation of the seat has had its answer.
    #[inline]
    pub(crate) fn forget_failures(&mut self, seat: u32) {
        let owner = self.owner(seat);
        self.seats[owner as usize].failures = 0;
    }

    /// Where the seat's connections go, by place among the target's destinations.
    #[inline]
    pub(crate) fn origin(&self, seat: u32) -> u16 {
        match self.seats[seat as usize].role {
            SeatRole::Serving | SeatRole::Vacant => 0,
            SeatRole::Draining { home } => self.origin(home),
            SeatRole::Abroad { origin, .. } => origin,
        }
    }

    /// The number, in the cluster, of the seat's user.
    pub(crate) fn user(&self, seat: u32) -> u64 {
        self.seats[seat as usize].user
    }

    /// Returns the key of the seat's next connection.
    pub(crate) fn next_key(&mut self, number: u32) -> ConnectionKey {
        let seat = self.seat(number);
        seat.generation = seat.generation.wrapping_add(1);
        self.key(number)
    }

    /// The key of the seat's latest connection.
    #[inline]
    pub(crate) fn key(&self, seat: u32) -> ConnectionKey {
        let generation = self.seats[seat as usize].generation;
        ConnectionKey { seat, generation }
    }

    /// Slots per seat.
    pub(crate) fn width(&self) -> u32 {
        self.width
    }

    pub(crate) fn slots(&self) -> u32 {
        self.slots.len() as u32
    }

    pub(crate) fn seats(&self) -> u32 {
        self.seats.len() as u32
    }

    /// Operations under way.
    pub(crate) fn live(&self) -> u32 {
        self.live
    }

    #[inline]
    pub(crate) fn seat_of(&self, slot: u32) -> u32 {
        if self.width == 1 {
            slot
        } else {
            slot / self.width
        }
    }

    /// The slot's number among those of its seat.
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
    pub(crate) fn connection(&mut self, seat: u32) -> Option<&mut WorkerConnection> {
        self.seats[seat as usize].connection.as_deref_mut()
    }

    /// Begins an operation in a slot that has none.
    #[inline]
    pub(crate) fn begin(&mut self, slot: u32, operation: LiveOperation) {
        self.live += 1;
        self.slots[slot as usize].begin(operation);
    }

    /// Ends the slot's operation; it can be taken out only once.
    #[inline]
    pub(crate) fn end(&mut self, slot: u32) -> Option<LiveOperation> {
        let ended = self.slots[slot as usize].take()?;
        self.live -= 1;
        Some(ended)
    }

    #[inline]
    pub(crate) fn operation(&self, slot: u32) -> Option<&LiveOperation> {
        self.slots[slot as usize].operation()
    }

    #[inline]
    pub(crate) fn operation_mut(&mut self, slot: u32) -> Option<&mut LiveOperation> {
        self.slots[slot as usize].operation_mut()
    }

    /// The slot's operation and the connection of its seat, if both exist.
    #[inline]
    pub(crate) fn both(
        &mut self,
        slot: u32,
    ) -> Option<(&mut WorkerConnection, &mut LiveOperation)> {
        let seat = self.seat_of(slot);
        Some((
            self.seats[seat as usize].connection.as_deref_mut()?,
            self.slots[slot as usize].operation_mut()?,
        ))
    }

    #[inline]
    pub(crate) fn is_busy(&self, slot: u32) -> bool {
        self.operation(slot).is_some()
    }

    /// Whether the slot has an operation whose request has not been sent.
    #[inline]
    pub(crate) fn is_unsent(&self, slot: u32) -> bool {
        self.operation(slot).is_some_and(|one| !one.is_sent())
    }

    /// Whether the slot has an operation, on its own seat or on a draining one.
    #[inline]
    pub(crate) fn is_taken(&self, slot: u32) -> bool {
        matches!(
            self.slots[slot as usize],
            Slot::Busy { .. } | Slot::Over { .. } | Slot::Away
        )
    }

    /// The first slot of the seat with an operation.
    pub(crate) fn busy_slot(&self, seat: u32) -> Option<u32> {
        self.of_seat(seat).find(|&slot| self.is_busy(slot))
    }

    /// Whether any operation is under way on the seat.
    pub(crate) fn is_seat_busy(&self, seat: u32) -> bool {
        self.busy_slot(seat).is_some()
    }

    /// Whether the connection still exists.
    #[inline]
    pub(crate) fn stands(&self, key: ConnectionKey) -> bool {
        self.seats
            .get(key.seat as usize)
            .is_some_and(|seat| seat.generation == key.generation && seat.connection.is_some())
    }

    /// The connection, if it still exists.
    #[inline]
    pub(crate) fn standing(&mut self, key: ConnectionKey) -> Option<&mut WorkerConnection> {
        let seat = self.seats.get_mut(key.seat as usize)?;
        let connection = seat.connection.as_deref_mut();
        connection.filter(|_| seat.generation == key.generation)
    }

    /// See [`SeatTable::owner`]; `None` if the connection is gone.
    #[inline]
    pub(crate) fn owner_of_standing(&self, key: ConnectionKey) -> Option<u32> {
        self.stands(key).then(|| self.owner(key.seat))
    }

    /// The slot whose operation opens the seat's connection, if that is still being connected.
    #[inline]
    pub(crate) fn connecting_slot(&self, seat: u32) -> Option<u32> {
        let seat = &self.seats[seat as usize];
        let is_connecting = seat.connection.as_ref()?.is_connecting();
        seat.opening_slot().filter(|_| is_connecting)
    }

    /// Whether the slot has to wait for its seat's connection before its next operation.
    #[inline]
    pub(crate) fn must_wait(&self, slot: u32) -> bool {
        let seat = &self.seats[self.seat_of(slot) as usize];
        let is_to_wait = match seat.opener {
            Opener::Nobody => false,
            Opener::Opens(_) | Opener::BacksOff(_) => true,
        };
        is_to_wait || (seat.connection.is_some() && !seat.takes())
    }

    /// Whether the slot could send an operation at once.
    pub(crate) fn is_idle(&self, slot: u32) -> bool {
        let seat = &self.seats[self.seat_of(slot) as usize];
        seat.takes() && seat.opening_slot().is_none() && !self.is_busy(slot)
    }

    /// Notes that the transport has taken all requests that were being written, except for bodies
    /// that HTTP/2's windows hold back.
    #[inline]
    pub(crate) fn note_written(&mut self, seat: u32, now: u64) {
        let first = self.of_seat(seat).start;
        let mut held_back = 0;
        while let Some(connection) = self.connection(seat)
            && let Some(lane) = connection.pop_written(&mut held_back)
        {
            let operation = self.operation_mut(first + lane);
            // `None` if its stream ended before its request was written whole.
            if let Some(sent) = operation.and_then(LiveOperation::sent_mut) {
                sent.written_at.get_or_insert(now);
            }
        }
    }

    /// The first slot of the seat on which an operation can begin now, over its connection or a
    /// new one.
    pub(crate) fn vacancy(&self, seat: u32) -> Option<u32> {
        let mut slots = self.of_seat(seat);
        if self.must_wait(slots.start) {
            return None;
        }
        slots.find(|&slot| !self.is_taken(slot))
    }

    /// Makes the slot's next operation wait for the seat's connection.
    pub(crate) fn park(&mut self, slot: u32) {
        self.slots[slot as usize].park();
    }

    /// Ends such a wait. Returns whether there was one.
    pub(crate) fn unpark(&mut self, slot: u32) -> bool {
        self.slots[slot as usize].unpark()
    }

    /// Open loop: makes the slot available for arrivals, or lets it wait for a connection first.
    pub(crate) fn offer(&mut self, slot: u32) {
        if self.is_idle(slot) {
            self.idle.push(slot);
        } else {
            self.put_aside(slot);
        }
    }

    /// Open loop: picks a slot for an arrival, from the connection that became idle last, or else
    /// from a seat that can open a connection.
    pub(crate) fn pick(&mut self) -> Option<u32> {
        while let Some(slot) = self.idle.pop() {
            if self.is_idle(slot) {
                return Some(slot);
            }
            self.put_aside(slot);
        }
        while let Some(seat) = self.unconnected.pop() {
            let is_connected = self.seats[seat as usize].connection.is_some();
            if !is_connected && let Some(slot) = self.vacancy(seat) {
                return Some(slot);
            }
        }
        None
    }

    /// Open loop: lets a slot that cannot send wait until its connection can; a seat without a
    /// connection may be picked to open one.
    fn put_aside(&mut self, slot: u32) {
        if self.is_busy(slot) {
            return; // it is offered again when its operation has ended
        }
        self.park(slot);
        let number = self.seat_of(slot);
        let seat = &self.seats[number as usize];
        if seat.connection.is_none() && seat.opening_slot().is_none() {
            self.unconnected.push(number);
        }
    }

    /// Closes every connection.
    pub(crate) fn clear(&mut self) {
        self.seats.clear();
        self.slots.clear();
    }
}
