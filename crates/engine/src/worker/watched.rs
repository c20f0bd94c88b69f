//! Answers of which more is looked at than status and length: their checks, and their events.

use super::Worker;
use super::lanes::failed;
use super::operation::fault_of;
use crate::checks::{BodyLeave, EventWatch};
use crate::connection::Cancelled;
use crate::live_operation::LiveOperation;
use crate::values::Values;
use measure::{EventsRead, Failure, FailureStage, Kind, OperationEnd, Recorder};

impl Worker {
    /// Events of an answer came with the read at `at`. The rest is given up if there are enough.
    pub(super) fn on_events(&mut self, slot: u32, at: u64) {
        let lane = self.seats.lane_of(slot);
        let Some((connection, operation)) = self.seats.both(slot) else {
            return; // its operation has timed out in the same turn
        };
        operation.note_first_byte(at);
        self.ledger.count_body(connection, lane, operation, at);
        let is_under_way = connection.is_under_way(lane);
        let watch = connection.watch(lane);
        if watch.as_ref().is_some_and(|watch| watch.has_socket()) {
            return self.on_socket_news(slot, at);
        }
        let Some(events) = watch.and_then(|watch| watch.events()) else {
            return;
        };
        record_events(&mut self.ledger.recorder, operation, events, at);
        // If the answer is whole, its end is about to be reported.
        if is_under_way && events.is_full() {
            self.cut(slot, at);
        }
    }

    /// Ends the operation before its answer does: an HTTP/2 stream is reset, an HTTP/1.1 connection
    /// closed.
    fn cut(&mut self, slot: u32, at: u64) {
        let (seat, lane) = (self.seats.seat_of(slot), self.seats.lane_of(slot));
        let Some((connection, operation)) = self.seats.both(slot) else {
            return; // events come over connections, for operations
        };
        let request = self.requests.request_of(operation);
        let fault = fault_of(connection.answer(lane), request, operation.seq);
        let cancelled = connection.cut(lane);
        let end = self.end_watch(slot, fault, at);
        let now = self.clock.now();
        self.record(slot, end, now);
        self.seats.forget_failures(seat);
        match cancelled {
            Cancelled::Connection => self.close(seat),
            // The reset is sent when all that was read has been acted on.
            Cancelled::Lane => self.dirty.push(seat),
        }
        self.go_on(slot, now);
    }

    /// Judges the slot's answer, which is whole or given up, by what was seen of it up to the read
    /// at `at`. A `fault` of its status or length comes first; its events count all the same.
    pub(super) fn end_watch(&mut self, slot: u32, fault: Option<Kind>, at: u64) -> OperationEnd {
        let lane = self.seats.lane_of(slot);
        let place = self.journey_place(slot);
        let user = self.seats.user(self.seats.seat_of(slot));
        self.keep_cookies(slot);
        let Some((connection, operation)) = self.seats.both(slot) else {
            return OperationEnd::Ok; // it is called for an operation with an answer
        };
        let Some(watch) = connection.watch(lane) else {
            return OperationEnd::Ok;
        };
        let mut failure = fault.or(watch.end());
        if failure.is_none() && watch.has_captures() {
            let random = self.journeys.as_mut().map_or(0, |all| all.bits(place));
            let journey = Values::number(operation.id.period, operation.seq);
            match watch.capture(random) {
                Ok(texts) => self.requests.memories.add(journey, texts),
                Err(kind) => failure = Some(kind),
            }
        }
        if let Some((status, text)) = watch.grpc_status() {
            let recorder = &mut self.ledger.recorder;
            recorder.count_grpc(operation.id, status);
            if let Some(text) = text {
                let text = self.requests.masked(user, operation, text);
                recorder.count_grpc_message(operation.id, status, &text);
            }
        }
        if *watch.body_leave() == BodyLeave::Refused {
            self.ledger.recorder.count_withheld_body(operation.id);
        }
        if let Some(events) = watch.events() {
            let recorder = &mut self.ledger.recorder;
            // Some events end with their answer only.
            record_events(recorder, operation, events, at);
            let (end, number) = events.outcome();
            recorder.stream_ended(operation.id, end, number);
        }
        match failure {
            Some(kind) if kind.is_of_grpc() => failed(FailureStage::Grpc, kind),
            Some(kind) if kind.is_of_websocket() => failed(FailureStage::WebSocket, kind),
            Some(kind) => failed(FailureStage::Http, kind),
            None => OperationEnd::Ok,
        }
    }

    /// Records how long an operation waited for its first event that ran out of time before.
    #[cold]
    pub(super) fn note_missed_event(
        &mut self,
        slot: u32,
        operation: &LiveOperation,
        failure: Failure,
        now: u64,
    ) {
        let checks = self.requests.checks(operation.id.request);
        if failure.kind != Kind::TimeOut || !checks.is_some_and(|checks| checks.is_streamed()) {
            return;
        }
        let (seat, lane) = (self.seats.seat_of(slot), self.seats.lane_of(slot));
        let connection = self.seats.connection(seat);
        let connection = connection.filter(|_| operation.is_sent());
        let watch = connection.and_then(|connection| connection.watch(lane));
        let events = watch.and_then(|watch| watch.events());
        if !events.is_some_and(|events| events.has_begun()) {
            let since = (operation.intended_at, operation.begun_at);
            self.ledger.recorder.event_missed(operation.id, since, now);
        }
    }
}

/// Records the events that were not told yet, which came with the read at `at`.
fn record_events(
    recorder: &mut Recorder,
    operation: &LiveOperation,
    events: &mut EventWatch,
    at: u64,
) {
    // An answer that was read before its request was sent came with it.
    let at = operation.sent().map_or(at, |sent| at.max(sent.at));
    if let Some(batch) = events.tell(at) {
        recorder.events(&EventsRead {
            key: operation.id,
            intended_at: operation.intended_at,
            begun_at: operation.begun_at,
            at,
            previous_at: batch.previous_at,
            number: batch.number,
        });
    }
}
