//! Closed loop: what a virtual user does between its operations.

use super::{Worker, WorkerPhase};
use crate::arrival::Arrival;
use crate::seat::Opener;
use crate::source::UserSpan;
use measure::CellId;

/// First and longest pause of a user after a failed opening.
const BACK_OFF_FIRST_NS: u64 = 10_000_000;
const BACK_OFF_LONGEST_NS: u64 = 1_000_000_000;

impl Worker {
    /// Gives every user a seat, unless they share connections; each begins when its first span
    /// does.
    pub(super) fn seat_users(&mut self) {
        if self.has_pool() {
            return self.await_sharing_users();
        }
        for (user, begin) in self.source.users() {
            let seat = self.seats.add(user);
            if let Some(begin) = begin {
                for slot in self.seats.of_seat(seat) {
                    self.pauses.set(slot, begin);
                }
            }
        }
    }

    /// Ends the pause of `slot`, or of the user at this place if journeys share connections. After
    /// a back-off, operations that are to be sent again go first.
    pub(super) fn on_pause_over(&mut self, slot: u32, now: u64) {
        if self.has_pool() {
            return self.on_pooled_pause_over(slot, now);
        }
        let number = self.seats.seat_of(slot);
        let seat = self.seats.seat(number);
        if seat.opener == Opener::BacksOff(slot) {
            seat.opener = Opener::Nobody;
            self.wake(number, now);
        }
        self.begin_as_user(slot, now);
    }

    /// Makes the user of `slot` begin its next operation, wait for its connection, or rest until
    /// its next span.
    pub(super) fn begin_as_user(&mut self, slot: u32, now: u64) {
        if self.step_due_at(slot).is_some() {
            return self.continue_journey(slot, now);
        }
        let is_over = self.phase != WorkerPhase::Firing || now >= self.timeline.end_at;
        if is_over || self.seats.is_taken(slot) {
            return;
        }
        if self.seats.must_wait(slot) {
            return self.seats.park(slot);
        }
        if !self.is_active(slot, now) {
            return;
        }
        let period = self.timeline.period(now);
        match self.source.next_of_user(period, now) {
            Some(seq) => {
                let arrival = Arrival {
                    seq,
                    intended_at: now,
                    period,
                };
                self.begin(slot, arrival, None, now);
            }
            None => self.retire(slot),
        }
    }

    /// Whether the user may begin now; if not, its connection is closed until its next span.
    fn is_active(&mut self, slot: u32, now: u64) -> bool {
        let number = self.seats.seat_of(slot);
        let seat = self.seats.seat(number);
        if now < seat.active_until {
            return true;
        }
        match self.source.span(number, now) {
            UserSpan::Now { until } => {
                seat.active_until = until;
                true
            }
            UserSpan::Later { from } => {
                self.retire(slot);
                self.pauses.set(slot, from);
                false
            }
            UserSpan::Never => {
                self.retire(slot);
                false
            }
        }
    }

    /// The user has nothing to do in this slot: closes its connection, unless another slot uses it.
    fn retire(&mut self, slot: u32) {
        let seat = self.seats.seat_of(slot);
        if self.seats.connection(seat).is_some() && !self.seats.is_seat_busy(seat) {
            self.close(seat);
        }
        if self.connector.has_others() {
            self.close_abroad(seat);
        }
    }

    /// Whether seats are users', who pause after a connection that served no request.
    pub(super) fn has_users(&self) -> bool {
        self.source.has_own_connections()
    }

    /// Makes a user pause whose connection could not be opened, or broke before it served: 10 ms
    /// doubling to 1 s, jittered.
    pub(super) fn back_off(&mut self, slot: u32, id: CellId, now: u64) {
        if self.phase != WorkerPhase::Firing {
            return;
        }
        let number = self.seats.seat_of(slot);
        let seat = self.seats.seat(number);
        let failures = seat.failures;
        seat.failures += 1;
        seat.opener = Opener::BacksOff(slot);
        self.pause_after_failures(slot, failures, id, now);
    }

    /// Makes the user of a slot, or at a place, pause who has failed to open a connection
    /// `failures` times before.
    pub(super) fn pause_after_failures(&mut self, at: u32, failures: u32, id: CellId, now: u64) {
        let longest = (BACK_OFF_FIRST_NS << failures.min(16)).min(BACK_OFF_LONGEST_NS);
        // Keeps users that failed together from trying again together.
        let wait = self.random.between(longest / 2, longest);
        self.ledger.recorder.count_back_off(id, wait);
        self.pauses.set(at, now + wait);
    }
}
