//! HTTP/2 connections that take no more operations while some are still under way: these end there,
//! on a seat of its own, and the next connection is opened at once.

use super::Worker;
use crate::connection::{ConnectionStage, Http, WorkerConnection};
use crate::slot::{Role, Whereabouts, token};
use crate::source::LoadSource;

impl Worker {
    /// Sets the seat's connection aside where it takes no more operations and has some under way;
    /// its seat now.
    pub(super) fn set_aside_if_draining(&mut self, seat: u32) -> u32 {
        let is_serving = self.slots.seat(seat).role == Role::Serving;
        if !is_serving
            || !self
                .slots
                .connection(seat)
                .is_some_and(|connection| is_draining(connection))
        {
            return seat;
        }
        let now = self.clock.now();
        let aside = self.slots.set_aside(seat);
        let (from, to) = (
            self.slots.of_seat(seat).start,
            self.slots.of_seat(aside).start,
        );
        for lane in 0..self.slots.width() {
            self.lend(from + lane, to + lane);
        }
        let generation = self.slots.seat(aside).generation;
        if let Some(connection) = self.slots.connection(aside) {
            connection
                .unwritten
                .iter_mut()
                .for_each(|slot| *slot = *slot - from + to);
            self.ledger.recorder.draining(connection.id);
            // Tells at once what there is to read, too.
            self.watch
                .move_to(&connection.socket.0, token(aside, generation));
        }
        self.dirty.push(aside);
        if matches!(self.source, LoadSource::Open(_)) {
            let free: Vec<u32> = self
                .slots
                .of_seat(seat)
                .filter(|&slot| !self.slots.is_flying(slot))
                .collect();
            free.into_iter()
                .for_each(|slot| self.slots.slot(slot).parked = true);
        }
        self.wake(seat, now);
        aside
    }

    /// Moves an operation that is under way on a draining connection to the slot of that one's
    /// seat. What waits to be sent stays.
    fn lend(&mut self, home: u32, guest: u32) {
        let Some(flight) = self
            .slots
            .slot(home)
            .flight
            .take_if(|flight| flight.sent_at.is_some())
        else {
            return;
        };
        self.deadlines.hand_on(home, guest);
        self.slots.slot(guest).flight = Some(flight);
        if matches!(self.source, LoadSource::Closed(_)) {
            self.slots.slot(home).whereabouts = Whereabouts::Away;
            self.slots.slot(guest).whereabouts = Whereabouts::Guest { home };
        }
    }

    /// An operation that is to be sent again leaves a draining connection, where another seat has
    /// room for it; its slot then.
    pub(super) fn bring_home(&mut self, slot: u32) -> u32 {
        let seat = self.slots.seat_of(slot);
        if self.slots.seat(seat).role == Role::Serving {
            return slot;
        }
        let home = match std::mem::take(&mut self.slots.slot(slot).whereabouts) {
            Whereabouts::Guest { home } => Some(home),
            Whereabouts::AtHome | Whereabouts::Away => self.pick_slot(),
        };
        let Some(home) = home else { return slot };
        self.deadlines.hand_on(slot, home);
        let flight = self.slots.slot(slot).flight.take();
        let place = self.slots.slot(home);
        (place.flight, place.whereabouts, place.parked) = (flight, Whereabouts::AtHome, false);
        self.end_drained(seat);
        home
    }

    /// The slot's operation has ended on a draining connection: its user goes on at home.
    pub(super) fn leave_draining(&mut self, slot: u32, now: u64) {
        let seat = self.slots.seat_of(slot);
        let whereabouts = std::mem::take(&mut self.slots.slot(slot).whereabouts);
        self.end_drained(seat);
        if let Whereabouts::Guest { home } = whereabouts {
            self.slots.slot(home).whereabouts = Whereabouts::AtHome;
            self.go_on(home, now);
        }
    }

    /// Closes a draining connection once nothing is under way on it.
    fn end_drained(&mut self, seat: u32) {
        if !self.slots.is_busy(seat) {
            self.close(seat);
            self.slots.seat(seat).opener = None;
            self.slots.vacate(seat);
        }
    }
}

fn is_draining(connection: &WorkerConnection) -> bool {
    let Http::Two(session) = &connection.http else {
        return false;
    };
    let is_over = session.draining || session.is_spent() || connection.is_full();
    is_over
        && session.active() > 0
        && connection.stage == ConnectionStage::Open
        && !connection.peer_ended
}
