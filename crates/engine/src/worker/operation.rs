//! The life of an operation: begin, send, end, and what its slot does next.

use super::lanes::failed;
use super::{Worker, WorkerPhase};
use crate::arrival::Arrival;
use crate::checks::AnswerWatch;
use crate::connection::AfterAnswer;
use crate::journeys::EndedJourney;
use crate::key_log::OperationEnding;
use crate::live_operation::{AttemptState, Early, LiveOperation, Trial};
use crate::request::Http1Request;
use crate::response::ReceivedResponse;
use crate::script::NextStep;
use crate::seat::{Opener, SeatRole};
use crate::values::Values;
use measure::{CellId, Failure, FailureStage, Kind, OperationEnd, Period};
use plan::Close;
use std::time::Duration;

/// The status with which a server asks for the request after the handshake (RFC 8470 §5.2).
const TOO_EARLY: u16 = 425;

impl Worker {
    /// Begins an operation on `slot`, over its seat's connection if it has one. `noticed_at` is
    /// when the loop noticed that an arrival of an open loop was due.
    pub(super) fn begin(&mut self, slot: u32, arrival: Arrival, noticed_at: Option<u64>, now: u64) {
        if self.journeys.is_some() {
            return self.begin_journey(slot, arrival, noticed_at, now);
        }
        self.ledger.roll(now);
        let seat = self.seats.seat_of(slot);
        let connection = self.seats.connection(seat);
        let address = connection.map(|connection| connection.id().address);
        let id = CellId {
            period: arrival.period,
            request: self.script.first(arrival.seq),
            address: address.unwrap_or(0),
        };
        // Drawn for every operation, so that a seed gives the same numbers whether requests use
        // them or not.
        let random = self.random.bits();
        let intended_at = arrival.intended_at;
        let mut operation = LiveOperation::new(id, arrival.seq, random, intended_at, now);
        operation.noticed_at = noticed_at;
        self.pauses.clear(slot);
        self.start(slot, operation, now);
    }

    /// Starts the operation on `slot`, over its seat's connection if it has one. Always inlined:
    /// an operation is large, and would be copied for the call.
    #[inline(always)]
    pub(super) fn start(&mut self, slot: u32, operation: LiveOperation, now: u64) {
        self.ledger.recorder.begin(now);
        self.seats.begin(slot, operation);
        let seat = self.seats.seat_of(slot);
        if self.seats.connection(seat).is_some() {
            self.reuse(slot, now)
        } else {
            self.open(slot, now)
        }
    }

    fn reuse(&mut self, slot: u32, now: u64) {
        if let Some((connection, operation)) = self.seats.both(slot) {
            operation.trial = Trial::OnReusedConnection;
            connection.count_under(operation.id);
            self.ledger.count_start(operation);
            self.ledger.recorder.count_reuse(operation.id);
        }
        self.send_request(slot, now);
    }

    /// Judges the response, complete at `at`, by what the plan expects.
    pub(super) fn on_response(&mut self, slot: u32, at: u64) {
        let now = self.clock.now();
        let lane = self.seats.lane_of(slot);
        let Some((connection, operation)) = self.seats.both(slot) else {
            return; // its operation has timed out in the same turn
        };
        operation.note_first_byte(at);
        let request = self.requests.request_of(operation);
        let answer = connection.answer(lane);
        if request.hops.is_some()
            && let Some(status @ (301..=303 | 307 | 308)) = answer.status
            && let Some(location) = connection.watch(lane).and_then(AnswerWatch::take_location)
        {
            return self.follow(slot, (status, &location), at);
        }
        match fault_of(answer, request, operation.seq) {
            Some(Kind::Status(TOO_EARLY) | Kind::NotAsRecorded(TOO_EARLY))
                if matches!(operation.early, Early::Went { .. }) =>
            {
                self.retry_after_handshake(slot, now)
            }
            fault if request.checks.is_some() => {
                let end = self.end_watch(slot, fault, at);
                self.succeed(slot, end, now)
            }
            Some(kind) => self.succeed(slot, failed(FailureStage::Http, kind), now),
            None => self.succeed(slot, OperationEnd::Ok, now),
        }
    }

    /// Ends an operation that has its answer, expected or not: records it, and keeps or closes the
    /// connection.
    pub(super) fn succeed(&mut self, slot: u32, end: OperationEnd, now: u64) {
        self.record(slot, end, now);
        let seat = self.seats.seat_of(slot);
        self.seats.forget_failures(seat);
        let connection = self.seats.connection(seat);
        let after = connection.map_or(AfterAnswer::Stays, |connection| {
            connection.after_answer(self.rules.close)
        });
        match after {
            AfterAnswer::Stays => {}
            AfterAnswer::Gone => self.seats.seat(seat).connection = None,
            AfterAnswer::ServerCloses => return self.await_end(slot, now),
            AfterAnswer::Close => self.close(seat),
        }
        self.go_on(slot, now);
    }

    /// Keeps the slot occupied until the server has closed; the operation itself is over.
    fn await_end(&mut self, slot: u32, now: u64) {
        let seat = self.seats.seat_of(slot);
        let until = self.deadlines.answer_due(now);
        if let Some(connection) = self.seats.connection(seat) {
            connection.await_end(now, until);
        }
        self.renew_timer(seat);
    }

    /// Fails the operation together with all others of its seat, since its connection is of no
    /// further use.
    pub(super) fn fail(&mut self, slot: u32, stage: FailureStage, kind: Kind, now: u64) {
        let Some(operation) = self.seats.operation(slot) else {
            return; // an operation ends only once, and its slot has gone on since
        };
        let opened = operation.has_had_connection();
        let id = operation.id;
        let seat = self.seats.seat_of(slot);
        // A server that accepts connections and breaks each one at once gets a back-off too. After
        // a time-out the user has waited already.
        let connection = self.seats.connection(seat);
        let served = connection.is_some_and(|connection| connection.has_served());
        let is_serving = self.seats.seat(seat).role == SeatRole::Serving;
        let is_useless = !opened || (!served && kind != Kind::TimeOut);
        let is_abroad = matches!(self.seats.seat(seat).role, SeatRole::Abroad { .. });
        let slots = self.seats.of_seat(seat);
        let failing: Vec<u32> = slots.filter(|&slot| self.seats.is_busy(slot)).collect();
        let sharing = match is_useless {
            true => self.users_who_share(&failing),
            false => Vec::new(),
        };
        for &slot in &failing {
            self.record(slot, failed(stage, kind), now);
        }
        self.back_off_sharing(sharing, id, now);
        self.give_up(seat);
        self.seats.seat(seat).end_opening();
        if is_useless && is_abroad {
            self.back_off_at_home(slot, id, now);
        } else if is_useless && !is_serving {
            self.open_later(seat, id, now);
        } else if is_useless && self.has_users() {
            failing.into_iter().for_each(|slot| self.seats.park(slot));
            return self.back_off(slot, id, now);
        }
        failing.into_iter().for_each(|slot| self.go_on(slot, now));
        self.wake(seat, now);
    }

    /// Ends and records the operation; only this takes it out of its slot.
    pub(super) fn record(&mut self, slot: u32, end: OperationEnd, now: u64) {
        let makes_journey = self.journeys.is_some();
        let place = makes_journey.then(|| self.journey_place(slot));
        let Some(mut operation) = self.seats.end(slot) else {
            return; // it has ended: an operation ends exactly once
        };
        if let Some(hop) = operation.hop {
            self.requests.end(hop);
        }
        let seat = self.seats.seat_of(slot);
        let lane = self.seats.lane_of(slot);
        // An operation that never had an address is counted as started under none.
        self.ledger.count_start(&mut operation);
        self.deadlines.clear(slot);
        let mut answer = ReceivedResponse::default();
        if let Some(connection) = self.seats.connection(seat) {
            connection.operation_ended(|| ending(&operation, end, now));
            if operation.is_sent() {
                answer = connection.answer(lane);
            }
        }
        self.ledger.roll(now);
        let ended = operation.ended(answer, end, now);
        self.ledger.recorder.end(&ended);
        if let OperationEnd::Failed(failure) = end {
            self.note_failed_rows(seat, &operation, failure);
            self.note_missed_event(slot, &operation, failure, now);
            if self.requests.has_sockets() && operation.is_sent() {
                self.note_missed_messages(slot, operation.id, now);
            }
        }
        if let Some(place) = place {
            let journey = Values::number(operation.id.period, operation.seq);
            self.end_step((journey, place), end, now);
        }
    }

    /// Records which rows of data files a failed operation had, if it was measured.
    #[cold]
    fn note_failed_rows(&mut self, seat: u32, operation: &LiveOperation, failure: Failure) {
        if operation.id.period == Period::Measured {
            let user = self.seats.seat(seat).user;
            for (row, line) in self.requests.rows(user, operation) {
                self.ledger.recorder.row_failed(row, line, failure);
            }
        }
    }

    /// Frees the slot, and does what the script says comes next.
    pub(super) fn go_on(&mut self, slot: u32, now: u64) {
        let seat = self.seats.seat_of(slot);
        match self.seats.seat(seat).role {
            SeatRole::Serving => {}
            SeatRole::Abroad { .. } => return self.go_on_at_home(slot, now),
            SeatRole::Draining { .. } | SeatRole::Vacant => return self.leave_draining(slot, now),
        }
        if self.seats.width() > 1 {
            self.pass_lane_on(slot, now);
        }
        let after = match &self.journeys {
            None => EndedJourney::default(),
            Some(_) => match self.leave_journey(slot, now) {
                Some(after) => after,
                None => return, // it goes on
            },
        };
        if self.phase != WorkerPhase::Firing {
            return;
        }
        // Its pause is that after the failed opening, unless it has had an answer since.
        let own = self.seats.seat(seat);
        if own.opener == Opener::BacksOff(slot) {
            if own.failures > 0 {
                return;
            }
            own.opener = Opener::Nobody; // the other slots need not wait for its next pause
            self.wake(seat, now);
        }
        match self.script.after(&mut self.random) {
            NextStep::Begin if after.pause_ns == 0 => self.begin_as_user(slot, now),
            NextStep::Begin => self.pauses.set(slot, now + after.pause_ns),
            NextStep::BeginAfter(pause) => self.pauses.set(slot, now + pause + after.pause_ns),
            NextStep::Done => self.seats.offer(slot),
            NextStep::OfConnection => self.serve_recorded(seat),
        }
    }

    /// Closes the seat's connection in the way that the plan demands.
    pub(super) fn close(&mut self, seat: u32) {
        if let Some(mut connection) = self.seats.seat(seat).connection.take() {
            if self.rules.close == Close::Rst {
                connection.reset_on_close();
            } else if self.sender.is_allowed() {
                self.sender.forget();
                connection.notify_close(self.sender.outgoing(seat));
                let now = self.clock.now();
                let bytes = self.sender.send_last(seat, &mut connection);
                let id = connection.id();
                self.ledger.recorder.wire_bytes(id, now, bytes, 0);
            }
        }
    }

    /// Drops the seat's connection without notice; if the plan closes by a reset, this does so too.
    pub(super) fn give_up(&mut self, seat: u32) {
        if let Some(connection) = self.seats.seat(seat).connection.take()
            && self.rules.close == Close::Rst
        {
            connection.reset_on_close();
        }
    }

    /// The stage that the slot's operation is in.
    pub(super) fn stage_of(&mut self, slot: u32) -> FailureStage {
        let operation = self.seats.operation(slot);
        match operation.map(|operation| operation.attempt.state) {
            // After a handshake alone nothing is left to send.
            Some(AttemptState::Waiting) if !self.rules.is_handshake_only() => {
                return FailureStage::Stream;
            }
            Some(AttemptState::Resolving) => return FailureStage::Dns,
            _ => {}
        }
        let connection = self.seats.connection(self.seats.seat_of(slot));
        connection.map_or(FailureStage::Connect, |connection| connection.stage())
    }

    pub(super) fn begun(&mut self, slot: u32) -> &mut LiveOperation {
        self.seats
            .operation_mut(slot)
            .expect("called for a slot whose operation was just begun")
    }
}

/// Compares the answer to operation `seq` with what the plan or its log expects; `None` if it is as
/// expected.
#[inline]
pub(super) fn fault_of(answer: ReceivedResponse, request: &Http1Request, seq: u64) -> Option<Kind> {
    let expect = &request.expect;
    let status = answer.status.unwrap_or(0);
    if let Some(replayed) = &request.replayed {
        let fault = replayed.fault(seq, status, &expect.status);
        if fault.is_some() {
            return fault;
        }
    } else if !expect.status.contains(status) {
        return Some(Kind::Status(status));
    }
    if expect
        .bytes
        .as_ref()
        .is_some_and(|bytes| !bytes.contains(&answer.body_bytes))
    {
        Some(Kind::BodyLength)
    } else {
        None
    }
}

/// Classifies an operation's end for the key log.
pub(super) fn ending(operation: &LiveOperation, end: OperationEnd, now: u64) -> OperationEnding {
    match end {
        _ if operation.id.period == Period::WarmUp => OperationEnding::WarmUp,
        OperationEnd::Failed(_) => OperationEnding::Failed,
        OperationEnd::Ok | OperationEnd::OkUnconfirmed => {
            let service_time = now.saturating_sub(operation.begun_at);
            OperationEnding::Ok(Duration::from_nanos(service_time))
        }
    }
}
