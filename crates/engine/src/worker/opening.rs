//! How an operation opens its connection: lookup, connect, handshake.

use super::{Cut, Worker, go_to};
use crate::connection::{Connection, Http, Stage as ConnectionStage};
use crate::endpoints::Next;
use crate::http2::Http2Connection;
use crate::resolver::Question;
use crate::response::ResponseParser;
use crate::slot::{Early, Flight, token};
use crate::socket::Socket;
use crate::source::nanoseconds;
use crate::tls::{Broken, FRAGMENT, TlsStream};
use measure::{FailureStage, Handshake, HandshakeKind, Kind, OperationEnd};
use plan::Close;
use std::net::SocketAddr;

/// What ALPN calls HTTP/2 over TLS (RFC 9113 §3.2).
const H2: &str = "h2";

impl Worker {
    /// Opens a connection for the slot's operation; its seat's other slots wait for it.
    pub(super) fn open(&mut self, slot: u32, now: u64) {
        let seat = self.slots.seat_of(slot);
        let state = self.slots.seat(seat);
        (state.opener, state.waiter) = (Some(slot), None);
        let flight = self.flight(slot);
        flight.tried_at = now;
        let begun_at = flight.begun_at;
        let issuer = self.issuer(seat);
        match self.parts.endpoints.next(
            Question {
                slot,
                begun_at,
                issuer,
            },
            now,
        ) {
            Ok(Next::Connect(address)) => self.connect(slot, address, now),
            Ok(Next::Wait) => {
                self.flight(slot).resolving = true;
                self.deadlines.set(
                    slot,
                    now + nanoseconds(self.parts.plan.connection().timeouts.connect),
                );
            }
            Err(kind) => self.fail(slot, FailureStage::Dns, kind, now),
        }
    }

    /// Who issued the session that the seat's next connection offers; 0 where it offers none. That
    /// it is settled before the address is known lets every address be offered the sessions of
    /// every other one.
    fn issuer(&mut self, seat: u32) -> u16 {
        if self
            .parts
            .tls
            .as_ref()
            .is_none_or(|tls| tls.offering_share == 0.0)
        {
            return 0;
        }
        let offering = self
            .slots
            .seat(seat)
            .offering
            .unwrap_or_else(|| self.offers());
        self.slots.seat(seat).offering = Some(offering);
        let owner = self.slots.owner(seat);
        self.parts
            .tls
            .as_ref()
            .filter(|_| offering)
            .map_or(0, |tls| tls.sessions.issuer(owner))
    }

    /// A lookup has ended; an operation that gave up waiting is not concerned any more, nor is the
    /// one after it.
    pub(super) fn on_resolved(
        &mut self,
        question: Question,
        found: Result<SocketAddr, Kind>,
        now: u64,
    ) {
        let Question { slot, begun_at, .. } = question;
        let Some(flight) = self
            .slots
            .flight(slot)
            .filter(|flight| flight.begun_at == begun_at)
        else {
            return;
        };
        if !std::mem::take(&mut flight.resolving) {
            return;
        }
        flight.dns = Some(now.saturating_sub(flight.tried_at));
        match found {
            Ok(address) => self.connect(slot, address, now),
            Err(kind) => self.fail(slot, FailureStage::Dns, kind, now),
        }
    }

    fn connect(&mut self, slot: u32, address: SocketAddr, now: u64) {
        if !self.parts.lease.holds() {
            return self.cut_all(Cut::LeaseExpired, now);
        }
        let index = self.parts.recorder.address(address);
        let id = {
            let flight = self
                .slots
                .flight(slot)
                .expect("a connection is opened for an operation");
            go_to(&mut self.parts.recorder, flight, index);
            flight.id
        };
        self.parts.recorder.connect_attempted(id);
        let source = self.parts.endpoints.source(address);
        let at = self.parts.clock.now();
        let socket = match Socket::connect(address, source) {
            Ok(socket) => socket,
            Err(kind) => return self.fail(slot, FailureStage::Connect, kind, now),
        };
        let (number, http) = (self.slots.seat_of(slot), self.http());
        // A single small request leaves in one write, and needs no system call more.
        if self.requests_each > 1 || matches!(http, Http::Two(_)) {
            socket.send_at_once();
        }
        let seat = self.slots.seat(number);
        seat.generation = seat.generation.wrapping_add(1);
        if self
            .parts
            .poller
            .add(&socket.0, token(number, seat.generation))
            .is_err()
        {
            return self.fail(slot, FailureStage::Connect, Kind::FilesExhausted, now);
        }
        seat.connection = Some(Box::new(Connection::new(
            socket,
            http,
            self.requests_each,
            id,
            at,
        )));
        self.deadlines.set(
            slot,
            at + nanoseconds(self.parts.plan.connection().timeouts.connect),
        );
    }

    /// The HTTP of a new connection.
    fn http(&self) -> Http {
        if self.frames.is_some() && !self.handshake_only {
            Http::Two(Box::new(Http2Connection::new(self.slots.width())))
        } else {
            Http::One(ResponseParser::default())
        }
    }

    /// TCP stands: TLS begins, or the request goes out.
    pub(super) fn on_connected(&mut self, slot: u32) {
        let now = self.parts.clock.now();
        self.note_lag(now);
        self.note_connected(slot, now);
        if self.parts.tls.is_some() {
            self.begin_handshake(slot, now);
        } else {
            self.on_open(slot, now);
        }
    }

    pub(super) fn note_connected(&mut self, slot: u32, now: u64) {
        self.roll(now);
        let Some((connection, flight)) = self.slots.both(slot) else {
            return;
        };
        connection.connected_at = now;
        flight.connect = Some(now.saturating_sub(connection.connect_at));
        self.parts.recorder.connect_opened(flight.id);
    }

    fn begin_handshake(&mut self, slot: u32, now: u64) {
        let seat = self.slots.seat_of(slot);
        let offering = self.slots.seat(seat).offering.take().unwrap_or(false);
        let (user, owner) = (self.slots.seat(seat).user, self.slots.owner(seat));
        let (Some(tls), Some(connection)) = (&self.parts.tls, self.slots.connection(seat)) else {
            return;
        };
        tls.sessions.begin(owner, connection.id.address, offering);
        tls.identities.select(user);
        connection.stage = ConnectionStage::Handshaking;
        self.deadlines.set(
            slot,
            now + nanoseconds(self.parts.plan.connection().timeouts.handshake),
        );
        let is_early = self.may_be_early(slot);
        let (Some(tls), Some(connection)) = (&self.parts.tls, self.slots.connection(seat)) else {
            return;
        };
        self.outgoing.clear();
        let early = is_early.then_some(self.plain.as_slice());
        let went_early = match TlsStream::new(tls, offering, early, &mut self.outgoing) {
            Ok(stream) => connection.tls.insert(stream).early_data().is_some(),
            Err(Broken(kind)) => return self.fail(slot, FailureStage::Tls, kind, now),
        };
        if went_early {
            let now = self.parts.clock.now();
            self.note_sent(slot, now);
            self.flight(slot).early = Early::Went;
        }
        self.flush(seat);
    }

    /// Whether the slot's request, which is then in `plain`, may go out with the ClientHello.
    fn may_be_early(&mut self, slot: u32) -> bool {
        let Some(tls) = self
            .parts
            .tls
            .as_ref()
            .filter(|tls| tls.early_config.is_some())
        else {
            return false;
        };
        let room = tls.sessions.early_data_room().min(FRAGMENT);
        let may = |flight: &mut Flight| {
            flight.early == Early::May && self.requests.of(flight.id.request).is_safe
        };
        if room == 0 || !self.slots.flight(slot).is_some_and(may) {
            return false;
        }
        self.write_alone(slot).is_none() && self.plain.len() <= room
    }

    /// Whether one more handshake is to offer a session; exact over many by carrying the remainder.
    fn offers(&mut self) -> bool {
        let share = self
            .parts
            .tls
            .as_ref()
            .map_or(0.0, |tls| tls.offering_share);
        self.offering += share;
        let offers = self.offering >= 1.0;
        if offers {
            self.offering -= 1.0;
        }
        offers
    }

    /// The handshake is done; what it agreed on is tallied.
    pub(super) fn on_handshake(&mut self, slot: u32, now: u64) {
        let Some((connection, flight)) = self.slots.both(slot) else {
            return;
        };
        let Some(stream) = &connection.tls else {
            return;
        };
        let Some(negotiated) = stream.negotiated() else {
            return;
        };
        let kind = negotiated.kind;
        let full = matches!(kind, HandshakeKind::Full | HandshakeKind::FullRetried);
        let chain = stream
            .chain()
            .filter(|_| full)
            .map(|chain| self.chains.describe(chain));
        let early_data = stream.early_data();
        let sent = (connection.sent_bytes + self.outgoing.len() as u64)
            .saturating_sub(stream.early_bytes());
        let handshake = Handshake {
            negotiated: &negotiated,
            chain: chain.as_ref(),
            offered: stream.offered,
            none_at_hand: stream.none_at_hand,
            early_data,
            bytes_sent: sent,
            bytes_received: connection.received_bytes,
        };
        self.parts.recorder.handshake(flight.id, handshake);
        flight.handshake = Some((kind, now.saturating_sub(connection.connected_at)));
        if matches!(connection.http, Http::Two(_)) && negotiated.alpn != H2 {
            // The server wants to see our Finished, and has nothing to say in HTTP/2.
            let seat = self.slots.seat_of(slot);
            self.say_alert(seat);
            return self.fail(slot, FailureStage::Tls, Kind::NoHttp2, now);
        }
        self.on_open(slot, now);
    }

    /// The connection is ready for the operation that opened it.
    fn on_open(&mut self, slot: u32, now: u64) {
        let number = self.slots.seat_of(slot);
        let seat = self.slots.seat(number);
        seat.opener = None;
        let Some((connection, flight)) = self.slots.both(slot) else {
            return;
        };
        connection.stage = ConnectionStage::Open;
        flight.ready_at = Some(now);
        if self.handshake_only {
            return self.end_handshake_only(slot);
        }
        match connection.tls.as_ref().and_then(TlsStream::early_data) {
            Some(true) => return self.on_early_data_taken(slot),
            Some(false) => self.take_back(slot),
            None => {}
        }
        self.send_request(slot, now);
        if self.frames.is_some() {
            self.flush_frames(number);
        }
    }

    /// The server has the request already: its time counts from when it was sent.
    fn on_early_data_taken(&mut self, slot: u32) {
        let Some(sent_at) = self.slots.flight(slot).and_then(|flight| flight.sent_at) else {
            return;
        };
        self.deadlines.set(
            slot,
            sent_at + nanoseconds(self.parts.plan.connection().timeouts.request),
        );
    }

    /// The server has passed the request over: it goes out again as if it never had.
    fn take_back(&mut self, slot: u32) {
        let Some((connection, flight)) = self.slots.both(slot) else {
            return;
        };
        connection.requests_begun -= 1;
        connection.unwritten.retain(|&unwritten| unwritten != slot);
        // What came nevertheless is no answer to it.
        connection.unsolicited |= flight.first_byte_at.is_some();
        flight.take_back();
    }

    /// The server has taken the request as early data, and answers that it wants it after the
    /// handshake (RFC 8470 §5.2): once more on this connection, where that serves on, else on a new
    /// one.
    pub(super) fn send_late(&mut self, slot: u32, now: u64) {
        let Some((connection, flight)) = self.slots.both(slot) else {
            return;
        };
        self.parts.recorder.too_early(flight.id);
        if connection.stage == ConnectionStage::Open && !connection.is_spoilt() {
            connection.requests_begun -= 1;
            flight.take_back();
            return self.send_request(slot, now);
        }
        flight.send_again(now);
        flight.early = Early::MustNot;
        self.close(slot);
        self.open(slot, now);
    }

    /// Handshake only, where slot and seat are one: our Finished goes out, then our end of the
    /// connection, and the server's is awaited if asked for.
    fn end_handshake_only(&mut self, slot: u32) {
        if !self.flush(slot) {
            return;
        }
        let Some((connection, _)) = self.slots.both(slot) else {
            return;
        };
        let (close, confirm) = (
            self.parts.plan.connection().close,
            self.parts.plan.connection().confirm,
        );
        if close == Close::Rst || !confirm {
            let now = self.parts.clock.now();
            return self.succeed(slot, OperationEnd::OkUnconfirmed, now);
        }
        connection.stage = ConnectionStage::Ending;
        connection.notify_close(&mut self.outgoing);
        if !self.flush(slot) {
            return;
        }
        if let Some(connection) = self.slots.connection(slot) {
            connection.socket.shutdown();
            let now = self.parts.clock.now();
            self.deadlines.set(
                slot,
                now + nanoseconds(self.parts.plan.connection().timeouts.request),
            );
        }
    }
}
