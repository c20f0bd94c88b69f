//! How an operation opens its connection: lookup, connect, handshake.

use super::Worker;
use super::connector::NewConnection;
use super::ledger::AlpnOutcome;
use crate::endpoints::NextEndpoint;
use crate::live_operation::{AttemptState, Early, LiveOperation};
use crate::proxy_header;
use crate::resolver::Question;
use crate::seat::Opener;
use crate::tls::{Broken, FRAGMENT, Hello, Offer, Offering, SessionVersions, WorkerTls};
use crate::values::Values;
use measure::{FailureStage, Kind, OperationEnd};
use plan::{Close, ProxyProtocol};
use rustls::pki_types::ServerName;
use std::net::SocketAddr;

impl Worker {
    /// Opens a connection for the slot's operation; the seat's other slots wait for it.
    pub(super) fn open(&mut self, slot: u32, now: u64) {
        let seat = self.seats.seat_of(slot);
        self.seats.seat(seat).opener = Opener::Opens(slot);
        let operation = self.begun(slot);
        operation.open(now);
        let begun_at = operation.begun_at;
        let issuer = self.issuer(slot);
        let question = Question {
            slot,
            begun_at,
            issuer,
        };
        let origin = self.seats.origin(seat);
        match self.connector.endpoints(origin).next(question, now) {
            Ok(NextEndpoint::Connect(address)) => self.connect(slot, address, now),
            Ok(NextEndpoint::Wait) => {
                self.begun(slot).attempt.state = AttemptState::Resolving;
                let latest = self.latest_end(slot);
                self.deadlines.await_connect(slot, now, latest);
            }
            Err(kind) => self.fail(slot, FailureStage::Dns, kind, now),
        }
    }

    /// The issuer of the session that the connection offers which the slot's operation opens; 0 if
    /// it offers none. It is settled before the address is known, so that every address is offered
    /// the sessions of all others.
    fn issuer(&mut self, slot: u32) -> u16 {
        let seat = self.seats.seat_of(slot);
        let origin = self.seats.origin(seat);
        let is_encrypted = self.connector.encrypts(origin);
        let Some(tls) = self.tls.as_ref().filter(|_| is_encrypted) else {
            return 0;
        };
        let offer = match &tls.offering {
            Offering::Never => return 0,
            Offering::Share(share) => {
                let settled = self.seats.seat(seat).offering;
                settled.unwrap_or_else(|| self.connector.offer(*share))
            }
            // A seat stands for one connection of the log after the other.
            Offering::Recorded(hellos) => hellos.offer(&self.values(slot)),
        };
        self.seats.seat(seat).offering = Some(offer);
        match tls.sessions_of(offer) {
            SessionVersions::NONE => 0,
            versions => {
                let name = || self.connection_name(tls, slot);
                let owner = self.seats.owner(seat);
                tls.sessions.issuer(owner, versions, name)
            }
        }
    }

    /// What the slot's operation is known by.
    fn values(&self, slot: u32) -> Values {
        let user = self.seats.user(self.seats.seat_of(slot));
        let operation = self.seats.operation(slot);
        operation.map_or_else(Values::default, |operation| Values::new(user, operation))
    }

    /// The name of the connection that the slot's operation opens.
    fn connection_name(&self, tls: &WorkerTls, slot: u32) -> ServerName<'static> {
        let origin = self.seats.origin(self.seats.seat_of(slot));
        tls.names(origin).name(|| self.values(slot))
    }

    /// Handles a finished lookup. If the operation has given up waiting, neither it nor the slot's
    /// next one is affected.
    pub(super) fn on_resolved(
        &mut self,
        question: Question,
        found: Result<SocketAddr, Kind>,
        now: u64,
    ) {
        let slot = question.slot;
        let operation = self.seats.operation_mut(slot);
        if let Some(operation) = operation.filter(|operation| asks(operation, question)) {
            operation.resolved(now);
            match found {
                Ok(address) => self.connect(slot, address, now),
                Err(kind) => self.fail(slot, FailureStage::Dns, kind, now),
            }
        }
    }

    fn connect(&mut self, slot: u32, address: SocketAddr, now: u64) {
        if !self.sender.is_allowed() {
            return self.lose_lease(now);
        }
        let index = self.ledger.recorder.address(address);
        let operation = self
            .seats
            .operation_mut(slot)
            .expect("a connection is opened for an operation");
        self.ledger.go_to(operation, index);
        let id = operation.id;
        self.ledger.recorder.connect_attempted(id);
        let at = self.clock.now();
        let number = self.seats.seat_of(slot);
        let new = NewConnection {
            address,
            origin: self.seats.origin(number),
            rules: self.rules,
            id,
            connect_at: at,
        };
        let connected = self.connector.connect(new, self.clock);
        let connection = match connected {
            Ok(connection) => connection,
            Err(kind) => return self.fail(slot, FailureStage::Connect, kind, now),
        };
        let key = self.seats.next_key(number);
        if self.watch.add(connection.descriptor(), key).is_err() {
            return self.fail(slot, FailureStage::Connect, Kind::FilesExhausted, now);
        }
        self.seats.seat(number).connection = Some(Box::new(connection));
        let latest = self.latest_end(slot);
        self.deadlines.await_connect(slot, at, latest);
    }

    /// TCP is connected: starts TLS, or sends the request.
    pub(super) fn on_connected(&mut self, slot: u32) {
        let now = self.clock.now();
        self.note_lag(now);
        self.note_connected(slot, now);
        if self.encrypts(self.seats.seat_of(slot)) {
            return self.begin_handshake(slot, now);
        }
        if let Some(protocol) = self.rules.proxy {
            self.put_proxy_header(protocol, self.seats.seat_of(slot));
        }
        self.on_open(slot, now);
    }

    /// Whether the seat's connections are encrypted.
    #[inline]
    pub(super) fn encrypts(&self, seat: u32) -> bool {
        self.tls.is_some() && self.connector.encrypts(self.seats.origin(seat))
    }

    pub(super) fn note_connected(&mut self, slot: u32, now: u64) {
        self.ledger.roll(now);
        if let Some((connection, operation)) = self.seats.both(slot) {
            operation.attempt.opening.connect = Some(connection.connected(now));
            self.ledger.recorder.connect_opened(operation.id);
        }
    }

    fn begin_handshake(&mut self, slot: u32, now: u64) {
        let number = self.seats.seat_of(slot);
        let owner = self.seats.owner(number);
        let seat = self.seats.seat(number);
        let offer = seat.offering.take().unwrap_or_default();
        let user = seat.user;
        let Some(tls) = &self.tls else {
            return; // begun only if the plan has TLS
        };
        let name = self.connection_name(tls, slot);
        if let Some(connection) = self.seats.connection(number) {
            let address = connection.id().address;
            tls.sessions.begin(owner, address, tls.sessions_of(offer));
            tls.identities.select(user);
        }
        let latest = self.latest_end(slot);
        self.deadlines.await_handshake(slot, now, latest);
        let is_early = self.may_be_early(slot, &name);
        match self.say_hello(number, name, offer, is_early) {
            Ok(true) => {
                let now = self.clock.now();
                self.note_early(slot, now);
            }
            Ok(false) => {}
            Err(Broken(kind)) => return self.fail(slot, FailureStage::Tls, kind, now),
        }
        self.flush(number);
    }

    /// Writes the ClientHello, followed by the request that was written last as early data if
    /// `is_early`. Returns whether that went with it.
    fn say_hello(
        &mut self,
        seat: u32,
        name: ServerName<'static>,
        offer: Offer,
        is_early: bool,
    ) -> Result<bool, Broken> {
        self.sender.forget();
        if let Some(protocol) = self.rules.proxy {
            self.put_proxy_header(protocol, seat);
        }
        let origin = self.seats.origin(seat);
        let (Some(tls), Some(connection)) = (&self.tls, self.seats.connection(seat)) else {
            return Ok(false);
        };
        let (plain, outgoing) = self.sender.written_and_outgoing(seat);
        let hello = Hello {
            name,
            offer,
            early: is_early.then_some(plain),
            has_identity: tls.presents_identity(origin),
        };
        connection.begin_handshake(tls, hello, outgoing)
    }

    /// Writes the header that the seat's connection begins with.
    fn put_proxy_header(&mut self, protocol: ProxyProtocol, seat: u32) {
        let user = self.seats.user(seat);
        if let Some(connection) = self.seats.connection(seat)
            && let Some((local, peer)) = connection.ends()
        {
            proxy_header::put(protocol, user, local, peer, self.sender.outgoing(seat));
        }
    }

    /// Whether the slot's request may go out with the ClientHello to `name`; if so, it has been
    /// written.
    fn may_be_early(&mut self, slot: u32, name: &ServerName<'_>) -> bool {
        let tls = self.tls.as_ref();
        let Some(tls) = tls.filter(|tls| tls.sends_early_data()) else {
            return false;
        };
        // Early data is a single record: see `TlsStream::new`.
        let room = tls.sessions.early_data_room(name).min(FRAGMENT);
        let may = |operation: &LiveOperation| {
            operation.early == Early::May && self.requests.is_safe(operation)
        };
        if room == 0 || !self.seats.operation(slot).is_some_and(may) {
            return false;
        }
        let user = self.seats.seat(self.seats.seat_of(slot)).user;
        let Some((connection, operation)) = self.seats.both(slot) else {
            return false; // both exist until the connection has failed
        };
        let plain = self.sender.plain();
        let write = || connection.write_early(&self.requests, (user, operation), plain);
        // It counts once the server has taken it.
        let is_whole = self.ledger.tallies.uncounted(operation.id, write);
        is_whole && plain.len() <= room
    }

    /// Notes that the request that was written last went out as early data.
    fn note_early(&mut self, slot: u32, now: u64) {
        let lane = self.seats.lane_of(slot);
        if let Some((connection, operation)) = self.seats.both(slot) {
            connection.note_early(lane, self.requests.request_of(operation));
            operation.send(now, connection.sent_bytes());
            let token = self.ledger.tallies.last_use(operation.id.request);
            operation.early = Early::Went { token };
        }
    }

    /// The handshake is done: tallies what it agreed on.
    pub(super) fn on_opened(&mut self, seat: u32) {
        let Some(slot) = self.seats.seat(seat).opening_slot() else {
            return self.give_up(seat); // its opener takes it along when it ends
        };
        let now = self.clock.now();
        let unsent = self.sender.outgoing_bytes(seat);
        let mut alpn = AlpnOutcome::AsAsked;
        if let Some((connection, operation)) = self.seats.both(slot) {
            alpn = self
                .ledger
                .tally_handshake(connection, operation, unsent, now);
        }
        if alpn == AlpnOutcome::NoHttp2 {
            // The server expects our Finished, and does not speak HTTP/2.
            self.say_alert(seat);
            return self.fail(slot, FailureStage::Tls, Kind::NoHttp2, now);
        }
        self.on_open(slot, now);
    }

    /// Makes the connection ready for the operation that opened it.
    fn on_open(&mut self, slot: u32, now: u64) {
        let number = self.seats.seat_of(slot);
        self.seats.seat(number).end_opening();
        let mut early_data = None;
        if let Some((connection, operation)) = self.seats.both(slot) {
            connection.open();
            operation.opened(now);
            early_data = connection.early_data();
        }
        if self.rules.is_handshake_only() {
            return self.end_handshake_only(slot);
        }
        match early_data {
            Some(true) => return self.on_early_data_taken(slot),
            Some(false) => self.withdraw_early_data(slot),
            None => {}
        }
        self.send_request(slot, now);
        // Our last handshake message waits for frames to leave with.
        self.flush_frames(number);
    }

    /// The server has the request already: its time-out counts from when it was sent. Our last
    /// handshake message leaves alone.
    fn on_early_data_taken(&mut self, slot: u32) {
        if let Some(operation) = self.seats.operation(slot)
            && let Some(sent) = operation.sent()
        {
            let since = self.requests.timeout_from(operation, sent.at);
            self.deadlines.await_answer(slot, since);
            if let Early::Went { token } = operation.early {
                self.ledger.tallies.count(operation.id, token);
            }
        }
        self.flush(self.seats.seat_of(slot));
    }

    /// The server has ignored the early data: the request goes out again as if it had never been
    /// sent.
    fn withdraw_early_data(&mut self, slot: u32) {
        let lane = self.seats.lane_of(slot);
        if let Some((connection, operation)) = self.seats.both(slot) {
            connection.withdraw(lane);
            operation.withdraw_early_data();
        }
    }

    /// The server took the request as early data, and answers that it wants it after the handshake
    /// (RFC 8470 §5.2): it is sent once more, on this connection if that can still be used, or else
    /// on a new one.
    pub(super) fn retry_after_handshake(&mut self, slot: u32, now: u64) {
        let lane = self.seats.lane_of(slot);
        self.ledger.roll(now);
        let Some((connection, operation)) = self.seats.both(slot) else {
            return; // an answer implies both
        };
        self.ledger.recorder.too_early(operation.id);
        self.ledger.count_body(connection, lane, operation, now);
        if connection.can_ask_again() {
            connection.withdraw(lane);
            operation.withdraw_early_data();
            return self.send_request(slot, now);
        }
        operation.retry(now);
        operation.early = Early::MustNot;
        self.close(slot);
        self.open(slot, now);
    }

    /// Handshake only, where each seat has one slot, with the same number: our Finished goes out,
    /// then our close; the server's is awaited if the plan asks for that.
    fn end_handshake_only(&mut self, slot: u32) {
        if !self.flush(slot) {
            return;
        }
        if self.rules.close == Close::Rst || !self.rules.confirm {
            let now = self.clock.now();
            return self.succeed(slot, OperationEnd::OkUnconfirmed, now);
        }
        if let Some(connection) = self.seats.connection(slot) {
            connection.confirm(self.sender.outgoing(slot));
        }
        if self.flush(slot)
            && let Some(connection) = self.seats.connection(slot)
        {
            connection.end_sending();
            self.deadlines.await_answer(slot, self.clock.now());
        }
    }
}

/// Whether the operation is the one that waits for the answer to this question.
fn asks(operation: &LiveOperation, question: Question) -> bool {
    let is_resolving = matches!(operation.attempt.state, AttemptState::Resolving);
    is_resolving && operation.begun_at == question.begun_at
}
