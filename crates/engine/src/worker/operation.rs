//! The life of an operation: begin, send, end, and what its slot does next.

use super::connector::ConnectionRules;
use super::{Worker, WorkerPhase};
use crate::body::BodyUpload;
use crate::connection::{ConnectionStage, Http, TransferFault, WorkerConnection};
use crate::key_log::OperationEnding;
use crate::live_operation::{AttemptState, Early, LiveOperation, Trial};
use crate::request::Http1Request;
use crate::response::ReceivedResponse;
use crate::script::NextStep;
use crate::seat::SeatRole;
use crate::source::Arrival;
use measure::{CellId, Failure, FailureStage, Kind, OperationEnd, Period};
use plan::Close;
use std::time::Duration;

/// The status with which a server asks for the request after the handshake (RFC 8470 §5.2).
const TOO_EARLY: u16 = 425;

/// The next step for a connection on which an operation has had its answer.
enum AfterAnswer {
    /// It remains in use, or is closed elsewhere.
    Stays,
    /// It has closed already.
    Gone,
    /// The server is expected to close it, and the slot waits for that.
    ServerCloses,
    /// We close it.
    Close,
}

impl Worker {
    /// Begins an operation on `slot`, over its seat's connection if it has one. `noticed_at` is
    /// when the loop noticed that an arrival of an open loop was due.
    pub(super) fn begin(&mut self, slot: u32, arrival: Arrival, noticed_at: Option<u64>, now: u64) {
        self.ledger.roll(now);
        self.ledger.recorder.begin(now);
        let seat = self.seats.seat_of(slot);
        let connection = self.seats.connection(seat);
        let address = connection.map(|connection| connection.id.address);
        let id = CellId {
            period: arrival.period,
            request: self.script.first(arrival.seq),
            address: address.unwrap_or(0),
        };
        // Drawn for every operation, so that a seed gives the same numbers whether requests use
        // them or not.
        let random = self.random.bits();
        self.pauses.clear(slot);
        let intended_at = arrival.intended_at;
        let mut operation = LiveOperation::new(id, arrival.seq, random, intended_at, now);
        operation.noticed_at = noticed_at;
        self.seats.begin(slot, operation);
        if address.is_some() {
            self.reuse(slot, now)
        } else {
            self.open(slot, now)
        }
    }

    fn reuse(&mut self, slot: u32, now: u64) {
        if let Some((connection, operation)) = self.seats.both(slot) {
            operation.trial = Trial::OnReusedConnection;
            connection.id = operation.id;
            self.ledger.count_start(operation);
            self.ledger.recorder.count_reuse(operation.id);
        }
        self.send_request(slot, now);
    }

    /// Sends the slot's request over the open connection of its seat.
    pub(super) fn send_request(&mut self, slot: u32, now: u64) {
        if self.requests.speak_http2() {
            self.send_stream(slot, now)
        } else {
            self.send_alone(slot, now)
        }
    }

    /// HTTP/1.1, where each seat has one slot, with the same number.
    fn send_alone(&mut self, slot: u32, now: u64) {
        let upload = self.write_alone(slot);
        self.note_sent(slot, now);
        self.deadlines.await_answer(slot, now);
        match self.wrap_alone(slot, upload) {
            Ok(()) if self.flush(slot) => self.upload(slot),
            Ok(()) => {}
            Err(fault) => self.on_fault(slot, fault),
        }
    }

    /// Encrypts what was written; `upload` is the rest of the request's body.
    fn wrap_alone(&mut self, slot: u32, upload: Option<BodyUpload>) -> Result<(), TransferFault> {
        let Some(connection) = self.seats.connection(slot) else {
            return Ok(());
        };
        // The rest of a connection's only request would otherwise wait for an acknowledgement.
        if upload.is_some() && self.rules.requests_each == 1 {
            connection.send_at_once();
        }
        connection.upload = upload;
        self.sender.wrap(slot, connection)
    }

    /// Writes the slot's request, the next one of its connection. Returns the rest of its body if
    /// that is large.
    pub(super) fn write_alone(&mut self, slot: u32) -> Option<BodyUpload> {
        let user = self.seats.seat(slot).user;
        let (connection, operation) = self.seats.both(slot)?;
        let place = (&*connection, &*operation);
        self.requests
            .write_http1(self.rules, user, place, &mut self.sender)
    }

    /// Notes that the request that was written last is being sent.
    pub(super) fn note_sent(&mut self, slot: u32, now: u64) {
        if let Some((connection, operation)) = self.seats.both(slot)
            && let Http::One(response) = &mut connection.http
        {
            let request = self.requests.request_of(operation);
            response.expect(request.is_head);
            connection.requests_begun += 1;
            connection.unwritten.push(slot);
            operation.send(now, connection.sent_bytes);
        }
    }

    /// Judges the complete response by what the plan expects.
    pub(super) fn on_response(&mut self, slot: u32) {
        let now = self.clock.now();
        let lane = self.seats.lane_of(slot);
        let Some((connection, operation)) = self.seats.both(slot) else {
            return; // its operation has timed out in the same turn
        };
        let request = self.requests.request_of(operation);
        let answer = connection.answer(lane);
        match fault_of(answer, request) {
            Some(Kind::Status(TOO_EARLY)) if operation.early == Early::Went => {
                self.retry_after_handshake(slot, now)
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
        self.seats.seat(seat).failures = 0;
        let connection = self.seats.connection(seat);
        let after = connection.map_or(AfterAnswer::Stays, |connection| {
            after_answer(self.rules, connection)
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
        if let Some(connection) = self.seats.connection(self.seats.seat_of(slot)) {
            connection.stage = ConnectionStage::Ending;
            connection.ending_at = now;
        }
        self.deadlines.await_answer(slot, now);
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
        let served = connection.is_some_and(|connection| connection.has_served);
        let is_serving = self.seats.seat(seat).role == SeatRole::Serving;
        let is_useless = !opened || (!served && kind != Kind::TimeOut);
        let slots = self.seats.of_seat(seat);
        let failing: Vec<u32> = slots.filter(|&slot| self.seats.is_busy(slot)).collect();
        for &slot in &failing {
            self.record(slot, failed(stage, kind), now);
        }
        self.give_up(seat);
        self.seats.seat(seat).end_opening();
        if is_useless && !is_serving {
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
        let Some(mut operation) = self.seats.end(slot) else {
            return; // it has ended: an operation ends exactly once
        };
        let seat = self.seats.seat_of(slot);
        let lane = self.seats.lane_of(slot);
        // An operation that never had an address is counted as started under none.
        self.ledger.count_start(&mut operation);
        self.deadlines.clear(slot);
        let mut answer = ReceivedResponse::default();
        if let Some(connection) = self.seats.connection(seat) {
            if let Some(tls) = &mut connection.tls {
                tls.operation_ended(|| ending(&operation, end, now));
            }
            if operation.is_sent() {
                answer = connection.answer(lane);
            }
        }
        self.ledger.roll(now);
        let ended = operation.ended(answer, end, now);
        self.ledger.recorder.end(&ended);
    }

    /// Frees the slot: its user begins the next operation now or after a pause; in an open loop the
    /// slot waits for an arrival.
    pub(super) fn go_on(&mut self, slot: u32, now: u64) {
        if self.requests.speak_http2() {
            let seat = self.seats.seat_of(slot);
            if self.seats.seat(seat).role != SeatRole::Serving {
                return self.leave_draining(slot, now);
            }
            self.pass_stream_on(slot, now);
        }
        if self.phase != WorkerPhase::Firing {
            return;
        }
        match self.script.after(&mut self.random) {
            NextStep::Begin => self.begin_as_user(slot, now),
            NextStep::BeginAfter(pause) => self.pauses.set(slot, now + pause),
            NextStep::Done => self.seats.offer(slot),
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
                let id = connection.id;
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

    /// Handles the time-out of an operation, or of a connection that waits for the server to close.
    pub(super) fn time_out(&mut self, slot: u32, now: u64) {
        let seat = self.seats.seat_of(slot);
        if !self.seats.is_busy(slot) {
            return self.on_end_missed(slot, now);
        }
        let opens = self.seats.seat(seat).opening_slot() == Some(slot);
        if self.has_streams() && !opens {
            return self.cancel_stream(slot, now);
        }
        let stage = self.stage_of(slot);
        self.fail(slot, stage, Kind::TimeOut, now);
    }

    /// The server did not close a connection that was finished; only the user's next operation
    /// depends on it.
    fn on_end_missed(&mut self, slot: u32, now: u64) {
        let seat = self.seats.seat_of(slot);
        self.ledger.roll(now);
        if let Some(connection) = self.seats.connection(seat) {
            let waited = now.saturating_sub(connection.ending_at);
            self.ledger
                .recorder
                .end_awaited(connection.id, waited, false);
        }
        self.give_up(seat);
        self.go_on(slot, now);
    }

    /// The stage that the slot's operation is in.
    pub(super) fn stage_of(&mut self, slot: u32) -> FailureStage {
        match self
            .seats
            .operation(slot)
            .map(|operation| operation.attempt.state)
        {
            Some(AttemptState::Waiting) if self.has_streams() => return FailureStage::Stream,
            Some(AttemptState::Resolving) => return FailureStage::Dns,
            _ => {}
        }
        let connection = self.seats.connection(self.seats.seat_of(slot));
        match connection.map(|connection| connection.stage) {
            None | Some(ConnectionStage::Connecting) => FailureStage::Connect,
            Some(ConnectionStage::Handshaking) => FailureStage::Tls,
            Some(_) if self.rules.is_handshake_only() => FailureStage::Tls,
            Some(ConnectionStage::Open | ConnectionStage::Ending) => FailureStage::Http,
        }
    }

    /// Whether operations use HTTP/2 streams.
    pub(super) fn has_streams(&self) -> bool {
        self.requests.speak_http2() && !self.rules.is_handshake_only()
    }

    pub(super) fn begun(&mut self, slot: u32) -> &mut LiveOperation {
        self.seats
            .operation_mut(slot)
            .expect("called for a slot whose operation was just begun")
    }

    /// The server closed an open connection as we sent on it: sends the request once more on a new
    /// one, with unchanged instants (RFC 9112 §9.3.1).
    pub(super) fn retry_on_new_connection(&mut self, slot: u32, now: u64) {
        self.seats.seat(slot).connection = None;
        let operation = self.begun(slot);
        operation.retry(now);
        let id = operation.id;
        self.ledger.recorder.count_closed_under_reuse(id);
        self.open(slot, now);
    }
}

/// Compares the answer with what the plan expects; `None` if it is as expected.
fn fault_of(answer: ReceivedResponse, request: &Http1Request) -> Option<Kind> {
    let expect = &request.expect;
    let status = answer.status.unwrap_or(0);
    if !expect.status.contains(status) {
        Some(Kind::Status(status))
    } else if expect.bytes.is_some_and(|bytes| bytes != answer.body_bytes) {
        Some(Kind::BodyLength)
    } else {
        None
    }
}

fn after_answer(rules: ConnectionRules, connection: &mut WorkerConnection) -> AfterAnswer {
    connection.has_served = true;
    let is_full = connection.is_full();
    let is_over = rules.is_handshake_only() || is_full || connection.is_spoilt();
    match (&connection.http, connection.stage) {
        // Its streams may continue: see `close_if_over`.
        (Http::Two(_), _) => AfterAnswer::Stays,
        (Http::One(_), ConnectionStage::Ending) => AfterAnswer::Gone,
        (Http::One(_), _) if !is_over => AfterAnswer::Stays,
        (Http::One(_), _) if is_full && server_closes(rules, connection) => {
            AfterAnswer::ServerCloses
        }
        (Http::One(_), _) => AfterAnswer::Close,
    }
}

/// Whether the server is to close the connection first, and can be expected to.
fn server_closes(rules: ConnectionRules, connection: &WorkerConnection) -> bool {
    rules.close == Close::Server && !connection.unsolicited
}

pub(super) fn failed(stage: FailureStage, kind: Kind) -> OperationEnd {
    OperationEnd::Failed(Failure { stage, kind })
}

/// Classifies an operation's end for the key log.
fn ending(operation: &LiveOperation, end: OperationEnd, now: u64) -> OperationEnding {
    match end {
        _ if operation.id.period == Period::WarmUp => OperationEnding::WarmUp,
        OperationEnd::Failed(_) => OperationEnding::Failed,
        OperationEnd::Ok | OperationEnd::OkUnconfirmed => {
            let service_time = now.saturating_sub(operation.begun_at);
            OperationEnding::Ok(Duration::from_nanos(service_time))
        }
    }
}
