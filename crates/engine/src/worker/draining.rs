//! HTTP/2 connections that take no more operations while some are still under way. These finish on
//! a seat of their own, and the next connection is opened at once.

use super::Worker;
use crate::seat::SeatRole;

impl Worker {
    /// Sets the seat's connection aside if it takes no more operations and has some under way.
    /// Returns the seat that it is on now.
    pub(super) fn set_aside_if_draining(&mut self, seat: u32) -> u32 {
        let role = self.seats.seat(seat).role;
        let is_in_use = matches!(role, SeatRole::Serving | SeatRole::Abroad { .. });
        let connection = self.seats.connection(seat).filter(|_| is_in_use);
        if !connection.is_some_and(|connection| connection.is_draining()) {
            return seat;
        }
        let now = self.clock.now();
        let useless = self.seats.connection(seat).filter(|one| one.is_useless());
        let useless_id = useless.map(|connection| connection.id());
        let aside = self.seats.set_aside(seat);
        let from = self.seats.of_seat(seat).start;
        let to = self.seats.of_seat(aside).start;
        for lane in 0..self.seats.width() {
            self.lend(from + lane, to + lane);
        }
        let key = self.seats.key(aside);
        if let Some(connection) = self.seats.connection(aside) {
            self.ledger.recorder.draining(connection.id());
            // Also reports at once what there is to read.
            self.watch.move_to(connection.descriptor(), key);
        }
        self.dirty.push(aside);
        if role == SeatRole::Serving && !self.has_users() {
            for slot in self.seats.of_seat(seat) {
                self.seats.park(slot);
            }
        }
        if !useless_id.is_some_and(|id| self.open_later(seat, id, now)) {
            self.wake(seat, now);
        }
        aside
    }

    /// Moves an operation that is under way on a draining connection to the draining seat.
    /// Operations that have not been sent remain.
    fn lend(&mut self, home: u32, guest: u32) {
        // The slot of an arrival takes the next arrival, unless its journey goes on there, or a
        // redirect may lead it elsewhere, for which its seat has the connections; a user has one
        // operation at a time.
        let waits = self.has_users()
            || (self.journeys.is_some() && !self.has_pool())
            || self.connector.has_others();
        if self.seats.lend(home, guest, waits) {
            self.deadlines.hand_on(home, guest);
        }
    }

    /// Moves an operation that is to be sent again away from a draining connection, if another seat
    /// has room for it. Returns its slot.
    pub(super) fn bring_home(&mut self, slot: u32) -> u32 {
        let seat = self.seats.seat_of(slot);
        if let SeatRole::Serving | SeatRole::Abroad { .. } = self.seats.seat(seat).role {
            return slot;
        }
        let home = self.seats.home_of(slot).or_else(|| self.pick_slot());
        let Some(home) = home else {
            return slot;
        };
        self.deadlines.hand_on(slot, home);
        self.seats.bring_home(slot, home);
        self.end_drained(seat);
        home
    }

    /// Ends the slot's operation on a draining connection; its user continues on its own seat.
    pub(super) fn leave_draining(&mut self, slot: u32, now: u64) {
        let home = self.seats.leave(slot);
        self.end_drained(self.seats.seat_of(slot));
        if let Some(home) = home {
            self.go_on(home, now);
        }
    }

    /// Closes a draining connection once nothing is under way on it.
    fn end_drained(&mut self, seat: u32) {
        if !self.seats.is_seat_busy(seat) {
            self.close(seat);
            self.seats.seat(seat).end_opening();
            self.seats.vacate(seat);
        }
    }
}
