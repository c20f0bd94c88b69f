//! Events of sockets: connected, readable, closed; and sending on them.

use super::sender::SendOutcome;
use super::{Cut, Worker};
use crate::connection::{ConnectionStage, Http, Received, TransferFault, WorkerConnection};
use crate::poller::Ready;
use crate::tls::TlsStream;
use measure::{Failure, FailureStage, Kind, OperationEnd};

/// Reads of one connection before the others, timers and orders get their turn: 2 MiB.
const READS_AT_ONCE: usize = 16;

/// A connection that was left with more to read. Being edge-triggered, the poller does not report
/// it again.
pub(super) struct Unread {
    seat: u32,
    generation: u32,
    ended: bool,
}

/// Whether a connection is to be read again at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextRead {
    AtOnce,
    /// When its socket is ready again, if the connection still exists then.
    WhenReady,
}

/// HTTP/1.1: the effect of a connection's end on the response under way.
enum ResponseLoss {
    /// The end completes it.
    Whole,
    /// The server may never have seen the request, which may be sent again.
    Unseen,
    /// The operation has failed.
    Failed(Kind),
}

impl Worker {
    /// Handles an event on the connection of `seat`.
    pub(super) fn on_ready(&mut self, seat: u32, ready: Ready) {
        let generation = self.seats.seat(seat).generation;
        if let Some(slot) = self.seats.connecting_slot(seat) {
            if ready.failed || !ready.writable {
                return self.on_connect_failed(slot, ready);
            }
            self.on_connected(slot);
        }
        // Reading comes before the rest of a request is sent: a server that answers early may have
        // reset the connection because of what is still to come.
        if ready.readable || ready.ended {
            self.read(seat, generation, ready.ended);
        }
        let connection = self.seats.standing(seat, generation);
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
        let stage = if self.tls.is_some() {
            FailureStage::Tls
        } else {
            FailureStage::Http
        };
        self.fail(slot, stage, Kind::Reset, now);
    }

    /// Continues with a connection that had more to read than one turn allows.
    pub(super) fn read_on(&mut self, unread: Unread) {
        self.read(unread.seat, unread.generation, unread.ended);
    }

    /// Reads until there is nothing more for now, or until the seat no longer has this connection.
    fn read(&mut self, seat: u32, generation: u32, ended: bool) {
        for _ in 0..READS_AT_ONCE {
            let Some(received) = self.receive(seat, generation, ended) else {
                return; // the connection has gone, and with it all that it could still deliver
            };
            let next = match received {
                Ok(received) => self.on_received(seat, generation, received),
                Err(fault) => {
                    self.on_last_answers(seat);
                    // An answer may have ended the connection, and begun the next one.
                    if self.seats.stands(seat, generation) {
                        self.on_fault(seat, fault);
                    }
                    return;
                }
            };
            // After the peer has closed there is more to read until the end itself has been read.
            let goes_on = match received {
                Ok(Received::Bytes { more, .. }) => more || ended,
                _ => false,
            };
            if next == NextRead::WhenReady || !goes_on {
                return;
            }
        }
        self.unread.push(Unread {
            seat,
            generation,
            ended,
        });
    }

    /// Reads once from the connection numbered `generation`, if it still exists.
    #[inline]
    fn receive(
        &mut self,
        seat: u32,
        generation: u32,
        ended: bool,
    ) -> Option<Result<Received, TransferFault>> {
        let owner = self.seats.owner_of_standing(seat, generation)?;
        // A seat with several slots speaks HTTP/2, where every frame names its stream.
        let expecting = self.seats.is_sent(self.seats.of_seat(seat).start);
        let user = self.seats.seat(seat).user;
        let connection = self.seats.connection(seat)?;
        if let Some(tls) = &self.tls {
            tls.sessions.select(owner, connection.id.address);
            tls.identities.select(user);
        }
        // This is the kernel's report; a close_notify in the bytes read sets it too.
        connection.peer_ended = ended;
        let before = connection.received_bytes;
        let outgoing = self.sender.outgoing(seat);
        let received = connection.receive(self.clock, &mut self.buffer, outgoing, expecting);
        let bytes = connection.received_bytes - before;
        if bytes > 0 {
            let id = connection.id;
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

    /// Acts on the outcome of a read.
    #[inline]
    fn on_received(&mut self, seat: u32, generation: u32, received: Received) -> NextRead {
        match received {
            Received::Nothing => NextRead::WhenReady,
            Received::End => {
                self.on_end(seat);
                NextRead::WhenReady
            }
            Received::Bytes {
                at,
                answered,
                closed,
                ..
            } => {
                self.on_bytes(seat, at, answered);
                if closed && self.seats.stands(seat, generation) {
                    self.on_end(seat);
                    return NextRead::WhenReady;
                }
                NextRead::AtOnce
            }
        }
    }

    /// Handles bytes that were read at `at` and processed.
    fn on_bytes(&mut self, seat: u32, at: u64, answered: bool) {
        let Some(connection) = self.seats.connection(seat) else {
            return; // nothing ends a connection between a read and this
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
                let slot = self.seats.of_seat(seat).start;
                if answered && let Some(operation) = self.seats.operation_mut(slot) {
                    operation.note_first_byte(at);
                    self.count_body(slot, at);
                }
                self.on_open_bytes(slot);
            }
            (ConnectionStage::Open, Http::Two(_)) => self.on_frames(seat, at),
            (ConnectionStage::Connecting | ConnectionStage::Ending, _) => self.sender.forget(),
        }
    }

    /// Counts what has arrived of a body.
    pub(super) fn count_body(&mut self, slot: u32, at: u64) {
        let lane = self.seats.lane_of(slot);
        if let Some((connection, operation)) = self.seats.both(slot) {
            self.ledger.count_body(connection, lane, operation, at);
        }
    }

    /// Continues the handshake. `answered` if the response to a request sent as early data has
    /// begun.
    fn on_handshake_bytes(&mut self, seat: u32, at: u64, answered: bool) {
        let is_done = self
            .seats
            .connection(seat)
            .and_then(|connection| connection.tls.as_ref())
            .is_none_or(|tls| !tls.is_handshaking());
        let opening_slot = self.seats.seat(seat).opening_slot();
        let Some(slot) = opening_slot.filter(|_| is_done) else {
            if self.sender.has_outgoing(seat) {
                self.flush(seat);
            }
            return; // the handshake continues with the server's next bytes
        };
        let now = self.clock.now();
        let generation = self.seats.seat(seat).generation;
        if answered && let Some(operation) = self.seats.operation_mut(slot) {
            operation.note_first_byte(at);
        }
        self.on_handshake(slot, now);
        self.on_taken_early(seat, generation);
        self.on_answer_ahead(seat, generation);
        let connection = self.seats.standing(seat, generation);
        if connection.is_some_and(|connection| matches!(connection.http, Http::Two(_))) {
            self.on_frames(seat, at);
        }
    }

    /// The handshake is done: the answer to early data may have arrived, and our Finished waits to
    /// be sent.
    fn on_taken_early(&mut self, seat: u32, generation: u32) {
        let connection = self.seats.standing(seat, generation);
        let tls = connection.and_then(|connection| connection.tls.as_ref());
        if tls.and_then(TlsStream::early_data) == Some(true) {
            self.on_open_bytes(self.seats.of_seat(seat).start);
        }
    }

    /// HTTP/1.1: takes an answer that came with the end of the handshake. A server may answer
    /// before it is asked, and these bytes are not reported again.
    fn on_answer_ahead(&mut self, seat: u32, generation: u32) {
        let slot = self.seats.of_seat(seat).start;
        let is_asked = self.seats.is_sent(slot);
        let connection = self.seats.standing(seat, generation).filter(|_| is_asked);
        match connection.map(WorkerConnection::take_ahead) {
            Some(Ok(true)) => {
                let now = self.clock.now();
                if let Some(operation) = self.seats.operation_mut(slot) {
                    operation.note_first_byte(now);
                }
                self.on_open_bytes(slot);
            }
            Some(Err(fault)) => self.on_fault(seat, fault),
            Some(Ok(false)) | None => {}
        }
    }

    /// HTTP/1.1, where each seat has one slot, with the same number.
    fn on_open_bytes(&mut self, slot: u32) {
        // TLS answers a key update.
        if self.sender.has_outgoing(slot) && !self.flush(slot) {
            return;
        }
        let is_busy = self.seats.is_busy(slot);
        match self.seats.connection(slot) {
            Some(connection) if is_busy && connection.is_answered() => self.on_response(slot),
            Some(connection) if !is_busy && connection.unsolicited => {
                let now = self.clock.now();
                self.close(slot);
                self.on_idle_lost(slot, false, now);
            }
            Some(_) | None => {}
        }
    }

    /// Handles the peer closing its side.
    fn on_end(&mut self, seat: u32) {
        let now = self.clock.now();
        self.ledger.roll(now);
        let slot = self.seats.of_seat(seat).start;
        let is_busy = self.seats.is_seat_busy(seat);
        let opening_slot = self.seats.seat(seat).opening_slot();
        let connection = self.seats.connection(seat);
        match connection.map(|connection| (connection.broken, connection.stage)) {
            None => {}
            Some((Some(kind), _)) => self.on_lost(seat, kind, now),
            Some((None, ConnectionStage::Connecting)) => self.fail(
                opening_slot.unwrap_or(slot),
                FailureStage::Connect,
                Kind::Reset,
                now,
            ),
            Some((None, ConnectionStage::Ending)) if is_busy => {
                self.succeed(slot, OperationEnd::Ok, now)
            }
            Some((None, _)) => self.on_lost(seat, Kind::Eof, now),
        }
    }

    /// A read or write failed.
    pub(super) fn on_fault(&mut self, seat: u32, fault: TransferFault) {
        let now = self.clock.now();
        self.ledger.roll(now);
        let (stage, kind) = match fault {
            TransferFault::Tls(kind) => (FailureStage::Tls, kind),
            TransferFault::Http(kind) => (FailureStage::Http, kind),
            TransferFault::Socket(kind) => return self.on_lost(seat, kind, now),
        };
        self.say_alert(seat);
        let connection = self.seats.connection(seat);
        let is_open = connection.is_some_and(|one| one.stage == ConnectionStage::Open);
        match self.seats.busy_slot(seat) {
            // Treated like an end of TCP: the peer's message may have crossed a request.
            Some(_) if is_open && stage == FailureStage::Tls => {
                self.on_open_lost(seat, Failure { stage, kind }, now)
            }
            Some(slot) => self.fail(slot, stage, kind, now),
            None => self.lose_idle(seat, now),
        }
    }

    /// Counts answers that came in the same read as the fault that ends the connection, before the
    /// fault; no more operations begin on it.
    fn on_last_answers(&mut self, seat: u32) {
        let at = self.clock.now();
        let slot = self.seats.of_seat(seat).start;
        let is_busy = self.seats.is_busy(slot);
        let Some(connection) = self.seats.connection(seat) else {
            return; // nothing ends a connection between a read and this
        };
        if connection.stage != ConnectionStage::Open {
            return;
        }
        connection.peer_ended = true;
        match &connection.http {
            Http::Two(_) => _ = self.act_on_happened(seat, at),
            Http::One(response) if is_busy && response.is_whole() => {
                // Anything after the answer was not asked for.
                connection.unsolicited = true;
                if let Some(operation) = self.seats.operation_mut(slot) {
                    operation.note_first_byte(at);
                }
                self.say_alert(seat);
                self.on_response(slot);
            }
            Http::One(_) => {}
        }
    }

    /// Sends what TLS and HTTP/2 still have to say before the connection goes: an alert, a GOAWAY.
    pub(super) fn say_alert(&mut self, seat: u32) {
        if self.sender.is_allowed()
            && let Some(connection) = self.seats.connection(seat)
        {
            // If TLS has failed the frames are not sent.
            let _ = connection.wrap_frames(self.sender.outgoing(seat));
            let now = self.clock.now();
            let bytes = self.sender.send_last(seat, connection);
            let id = connection.id;
            self.ledger.recorder.wire_bytes(id, now, bytes, 0);
        }
        self.sender.forget();
    }

    /// The seat's connection ended: end of stream or a reset.
    fn on_lost(&mut self, seat: u32, kind: Kind, now: u64) {
        if !self.seats.is_seat_busy(seat) {
            return self.lose_idle(seat, now);
        }
        let connection = self.seats.connection(seat);
        if connection.is_some_and(|one| one.stage == ConnectionStage::Open) {
            let stage = if self.rules.is_handshake_only() {
                FailureStage::Tls
            } else {
                FailureStage::Http
            };
            return self.on_open_lost(seat, Failure { stage, kind }, now);
        }
        let first = self.seats.of_seat(seat).start;
        let slot = self.seats.seat(seat).opening_slot().unwrap_or(first);
        let stage = self.stage_of(slot);
        self.fail(slot, stage, kind, now);
    }

    /// An open connection ended under the seat's operations.
    fn on_open_lost(&mut self, seat: u32, failure: Failure, now: u64) {
        if self.seats.session(seat).is_some() {
            self.on_streams_lost(seat, failure, now);
        } else {
            self.on_response_lost(self.seats.of_seat(seat).start, failure, now);
        }
    }

    /// HTTP/1.1: the connection ended under an operation.
    fn on_response_lost(&mut self, slot: u32, failure: Failure, now: u64) {
        match self.response_loss(slot, failure.kind, now) {
            ResponseLoss::Whole => self.on_response(slot),
            ResponseLoss::Unseen => self.retry_on_new_connection(slot, now),
            ResponseLoss::Failed(kind) => self.fail(slot, failure.stage, kind, now),
        }
    }

    fn response_loss(&mut self, slot: u32, kind: Kind, now: u64) -> ResponseLoss {
        let Some((connection, _)) = self.seats.both(slot) else {
            return ResponseLoss::Failed(kind);
        };
        if kind == Kind::Eof && connection.end_makes_whole() {
            // The peer has closed already, so there is no end to wait for.
            connection.stage = ConnectionStage::Ending;
            return ResponseLoss::Whole;
        }
        let is_short = kind == Kind::Eof && connection.is_in_body();
        if self.may_send_again(slot, now) {
            return ResponseLoss::Unseen;
        }
        ResponseLoss::Failed(if is_short { Kind::ShortBody } else { kind })
    }

    /// Whether the slot's operation, whose connection has ended, may be sent once more. That holds
    /// if the server cannot have worked on it, or only could if it closes connections within a few
    /// milliseconds of a request, and if a repetition does no harm (RFC 9110 §9.2.2).
    pub(super) fn may_send_again(&mut self, slot: u32, now: u64) -> bool {
        let Some((connection, operation)) = self.seats.both(slot) else {
            return false; // both exist until the loss has been handled
        };
        let request = self.requests.request_of(operation);
        request.is_idempotent
            && operation.may_have_crossed_the_end()
            && operation
                .sent()
                .is_some_and(|sent| connection.is_unseen(sent, now))
    }

    fn lose_idle(&mut self, seat: u32, now: u64) {
        let lost = self.seats.seat(seat).connection.take();
        let ending = lost.filter(|connection| connection.stage == ConnectionStage::Ending);
        if let Some(connection) = &ending {
            let waited = now.saturating_sub(connection.ending_at);
            self.ledger
                .recorder
                .end_awaited(connection.id, waited, true);
        }
        let awaited = ending.is_some();
        self.on_idle_lost(seat, awaited, now);
    }

    /// Handles the end of a connection without an operation: an idle one, which is opened again
    /// when it is needed, or one that was waiting for the server to close.
    fn on_idle_lost(&mut self, seat: u32, awaited: bool, now: u64) {
        let slot = self.seats.of_seat(seat).start;
        if awaited {
            self.deadlines.clear(slot);
            self.go_on(slot, now);
        }
        self.wake(seat, now);
    }

    /// Sends what waits for the seat's socket. Returns whether the connection still exists: if not,
    /// its operations have ended, and the seat may have the next one under way.
    pub(super) fn flush(&mut self, seat: u32) -> bool {
        let Some(connection) = self.seats.connection(seat) else {
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
                // Frames that are not encrypted yet have not been written either.
                if is_whole && !has_frames {
                    self.seats.note_written(seat, now);
                }
                self.ledger.count_sent(id, bytes, now);
                true
            }
            SendOutcome::Failed { bytes, kind } => {
                self.ledger.count_sent(id, bytes, now);
                self.on_send_failed(seat, kind);
                false
            }
        }
    }

    /// Handles a failed send. A reset does not overtake what the peer sent before it: an early
    /// answer or an alert counts before the failure.
    fn on_send_failed(&mut self, seat: u32, kind: Kind) {
        let generation = self.seats.seat(seat).generation;
        if let Some(connection) = self.seats.connection(seat)
            && connection.broken.replace(kind).is_none()
        {
            self.read(seat, generation, true);
        }
        if self.seats.stands(seat, generation) {
            let now = self.clock.now();
            self.on_lost(seat, kind, now);
        }
    }
}
