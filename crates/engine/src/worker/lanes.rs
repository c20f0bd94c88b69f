//! Lanes: sending the operation of a slot on its lane, and acting on what a connection reports of
//! its lanes.

use super::{Worker, WorkerPhase};
use crate::connection::{Cancelled, RequestDeparture};
use crate::connection_key::ConnectionKey;
use crate::lane_event::LaneEvent;
use crate::live_operation::AttemptState;
use crate::seat::{Opener, SeatRole};
use measure::{CellId, Failure, FailureStage, Kind, OperationEnd};

/// Whether more frames of a connection can be sent at once.
enum Flushed {
    /// The socket took everything, and there may be more.
    All,
    /// Nothing is left, or the rest waits for the socket.
    Done,
}

impl Worker {
    /// Sends the slot's request over the open connection of its seat, or lets it wait until the
    /// peer allows one.
    #[inline]
    pub(super) fn send_request(&mut self, slot: u32, now: u64) {
        let seat = self.seats.seat_of(slot);
        let lane = self.seats.lane_of(slot);
        let user = self.seats.seat(seat).user;
        let Some((connection, operation)) = self.seats.both(slot) else {
            return; // operations are sent over existing connections only
        };
        if !connection.accepts() {
            let tried_at = operation.attempt.tried_at;
            let since = self.requests.timeout_from(operation, tried_at);
            return self.deadlines.await_answer(slot, since);
        }
        let sent_before = connection.sent_bytes();
        let request = (user, &*operation);
        let buffers = self.sender.buffers(seat);
        let departure = connection.begin(lane, &self.requests, request, buffers);
        operation.send(now, sent_before);
        let since = self.requests.timeout_from(operation, now);
        self.deadlines.await_answer(slot, since);
        match departure {
            Ok(RequestDeparture::AtOnce) => {
                if self.flush(seat) {
                    self.upload(seat);
                }
            }
            Ok(RequestDeparture::Together) => self.send_with_frames(seat),
            Ok(RequestDeparture::HeadFirst { within }) => self.send_head(slot, now, within),
            Err(fault) => self.lose(seat, fault),
        }
    }

    /// What was put into frames of the seat leaves when all that is due has been.
    #[inline]
    pub(super) fn send_with_frames(&mut self, seat: u32) {
        if self.dirty.last() != Some(&seat) {
            self.dirty.push(seat);
        }
    }

    /// Sends the head of the slot's request, whose body waits for leave.
    #[cold]
    fn send_head(&mut self, slot: u32, now: u64, within: u64) {
        let seat = self.seats.seat_of(slot);
        self.deadlines.await_leave(slot, now + within);
        let connection = self.seats.connection(seat);
        if connection.is_some_and(|connection| connection.is_shared()) {
            self.dirty.push(seat);
        } else {
            self.flush(seat);
        }
    }

    /// The time is up of an operation whose request was sent at `sent_at`. Returns whether that was
    /// only the time for which its body waited for leave, or might have.
    #[cold]
    fn stop_waiting(&mut self, slot: u32, sent_at: u64, now: u64) -> bool {
        let (seat, lane) = (self.seats.seat_of(slot), self.seats.lane_of(slot));
        let Some((connection, operation)) = self.seats.both(slot) else {
            return false;
        };
        if !connection.is_open() {
            return false; // it went as early data, and the handshake's time is up
        }
        let since = self.requests.timeout_from(operation, sent_at);
        if self.deadlines.answer_due(since) <= now {
            return false;
        }
        self.deadlines.await_answer(slot, since);
        if connection.stop_waiting(lane) {
            match connection.is_shared() {
                true => self.dirty.push(seat),
                false => self.upload(seat),
            }
        }
        true
    }

    /// Acts on what a connection reports after a read at `at`, or after its own time was up.
    pub(super) fn on_lane_events(&mut self, key: ConnectionKey, at: u64) {
        self.take_lane_events(key, at);
        let connection = self.seats.standing(key);
        // The end of an operation says by itself what becomes of a connection of one lane.
        if connection.is_some_and(|connection| connection.is_shared()) {
            self.tend(key.seat);
        }
    }

    /// Acts on the events of a connection until there are none, or it has gone.
    #[inline]
    pub(super) fn take_lane_events(&mut self, key: ConnectionKey, at: u64) {
        while let Some(connection) = self.seats.standing(key)
            && let Some(event) = connection.poll()
        {
            self.on_lane_event(key.seat, event, at);
        }
    }

    #[inline]
    fn on_lane_event(&mut self, seat: u32, event: LaneEvent, at: u64) {
        let first = self.seats.of_seat(seat).start;
        match event {
            LaneEvent::Answered { lane } => self.on_response(first + lane, at),
            LaneEvent::Events { lane } => self.on_events(first + lane, at),
            LaneEvent::FirstByte { lane } | LaneEvent::Progress { lane } => {
                self.on_progress(first + lane, at)
            }
            LaneEvent::Continued => self.upload(seat),
            LaneEvent::Opened => self.on_opened(seat),
            LaneEvent::Failed { lane, kind } => self.fail_alone(first + lane, kind),
            LaneEvent::Refused { lane, kind } => self.on_refused(first + lane, kind),
            LaneEvent::Ready => {
                let now = self.clock.now();
                self.wake(seat, now);
            }
            LaneEvent::Limited { lanes, is_first } => self.note_limit(seat, lanes, is_first),
            LaneEvent::GoingAway => self.note_going_away(seat),
            LaneEvent::Unsolicited => self.on_unsolicited(seat),
            LaneEvent::Overdue { waited } => self.on_overdue(seat, waited),
        }
    }

    /// Some of an answer has arrived at `at`: its body is counted in that second.
    fn on_progress(&mut self, slot: u32, at: u64) {
        let lane = self.seats.lane_of(slot);
        if let Some((connection, operation)) = self.seats.both(slot) {
            operation.note_first_byte(at);
            self.ledger.count_body(connection, lane, operation, at);
        }
    }

    /// Bytes came on an idle connection: it is closed, and opened again when it is needed.
    fn on_unsolicited(&mut self, seat: u32) {
        // A handshake alone, whose last message could not be sent: its loss is queued.
        if self.seats.is_seat_busy(seat) {
            return;
        }
        let now = self.clock.now();
        self.close(seat);
        self.on_idle_lost(seat, false, now);
    }

    /// The server did not close a connection that was finished; only the user's next operation
    /// depends on it.
    fn on_overdue(&mut self, seat: u32, waited: u64) {
        let now = self.clock.now();
        self.ledger.roll(now);
        if let Some(connection) = self.seats.connection(seat) {
            let id = connection.id();
            self.ledger.recorder.end_awaited(id, waited, false);
        }
        self.put_off_step(seat, waited);
        self.give_up(seat);
        self.go_on(self.seats.of_seat(seat).start, now);
    }

    /// Records that the server allows fewer lanes than the plan asks for.
    fn note_limit(&mut self, seat: u32, lanes: u32, is_first: bool) {
        let now = self.clock.now();
        self.ledger.roll(now);
        if let Some(connection) = self.seats.connection(seat) {
            let recorder = &mut self.ledger.recorder;
            recorder.count_stream_limit(connection.id(), lanes, is_first);
        }
    }

    fn note_going_away(&mut self, seat: u32) {
        let now = self.clock.now();
        self.ledger.roll(now);
        if let Some(connection) = self.seats.connection(seat) {
            self.ledger.recorder.go_away(connection.id());
        }
    }

    /// The server will not process the operation: sends it once more, whatever its method (RFC 9113
    /// §8.7).
    fn on_refused(&mut self, slot: u32, kind: Kind) {
        let now = self.clock.now();
        self.ledger.roll(now);
        let is_going_away = matches!(kind, Kind::GoAway(_));
        let seat = self.seats.seat_of(slot);
        // Its user would otherwise keep trying a server that turns away one connection after the
        // other.
        if is_going_away && self.has_users() && self.seats.seat(seat).failures > 0 {
            return self.fail_alone(slot, kind);
        }
        let Some(operation) = self.seats.operation_mut(slot) else {
            return; // its time was up before
        };
        if !is_going_away {
            self.ledger.recorder.count_refused_stream(operation.id);
        }
        if operation.is_retry() {
            return match is_going_away {
                true => self.fail_turned_away(slot, kind),
                false => self.fail_alone(slot, kind),
            };
        }
        operation.retry(now);
        self.ledger.recorder.count_resend(operation.id);
        self.send_at_home(slot, now);
    }

    /// Sends a waiting operation from its user's own seat, unless it has to wait there.
    pub(super) fn send_at_home(&mut self, slot: u32, now: u64) {
        let slot = self.bring_home(slot);
        match self.seats.must_wait(slot) {
            true => self.await_lane(slot),
            false => self.send_waiting(slot, now),
        }
    }

    /// The slot's operation waits to be sent again, and no longer for leave to send its body.
    pub(super) fn await_lane(&mut self, slot: u32) {
        // One that opens its connection has the time-out of that.
        if let Some(operation) = self.seats.operation(slot)
            && matches!(operation.attempt.state, AttemptState::Waiting)
        {
            let tried_at = operation.attempt.tried_at;
            let since = self.requests.timeout_from(operation, tried_at);
            self.deadlines.await_answer(slot, since);
        }
    }

    /// Fails the operation; its connection remains.
    fn fail_alone(&mut self, slot: u32, kind: Kind) {
        let now = self.clock.now();
        let stage = self.stage_of(slot);
        self.record(slot, failed(stage, kind), now);
        self.go_on(slot, now);
    }

    /// The same after the server has turned away connections: users who share them would otherwise
    /// open one after the other.
    fn fail_turned_away(&mut self, slot: u32, kind: Kind) {
        let sharing = self.users_who_share(&[slot]);
        let id = self.seats.operation(slot).map(|operation| operation.id);
        self.fail_alone(slot, kind);
        if let Some(id) = id {
            let now = self.clock.now();
            self.back_off_sharing(sharing, id, now);
        }
    }

    /// Handles the time-out of an operation: if the connection has other lanes, only this one is
    /// cancelled.
    pub(super) fn time_out(&mut self, slot: u32, now: u64) {
        let seat = self.seats.seat_of(slot);
        let lane = self.seats.lane_of(slot);
        let Some(operation) = self.seats.operation(slot) else {
            return; // it ended in this turn
        };
        let sent_at = operation.sent().map(|sent| sent.at);
        if sent_at.is_some() && self.on_socket_time(slot, now) {
            let seat = self.set_aside_if_draining(seat);
            return self.close_if_over(seat);
        }
        if sent_at.is_some_and(|at| self.stop_waiting(slot, at, now)) {
            return;
        }
        let opens = self.seats.seat(seat).opening_slot() == Some(slot);
        let is_for_one_name = self.is_for_one_name();
        let connection = self.seats.connection(seat);
        // Without a connection, another slot's operation is opening one.
        let cancelled = match connection {
            _ if opens => Cancelled::Connection,
            // It has carried nothing yet, and the next operation may have another name.
            Some(_) if sent_at.is_none() && is_for_one_name => Cancelled::Connection,
            Some(connection) => connection.cancel(lane, sent_at),
            None => Cancelled::Lane,
        };
        match cancelled {
            Cancelled::Connection => {
                let stage = self.stage_of(slot);
                self.fail(slot, stage, Kind::TimeOut, now)
            }
            Cancelled::Lane => {
                self.dirty.push(seat);
                self.fail_alone(slot, Kind::TimeOut);
                let seat = self.set_aside_if_draining(seat);
                self.close_if_over(seat);
            }
        }
    }

    /// Whether connections are for the operation that opens them alone, by its name.
    fn is_for_one_name(&self) -> bool {
        let tls = self.tls.as_ref();
        self.rules.requests_each == 1 && tls.is_some_and(|tls| tls.names(0).differ())
    }

    /// Looks after a shared connection once its events have been acted on: it may drain or be over,
    /// and frames wait to be sent.
    fn tend(&mut self, seat: u32) {
        let seat = self.set_aside_if_draining(seat);
        self.close_if_over(seat);
        let connection = self.seats.connection(seat);
        if connection.is_some_and(|connection| connection.is_stuck()) {
            let now = self.clock.now();
            self.wake(seat, now);
        }
        self.flush_frames(seat);
        self.renew_timer(seat);
    }

    /// Sets the connection's own timer anew.
    pub(super) fn renew_timer(&mut self, seat: u32) {
        let connection = self.seats.connection(seat);
        match connection.and_then(|connection| connection.next_timeout()) {
            Some(at) => self.connection_timers.set(seat, at),
            None => self.connection_timers.clear(seat),
        }
    }

    /// The connection's own time is up.
    pub(super) fn on_connection_timeout(&mut self, seat: u32, now: u64) {
        if let Some(connection) = self.seats.connection(seat) {
            connection.on_timeout(now);
            self.on_lane_events(self.seats.key(seat), now);
            self.renew_timer(seat);
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
        let Some(connection) = connection.filter(|one| one.is_open()) else {
            return Flushed::Done;
        };
        if connection.has_unsent() {
            // The rest waits until the socket takes more: see `on_ready`.
            if self.sender.has_outgoing(seat) {
                self.flush(seat);
            }
            return Flushed::Done;
        }
        if let Err(fault) = connection.wrap_bodies(self.sender.outgoing(seat)) {
            self.lose(seat, fault);
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

    /// Closes a connection that takes no more operations and has none under way.
    pub(super) fn close_if_over(&mut self, seat: u32) {
        let connection = self.seats.connection(seat);
        let Some(connection) = connection.filter(|connection| connection.is_over()) else {
            return;
        };
        let now = self.clock.now();
        let id = connection.id();
        // After a time-out its user has waited already.
        let is_useless = connection.is_useless();
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
            SeatRole::Abroad { .. } | SeatRole::Vacant => return false,
        };
        if self.seats.seat(home).role != SeatRole::Serving {
            return false; // it drains abroad
        }
        let next = self.seats.seat(home);
        let has_next = next.connection.is_some() || next.opener != Opener::Nobody;
        if has_next || !self.has_users() || self.phase != WorkerPhase::Firing {
            return false;
        }
        // A slot that waits for the connection has no pause of its own.
        let mut slots = self.seats.of_seat(home);
        let first = slots.start;
        let waiting = slots.find(|&slot| self.seats.is_unsent(slot));
        self.back_off(waiting.unwrap_or(first), id, now);
        true
    }

    /// Lets slots that wait for the seat's connection continue, as far as it takes them: first
    /// operations that are to be sent again, then those that would begin.
    pub(super) fn wake(&mut self, seat: u32, now: u64) {
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

    /// The lane of `slot` is free. If the server allows fewer lanes than the seat has slots,
    /// waiting slots get it next, in turn, before the slot's own next operation.
    pub(super) fn pass_lane_on(&mut self, slot: u32, now: u64) {
        let seat = self.seats.seat_of(slot);
        let lane = self.seats.lane_of(slot);
        let width = self.seats.width();
        let connection = self.seats.connection(seat);
        if !connection.is_some_and(|connection| connection.is_limited()) {
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
                // Arrivals of an open loop find the lane through `slot`.
                self.begin_as_user(other, now);
            }
        }
    }

    /// Sends an operation that waited for a connection, over the existing one or a new one.
    fn send_waiting(&mut self, slot: u32, now: u64) {
        match self.seats.both(slot) {
            Some((connection, operation)) => {
                self.ledger.go_to(operation, connection.id().address);
                self.send_request(slot, now);
            }
            None => self.open(slot, now),
        }
    }
}

pub(super) fn failed(stage: FailureStage, kind: Kind) -> OperationEnd {
    OperationEnd::Failed(Failure { stage, kind })
}
