//! Redirects that the plan follows (RFC 9110 §15.4): further requests of the same operation.

use super::Worker;
use super::lanes::failed;
use super::operation::ending;
use crate::checks::{AnswerWatch, BodyLeave};
use crate::connection::AfterAnswer;
use measure::{FailureStage, Kind, OperationEnd, RedirectFault};

impl Worker {
    /// Follows the redirect that the slot's operation was answered with, whole at `at`; if that
    /// cannot be followed, it is the operation's end.
    #[cold]
    pub(super) fn follow(&mut self, slot: u32, redirect: (u16, &[u8]), at: u64) {
        let now = self.clock.now();
        let seat = self.seats.seat_of(slot);
        let lane = self.seats.lane_of(slot);
        let user = self.seats.seat(seat).user;
        let Some((connection, operation)) = self.seats.both(slot) else {
            return; // an answer implies both
        };
        let hop = match self.requests.follow(user, operation, redirect) {
            Ok((hop, 0)) => hop,
            other => {
                let fault = other.err().unwrap_or(RedirectFault::OtherOrigin);
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
        if after != AfterAnswer::Stays {
            // The operation ends on another connection, so this one is judged now.
            connection.operation_ended(|| ending(operation, OperationEnd::Ok, now));
        }
        operation.redirect(hop, after == AfterAnswer::Stays, now);
        self.seats.seat(seat).failures = 0;
        match after {
            AfterAnswer::Stays => return self.send_at_home(slot, now),
            AfterAnswer::Gone => self.seats.seat(seat).connection = None,
            // A plan that follows redirects leaves no connection to the server to close.
            AfterAnswer::ServerCloses | AfterAnswer::Close => self.close(seat),
        }
        self.open(slot, now);
    }

    /// When the slot's operation times out at the latest, wherever redirects lead it.
    pub(super) fn latest_end(&self, slot: u32) -> u64 {
        let operation = self.seats.operation(slot);
        let hop = operation.and_then(|operation| self.requests.hop_of(operation));
        hop.map_or(u64::MAX, |hop| self.deadlines.answer_due(hop.since))
    }
}
