//! What sockets say: connected, readable, ended; and the sending side of the same.

use super::{Cut, Worker};
use crate::connection::{Connection, Fault, Received, Stage as ConnectionStage};
use crate::poller::Ready;
use measure::{Kind, Recorder, Stage, Verdict};

/// Reads of one connection before the others, timers and orders have their turn: 2 MiB.
const READS_AT_ONCE: usize = 16;

/// A connection that was left with more to read; edge-triggered, the kernel does not tell again.
pub(super) struct Unread {
    slot: u32,
    generation: u32,
    ended: bool,
}

impl Worker {
    /// Something happened on the connection of `slot`.
    pub(super) fn on_ready(&mut self, slot: u32, ready: Ready) {
        let state = &self.slots[slot as usize];
        let generation = state.generation;
        let Some(connection) = &state.connection else { return };
        if connection.stage == ConnectionStage::Connecting {
            if ready.failed || !ready.writable {
                return self.on_connect_failed(slot, ready);
            }
            self.on_connected(slot);
        }
        // Before the rest of a request is sent: a server that answers early may have reset what is still to come.
        if ready.readable || ready.ended {
            self.read(slot, generation, ready.ended);
        }
        let state = &self.slots[slot as usize];
        if state.generation == generation && state.connection.as_ref().is_some_and(|connection| connection.has_unsent()) {
            self.flush(slot);
        }
    }

    fn on_connect_failed(&mut self, slot: u32, ready: Ready) {
        let failure = self.slots[slot as usize].connection.as_ref().and_then(|connection| connection.socket.failure());
        let now = self.parts.clock.now();
        match failure {
            // A connect is refused; only a connection that stood is reset (tcp_reset() in the kernel's tcp_input.c).
            Some(Kind::Reset) => self.on_reset_at_once(slot, now),
            Some(kind) => self.fail(slot, Stage::Connect, kind, now),
            None if ready.failed => self.fail(slot, Stage::Connect, Kind::Reset, now),
            None => {}
        }
    }

    /// TCP stood, and was gone before anything could be sent.
    fn on_reset_at_once(&mut self, slot: u32, now: u64) {
        self.note_connected(slot, now);
        let stage = if self.parts.tls.is_some() { Stage::Tls } else { Stage::Http };
        self.fail(slot, stage, Kind::Reset, now);
    }

    /// Goes on with the connections that had more to read than their share.
    pub(super) fn read_on(&mut self) {
        for Unread { slot, generation, ended } in std::mem::take(&mut self.unread) {
            self.read(slot, generation, ended);
        }
    }

    /// Reads until there is nothing more for now, or the slot has another connection than this one.
    fn read(&mut self, slot: u32, generation: u32, ended: bool) {
        for _ in 0..READS_AT_ONCE {
            let state = &mut self.slots[slot as usize];
            let Some(connection) = state.connection.as_mut().filter(|_| state.generation == generation) else { return };
            if let Some(tls) = &self.parts.tls {
                tls.sessions.select(slot);
                tls.identities.select(state.user);
            }
            connection.peer_ended = ended;
            let before = connection.received_bytes;
            let expecting = state.flight.is_some_and(|flight| flight.sent_at.is_some());
            let received = connection.receive(self.parts.clock, &mut self.buffer, &mut self.outgoing, expecting);
            let (id, bytes) = (connection.id, connection.received_bytes - before);
            if bytes > 0 {
                let now = self.parts.clock.now();
                self.roll(now);
                self.parts.recorder.wire_bytes(id, 0, bytes);
            }
            match received {
                Err(fault) => return self.on_fault(slot, fault),
                Ok(Received::Nothing) => return,
                Ok(Received::End) => return self.on_end(slot),
                Ok(Received::Bytes { at, answered, more, closed }) => {
                    self.on_bytes(slot, at, answered);
                    if closed && self.slots[slot as usize].generation == generation {
                        return self.on_end(slot);
                    }
                    if !more && !ended {
                        return;
                    }
                }
            }
        }
        self.unread.push(Unread { slot, generation, ended });
    }

    /// Bytes were read at `at` and digested.
    fn on_bytes(&mut self, slot: u32, at: u64, answered: bool) {
        let state = &mut self.slots[slot as usize];
        let Some(connection) = &mut state.connection else { return };
        if let Some(tls) = &self.parts.tls {
            let number = tls.sessions.take_received();
            if number > 0 {
                self.parts.recorder.sessions_received(connection.id, number);
            }
        }
        match connection.stage {
            ConnectionStage::Handshaking => self.on_handshake_bytes(slot),
            ConnectionStage::Open => {
                if answered && let Some(flight) = &mut state.flight {
                    flight.first_byte_at.get_or_insert(at);
                }
                self.on_open_bytes(slot);
            }
            ConnectionStage::Connecting | ConnectionStage::Ending => self.outgoing.clear(),
        }
    }

    fn on_handshake_bytes(&mut self, slot: u32) {
        let connection = self.slots[slot as usize].connection.as_ref();
        let handshaking = connection.and_then(|connection| connection.tls.as_ref()).is_some_and(|tls| tls.is_handshaking());
        if !handshaking {
            let now = self.parts.clock.now();
            self.on_handshake(slot, now);
        } else if !self.outgoing.is_empty() {
            self.flush(slot);
        }
    }

    fn on_open_bytes(&mut self, slot: u32) {
        // TLS answers a key update.
        if !self.outgoing.is_empty() && !self.flush(slot) {
            return;
        }
        let state = &mut self.slots[slot as usize];
        let Some(connection) = &state.connection else { return };
        if state.flight.is_some() {
            if connection.response.is_whole() {
                self.on_response(slot);
            }
        } else if connection.unsolicited {
            let now = self.parts.clock.now();
            self.close(slot);
            self.on_idle_lost(slot, false, now);
        }
    }

    /// The peer has ended its side.
    fn on_end(&mut self, slot: u32) {
        let now = self.parts.clock.now();
        self.roll(now);
        let state = &self.slots[slot as usize];
        let Some(connection) = &state.connection else { return };
        if let Some(kind) = connection.broken {
            return self.on_lost(slot, kind, now);
        }
        match connection.stage {
            ConnectionStage::Connecting => self.fail(slot, Stage::Connect, Kind::Reset, now),
            ConnectionStage::Ending if state.flight.is_some() => self.succeed(slot, Verdict::Ok, now),
            ConnectionStage::Handshaking | ConnectionStage::Open | ConnectionStage::Ending => self.on_lost(slot, Kind::Eof, now),
        }
    }

    /// A read or write failed.
    pub(super) fn on_fault(&mut self, slot: u32, fault: Fault) {
        let now = self.parts.clock.now();
        self.roll(now);
        let (stage, kind) = match fault {
            Fault::Tls(kind) => (Stage::Tls, kind),
            Fault::Framing => (Stage::Http, Kind::BadFraming),
            Fault::Socket(kind) => return self.on_lost(slot, kind, now),
        };
        self.say_alert(slot);
        if self.slots[slot as usize].flight.is_some() {
            self.fail(slot, stage, kind, now);
        } else {
            self.lose_idle(slot, now);
        }
    }

    /// The alert that TLS wants to send goes out before the connection goes.
    fn say_alert(&mut self, slot: u32) {
        if let Some(connection) = &mut self.slots[slot as usize].connection
            && self.parts.lease.holds()
        {
            send_last(&mut self.parts.recorder, connection, &mut self.outgoing);
        }
        self.outgoing.clear();
    }

    /// The connection ended under the slot: end of stream or a reset.
    fn on_lost(&mut self, slot: u32, kind: Kind, now: u64) {
        let stage = self.stage_of(slot);
        let state = &mut self.slots[slot as usize];
        let Some(flight) = state.flight else { return self.lose_idle(slot, now) };
        let Some(connection) = state.connection.as_mut().filter(|connection| connection.stage == ConnectionStage::Open) else {
            return self.fail(slot, stage, kind, now);
        };
        if kind == Kind::Eof && connection.response.ended() {
            // The end has come: there is none to wait for.
            connection.stage = ConnectionStage::Ending;
            return self.on_response(slot);
        }
        let idempotent = self.requests.of(flight.id.request).is_idempotent;
        if flight.reused && flight.first_byte_at.is_none() && !flight.resent && idempotent {
            return self.resend(slot, now);
        }
        let short = kind == Kind::Eof && connection.response.in_body();
        self.fail(slot, stage, if short { Kind::ShortBody } else { kind }, now);
    }

    fn lose_idle(&mut self, slot: u32, now: u64) {
        let lost = self.slots[slot as usize].connection.take();
        let awaited = lost.is_some_and(|connection| connection.stage == ConnectionStage::Ending);
        self.on_idle_lost(slot, awaited, now);
    }

    /// A connection without an operation is gone: an idle one, which is opened again when it is needed, or one whose end
    /// was awaited.
    fn on_idle_lost(&mut self, slot: u32, awaited: bool, now: u64) {
        if awaited {
            self.deadlines.clear(slot);
            self.go_on(slot, now);
        }
    }

    /// Sends what waits in `outgoing`. Whether the connection still stands: where it does not, its operation has ended, and
    /// the slot may have the next one under way.
    pub(super) fn flush(&mut self, slot: u32) -> bool {
        if !self.parts.lease.holds() {
            self.outgoing.clear();
            let now = self.parts.clock.now();
            self.cut_all(Cut::LeaseExpired, now);
            return false;
        }
        let state = &mut self.slots[slot as usize];
        let Some(connection) = &mut state.connection else {
            self.outgoing.clear();
            return false;
        };
        let before = connection.sent_bytes;
        let sent = connection.send(&mut self.outgoing);
        let (id, bytes) = (connection.id, connection.sent_bytes - before);
        let now = self.parts.clock.now();
        if let (Ok(true), Some(flight)) = (&sent, &mut state.flight)
            && flight.sent_at.is_some()
        {
            flight.written_at.get_or_insert(now);
        }
        self.roll(now);
        self.parts.recorder.wire_bytes(id, bytes, 0);
        match sent {
            Ok(_) => true,
            Err(kind) => {
                self.on_send_failed(slot, kind);
                false
            }
        }
    }

    /// A reset overtakes nothing that the peer said before it: an early answer or an alert counts before the failure.
    fn on_send_failed(&mut self, slot: u32, kind: Kind) {
        let state = &mut self.slots[slot as usize];
        let generation = state.generation;
        let Some(connection) = &mut state.connection else { return };
        if connection.broken.replace(kind).is_none() {
            self.read(slot, generation, true);
        }
        let state = &self.slots[slot as usize];
        if state.generation == generation && state.connection.is_some() {
            let now = self.parts.clock.now();
            self.on_lost(slot, kind, now);
        }
    }
}

/// Sends the last words on a connection that is given up, as far as the socket takes them at once.
pub(super) fn send_last(recorder: &mut Recorder, connection: &mut Connection, words: &mut Vec<u8>) {
    let before = connection.sent_bytes;
    let _ = connection.send(words);
    recorder.wire_bytes(connection.id, connection.sent_bytes - before, 0);
}
