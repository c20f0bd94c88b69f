//! HTTP/2: many operations on one connection, one per slot of its seat.

use super::Worker;
use crate::connection::{ConnectionStage, Http};
use crate::http2::{StreamEvent, error};
use crate::slot::Role;
use crate::source::LoadSource;
use crate::template::Values;
use measure::{Failure, FailureStage, Kind, OperationEnd};

impl Worker {
    /// Sends the operation of `slot` on a stream of its own; the frames leave with those of the
    /// seat's other slots.
    pub(super) fn send_stream(&mut self, slot: u32, now: u64) {
        let (seat, lane) = (self.slots.seat_of(slot), self.slots.lane_of(slot));
        let user = self.slots.seat(seat).user;
        let (Some(frames), Some((connection, flight))) = (&self.frames, self.slots.both(slot))
        else {
            return;
        };
        let Http::Two(session) = &mut connection.http else {
            return;
        };
        if !session.accepts() {
            return self.deadlines.await_answer(slot, flight.tried_at);
        }
        let values = Values {
            user,
            seq: flight.seq,
            random: flight.random,
        };
        let body = frames.write(flight.id.request, values, self.sender.plain());
        let head_only = self.requests.request(flight.id.request).is_head;
        session.open(lane, self.sender.written(), body, head_only);
        flight.sent_at = Some(now);
        connection.requests_begun += 1;
        connection.unwritten.push(slot);
        self.deadlines.await_answer(slot, now);
        if self.dirty.last() != Some(&seat) {
            self.dirty.push(seat);
        }
    }

    /// Sends the frames that have gathered.
    pub(super) fn send_frames(&mut self) {
        while let Some(seat) = self.dirty.pop() {
            self.flush_frames(seat);
        }
    }

    /// Sends the frames of one open connection, behind what waits in `outgoing`: as much as the
    /// socket takes.
    pub(super) fn flush_frames(&mut self, seat: u32) {
        loop {
            let Some(connection) = self.slots.connection(seat) else {
                return;
            };
            if connection.stage != ConnectionStage::Open {
                return;
            }
            if connection.has_unsent() {
                // The rest waits until the socket takes more: see `on_ready`.
                if self.sender.has_outgoing(seat) {
                    self.flush(seat);
                }
                return;
            }
            let Http::Two(session) = &mut connection.http else {
                return;
            };
            session.send_bodies();
            match connection.wrap_frames(self.sender.outgoing(seat)) {
                Ok(()) if !self.sender.has_outgoing(seat) => return,
                Ok(()) => {}
                Err(fault) => return self.on_fault(seat, fault),
            }
            if !self.flush(seat)
                || self
                    .slots
                    .connection(seat)
                    .is_none_or(|connection| connection.has_unsent())
            {
                return;
            }
        }
    }

    /// Frames came at `at` and were taken in.
    pub(super) fn on_frames(&mut self, seat: u32, at: u64) {
        // TLS answers a key update, and what is begun below may want the place.
        if self.sender.has_outgoing(seat) && !self.flush(seat) {
            return;
        }
        self.count_bodies(seat, at);
        if self.act_on_happened(seat, at) {
            let seat = self.set_aside_if_draining(seat);
            self.close_if_over(seat);
            if self
                .slots
                .session(seat)
                .is_some_and(|session| session.is_stuck())
            {
                let now = self.clock.now();
                self.wake(seat, now);
            }
            self.flush_frames(seat);
        }
    }

    fn count_bodies(&mut self, seat: u32, at: u64) {
        let first = self.slots.of_seat(seat).start;
        let Some(session) = self.slots.session(seat) else {
            return;
        };
        if session.progressed.is_empty() {
            return;
        }
        let mut progressed = std::mem::take(&mut session.progressed);
        progressed
            .drain(..)
            .for_each(|lane| self.count_body(first + lane, at));
        if let Some(session) = self.slots.session(seat) {
            session.progressed = progressed; // its room serves again
        }
    }

    /// Acts on all that has happened on the seat's connection; whether that still stands.
    fn act_on_happened(&mut self, seat: u32, at: u64) -> bool {
        let generation = self.slots.seat(seat).generation;
        let Some(session) = self.slots.session(seat) else {
            return false;
        };
        let mut happened = std::mem::take(&mut session.events);
        for one in happened.drain(..) {
            if self.slots.stands(seat, generation) {
                self.on_happened(seat, one, at);
            }
        }
        let stands = self.slots.stands(seat, generation);
        if let Some(session) = self.slots.session(seat).filter(|_| stands) {
            session.events = happened; // its room serves again
        }
        stands
    }

    /// What came in the same read as the fault that ends the connection counts before it; nothing
    /// begins any more.
    pub(super) fn on_last_frames(&mut self, seat: u32) {
        let at = self.clock.now();
        if let Some(connection) = self
            .slots
            .connection(seat)
            .filter(|connection| connection.stage == ConnectionStage::Open)
        {
            connection.peer_ended = true;
            self.act_on_happened(seat, at);
        }
    }

    fn on_happened(&mut self, seat: u32, happened: StreamEvent, at: u64) {
        let now = self.clock.now();
        self.ledger.roll(now);
        let first = self.slots.of_seat(seat).start;
        match happened {
            StreamEvent::Settled {
                max_streams,
                is_first,
            } => self.on_settled(seat, max_streams, is_first, now),
            StreamEvent::Begun { lane } => {
                if let Some(flight) = self.slots.flight(first + lane) {
                    flight.first_byte_at.get_or_insert(at);
                }
            }
            StreamEvent::Whole { lane } => self.on_response(first + lane),
            StreamEvent::Malformed { lane } => {
                self.fail_stream(first + lane, Kind::BadFraming, now)
            }
            StreamEvent::Reset { lane, code } => self.on_reset(first + lane, code, now),
            StreamEvent::Unprocessed { lane } => {
                let code = self
                    .slots
                    .connection(seat)
                    .and_then(|connection| connection.go_away)
                    .unwrap_or(error::NO_ERROR);
                self.retry_unprocessed(first + lane, Kind::GoAway(code), now);
            }
            StreamEvent::GoAway { code } => {
                // A graceful end is announced twice (RFC 9113 §6.8).
                if let Some(connection) = self.slots.connection(seat)
                    && connection.go_away.replace(code).is_none()
                {
                    self.ledger.recorder.go_away(connection.id);
                }
            }
        }
    }

    /// The server has said how many streams it allows: the other slots may begin.
    fn on_settled(&mut self, seat: u32, max_streams: u32, is_first: bool, now: u64) {
        if is_first
            && max_streams < self.slots.width()
            && let Some(connection) = self.slots.connection(seat)
        {
            self.ledger.recorder.limited(connection.id, max_streams);
        }
        self.wake(seat, now);
    }

    fn on_reset(&mut self, slot: u32, code: u32, now: u64) {
        if code != error::REFUSED_STREAM {
            return self.fail_stream(slot, Kind::StreamReset(code), now);
        }
        if let Some(flight) = self.slots.flight(slot) {
            self.ledger.recorder.refused_stream(flight.id);
        }
        self.retry_unprocessed(slot, Kind::StreamReset(code), now);
    }

    /// The server has not processed the operation, so it may be sent once more, whatever its method
    /// (RFC 9113 §8.7).
    fn retry_unprocessed(&mut self, slot: u32, kind: Kind, now: u64) {
        let Some(flight) = self.slots.flight(slot) else {
            return;
        };
        if flight.resent {
            return self.fail_stream(slot, kind, now);
        }
        flight.begin_retry(now);
        self.ledger.recorder.sent_again(flight.id);
        let slot = self.bring_home(slot);
        if !self.slots.must_wait(slot) {
            self.send_waiting(slot, now);
        }
    }

    /// The operation failed; its connection stays.
    pub(super) fn fail_stream(&mut self, slot: u32, kind: Kind, now: u64) {
        let stage = self.stage_of(slot);
        self.record(slot, OperationEnd::Failed(Failure { stage, kind }), now);
        self.go_on(slot, now);
    }

    /// The operation's time is up; its stream is cancelled.
    pub(super) fn cancel_stream(&mut self, slot: u32, now: u64) {
        let (seat, lane) = (self.slots.seat_of(slot), self.slots.lane_of(slot));
        let sent_at = self.slots.flight(slot).and_then(|flight| flight.sent_at);
        if let (None, Some(session)) = (sent_at, self.slots.session(seat)) {
            session.draining |= session.is_stuck();
        }
        if let (Some(sent_at), Some(connection)) = (sent_at, self.slots.connection(seat)) {
            let is_silent = connection.heard_at < sent_at;
            let Http::Two(session) = &mut connection.http else {
                return;
            };
            if !session.is_settled() {
                // It has never spoken HTTP/2, and takes nothing else before it does.
                return self.fail(slot, FailureStage::Http, Kind::TimeOut, now);
            }
            session.cancel(lane);
            // Nothing at all came since, or no stream is allowed: the next operations try another
            // connection.
            session.draining |= is_silent || (session.active() == 0 && !session.accepts());
        }
        self.dirty.push(seat);
        self.fail_stream(slot, Kind::TimeOut, now);
        let seat = self.set_aside_if_draining(seat);
        self.close_if_over(seat);
    }

    /// Closes a connection that takes no more operations and has none under way.
    fn close_if_over(&mut self, seat: u32) {
        let Some(connection) = self.slots.connection(seat) else {
            return;
        };
        let is_over = match &connection.http {
            Http::Two(session) => {
                session.active() == 0
                    && (session.draining || session.is_spent() || connection.is_full())
            }
            Http::One(_) => false,
        };
        if is_over && connection.stage == ConnectionStage::Open {
            let now = self.clock.now();
            self.close(seat);
            self.wake(seat, now);
        }
    }

    /// Slots that wait for the seat's connection go on, as far as it takes them: operations that
    /// are to be sent again first, then those that would begin.
    pub(super) fn wake(&mut self, seat: u32, now: u64) {
        if self.slots.width() == 1 && self.frames.is_none() {
            return;
        }
        for slot in self.slots.of_seat(seat) {
            if self
                .slots
                .flight(slot)
                .is_none_or(|flight| flight.sent_at.is_some())
            {
                continue;
            }
            let slot = self.bring_home(slot);
            if !self.slots.must_wait(slot) {
                self.send_waiting(slot, now);
            }
        }
        for slot in self.slots.of_seat(seat) {
            if !self.slots.is_taken(slot) && std::mem::take(&mut self.slots.slot(slot).parked) {
                // A pause, where there is one, is over for a slot that was parked.
                match self.source {
                    LoadSource::Closed(_) => self.begin_as_user(slot, now),
                    LoadSource::Open(_) => self.go_on(slot, now),
                }
            }
        }
    }

    /// The stream of `slot` is over. Where the server allows fewer streams than the seat has slots,
    /// those that wait for one have it next, in turn, before the slot's own next operation.
    pub(super) fn pass_stream_on(&mut self, slot: u32, now: u64) {
        let (seat, lane, width) = (
            self.slots.seat_of(slot),
            self.slots.lane_of(slot),
            self.slots.width(),
        );
        if !self
            .slots
            .session(seat)
            .is_some_and(|session| session.is_limited())
        {
            return;
        }
        let first = slot - lane;
        for other in (1..width).map(|after| first + (lane + after) % width) {
            if !self
                .slots
                .connection(seat)
                .is_some_and(|connection| connection.takes())
            {
                return;
            }
            let is_unsent = self
                .slots
                .flight(other)
                .map(|flight| flight.sent_at.is_none());
            match is_unsent {
                Some(true) => self.send_waiting(other, now),
                // An open loop's arrivals find the stream with `slot`.
                None if matches!(self.source, LoadSource::Closed(_))
                    && std::mem::take(&mut self.slots.slot(other).parked) =>
                {
                    self.begin_as_user(other, now);
                }
                _ => {}
            }
        }
    }

    /// Sends an operation that waited for a connection, over the one there is or a new one.
    fn send_waiting(&mut self, slot: u32, now: u64) {
        match self.slots.both(slot) {
            Some((connection, flight)) => {
                self.ledger.go_to(flight, connection.id.address);
                self.send_request(slot, now);
            }
            None => self.open(slot, now),
        }
    }

    /// The connection ended under its streams. Those that the server cannot have processed, or that
    /// may be repeated, are sent once more on a new one, instants unchanged; the others failed.
    pub(super) fn on_streams_lost(&mut self, seat: u32, kind: Kind, now: u64) {
        let Some(connection) = self.slots.connection(seat) else {
            return;
        };
        let kind = match (kind, connection.go_away) {
            (Kind::Eof, Some(code)) if code != error::NO_ERROR => Kind::GoAway(code),
            _ => kind,
        };
        let mut failed = Vec::new();
        for slot in self.slots.of_seat(seat) {
            let Some(flight) = self.slots.flight(slot) else {
                continue;
            };
            let (waits, id) = (flight.sent_at.is_none(), flight.id);
            let repeatable =
                flight.reused && !flight.resent && self.requests.request(id.request).is_idempotent;
            if !waits && repeatable && flight.first_byte_at.is_none() {
                flight.begin_retry(now);
                self.ledger.recorder.reused_closed(id);
            } else if !waits {
                let lane = self.slots.lane_of(slot);
                let in_body = self
                    .slots
                    .connection(seat)
                    .is_some_and(|connection| connection.answer(lane).status.is_some());
                let kind = if kind == Kind::Eof && in_body {
                    Kind::ShortBody
                } else {
                    kind
                };
                self.record(
                    slot,
                    OperationEnd::Failed(Failure {
                        stage: FailureStage::Http,
                        kind,
                    }),
                    now,
                );
                failed.push((slot, id));
            }
        }
        let served = self
            .slots
            .seat(seat)
            .connection
            .take()
            .is_some_and(|connection| connection.has_served);
        if let Some(&(slot, id)) = failed
            .first()
            .filter(|_| !served && !self.slots.is_busy(seat))
            && matches!(self.source, LoadSource::Closed(_))
            && self.slots.seat(seat).role == Role::Serving
        {
            failed
                .iter()
                .for_each(|&(slot, _)| self.slots.slot(slot).parked = true);
            return self.back_off(slot, id, now);
        }
        self.wake(seat, now);
        failed
            .into_iter()
            .for_each(|(slot, _)| self.go_on(slot, now));
    }
}
