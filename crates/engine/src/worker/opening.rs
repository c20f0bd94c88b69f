//! How an operation opens its connection: lookup, connect, handshake.

use super::connector::NewConnection;
use super::{Cut, Worker};
use crate::connection::{ConnectionStage, Http};
use crate::endpoints::NextEndpoint;
use crate::http2::Http2Connection;
use crate::resolver::Question;
use crate::response::ResponseParser;
use crate::slot::{Early, Flight};
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
        match self.connector.endpoints.next(
            Question {
                slot,
                begun_at,
                issuer,
            },
            now,
        ) {
            Ok(NextEndpoint::Connect(address)) => self.connect(slot, address, now),
            Ok(NextEndpoint::Wait) => {
                self.flight(slot).resolving = true;
                self.deadlines.await_connect(slot, now);
            }
            Err(kind) => self.fail(slot, FailureStage::Dns, kind, now),
        }
    }

    /// Who issued the session that the seat's next connection offers; 0 where it offers none. That
    /// it is settled before the address is known lets every address be offered the sessions of
    /// every other one.
    fn issuer(&mut self, seat: u32) -> u16 {
        let Some(tls) = self.tls.as_ref().filter(|tls| tls.offering_share > 0.0) else {
            return 0;
        };
        let settled = self.slots.seat(seat).offering;
        let offering = settled.unwrap_or_else(|| self.connector.offers(tls.offering_share));
        self.slots.seat(seat).offering = Some(offering);
        if offering {
            tls.sessions.issuer(self.slots.owner(seat))
        } else {
            0
        }
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
        if !self.sender.is_allowed() {
            return self.cut_all(Cut::LeaseExpired, now);
        }
        let index = self.ledger.recorder.address(address);
        let flight = self
            .slots
            .flight(slot)
            .expect("a connection is opened for an operation");
        self.ledger.go_to(flight, index);
        let id = flight.id;
        self.ledger.recorder.connect_attempted(id);
        let at = self.clock.now();
        let connected = self.connector.connect(NewConnection {
            address,
            http: self.http(),
            requests_each: self.rules.requests_each,
            id,
            connect_at: at,
        });
        let connection = match connected {
            Ok(connection) => connection,
            Err(kind) => return self.fail(slot, FailureStage::Connect, kind, now),
        };
        let number = self.slots.seat_of(slot);
        let token = self.slots.next_token(number);
        if self.watch.add(&connection.socket.0, token).is_err() {
            return self.fail(slot, FailureStage::Connect, Kind::FilesExhausted, now);
        }
        self.slots.seat(number).connection = Some(Box::new(connection));
        self.deadlines.await_connect(slot, at);
    }

    /// The HTTP of a new connection.
    fn http(&self) -> Http {
        if self.frames.is_some() && !self.rules.is_handshake_only() {
            Http::Two(Box::new(Http2Connection::new(self.slots.width())))
        } else {
            Http::One(ResponseParser::default())
        }
    }

    /// TCP stands: TLS begins, or the request goes out.
    pub(super) fn on_connected(&mut self, slot: u32) {
        let now = self.clock.now();
        self.note_lag(now);
        self.note_connected(slot, now);
        if self.tls.is_some() {
            self.begin_handshake(slot, now);
        } else {
            self.on_open(slot, now);
        }
    }

    pub(super) fn note_connected(&mut self, slot: u32, now: u64) {
        self.ledger.roll(now);
        let Some((connection, flight)) = self.slots.both(slot) else {
            return;
        };
        connection.connected_at = now;
        flight.connect = Some(now.saturating_sub(connection.connect_at));
        self.ledger.recorder.connect_opened(flight.id);
    }

    fn begin_handshake(&mut self, slot: u32, now: u64) {
        let seat = self.slots.seat_of(slot);
        let offering = self.slots.seat(seat).offering.take().unwrap_or(false);
        let (user, owner) = (self.slots.seat(seat).user, self.slots.owner(seat));
        let (Some(tls), Some(connection)) = (&self.tls, self.slots.connection(seat)) else {
            return;
        };
        tls.sessions.begin(owner, connection.id.address, offering);
        tls.identities.select(user);
        connection.stage = ConnectionStage::Handshaking;
        self.deadlines.await_handshake(slot, now);
        let is_early = self.may_be_early(slot);
        let (Some(tls), Some(connection)) = (&self.tls, self.slots.connection(seat)) else {
            return;
        };
        self.sender.forget();
        let (plain, outgoing) = self.sender.written_and_outgoing(seat);
        let early = is_early.then_some(plain);
        let went_early = match TlsStream::new(tls, offering, early, outgoing) {
            Ok(stream) => connection.tls.insert(stream).early_data().is_some(),
            Err(Broken(kind)) => return self.fail(slot, FailureStage::Tls, kind, now),
        };
        if went_early {
            let now = self.clock.now();
            self.note_sent(slot, now);
            self.flight(slot).early = Early::Went;
        }
        self.flush(seat);
    }

    /// Whether the slot's request, which is then in `plain`, may go out with the ClientHello.
    fn may_be_early(&mut self, slot: u32) -> bool {
        let Some(tls) = self.tls.as_ref().filter(|tls| tls.early_config.is_some()) else {
            return false;
        };
        let room = tls.sessions.early_data_room().min(FRAGMENT);
        let may = |flight: &mut Flight| {
            flight.early == Early::May && self.requests.request(flight.id.request).is_safe
        };
        if room == 0 || !self.slots.flight(slot).is_some_and(may) {
            return false;
        }
        self.write_alone(slot).is_none() && self.sender.written().len() <= room
    }

    /// The handshake is done; what it agreed on is tallied.
    pub(super) fn on_handshake(&mut self, slot: u32, now: u64) {
        let seat = self.slots.seat_of(slot);
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
        let sent = (connection.sent_bytes + self.sender.outgoing_bytes(seat))
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
        self.ledger.recorder.handshake(flight.id, handshake);
        flight.handshake = Some((kind, now.saturating_sub(connection.connected_at)));
        if matches!(connection.http, Http::Two(_)) && negotiated.alpn != H2 {
            // The server wants to see our Finished, and has nothing to say in HTTP/2.
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
        if self.rules.is_handshake_only() {
            return self.end_handshake_only(slot);
        }
        match connection.tls.as_ref().and_then(TlsStream::early_data) {
            Some(true) => return self.on_early_data_taken(slot),
            Some(false) => self.withdraw_early_data(slot),
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
        self.deadlines.await_answer(slot, sent_at);
    }

    /// The server has passed the request over: it goes out again as if it never had.
    fn withdraw_early_data(&mut self, slot: u32) {
        let Some((connection, flight)) = self.slots.both(slot) else {
            return;
        };
        connection.requests_begun -= 1;
        connection.unwritten.retain(|&unwritten| unwritten != slot);
        // What came nevertheless is no answer to it.
        connection.unsolicited |= flight.first_byte_at.is_some();
        flight.withdraw();
    }

    /// The server has taken the request as early data, and answers that it wants it after the
    /// handshake (RFC 8470 §5.2): once more on this connection, where that serves on, else on a new
    /// one.
    pub(super) fn retry_after_handshake(&mut self, slot: u32, now: u64) {
        let Some((connection, flight)) = self.slots.both(slot) else {
            return;
        };
        self.ledger.recorder.too_early(flight.id);
        if connection.stage == ConnectionStage::Open && !connection.is_spoilt() {
            connection.requests_begun -= 1;
            flight.withdraw();
            return self.send_request(slot, now);
        }
        flight.begin_retry(now);
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
        let (close, confirm) = (self.rules.close, self.rules.confirm);
        if close == Close::Rst || !confirm {
            let now = self.clock.now();
            return self.succeed(slot, OperationEnd::OkUnconfirmed, now);
        }
        connection.stage = ConnectionStage::Ending;
        connection.notify_close(self.sender.outgoing(slot));
        if !self.flush(slot) {
            return;
        }
        if let Some(connection) = self.slots.connection(slot) {
            connection.socket.shutdown();
            let now = self.clock.now();
            self.deadlines.await_answer(slot, now);
        }
    }
}
