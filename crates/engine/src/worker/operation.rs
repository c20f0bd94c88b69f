//! The life of an operation: begin, connect, send, end, and what the slot does next.

use super::io::send_last;
use super::{ARRIVALS_AT_ONCE, Cut, Phase, QUEUE, Worker};
use crate::connection::{Connection, Stage as ConnectionStage};
use crate::endpoints::Next;
use crate::key_log::Ending;
use crate::request::Values;
use crate::slot::{Flight, Slot, token};
use crate::socket::Socket;
use crate::source::{Arrival, Source, nanoseconds};
use crate::tls::{Broken, TlsStream};
use measure::{CellId, Failure, Handshake, HandshakeKind, Kind, Operation, Period, Recorder, Stage, Verdict};
use plan::Close;
use std::net::SocketAddr;
use std::time::Duration;

/// The loop wakes microseconds after the end, and what was due before it is still begun then; a process that was stopped
/// wakes seconds after it, and begins nothing.
const GRACE_NS: u64 = 10_000_000;
/// First and longest wait of a user after a failed opening.
const BACK_OFF_FIRST_NS: u64 = 10_000_000;
const BACK_OFF_LONGEST_NS: u64 = 1_000_000_000;

impl Worker {
    /// Closed loop: the user in `slot` begins its next operation, or rests until its next span.
    pub(super) fn begin_as_user(&mut self, slot: u32, now: u64) {
        if self.phase != Phase::Firing || now >= self.timeline.end_at || !self.is_active(slot, now) {
            return;
        }
        let Source::Closed(users) = &mut self.parts.source else { return };
        let period = self.timeline.period(now);
        let Some(seq) = users.take(period) else { return self.retire(slot) };
        self.begin(slot, Arrival { seq, intended_at: now, period }, now);
    }

    /// Whether the user may begin now; where not, its connection is closed and its next span awaited.
    fn is_active(&mut self, slot: u32, now: u64) -> bool {
        if now < self.slots[slot as usize].active_until {
            return true;
        }
        let Source::Closed(users) = &self.parts.source else { return true };
        match users.span(slot, now) {
            Some(span) if span.start <= now => self.slots[slot as usize].active_until = span.end,
            Some(span) => {
                self.retire(slot);
                self.pauses.set(slot, span.start);
                return false;
            }
            None => {
                self.retire(slot);
                return false;
            }
        }
        true
    }

    /// The user has nothing to do: its connection is closed.
    fn retire(&mut self, slot: u32) {
        if self.slots[slot as usize].connection.is_some() {
            self.close(slot);
        }
    }

    /// Open loop: gives due arrivals to slots, while the run lasts. At its end all that are due, else a batch; what a
    /// worker that overslept the end finds is left to the drain, and not sent.
    pub(super) fn take_arrivals(&mut self, now: u64) {
        let last = now >= self.timeline.end_at;
        let overslept = now > self.timeline.end_at.saturating_add(GRACE_NS);
        let mut taken = 0;
        while self.phase == Phase::Firing && !overslept && (last || taken < ARRIVALS_AT_ONCE) {
            let Source::Open(arrivals) = &mut self.parts.source else { return };
            let Some(arrival) = arrivals.take(now) else { return };
            taken += 1;
            self.dispatch(arrival);
        }
    }

    /// The most recently idle connection, else a new one, else the queue, else not sent.
    fn dispatch(&mut self, arrival: Arrival) {
        let now = self.parts.clock.now();
        let slot = if self.queue.is_empty() { self.pick_slot() } else { None };
        if let Some(slot) = slot {
            self.begin(slot, arrival, now);
        } else if self.queue.len() < QUEUE {
            self.queue.push_back(arrival);
        } else {
            self.not_sent(arrival, now);
        }
    }

    /// Gives waiting arrivals to slots that have become free.
    pub(super) fn serve_queue(&mut self) {
        while self.phase == Phase::Firing && !self.queue.is_empty() {
            let Some(slot) = self.pick_slot() else { return };
            let Some(arrival) = self.queue.pop_front() else { return };
            let now = self.parts.clock.now();
            self.begin(slot, arrival, now);
        }
    }

    fn pick_slot(&mut self) -> Option<u32> {
        while let Some(slot) = self.idle.pop() {
            let state = &mut self.slots[slot as usize];
            state.stacked = false;
            if state.flight.is_none() && state.connection.is_some() {
                return Some(slot);
            }
            if state.flight.is_none() {
                self.free.push(slot);
            }
        }
        if let Some(slot) = self.free.pop() {
            return Some(slot);
        }
        let Source::Open(arrivals) = &self.parts.source else { return None };
        let slot = self.slots.len() as u32;
        if slot >= arrivals.max_connections {
            return None;
        }
        self.slots.push(Slot { user: arrivals.user(slot), ..Slot::default() });
        Some(slot)
    }

    /// Begins an operation on `slot`, over its connection where it has one.
    fn begin(&mut self, slot: u32, arrival: Arrival, now: u64) {
        self.roll(now);
        let Arrival { seq, intended_at, period } = arrival;
        let request = self.requests.nth(self.begun);
        self.begun += 1;
        self.in_flight += 1;
        let address = self.slots[slot as usize].connection.as_ref().map_or(0, |connection| connection.id.address);
        let id = CellId { period, request, address };
        let random = self.parts.random.bits();
        self.slots[slot as usize].flight = Some(Flight::new(id, seq, random, intended_at, now));
        if self.slots[slot as usize].connection.is_some() {
            self.reuse(slot, now);
        } else {
            self.open(slot, now);
        }
    }

    fn reuse(&mut self, slot: u32, now: u64) {
        let state = &mut self.slots[slot as usize];
        if let (Some(connection), Some(flight)) = (&mut state.connection, &mut state.flight) {
            flight.reused = true;
            connection.id = flight.id;
            count_start(&mut self.parts.recorder, flight);
            self.parts.recorder.reused(flight.id);
        }
        self.send_request(slot, now);
    }

    /// Opens a connection for the slot's operation.
    fn open(&mut self, slot: u32, now: u64) {
        match self.parts.endpoints.next(slot, now) {
            Ok(Next::Connect(address)) => self.connect(slot, address, now),
            Ok(Next::Wait) => {
                self.flight(slot).resolving = true;
                self.deadlines.set(slot, now + nanoseconds(self.parts.plan.connection().timeouts.connect));
            }
            Err(kind) => self.fail(slot, Stage::Dns, kind, now),
        }
    }

    /// A lookup for `slot` has ended; an operation that gave up waiting is not concerned any more.
    pub(super) fn on_resolved(&mut self, slot: u32, found: Result<SocketAddr, Kind>, now: u64) {
        let Some(flight) = self.slots.get_mut(slot as usize).and_then(|slot| slot.flight.as_mut()) else { return };
        if !std::mem::take(&mut flight.resolving) {
            return;
        }
        flight.dns = Some(now - flight.begun_at);
        match found {
            Ok(address) => self.connect(slot, address, now),
            Err(kind) => self.fail(slot, Stage::Dns, kind, now),
        }
    }

    fn connect(&mut self, slot: u32, address: SocketAddr, now: u64) {
        if !self.parts.lease.holds() {
            return self.cut_all(Cut::LeaseExpired, now);
        }
        let index = self.parts.recorder.address(address);
        let id = {
            let flight = self.slots[slot as usize].flight.as_mut().expect("a connection is opened for an operation");
            flight.id.address = index;
            count_start(&mut self.parts.recorder, flight);
            flight.id
        };
        self.parts.recorder.connect_attempted(id);
        let source = self.parts.endpoints.source(address);
        let at = self.parts.clock.now();
        let socket = match Socket::connect(address, source) {
            Ok(socket) => socket,
            Err(kind) => return self.fail(slot, Stage::Connect, kind, now),
        };
        let state = &mut self.slots[slot as usize];
        state.generation = state.generation.wrapping_add(1);
        if self.parts.poller.add(&socket.0, token(slot, state.generation)).is_err() {
            return self.fail(slot, Stage::Connect, Kind::FilesExhausted, now);
        }
        state.connection = Some(Box::new(Connection::new(socket, id, at)));
        self.deadlines.set(slot, at + nanoseconds(self.parts.plan.connection().timeouts.connect));
    }

    /// TCP stands: TLS begins, or the request goes out.
    pub(super) fn on_connected(&mut self, slot: u32) {
        let now = self.parts.clock.now();
        self.note_connected(slot, now);
        if self.parts.tls.is_some() {
            self.begin_handshake(slot, now);
        } else {
            self.on_open(slot, now);
        }
    }

    pub(super) fn note_connected(&mut self, slot: u32, now: u64) {
        self.roll(now);
        let state = &mut self.slots[slot as usize];
        let (Some(connection), Some(flight)) = (&mut state.connection, &mut state.flight) else { return };
        connection.connected_at = now;
        flight.connect = Some(now.saturating_sub(connection.connect_at));
        self.parts.recorder.connect_opened(flight.id);
    }

    fn begin_handshake(&mut self, slot: u32, now: u64) {
        let offering = self.offers();
        let (Some(tls), state) = (&self.parts.tls, &mut self.slots[slot as usize]) else { return };
        let Some(connection) = &mut state.connection else { return };
        tls.sessions.begin(slot, offering);
        tls.identities.select(state.user);
        connection.stage = ConnectionStage::Handshaking;
        self.deadlines.set(slot, now + nanoseconds(self.parts.plan.connection().timeouts.handshake));
        self.outgoing.clear();
        match TlsStream::new(tls, offering, &mut self.outgoing) {
            Ok(stream) => connection.tls = Some(stream),
            Err(Broken(kind)) => return self.fail(slot, Stage::Tls, kind, now),
        }
        self.flush(slot);
    }

    /// Whether the next new connection offers a session; exact over many by carrying the remainder.
    fn offers(&mut self) -> bool {
        let share = self.parts.tls.as_ref().map_or(0.0, |tls| tls.offering_share);
        self.offering += share;
        let offers = self.offering >= 1.0;
        if offers {
            self.offering -= 1.0;
        }
        offers
    }

    /// The handshake is done; what it agreed on is tallied.
    pub(super) fn on_handshake(&mut self, slot: u32, now: u64) {
        let state = &mut self.slots[slot as usize];
        let (Some(connection), Some(flight)) = (&mut state.connection, &mut state.flight) else { return };
        let Some(stream) = &connection.tls else { return };
        let negotiated = stream.negotiated();
        let kind = negotiated.kind;
        let full = matches!(kind, HandshakeKind::Full | HandshakeKind::FullRetried);
        let chain = stream.chain().filter(|_| full).map(|chain| self.chains.describe(chain));
        let sent = connection.sent_bytes + self.outgoing.len() as u64;
        let handshake = Handshake {
            negotiated: &negotiated,
            chain: chain.as_ref(),
            offered: stream.offered,
            none_at_hand: stream.none_at_hand,
            bytes_sent: sent,
            bytes_received: connection.received_bytes,
        };
        self.parts.recorder.handshake(flight.id, handshake);
        flight.handshake = Some((kind, now.saturating_sub(connection.connected_at)));
        self.on_open(slot, now);
    }

    /// The connection is ready for the operation that opened it.
    fn on_open(&mut self, slot: u32, now: u64) {
        let state = &mut self.slots[slot as usize];
        let (Some(connection), Some(flight)) = (&mut state.connection, &mut state.flight) else { return };
        connection.stage = ConnectionStage::Open;
        flight.ready_at = Some(now);
        state.failures = 0;
        if self.handshake_only { self.end_handshake_only(slot) } else { self.send_request(slot, now) }
    }

    /// Handshake only: our Finished goes out, then our end of the connection, and the server's is awaited if asked for.
    fn end_handshake_only(&mut self, slot: u32) {
        if !self.flush(slot) {
            return;
        }
        let state = &mut self.slots[slot as usize];
        let (Some(connection), Some(_)) = (&mut state.connection, &state.flight) else { return };
        let (close, confirm) = (self.parts.plan.connection().close, self.parts.plan.connection().confirm);
        if close == Close::Rst || !confirm {
            let now = self.parts.clock.now();
            return self.succeed(slot, Verdict::OkUnconfirmed, now);
        }
        connection.stage = ConnectionStage::Ending;
        connection.notify_close(&mut self.outgoing);
        if !self.flush(slot) {
            return;
        }
        if let Some(connection) = &self.slots[slot as usize].connection {
            connection.socket.shutdown();
            let now = self.parts.clock.now();
            self.deadlines.set(slot, now + nanoseconds(self.parts.plan.connection().timeouts.request));
        }
    }

    fn send_request(&mut self, slot: u32, now: u64) {
        let last = self.closes_after(slot) && self.parts.plan.connection().close == Close::Server;
        let state = &mut self.slots[slot as usize];
        let (Some(connection), Some(flight)) = (&mut state.connection, &mut state.flight) else { return };
        let request = self.requests.of(flight.id.request);
        connection.response.expect(request.is_head);
        flight.sent_at = Some(now);
        self.plain.clear();
        request.write(last, Values { user: state.user, seq: flight.seq, random: flight.random }, &mut self.plain);
        let wrapped = connection.wrap(&self.plain, &mut self.outgoing);
        self.deadlines.set(slot, now + nanoseconds(self.parts.plan.connection().timeouts.request));
        match wrapped {
            Ok(()) => _ = self.flush(slot),
            Err(fault) => self.on_fault(slot, fault),
        }
    }

    /// Whether the request about to be sent is the connection's last.
    fn closes_after(&self, slot: u32) -> bool {
        self.slots[slot as usize].connection.as_ref().is_some_and(|connection| connection.requests_done + 1 >= self.requests_each)
    }

    /// The response is whole: judged by what the plan expects.
    pub(super) fn on_response(&mut self, slot: u32) {
        let now = self.parts.clock.now();
        let state = &mut self.slots[slot as usize];
        let (Some(connection), Some(flight)) = (&mut state.connection, &state.flight) else { return };
        connection.requests_done += 1;
        let expect = &self.requests.of(flight.id.request).expect;
        let status = connection.response.status.unwrap_or(0);
        let kind = if !expect.status.contains(status) {
            Some(Kind::Status(status))
        } else if expect.bytes.is_some_and(|bytes| bytes != connection.response.body_bytes) {
            Some(Kind::BodyLength)
        } else {
            None
        };
        let verdict = kind.map_or(Verdict::Ok, |kind| Verdict::Failed(Failure { stage: Stage::Http, kind }));
        self.succeed(slot, verdict, now);
    }

    /// The operation has its answer, wanted or not: recorded, and the connection goes on or is closed.
    pub(super) fn succeed(&mut self, slot: u32, verdict: Verdict, now: u64) {
        self.record(slot, verdict, now);
        let close = self.parts.plan.connection().close;
        let requests_each = self.requests_each;
        let Some(connection) = &mut self.slots[slot as usize].connection else { return self.go_on(slot, now) };
        let full = connection.requests_done >= requests_each;
        let spoilt =
            connection.unsolicited || connection.peer_ended || !connection.response.keep_alive || connection.has_unsent();
        if connection.stage == ConnectionStage::Ending {
            self.slots[slot as usize].connection = None;
            return self.go_on(slot, now);
        }
        if !self.handshake_only && !full && !spoilt {
            return self.go_on(slot, now);
        }
        if close == Close::Server && full && !connection.unsolicited {
            // The slot is busy until the server has closed; the operation itself is over.
            connection.stage = ConnectionStage::Ending;
            self.deadlines.set(slot, now + nanoseconds(self.parts.plan.connection().timeouts.request));
            return;
        }
        self.close(slot);
        self.go_on(slot, now);
    }

    /// The operation failed; its connection is of no use any more.
    pub(super) fn fail(&mut self, slot: u32, stage: Stage, kind: Kind, now: u64) {
        let Some(flight) = &self.slots[slot as usize].flight else { return };
        let (opened, id) = (flight.ready_at.is_some() || flight.reused, flight.id);
        self.record(slot, Verdict::Failed(Failure { stage, kind }), now);
        self.slots[slot as usize].connection = None;
        if opened || !matches!(self.parts.source, Source::Closed(_)) {
            return self.go_on(slot, now);
        }
        self.back_off(slot, id, now);
    }

    /// A user whose connection could not be opened waits: 10 ms doubling to 1 s, jittered.
    fn back_off(&mut self, slot: u32, id: CellId, now: u64) {
        if self.phase != Phase::Firing {
            return;
        }
        let state = &mut self.slots[slot as usize];
        let longest = (BACK_OFF_FIRST_NS << state.failures.min(16)).min(BACK_OFF_LONGEST_NS);
        state.failures += 1;
        let wait = self.parts.random.between(longest / 2, longest);
        self.parts.recorder.backed_off(id, wait);
        self.pauses.set(slot, now + wait);
    }

    fn record(&mut self, slot: u32, verdict: Verdict, now: u64) {
        let state = &mut self.slots[slot as usize];
        let Some(mut flight) = state.flight.take() else { return };
        count_start(&mut self.parts.recorder, &mut flight);
        self.in_flight -= 1;
        self.deadlines.clear(slot);
        if let Some(tls) = state.connection.as_mut().and_then(|connection| connection.tls.as_mut()) {
            tls.operation_ended(|| ending(&flight, verdict, now));
        }
        let response = state.connection.as_ref().map(|connection| &connection.response).filter(|_| flight.sent_at.is_some());
        let operation = Operation {
            key: flight.id,
            intended_at: flight.intended_at,
            begun_at: flight.begun_at,
            ready_at: flight.ready_at,
            sent_at: flight.sent_at,
            written_at: flight.written_at,
            first_byte_at: flight.first_byte_at,
            done_at: now,
            dns: flight.dns,
            connect: flight.connect,
            handshake: flight.handshake,
            verdict,
            status: response.and_then(|response| response.status),
            payload_bytes: response.map_or(0, |response| response.body_bytes),
            scheduled: matches!(self.parts.source, Source::Open(_)),
        };
        self.roll(now);
        self.parts.recorder.ended(&operation);
    }

    /// The slot is free: its user's next operation now or after a pause; in an open loop it waits for an arrival.
    pub(super) fn go_on(&mut self, slot: u32, now: u64) {
        if self.phase != Phase::Firing {
            return;
        }
        match &self.parts.source {
            Source::Closed(users) => match users.think_time {
                None => self.begin_as_user(slot, now),
                Some(pause) => {
                    let wait = self.parts.random.between(nanoseconds(pause.min), nanoseconds(pause.max));
                    self.pauses.set(slot, now + wait);
                }
            },
            Source::Open(_) => self.stack(slot),
        }
    }

    fn stack(&mut self, slot: u32) {
        let state = &mut self.slots[slot as usize];
        if state.connection.is_none() {
            self.free.push(slot);
        } else if !state.stacked {
            state.stacked = true;
            self.idle.push(slot);
        }
    }

    /// Closes the slot's connection as the plan says.
    pub(super) fn close(&mut self, slot: u32) {
        let Some(mut connection) = self.slots[slot as usize].connection.take() else { return };
        if self.parts.plan.connection().close == Close::Rst {
            connection.socket.reset_on_close();
        } else if self.parts.lease.holds() {
            self.outgoing.clear();
            connection.notify_close(&mut self.outgoing);
            send_last(&mut self.parts.recorder, &mut connection, &mut self.outgoing);
        }
    }

    /// An operation's time is up.
    pub(super) fn time_out(&mut self, slot: u32, now: u64) {
        if self.slots[slot as usize].flight.is_some() {
            return self.fail(slot, self.stage_of(slot), Kind::TimeOut, now);
        }
        // The server did not close a connection that was over; nothing depends on it.
        self.slots[slot as usize].connection = None;
        self.go_on(slot, now);
    }

    /// Where the slot's operation is.
    pub(super) fn stage_of(&self, slot: u32) -> Stage {
        let state = &self.slots[slot as usize];
        match state.connection.as_ref().map(|connection| connection.stage) {
            None if state.flight.is_some_and(|flight| flight.resolving) => Stage::Dns,
            None | Some(ConnectionStage::Connecting) => Stage::Connect,
            Some(ConnectionStage::Handshaking) => Stage::Tls,
            Some(ConnectionStage::Open | ConnectionStage::Ending) if self.handshake_only => Stage::Tls,
            Some(ConnectionStage::Open | ConnectionStage::Ending) => Stage::Http,
        }
    }

    fn flight(&mut self, slot: u32) -> &mut Flight {
        self.slots[slot as usize].flight.as_mut().expect("called for a slot whose operation was just begun")
    }

    /// The server closed an open connection as we sent on it: once more on a new one, instants unchanged
    /// (RFC 9112 §9.3.1).
    pub(super) fn resend(&mut self, slot: u32, now: u64) {
        self.slots[slot as usize].connection = None;
        let flight = self.flight(slot);
        flight.resent = true;
        (flight.sent_at, flight.written_at) = (None, None);
        let id = flight.id;
        self.parts.recorder.reused_closed(id);
        self.open(slot, now);
    }
}

/// What a key log asks of an operation.
fn ending(flight: &Flight, verdict: Verdict, now: u64) -> Ending {
    match verdict {
        _ if flight.id.period == Period::WarmUp => Ending::WarmUp,
        Verdict::Failed(_) => Ending::Failed,
        Verdict::Ok | Verdict::OkUnconfirmed => Ending::Ok(Duration::from_nanos(now.saturating_sub(flight.begun_at))),
    }
}

/// Counts the operation as started, once, under the address it goes to; one that never had one, under none.
fn count_start(recorder: &mut Recorder, flight: &mut Flight) {
    if !std::mem::replace(&mut flight.counted, true) {
        recorder.started(flight.id);
    }
}
