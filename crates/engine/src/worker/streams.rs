//! HTTP/2: many operations on one connection, one per slot of its seat.

use super::draining::is_useless;
use super::operation::failed;
use super::{Worker, WorkerPhase};
use crate::connection::{ConnectionStage, Http, WorkerConnection};
use crate::http2::{StreamEvent, error};
use crate::live_operation::LiveOperation;
use crate::seat::{Opener, SeatRole};
use measure::{CellId, Failure, FailureStage, Kind};

/// The effect of a connection's end on one of its operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamLoss {
    /// It has not been sent, or will be sent once more.
    GoesOn,
    /// It has failed.
    Failed,
}

/// Whether more frames of a connection can be sent at once.
enum Flushed {
    /// The socket took everything, and there may be more.
    All,
    /// Nothing is left, or the rest waits for the socket.
    Done,
}

impl Worker {
    /// Sends the operation of `slot` on a stream of its own; its frames leave together with those
    /// of the seat's other slots.
    pub(super) fn send_stream(&mut self, slot: u32, now: u64) {
        let seat = self.seats.seat_of(slot);
        let lane = self.seats.lane_of(slot);
        let user = self.seats.seat(seat).user;
        let Some((connection, operation)) = self.seats.both(slot) else {
            return; // operations are sent over existing connections only
        };
        let Http::Two(session) = &mut connection.http else {
            return; // if the plan speaks HTTP/2, every connection does
        };
        if !session.accepts() {
            let since = operation.attempt.tried_at;
            return self.deadlines.await_answer(slot, since);
        }
        let sender = &mut self.sender;
        if let Some(written) = self.requests.write_http2(user, operation, sender) {
            session.open(lane, sender.written(), written.body, written.head_only);
        }
        operation.send(now, connection.sent_bytes);
        connection.requests_begun += 1;
        connection.unwritten.push(slot);
        self.deadlines.await_answer(slot, now);
        if self.dirty.last() != Some(&seat) {
            self.dirty.push(seat);
        }
    }

    /// Sends the frames that have accumulated.
    pub(super) fn send_frames(&mut self) {
        while let Some(seat) = self.dirty.pop() {
            self.flush_frames(seat);
        }
    }

    /// Sends the frames of one open connection, after what waits for its socket, as many as the
    /// socket takes.
    pub(super) fn flush_frames(&mut self, seat: u32) {
        while let Flushed::All = self.flush_some_frames(seat) {}
    }

    fn flush_some_frames(&mut self, seat: u32) -> Flushed {
        let connection = self.seats.connection(seat);
        let Some(connection) = connection.filter(|one| one.stage == ConnectionStage::Open) else {
            return Flushed::Done;
        };
        if connection.has_unsent() {
            // The rest waits until the socket takes more: see `on_ready`.
            if self.sender.has_outgoing(seat) {
                self.flush(seat);
            }
            return Flushed::Done;
        }
        let Http::Two(session) = &mut connection.http else {
            return Flushed::Done;
        };
        // Bodies that flow-control windows have released since go out with the waiting frames.
        session.send_bodies();
        if let Err(fault) = connection.wrap_frames(self.sender.outgoing(seat)) {
            self.on_fault(seat, fault);
            return Flushed::Done;
        }
        if !self.sender.has_outgoing(seat) || !self.flush(seat) {
            return Flushed::Done;
        }
        match self.seats.connection(seat) {
            Some(connection) if !connection.has_unsent() => Flushed::All,
            Some(_) | None => Flushed::Done,
        }
    }

    /// Handles frames that arrived at `at` and have been parsed.
    pub(super) fn on_frames(&mut self, seat: u32, at: u64) {
        // TLS answers a key update, and operations begun below need the buffer.
        if self.sender.has_outgoing(seat) && !self.flush(seat) {
            return;
        }
        self.count_bodies(seat, at);
        if self.act_on_happened(seat, at) {
            let seat = self.set_aside_if_draining(seat);
            self.close_if_over(seat);
            let session = self.seats.session(seat);
            if session.is_some_and(|session| session.is_stuck()) {
                let now = self.clock.now();
                self.wake(seat, now);
            }
            self.flush_frames(seat);
        }
    }

    fn count_bodies(&mut self, seat: u32, at: u64) {
        let first = self.seats.of_seat(seat).start;
        let session = self.seats.session(seat);
        let Some(session) = session.filter(|session| !session.progressed.is_empty()) else {
            return; // most reads bring whole answers
        };
        let mut progressed = std::mem::take(&mut session.progressed);
        for lane in progressed.drain(..) {
            self.count_body(first + lane, at);
        }
        if let Some(session) = self.seats.session(seat) {
            session.progressed = progressed; // the buffer is used again
        }
    }

    /// Acts on all events of the seat's connection. Returns whether the connection still exists.
    pub(super) fn act_on_happened(&mut self, seat: u32, at: u64) -> bool {
        let generation = self.seats.seat(seat).generation;
        let Some(session) = self.seats.session(seat) else {
            return false;
        };
        let mut happened = std::mem::take(&mut session.events);
        for one in happened.drain(..) {
            if self.seats.stands(seat, generation) {
                self.on_happened(seat, one, at);
            }
        }
        let stands = self.seats.stands(seat, generation);
        if let Some(session) = self.seats.session(seat).filter(|_| stands) {
            session.events = happened; // the buffer is used again
        }
        stands
    }

    fn on_happened(&mut self, seat: u32, happened: StreamEvent, at: u64) {
        let now = self.clock.now();
        self.ledger.roll(now);
        let first = self.seats.of_seat(seat).start;
        match happened {
            // The first settings have arrived, so the other slots can begin.
            StreamEvent::Settled => self.wake(seat, now),
            StreamEvent::Limited { streams, is_first } => self.note_limit(seat, streams, is_first),
            StreamEvent::Begun { lane } => {
                if let Some(operation) = self.seats.operation_mut(first + lane) {
                    operation.note_first_byte(at);
                }
            }
            StreamEvent::Whole { lane } => self.on_response(first + lane),
            StreamEvent::Malformed { lane, kind } => self.fail_stream(first + lane, kind, now),
            StreamEvent::Reset { lane, code } => self.on_reset(first + lane, code, now),
            StreamEvent::Unprocessed { lane } => self.on_unprocessed(first + lane, now),
            StreamEvent::GoAway { code } => {
                // A graceful end is announced twice (RFC 9113 §6.8).
                if let Some(connection) = self.seats.connection(seat)
                    && connection.go_away.replace(code).is_none()
                {
                    self.ledger.recorder.go_away(connection.id);
                }
            }
        }
    }

    /// Records that the server allows fewer streams than the plan asks for.
    fn note_limit(&mut self, seat: u32, streams: u32, is_first: bool) {
        if let Some(connection) = self.seats.connection(seat) {
            let recorder = &mut self.ledger.recorder;
            recorder.count_stream_limit(connection.id, streams, is_first);
        }
    }

    fn on_reset(&mut self, slot: u32, code: u32, now: u64) {
        if code != error::REFUSED_STREAM {
            return self.fail_stream(slot, Kind::StreamReset(code), now);
        }
        if let Some(operation) = self.seats.operation(slot) {
            self.ledger.recorder.count_refused_stream(operation.id);
        }
        self.retry_unprocessed(slot, Kind::StreamReset(code), now);
    }

    /// The server is going away, and will not process the operation.
    fn on_unprocessed(&mut self, slot: u32, now: u64) {
        let seat = self.seats.seat_of(slot);
        let connection = self.seats.connection(seat);
        let code = connection.and_then(|connection| connection.go_away);
        let kind = Kind::GoAway(code.unwrap_or(error::NO_ERROR));
        // Its user would otherwise keep trying a server that turns away one connection after the
        // other.
        if self.has_users() && self.seats.seat(seat).failures > 0 {
            return self.fail_stream(slot, kind, now);
        }
        self.retry_unprocessed(slot, kind, now);
    }

    /// Sends the operation once more, whatever its method, since the server has not processed it
    /// (RFC 9113 §8.7).
    fn retry_unprocessed(&mut self, slot: u32, kind: Kind, now: u64) {
        match self.seats.operation_mut(slot) {
            None => {} // its time was up before
            Some(operation) if operation.is_retry() => self.fail_stream(slot, kind, now),
            Some(operation) => {
                operation.retry(now);
                self.ledger.recorder.count_resend(operation.id);
                self.send_at_home(slot, now);
            }
        }
    }

    /// Sends a waiting operation from its user's own seat, unless it has to wait there.
    fn send_at_home(&mut self, slot: u32, now: u64) {
        let slot = self.bring_home(slot);
        if !self.seats.must_wait(slot) {
            self.send_waiting(slot, now);
        }
    }

    /// Fails the operation; its connection remains.
    pub(super) fn fail_stream(&mut self, slot: u32, kind: Kind, now: u64) {
        let stage = self.stage_of(slot);
        self.record(slot, failed(stage, kind), now);
        self.go_on(slot, now);
    }

    /// Handles an operation's time-out; its stream is cancelled.
    pub(super) fn cancel_stream(&mut self, slot: u32, now: u64) {
        let seat = self.seats.seat_of(slot);
        let lane = self.seats.lane_of(slot);
        let sent = self.seats.operation(slot).and_then(LiveOperation::sent);
        let sent_at = sent.map(|sent| sent.at);
        if let Some(connection) = self.seats.connection(seat)
            && let Http::Two(session) = &mut connection.http
        {
            match sent_at {
                None => session.draining |= session.is_stuck(),
                // The server has not sent its settings, so nothing else can be sent before it does.
                Some(_) if !session.is_settled() => {
                    return self.fail(slot, FailureStage::Http, Kind::TimeOut, now);
                }
                Some(sent_at) => {
                    session.cancel(lane);
                    // Nothing at all has come since, or no stream is allowed: further operations
                    // try another connection.
                    let is_silent = connection.heard_at < sent_at;
                    let is_shut = session.active() == 0 && !session.accepts();
                    session.draining |= is_silent || is_shut;
                }
            }
        }
        self.dirty.push(seat);
        self.fail_stream(slot, Kind::TimeOut, now);
        let seat = self.set_aside_if_draining(seat);
        self.close_if_over(seat);
    }

    /// Closes a connection that takes no more operations and has none under way.
    fn close_if_over(&mut self, seat: u32) {
        let connection = self.seats.connection(seat);
        let Some(connection) = connection.filter(|connection| is_over(connection)) else {
            return;
        };
        let now = self.clock.now();
        let id = connection.id;
        // After a time-out its user has waited already.
        let is_useless = is_useless(connection);
        self.close(seat);
        if !(is_useless && self.open_later(seat, id, now)) {
            self.wake(seat, now);
        }
    }

    /// The seat's connection has gone without having served: in a closed loop its user opens the
    /// next one after a pause, unless there is one already. Returns whether the user pauses.
    pub(super) fn open_later(&mut self, seat: u32, id: CellId, now: u64) -> bool {
        let home = match self.seats.seat(seat).role {
            SeatRole::Serving => seat,
            SeatRole::Draining { home } => home,
            SeatRole::Vacant => return false,
        };
        let next = self.seats.seat(home);
        let has_next = next.connection.is_some() || next.opener != Opener::Nobody;
        if has_next || !self.has_users() || self.phase != WorkerPhase::Firing {
            return false;
        }
        self.back_off(self.seats.of_seat(home).start, id, now);
        true
    }

    /// Lets slots that wait for the seat's connection continue, as far as it takes them: first
    /// operations that are to be sent again, then those that would begin.
    pub(super) fn wake(&mut self, seat: u32, now: u64) {
        if self.seats.width() == 1 && !self.requests.speak_http2() {
            return;
        }
        for slot in self.seats.of_seat(seat) {
            if self.seats.is_unsent(slot) {
                self.send_at_home(slot, now);
            }
        }
        for slot in self.seats.of_seat(seat) {
            if self.seats.unpark(slot) {
                // A parked slot's pause, if it had one, is over.
                if self.has_users() {
                    self.begin_as_user(slot, now);
                } else {
                    self.go_on(slot, now);
                }
            }
        }
    }

    /// The stream of `slot` is over. If the server allows fewer streams than the seat has slots,
    /// waiting slots get it next, in turn, before the slot's own next operation.
    pub(super) fn pass_stream_on(&mut self, slot: u32, now: u64) {
        let seat = self.seats.seat_of(slot);
        let lane = self.seats.lane_of(slot);
        let width = self.seats.width();
        let session = self.seats.session(seat);
        if !session.is_some_and(|session| session.is_limited()) {
            return;
        }
        let first = slot - lane;
        for after in 1..width {
            let connection = self.seats.connection(seat);
            if !connection.is_some_and(|connection| connection.takes()) {
                return;
            }
            let other = first + (lane + after) % width;
            if self.seats.is_unsent(other) {
                self.send_waiting(other, now);
            } else if self.has_users() && self.seats.unpark(other) {
                // Arrivals of an open loop find the stream through `slot`.
                self.begin_as_user(other, now);
            }
        }
    }

    /// Sends an operation that waited for a connection, over the existing one or a new one.
    fn send_waiting(&mut self, slot: u32, now: u64) {
        match self.seats.both(slot) {
            Some((connection, operation)) => {
                self.ledger.go_to(operation, connection.id.address);
                self.send_request(slot, now);
            }
            None => self.open(slot, now),
        }
    }

    /// The connection ended under its streams. Those that the server cannot have worked on are sent
    /// once more on a new one, with unchanged instants; the others have failed.
    pub(super) fn on_streams_lost(&mut self, seat: u32, failure: Failure, now: u64) {
        let connection = self.seats.connection(seat);
        let go_away = connection.and_then(|connection| connection.go_away);
        let kind = match (failure.kind, go_away) {
            (Kind::Eof, Some(code)) if code != error::NO_ERROR => Kind::GoAway(code),
            (kind, _) => kind,
        };
        let failure = Failure { kind, ..failure };
        let slots = self.seats.of_seat(seat);
        let lost: Vec<u32> = slots
            .filter(|&slot| self.lose_stream(slot, failure, now) == StreamLoss::Failed)
            .collect();
        let connection = self.seats.seat(seat).connection.take();
        let useless = connection.filter(|connection| !connection.has_served);
        if !useless.is_some_and(|connection| self.open_later(seat, connection.id, now)) {
            self.wake(seat, now);
        }
        for slot in lost {
            self.go_on(slot, now);
        }
    }

    /// Decides what the end of the connection means for the slot's operation, if it has one;
    /// records it if it failed.
    fn lose_stream(&mut self, slot: u32, failure: Failure, now: u64) -> StreamLoss {
        let lane = self.seats.lane_of(slot);
        let may_send_again = self.may_send_again(slot, now);
        let Some((connection, operation)) = self.seats.both(slot) else {
            return StreamLoss::GoesOn;
        };
        if !operation.is_sent() {
            return StreamLoss::GoesOn;
        }
        if may_send_again {
            operation.retry(now);
            self.ledger.recorder.count_closed_under_reuse(operation.id);
            return StreamLoss::GoesOn;
        }
        let is_in_body = connection.answer(lane).status.is_some();
        let kind = match failure.kind {
            Kind::Eof if is_in_body => Kind::ShortBody,
            kind => kind,
        };
        self.record(slot, failed(failure.stage, kind), now);
        StreamLoss::Failed
    }
}

/// Whether a connection takes no more operations and has none under way.
fn is_over(connection: &WorkerConnection) -> bool {
    let Http::Two(session) = &connection.http else {
        return false;
    };
    let takes_no_more = session.draining || session.is_spent() || connection.is_full();
    let is_open = connection.stage == ConnectionStage::Open;
    is_open && takes_no_more && session.active() == 0
}
