//! Events of sockets: connected, readable, writable; and sending on them.

use super::Worker;
use super::losses::Loss;
use super::sender::SendOutcome;
use crate::connection::{Received, TlsReply, TransferFault};
use crate::connection_key::ConnectionKey;
use crate::poller::Ready;
use measure::{FailureStage, Kind};

/// Reads of one connection before the others, timers and orders get their turn: 2 MiB.
const READS_AT_ONCE: usize = 16;

/// A connection that was left with more to read. Being edge-triggered, the poller does not report
/// it again.
pub(super) struct Unread {
    key: ConnectionKey,
    ended: bool,
}

impl Worker {
    /// Handles an event on the connection's socket.
    pub(super) fn on_ready(&mut self, key: ConnectionKey, ready: Ready) {
        let seat = key.seat;
        if let Some(slot) = self.seats.connecting_slot(seat) {
            if ready.failed || !ready.writable {
                return self.on_connect_failed(slot, ready);
            }
            self.on_connected(slot);
        }
        // Reading comes before the rest of a request is sent: a server that answers early may have
        // reset the connection because of what is still to come.
        if ready.readable || ready.ended {
            self.read(key, ready.ended);
        }
        let connection = self.seats.standing(key);
        if connection.is_some_and(|connection| connection.has_unsent()) {
            if self.flush(seat) {
                self.upload(seat);
            }
            self.dirty.push(seat);
        }
    }

    fn on_connect_failed(&mut self, slot: u32, ready: Ready) {
        let seat = self.seats.seat_of(slot);
        let connection = self.seats.connection(seat);
        let failure = connection.and_then(|connection| connection.failure());
        let now = self.clock.now();
        match failure {
            // A connect is refused, never reset: only an established connection is reset
            // (tcp_reset() in the kernel's tcp_input.c).
            Some(Kind::Reset) => self.on_reset_at_once(slot, now),
            Some(kind) => self.fail(slot, FailureStage::Connect, kind, now),
            None if ready.failed => self.fail(slot, FailureStage::Connect, Kind::Reset, now),
            None => {}
        }
    }

    /// TCP was established, and gone before anything could be sent.
    fn on_reset_at_once(&mut self, slot: u32, now: u64) {
        self.note_connected(slot, now);
        let stage = if self.encrypts(self.seats.seat_of(slot)) {
            FailureStage::Tls
        } else {
            FailureStage::Http
        };
        self.fail(slot, stage, Kind::Reset, now);
    }

    /// Continues with a connection that had more to read than one turn allows.
    pub(super) fn read_on(&mut self, unread: Unread) {
        self.read(unread.key, unread.ended);
    }

    /// Reads until there is nothing more for now, or until the connection has gone.
    pub(super) fn read(&mut self, key: ConnectionKey, ended: bool) {
        for _ in 0..READS_AT_ONCE {
            let Some(received) = self.receive(key, ended) else {
                return; // the connection has gone, and with it all that it could still deliver
            };
            match received {
                Ok(Received::Nothing) => return,
                Ok(Received::End) => return self.on_end(key.seat),
                Ok(Received::Bytes { at, more, closed }) => {
                    self.on_bytes(key, at);
                    if closed && self.seats.stands(key) {
                        return self.on_end(key.seat);
                    }
                    // After the peer has closed there is more to read until the end itself has
                    // been read.
                    if !closed && !more && !ended {
                        return;
                    }
                }
                Err(fault) => {
                    self.on_last_answers(key);
                    // An answer may have ended the connection, and begun the next one.
                    if self.seats.stands(key) {
                        self.on_fault(key.seat, fault);
                    }
                    return;
                }
            }
        }
        self.unread.push(Unread { key, ended });
    }

    /// Reads once from the connection, if it still exists.
    #[inline]
    fn receive(
        &mut self,
        key: ConnectionKey,
        ended: bool,
    ) -> Option<Result<Received, TransferFault>> {
        let seat = key.seat;
        let owner = self.seats.owner_of_standing(key)?;
        let user = self.seats.seat(seat).user;
        let connection = self.seats.connection(seat)?;
        let id = connection.id();
        if let Some(tls) = &self.tls {
            tls.sessions.select(owner, id.address);
            tls.identities.select(user);
        }
        let before = connection.received_bytes();
        let outgoing = self.sender.outgoing(seat);
        let received = connection.receive(self.clock, &mut self.buffer, outgoing, ended);
        let bytes = connection.received_bytes() - before;
        if bytes > 0 {
            let at = match received {
                Ok(Received::Bytes { at, .. }) => at,
                _ => self.clock.now(),
            };
            self.ledger.roll(at);
            self.ledger.recorder.wire_bytes(id, at, 0, bytes);
            self.note_lag(at);
        }
        Some(received)
    }

    /// Handles bytes that were read at `at` and processed.
    fn on_bytes(&mut self, key: ConnectionKey, at: u64) {
        let seat = key.seat;
        let Some(connection) = self.seats.connection(seat) else {
            return; // nothing ends a connection between a read and this
        };
        if let Some(tls) = &self.tls {
            let number = tls.sessions.take_received();
            if number > 0 {
                self.ledger
                    .recorder
                    .sessions_received(connection.id(), number);
            }
        }
        if self.sender.has_outgoing(seat) {
            match connection.tls_reply() {
                // Now, because operations that begin below need the buffer.
                TlsReply::AtOnce => _ = self.flush(seat),
                TlsReply::WithRequest => {}
                TlsReply::Never => self.sender.forget(),
            }
        }
        self.on_lane_events(key, at);
    }

    /// Sends what waits for the seat's socket. Returns whether the socket is in order. If it is
    /// not, that is acted on once the event at hand has been handled: see [`Worker::settle`].
    #[inline]
    pub(super) fn flush(&mut self, seat: u32) -> bool {
        let Some(connection) = self.seats.connection(seat) else {
            self.sender.forget();
            return false;
        };
        let id = connection.id();
        let outcome = self.sender.send(seat, connection);
        let has_frames = connection.has_frames();
        let now = self.clock.now();
        match outcome {
            SendOutcome::LeaseExpired => {
                self.lose_lease(now);
                false
            }
            SendOutcome::Sent { bytes, is_whole } => {
                // Frames that are not encrypted yet have not been written either.
                if is_whole && !has_frames {
                    self.seats.note_written(seat, now);
                }
                self.ledger.count_sent(id, bytes, now);
                true
            }
            SendOutcome::Failed { bytes, kind } => {
                self.ledger.count_sent(id, bytes, now);
                let key = self.seats.key(seat);
                let fault = TransferFault::Socket(kind);
                self.losses.push_back(Loss::Connection(key, fault));
                false
            }
        }
    }
}
