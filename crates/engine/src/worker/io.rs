//! What sockets say: connected, readable, ended; and the sending side of the same.

use super::sender::SendOutcome;
use super::{Cut, Worker};
use crate::connection::{ConnectionFault, ConnectionStage, Http, Received, WorkerConnection};
use crate::poller::Ready;
use crate::tls::TlsStream;
use measure::{CellId, FailureStage, Kind, OperationEnd};

/// Reads of one connection before the others, timers and orders have their turn: 2 MiB.
const READS_AT_ONCE: usize = 16;

/// A connection that was left with more to read; edge-triggered, the kernel does not tell again.
pub(super) struct Unread {
    seat: u32,
    generation: u32,
    ended: bool,
}

impl Worker {
    /// Something happened on the connection of `seat`.
    pub(super) fn on_ready(&mut self, seat: u32, ready: Ready) {
        let state = self.slots.seat(seat);
        let (generation, opener) = (state.generation, state.opener);
        let Some(connection) = &state.connection else {
            return;
        };
        if connection.stage == ConnectionStage::Connecting {
            let Some(slot) = opener else { return };
            if ready.failed || !ready.writable {
                return self.on_connect_failed(slot, ready);
            }
            self.on_connected(slot);
        }
        // Before the rest of a request is sent: a server that answers early may have reset what is
        // still to come.
        if ready.readable || ready.ended {
            self.read(seat, generation, ready.ended);
        }
        if self.slots.stands(seat, generation)
            && self
                .slots
                .connection(seat)
                .is_some_and(|connection| connection.has_unsent())
        {
            if self.flush(seat) {
                self.upload(seat);
            }
            self.dirty.push(seat);
        }
    }

    fn on_connect_failed(&mut self, slot: u32, ready: Ready) {
        let seat = self.slots.seat_of(slot);
        let failure = self
            .slots
            .connection(seat)
            .and_then(|connection| connection.socket.failure());
        let now = self.clock.now();
        match failure {
            // A connect is refused; only a connection that stood is reset (tcp_reset() in the
            // kernel's tcp_input.c).
            Some(Kind::Reset) => self.on_reset_at_once(slot, now),
            Some(kind) => self.fail(slot, FailureStage::Connect, kind, now),
            None if ready.failed => self.fail(slot, FailureStage::Connect, Kind::Reset, now),
            None => {}
        }
    }

    /// TCP stood, and was gone before anything could be sent.
    fn on_reset_at_once(&mut self, slot: u32, now: u64) {
        self.note_connected(slot, now);
        let stage = if self.tls.is_some() {
            FailureStage::Tls
        } else {
            FailureStage::Http
        };
        self.fail(slot, stage, Kind::Reset, now);
    }

    /// Goes on with the connections that had more to read than their share.
    pub(super) fn read_on(&mut self) {
        for Unread {
            seat,
            generation,
            ended,
        } in std::mem::take(&mut self.unread)
        {
            self.read(seat, generation, ended);
        }
    }

    /// Reads until there is nothing more for now, or the seat has another connection than this one.
    fn read(&mut self, seat: u32, generation: u32, ended: bool) {
        for _ in 0..READS_AT_ONCE {
            if !self.slots.stands(seat, generation) {
                return;
            }
            let owner = self.slots.owner(seat);
            if let (Some(tls), Some(connection)) = (&self.tls, self.slots.connection(seat)) {
                tls.sessions.select(owner, connection.id.address);
                tls.identities.select(self.slots.seat(seat).user);
            }
            // With several slots it is HTTP/2, where every frame names its stream.
            let first = self.slots.of_seat(seat).start;
            let expecting = self
                .slots
                .flight(first)
                .is_some_and(|flight| flight.sent_at.is_some());
            let Some(connection) = self.slots.connection(seat) else {
                return;
            };
            connection.peer_ended = ended;
            let before = connection.received_bytes;
            let received = connection.receive(
                self.clock,
                &mut self.buffer,
                self.sender.outgoing(seat),
                expecting,
            );
            let (id, bytes) = (connection.id, connection.received_bytes - before);
            if bytes > 0 {
                let at = if let Ok(Received::Bytes { at, .. }) = received {
                    at
                } else {
                    self.clock.now()
                };
                self.ledger.roll(at);
                self.ledger.recorder.wire_bytes(id, at, 0, bytes);
                self.note_lag(at);
            }
            match received {
                Err(fault) => {
                    self.on_last_frames(seat);
                    return self.on_fault(seat, fault);
                }
                Ok(Received::Nothing) => return,
                Ok(Received::End) => return self.on_end(seat),
                Ok(Received::Bytes {
                    at,
                    answered,
                    more,
                    closed,
                }) => {
                    self.on_bytes(seat, at, answered);
                    if closed && self.slots.stands(seat, generation) {
                        return self.on_end(seat);
                    }
                    if !more && !ended {
                        return;
                    }
                }
            }
        }
        self.unread.push(Unread {
            seat,
            generation,
            ended,
        });
    }

    /// Bytes were read at `at` and digested.
    fn on_bytes(&mut self, seat: u32, at: u64, answered: bool) {
        let Some(connection) = self.slots.connection(seat) else {
            return;
        };
        if let Some(tls) = &self.tls {
            let number = tls.sessions.take_received();
            if number > 0 {
                self.ledger
                    .recorder
                    .sessions_received(connection.id, number);
            }
        }
        match (connection.stage, &connection.http) {
            (ConnectionStage::Handshaking, _) => self.on_handshake_bytes(seat, at, answered),
            (ConnectionStage::Open, Http::One(_)) => {
                let slot = self.slots.of_seat(seat).start;
                if answered && let Some(flight) = self.slots.flight(slot) {
                    flight.first_byte_at.get_or_insert(at);
                    self.count_body(slot, at);
                }
                self.on_open_bytes(slot);
            }
            (ConnectionStage::Open, Http::Two(_)) => self.on_frames(seat, at),
            (ConnectionStage::Connecting | ConnectionStage::Ending, _) => self.sender.forget(),
        }
    }

    /// Bytes of a body that goes on count in the second in which they come, not in that of its end.
    pub(super) fn count_body(&mut self, slot: u32, at: u64) {
        let lane = self.slots.lane_of(slot);
        let Some((connection, flight)) = self.slots.both(slot) else {
            return;
        };
        if matches!(&connection.http, Http::One(response) if response.is_whole()) {
            return;
        }
        let came = connection.answer(lane).body_bytes;
        let new = came.saturating_sub(std::mem::replace(&mut flight.payload_counted, came));
        if new > 0 {
            self.ledger.recorder.payload(flight.id, at, new);
        }
    }

    /// `answered` where the response to a request that went out as early data has begun to come.
    fn on_handshake_bytes(&mut self, seat: u32, at: u64, answered: bool) {
        let tls = self
            .slots
            .connection(seat)
            .and_then(|connection| connection.tls.as_ref());
        let handshaking = tls.is_some_and(|tls| tls.is_handshaking());
        if let Some(slot) = self.slots.seat(seat).opener.filter(|_| !handshaking) {
            let (now, generation) = (self.clock.now(), self.slots.seat(seat).generation);
            if answered && let Some(flight) = self.slots.flight(slot) {
                flight.first_byte_at.get_or_insert(at);
            }
            self.on_handshake(slot, now);
            self.on_taken_early(seat, generation);
            self.on_answer_ahead(seat, generation);
            let is_http2 =
                |connection: &mut WorkerConnection| matches!(connection.http, Http::Two(_));
            if self.slots.stands(seat, generation)
                && self.slots.connection(seat).is_some_and(is_http2)
            {
                self.on_frames(seat, at);
            }
        } else if self.sender.has_outgoing(seat) {
            self.flush(seat);
        }
    }

    /// The handshake is done: what early data was answered with may be here, and our Finished waits
    /// to go out.
    fn on_taken_early(&mut self, seat: u32, generation: u32) {
        if !self.slots.stands(seat, generation) {
            return;
        }
        let tls = self
            .slots
            .connection(seat)
            .and_then(|connection| connection.tls.as_ref());
        if tls.and_then(TlsStream::early_data) == Some(true) {
            self.on_open_bytes(self.slots.of_seat(seat).start);
        }
    }

    /// HTTP/1.1: a server may answer before it is asked, and what came with the end of the
    /// handshake comes but once.
    fn on_answer_ahead(&mut self, seat: u32, generation: u32) {
        let slot = self.slots.of_seat(seat).start;
        let is_asked = self
            .slots
            .flight(slot)
            .is_some_and(|flight| flight.sent_at.is_some());
        if !is_asked || !self.slots.stands(seat, generation) {
            return;
        }
        match self
            .slots
            .connection(seat)
            .map(WorkerConnection::take_ahead)
        {
            Some(Ok(true)) => {
                let now = self.clock.now();
                if let Some(flight) = self.slots.flight(slot) {
                    flight.first_byte_at.get_or_insert(now);
                }
                self.on_open_bytes(slot);
            }
            Some(Err(fault)) => self.on_fault(seat, fault),
            Some(Ok(false)) | None => {}
        }
    }

    /// HTTP/1.1, where slot and seat are one.
    fn on_open_bytes(&mut self, slot: u32) {
        // TLS answers a key update.
        if self.sender.has_outgoing(slot) && !self.flush(slot) {
            return;
        }
        let is_flying = self.slots.is_flying(slot);
        let Some(connection) = self.slots.connection(slot) else {
            return;
        };
        if is_flying {
            if matches!(&connection.http, Http::One(response) if response.is_whole()) {
                self.on_response(slot);
            }
        } else if connection.unsolicited {
            let now = self.clock.now();
            self.close(slot);
            self.on_idle_lost(slot, false, now);
        }
    }

    /// The peer has ended its side.
    fn on_end(&mut self, seat: u32) {
        let now = self.clock.now();
        self.ledger.roll(now);
        let (slot, is_busy) = (self.slots.of_seat(seat).start, self.slots.is_busy(seat));
        let opener = self.slots.seat(seat).opener;
        let Some(connection) = self.slots.connection(seat) else {
            return;
        };
        if let Some(kind) = connection.broken {
            return self.on_lost(seat, kind, now);
        }
        match connection.stage {
            ConnectionStage::Connecting => self.fail(
                opener.unwrap_or(slot),
                FailureStage::Connect,
                Kind::Reset,
                now,
            ),
            ConnectionStage::Ending if is_busy => self.succeed(slot, OperationEnd::Ok, now),
            ConnectionStage::Handshaking | ConnectionStage::Open | ConnectionStage::Ending => {
                self.on_lost(seat, Kind::Eof, now)
            }
        }
    }

    /// A read or write failed.
    pub(super) fn on_fault(&mut self, seat: u32, fault: ConnectionFault) {
        let now = self.clock.now();
        self.ledger.roll(now);
        let (stage, kind) = match fault {
            ConnectionFault::Tls(kind) => (FailureStage::Tls, kind),
            ConnectionFault::Http(why) => (FailureStage::Http, why.kind()),
            ConnectionFault::Socket(kind) => return self.on_lost(seat, kind, now),
        };
        self.say_alert(seat);
        match self
            .slots
            .of_seat(seat)
            .find(|&slot| self.slots.is_flying(slot))
        {
            Some(slot) => self.fail(slot, stage, kind, now),
            None => self.lose_idle(seat, now),
        }
    }

    /// What TLS and HTTP/2 want to say goes out before the connection goes: an alert, a GOAWAY.
    pub(super) fn say_alert(&mut self, seat: u32) {
        if self.sender.is_allowed()
            && let Some(connection) = self.slots.connection(seat)
        {
            // What cannot be wrapped any more is not said.
            let _ = connection.wrap_frames(self.sender.outgoing(seat));
            let now = self.clock.now();
            let bytes = self.sender.send_last(seat, connection);
            let id = connection.id;
            self.ledger.recorder.wire_bytes(id, now, bytes, 0);
        }
        self.sender.forget();
    }

    /// The connection ended under the seat: end of stream or a reset.
    fn on_lost(&mut self, seat: u32, kind: Kind, now: u64) {
        if !self.slots.is_busy(seat) {
            return self.lose_idle(seat, now);
        }
        let opener = self.slots.seat(seat).opener;
        match self
            .slots
            .connection(seat)
            .map(|connection| (connection.stage, &connection.http))
        {
            Some((ConnectionStage::Open, Http::Two(_))) => self.on_streams_lost(seat, kind, now),
            Some((ConnectionStage::Open, Http::One(_))) => self.on_response_lost(seat, kind, now),
            _ => {
                let slot = opener.unwrap_or(self.slots.of_seat(seat).start);
                let stage = self.stage_of(slot);
                self.fail(slot, stage, kind, now);
            }
        }
    }

    /// HTTP/1.1: the connection ended under an operation.
    fn on_response_lost(&mut self, slot: u32, kind: Kind, now: u64) {
        let Some((connection, flight)) = self.slots.both(slot) else {
            return;
        };
        let is_meant = connection.is_end_meant();
        let Http::One(response) = &mut connection.http else {
            return;
        };
        if kind == Kind::Eof && is_meant && response.ended() {
            // The end has come: there is none to wait for.
            connection.stage = ConnectionStage::Ending;
            return self.on_response(slot);
        }
        let short = kind == Kind::Eof && response.in_body();
        let idempotent = self.requests.request(flight.id.request).is_idempotent;
        if flight.reused && flight.first_byte_at.is_none() && !flight.resent && idempotent {
            return self.retry_on_new_connection(slot, now);
        }
        let stage = self.stage_of(slot);
        self.fail(slot, stage, if short { Kind::ShortBody } else { kind }, now);
    }

    fn lose_idle(&mut self, seat: u32, now: u64) {
        let lost = self.slots.seat(seat).connection.take();
        let ending = lost.filter(|connection| connection.stage == ConnectionStage::Ending);
        if let Some(connection) = &ending {
            self.ledger.recorder.end_awaited(
                connection.id,
                now.saturating_sub(connection.ending_at),
                true,
            );
        }
        let awaited = ending.is_some();
        self.on_idle_lost(seat, awaited, now);
    }

    /// A connection without an operation is gone: an idle one, which is opened again when it is
    /// needed, or one whose end was awaited.
    fn on_idle_lost(&mut self, seat: u32, awaited: bool, now: u64) {
        let slot = self.slots.of_seat(seat).start;
        if awaited {
            self.deadlines.clear(slot);
            self.go_on(slot, now);
        }
        self.wake(seat, now);
    }

    /// Sends what waits for the seat's socket. Whether the connection still stands: where it does
    /// not, its operations have ended, and the seat may have the next one under way.
    pub(super) fn flush(&mut self, seat: u32) -> bool {
        let Some(connection) = self.slots.connection(seat) else {
            self.sender.forget();
            return false;
        };
        let id = connection.id;
        let outcome = self.sender.send(seat, connection);
        let has_frames = connection.has_frames();
        let now = self.clock.now();
        match outcome {
            SendOutcome::LeaseExpired => {
                self.cut_all(Cut::LeaseExpired, now);
                false
            }
            SendOutcome::Sent { bytes, is_whole } => {
                // Frames that are not encrypted yet are not written either.
                if is_whole && !has_frames {
                    self.note_written(seat, now);
                }
                self.count_sent(id, bytes, now);
                true
            }
            SendOutcome::Failed { bytes, kind } => {
                self.count_sent(id, bytes, now);
                self.on_send_failed(seat, kind);
                false
            }
        }
    }

    fn count_sent(&mut self, id: CellId, bytes: u64, now: u64) {
        self.ledger.roll(now);
        self.ledger.recorder.wire_bytes(id, now, bytes, 0);
    }

    /// Requests that were under way to the socket have all been taken by it, but for bodies that
    /// HTTP/2's windows hold back.
    fn note_written(&mut self, seat: u32, now: u64) {
        let mut index = 0;
        while let Some(slot) = self
            .slots
            .connection(seat)
            .and_then(|connection| connection.unwritten.get(index).copied())
        {
            let lane = self.slots.lane_of(slot);
            let Some(connection) = self
                .slots
                .connection(seat)
                .filter(|connection| connection.is_sent(lane))
            else {
                index += 1;
                continue;
            };
            connection.unwritten.swap_remove(index);
            if let Some(flight) = self
                .slots
                .flight(slot)
                .filter(|flight| flight.sent_at.is_some())
            {
                flight.written_at.get_or_insert(now);
            }
        }
    }

    /// A reset overtakes nothing that the peer said before it: an early answer or an alert counts
    /// before the failure.
    fn on_send_failed(&mut self, seat: u32, kind: Kind) {
        let generation = self.slots.seat(seat).generation;
        let Some(connection) = self.slots.connection(seat) else {
            return;
        };
        if connection.broken.replace(kind).is_none() {
            self.read(seat, generation, true);
        }
        if self.slots.stands(seat, generation) {
            let now = self.clock.now();
            self.on_lost(seat, kind, now);
        }
    }
}
