//! Redirects that the plan follows (RFC 9110 §15.4): further requests of the same operation. One
//! that leads to another origin takes the operation to a seat of its own for that origin.

use super::Worker;
use super::lanes::failed;
use super::operation::ending;
use crate::checks::{AnswerWatch, BodyLeave};
use crate::connection::AfterAnswer;
use crate::live_operation::Trial;
use crate::seat::{Opener, SeatRole};
use measure::{CellId, FailureStage, Kind, OperationEnd};

impl Worker {
    /// Follows the redirect that the slot's operation was answered with, whole at `at`; if that
    /// cannot be followed, it is the operation's end.
    #[cold]
    pub(super) fn follow(&mut self, slot: u32, redirect: (u16, &[u8]), at: u64) {
        let now = self.clock.now();
        let seat = self.seats.seat_of(slot);
        let lane = self.seats.lane_of(slot);
        let user = self.seats.seat(seat).user;
        let origin = self.seats.origin(seat);
        self.keep_cookies(slot);
        let Some((connection, operation)) = self.seats.both(slot) else {
            return; // an answer implies both
        };
        let (hop, leads_to) = match self.requests.follow(user, operation, redirect) {
            Ok(hop) => hop,
            Err(fault) => {
                let end = failed(FailureStage::Http, Kind::Redirect(fault));
                return self.succeed(slot, end, now);
            }
        };
        self.ledger.roll(now);
        // Bytes of a redirect's body count too.
        self.ledger.count_body(connection, lane, operation, at);
        let so_far = operation.ended(connection.answer(lane), OperationEnd::Ok, now);
        self.ledger.recorder.count_redirect(&so_far, redirect.0);
        let leave = connection.watch(lane).map(AnswerWatch::body_leave);
        if leave.is_some_and(|leave| *leave == BodyLeave::Refused) {
            self.ledger.recorder.count_withheld_body(operation.id);
        }
        let after = connection.after_answer(self.rules.close);
        let stays = after == AfterAnswer::Stays && leads_to == origin;
        if !stays {
            // The operation ends on another connection, so this one is judged now.
            connection.operation_ended(|| ending(operation, OperationEnd::Ok, now));
        }
        operation.redirect(hop, stays, now);
        self.seats.forget_failures(seat);
        match after {
            AfterAnswer::Stays => {}
            AfterAnswer::Gone => self.seats.seat(seat).connection = None,
            // A plan that follows redirects leaves no connection to the server to close.
            AfterAnswer::ServerCloses | AfterAnswer::Close => self.close(seat),
        }
        if leads_to != origin {
            self.travel(slot, leads_to, now);
        } else if after == AfterAnswer::Stays {
            self.send_at_home(slot, now);
        } else {
            self.open(slot, now);
        }
    }

    /// Sends the slot's operation to another origin, over the connection that its user has there.
    #[cold]
    fn travel(&mut self, slot: u32, origin: u16, now: u64) {
        let from = self.bring_home(slot);
        let Some(to) = self.seats.travel(from, origin) else {
            return; // there is an operation to redirect
        };
        self.deadlines.hand_on(from, to);
        if let Some((connection, operation)) = self.seats.both(to)
            && connection.is_open()
        {
            operation.trial = Trial::OnReusedConnection;
            self.ledger.go_to(operation, connection.id().address);
            connection.count_under(operation.id);
        }
        self.send_at_home(to, now);
        if self.seats.width() > 1 {
            // Its lane is free for others.
            self.wake(self.seats.seat_of(from), now);
        }
    }

    /// The slot's operation is over, on a connection to another origin: its user, or the arrivals
    /// that its connection serves, go on.
    #[cold]
    pub(super) fn go_on_at_home(&mut self, slot: u32, now: u64) {
        if self.seats.width() > 1 {
            self.pass_lane_on(slot, now);
        }
        let home = self.seats.come_home(slot);
        self.go_on(home, now);
    }

    /// A connection to another origin could not be opened, or broke before it served: the user of
    /// the slot's operation, which is over, pauses before its next one.
    #[cold]
    pub(super) fn back_off_at_home(&mut self, slot: u32, id: CellId, now: u64) {
        let seat = self.seats.seat_of(slot);
        let SeatRole::Abroad { home, .. } = self.seats.seat(seat).role else {
            return;
        };
        if self.has_users() && self.seats.seat(home).opener == Opener::Nobody {
            let first = self.seats.of_seat(home).start;
            // The redirect was an answer: what counts is how often the other origin failed.
            let abroad = self.seats.seat(seat);
            let failures = abroad.failures;
            abroad.failures += 1;
            self.seats.seat(home).failures = failures;
            self.back_off(first + self.seats.lane_of(slot), id, now);
        }
    }

    /// Closes the connections to other origins of a user that has nothing to do for now.
    #[cold]
    pub(super) fn close_abroad(&mut self, home: u32) {
        for seat in self.seats.seats_abroad(home) {
            if !self.seats.is_seat_busy(seat) {
                self.close(seat);
            }
        }
    }

    /// When the slot's operation times out at the latest, wherever redirects lead it.
    pub(super) fn latest_end(&self, slot: u32) -> u64 {
        let operation = self.seats.operation(slot);
        let hop = operation.and_then(|operation| self.requests.hop_of(operation));
        hop.map_or(u64::MAX, |hop| self.deadlines.answer_due(hop.since))
    }
}
