//! A worker's recorder: no lock, no allocation once its cells exist.

use crate::client::HotClient;
use crate::hot::HotCell;
use crate::interval::{Cells, place};
use crate::session_offer::HotOffer;
use crate::{
    CellId, CellKey, Chain, Failure, HandshakeKind, Interval, Kind, Metric, Negotiated, Outcome,
    Spare, Window,
};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// One ended operation, instants in nanoseconds of the run clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Where it belongs.
    pub key: CellId,
    /// When it should have begun.
    pub intended_at: u64,
    /// When the loop saw that it was due; `None` in a closed loop, where nothing is late.
    pub noticed_at: Option<u64>,
    /// First act for it.
    pub begun_at: u64,
    /// First act of the attempt that its phases belong to: `begun_at`, or later where it was sent
    /// again.
    pub tried_at: u64,
    /// Where this operation opened its connection: when that was ready, the end of the handshake
    /// (without TLS, of the TCP connect). `None` on a connection that was open already, and where
    /// it never became ready.
    pub ready_at: Option<u64>,
    /// First request byte given to TLS or TCP.
    pub sent_at: Option<u64>,
    /// Last request byte written.
    pub written_at: Option<u64>,
    /// First response byte.
    pub first_byte_at: Option<u64>,
    /// Last body byte, or the failure.
    pub done_at: u64,
    /// Duration of name resolution, where this operation did one.
    pub dns: Option<u64>,
    /// Duration of the TCP connect, where this operation did one.
    pub connect: Option<u64>,
    /// Kind and duration of the handshake, where this operation did one and it succeeded.
    pub handshake: Option<(HandshakeKind, u64)>,
    /// How it ended.
    pub verdict: Verdict,
    /// Status, where a head was received.
    pub status: Option<u16>,
    /// Body bytes received, less those that [`Recorder::payload`] has counted already.
    pub payload_bytes: u64,
}

/// How one operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// As the plan expects.
    Ok,
    /// Ok, without the server's confirmation (handshake only).
    OkUnconfirmed,
    /// A time-out or another failure; [`crate::Kind::TimeOut`] makes the outcome `TimedOut`.
    Failed(Failure),
}

/// An arrival that is never sent, instants in nanoseconds of the run clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotSent {
    /// Where it belongs.
    pub key: CellId,
    /// When it should have begun.
    pub intended_at: u64,
    /// When the loop saw that it was due.
    pub noticed_at: u64,
    /// When it was given up: it would have waited longer.
    pub given_up_at: u64,
    /// Why.
    pub failure: Failure,
}

/// One completed handshake, for counters and tallies.
#[derive(Debug, Clone, Copy)]
pub struct Handshake<'a> {
    /// What was agreed on.
    pub negotiated: &'a Negotiated,
    /// Server's chain; `None` where the handshake was resumed.
    pub chain: Option<&'a Chain>,
    /// The ClientHello carried a session, which the address with this index had issued.
    pub offered: Option<u16>,
    /// A session was to be offered and there was none.
    pub none_at_hand: bool,
    /// The request went out as early data, and whether the server took it.
    pub early_data: Option<bool>,
    /// Wire bytes both ways until our Finished was written.
    pub bytes_sent: u64,
    /// See `bytes_sent`.
    pub bytes_received: u64,
}

/// Records one worker's operations and cuts them into seconds of the run clock.
///
/// Everything goes into the interval of the second in which it is recorded; response times are
/// keyed in it by the second of `intended_at`. Intervals must be cut in time order:
/// [`Recorder::cut`] ends the current one, and whatever is recorded afterwards belongs to a later
/// one, so the caller cuts before it records something of a later second.
#[derive(Debug)]
pub struct Recorder {
    requests: u16,
    /// By index; the first is "none". Shared with intervals that are under way.
    addresses: Arc<Vec<Option<SocketAddr>>>,
    indices: HashMap<SocketAddr, u16>,
    interval: u32,
    cells: Cells,
    window: Window,
    client: HotClient,
}

const SECOND_NS: u64 = 1_000_000_000;

/// Nothing of the load path is recorded: only for the bench that shows what recording costs.
const BLIND: bool = cfg!(feature = "blind");

impl Recorder {
    /// A recorder for a plan with so many requests; its first interval is 0.
    #[must_use]
    pub fn new(requests: u16) -> Recorder {
        Recorder {
            requests: requests.max(1),
            addresses: Arc::new(vec![None]),
            indices: HashMap::new(),
            interval: 0,
            cells: Cells::new(),
            window: Window::ALWAYS,
            client: HotClient::default(),
        }
    }

    /// The same, with the measured part that rates are counted in; without it that is all time.
    #[must_use]
    pub fn measuring(self, window: Window) -> Recorder {
        Recorder { window, ..self }
    }

    /// The measured part ends at `at`, before the plan's clock would have ended it.
    pub fn close_window(&mut self, at: u64) {
        self.window.close(at);
        self.client.client.fired_until_ns = at;
    }

    /// The index of `address` in [`CellId`]s from now on; the same address gets the same index.
    /// Beyond
    /// [`CellKey::ADDRESSES`] they share one, that of [`CellKey::OTHER_ADDRESSES`].
    pub fn address(&mut self, address: SocketAddr) -> u16 {
        if let Some(&index) = self.indices.get(&address) {
            return index;
        }
        let index = self.addresses.len() as u16; // at most one more than are kept apart
        if index > CellKey::ADDRESSES + 1 {
            return CellKey::ADDRESSES + 1;
        }
        let address = if index > CellKey::ADDRESSES {
            CellKey::OTHER_ADDRESSES
        } else {
            address
        };
        Arc::make_mut(&mut self.addresses).push(Some(address));
        self.indices.insert(address, index);
        index
    }

    /// Number of the current interval.
    #[must_use]
    pub fn interval(&self) -> u32 {
        self.interval
    }

    /// First nanosecond that no longer belongs to the current interval.
    #[must_use]
    pub fn boundary(&self) -> u64 {
        (u64::from(self.interval) + 1) * SECOND_NS
    }

    /// Ends the current interval and begins the one that holds `now`, or the next one where `now`
    /// lies before the boundary (the last cut of a run). While operations are under way every
    /// second has its interval, so that `now` may lie beyond the next boundary too: cut again until
    /// it does not. Else skipped seconds are empty, and no interval is made for them.
    ///
    /// Costs a few moves. Send the interval to another thread, call [`Interval::merge_into`] or
    /// [`Interval::into_snapshot`] there, and give the [`Spare`] back at a later cut, so that
    /// nothing is allocated.
    pub fn cut(&mut self, now: u64, spare: Option<Spare>) -> Interval {
        let fresh = spare.unwrap_or_default();
        let client = self.client.cut(now.min(self.boundary()), fresh.client);
        let cells = std::mem::replace(&mut self.cells, fresh.cells);
        let ended = self.interval;
        let next = ended.saturating_add(1);
        self.interval = if self.client.open() > 0 {
            next
        } else {
            second_of(now).max(next)
        };
        Interval::new(
            ended,
            self.requests,
            Arc::clone(&self.addresses),
            cells,
            client,
        )
    }

    /// An operation is under way from `at` on, until [`Recorder::ended`].
    #[inline]
    pub fn begun(&mut self, at: u64) {
        self.client.begin(at);
    }

    /// A ready socket was handled at `at`, so long after it was ready at most.
    #[inline]
    pub fn lagged(&mut self, at: u64, lag_ns: u64) {
        if !BLIND && self.window.contains(at) {
            self.client.client.loop_lag.record(lag_ns);
        }
    }

    /// An operation began.
    pub fn started(&mut self, key: CellId) {
        if BLIND {
            return;
        }
        self.cell(key).counters.started += 1;
    }

    /// An operation that began at the address of `from` is sent again, to that of `to`.
    pub fn moved(&mut self, from: CellId, to: CellId) {
        self.cell(from).counters.moved -= 1;
        self.cell(to).counters.moved += 1;
    }

    /// An operation ended: all its times, its outcome, status and bytes.
    pub fn ended(&mut self, operation: &Operation) {
        if BLIND {
            return;
        }
        self.client.end(operation.done_at);
        let window = self.window;
        let cell = self.cell(operation.key);
        let outcome = operation.verdict.outcome();
        count_end(cell, operation);
        count_within(cell, window, outcome, operation);
        record_whole(cell, outcome, operation);
        record_opening(cell, outcome, operation);
        record_exchange(cell, outcome, operation);
    }

    /// A TCP connect was begun.
    pub fn connect_attempted(&mut self, key: CellId) {
        if BLIND {
            return;
        }
        self.cell(key).counters.connections.attempted += 1;
    }

    /// A TCP connect succeeded.
    pub fn connect_opened(&mut self, key: CellId) {
        if BLIND {
            return;
        }
        self.cell(key).counters.connections.opened += 1;
    }

    /// A handshake completed.
    pub fn handshake(&mut self, key: CellId, handshake: Handshake<'_>) {
        if BLIND {
            return;
        }
        let cell = self.cell(key);
        cell.negotiated.count(handshake.negotiated);
        if let Some(chain) = handshake.chain {
            cell.chains.count(chain);
        }
        let resumed = handshake.negotiated.kind.is_resumed();
        let resumption = &mut cell.counters.resumption;
        resumption.offered += u64::from(handshake.offered.is_some());
        resumption.accepted += u64::from(resumed);
        resumption.refused += u64::from(handshake.offered.is_some() && !resumed);
        resumption.none_at_hand += u64::from(handshake.none_at_hand);
        if let Some(issuer) = handshake.offered {
            cell.session_offers.count(&HotOffer::new(issuer, resumed));
        }
        cell.counters.early_data.accepted += u64::from(handshake.early_data == Some(true));
        cell.counters.early_data.rejected += u64::from(handshake.early_data == Some(false));
        cell.counters.handshake_bytes_sent += handshake.bytes_sent;
        cell.counters.handshake_bytes_received += handshake.bytes_received;
    }

    /// Tickets or sessions arrived.
    pub fn sessions_received(&mut self, key: CellId, number: u64) {
        if BLIND {
            return;
        }
        self.cell(key).counters.resumption.received += number;
    }

    /// An operation went over a connection that was already open.
    pub fn reused(&mut self, key: CellId) {
        if BLIND {
            return;
        }
        self.cell(key).counters.connections.reused += 1;
    }

    /// A reused connection was closed under a request, which was sent again.
    pub fn reused_closed(&mut self, key: CellId) {
        self.cell(key).counters.connections.reused_closed += 1;
    }

    /// Early data was answered with 425 (Too Early), and the request is sent again.
    pub fn too_early(&mut self, key: CellId) {
        self.cell(key).counters.early_data.too_early += 1;
    }

    /// An HTTP/2 server closes a connection and says so.
    pub fn go_away(&mut self, key: CellId) {
        self.cell(key).counters.http2.go_aways += 1;
    }

    /// An HTTP/2 server refused a stream.
    pub fn refused_stream(&mut self, key: CellId) {
        self.cell(key).counters.http2.refused_streams += 1;
    }

    /// A request that an HTTP/2 server had not processed is sent once more.
    pub fn sent_again(&mut self, key: CellId) {
        self.cell(key).counters.http2.sent_again += 1;
    }

    /// An HTTP/2 server allows only so many streams at once on a connection, fewer than asked for.
    pub fn limited(&mut self, key: CellId, streams: u32) {
        let http2 = &mut self.cell(key).counters.http2;
        let fewest = if http2.limited_connections == 0 {
            u64::MAX
        } else {
            http2.fewest_streams
        };
        http2.fewest_streams = fewest.min(u64::from(streams));
        http2.limited_connections += 1;
    }

    /// A connection that takes no more requests is left to end those under way.
    pub fn draining(&mut self, key: CellId) {
        self.cell(key).counters.http2.draining_connections += 1;
    }

    /// The wait for the server's end of a connection is over, after so long; whether that came.
    pub fn end_awaited(&mut self, key: CellId, wait_ns: u64, has_come: bool) {
        let connections = &mut self.cell(key).counters.connections;
        connections.end_wait_ns += wait_ns;
        connections.left_open += u64::from(!has_come);
    }

    /// A user waits after a connection failed.
    pub fn backed_off(&mut self, key: CellId, wait_ns: u64) {
        let connections = &mut self.cell(key).counters.connections;
        connections.back_offs += 1;
        connections.back_off_ns += wait_ns;
    }

    /// Bytes crossed a socket at `at`.
    pub fn wire_bytes(&mut self, key: CellId, at: u64, sent: u64, received: u64) {
        if BLIND {
            return;
        }
        let is_within = self.window.contains(at);
        let counters = &mut self.cell(key).counters;
        counters.wire_bytes_sent += sent;
        counters.wire_bytes_received += received;
        if is_within {
            counters.within.wire_bytes_sent += sent;
            counters.within.wire_bytes_received += received;
        }
    }

    /// Body bytes came at `at`, of an answer that is not whole yet.
    pub fn payload(&mut self, key: CellId, at: u64, bytes: u64) {
        if BLIND {
            return;
        }
        let is_within = self.window.contains(at);
        let counters = &mut self.cell(key).counters;
        counters.payload_bytes += bytes;
        counters.within.payload_bytes += if is_within { bytes } else { 0 };
    }

    /// An arrival could not be sent at all: counted as started and failed; what it had waited is a
    /// lower bound of its times.
    pub fn not_sent(&mut self, arrival: &NotSent) {
        let NotSent {
            key,
            intended_at,
            noticed_at,
            given_up_at,
            failure,
        } = *arrival;
        let is_late = self.window.contains(intended_at) && self.window.is_late(intended_at);
        let cell = self.cell(key);
        cell.counters.started += 1;
        cell.counters.failed += 1;
        cell.counters.within.due_late += u64::from(is_late);
        cell.failures.count(&failure);
        let waited = between(intended_at, given_up_at);
        cell.response_times
            .record(Outcome::NotSent, second_of(intended_at), waited);
        cell.record(Outcome::NotSent, Metric::Lateness, waited);
        cell.record(
            Outcome::NotSent,
            Metric::ScheduleDelay,
            between(intended_at, noticed_at),
        );
        cell.record(
            Outcome::NotSent,
            Metric::ConnectionWait,
            between(noticed_at, given_up_at),
        );
    }

    #[inline]
    fn cell(&mut self, key: CellId) -> &mut HotCell {
        assert!(
            key.request < self.requests,
            "a cell's request is one of the plan's"
        );
        let place = place(self.requests, key.period, key.request, key.address);
        if self.cells.get(place).is_none_or(Option::is_none) {
            self.make_cell(place, key.address);
        }
        let cell = self.cells[place].as_mut().expect("the cell was made");
        cell.touched = true;
        cell
    }

    #[cold]
    fn make_cell(&mut self, place: usize, address: u16) {
        assert!(
            usize::from(address) < self.addresses.len(),
            "a cell's address has been given to this recorder"
        );
        if self.cells.len() <= place {
            self.cells.resize_with(place + 1, || None);
        }
        self.cells[place] = Some(Box::default());
    }
}

impl Verdict {
    /// The outcome its times are kept under.
    #[must_use]
    pub fn outcome(self) -> Outcome {
        match self {
            Verdict::Ok | Verdict::OkUnconfirmed => Outcome::Ok,
            Verdict::Failed(Failure {
                kind: Kind::TimeOut,
                ..
            }) => Outcome::TimedOut,
            Verdict::Failed(_) => Outcome::Failed,
        }
    }
}

#[inline]
fn count_end(cell: &mut HotCell, operation: &Operation) {
    match operation.verdict.outcome() {
        Outcome::Ok => cell.counters.ok += 1,
        Outcome::TimedOut => cell.counters.timed_out += 1,
        Outcome::Failed | Outcome::NotSent => cell.counters.failed += 1,
    }
    match &operation.verdict {
        Verdict::Ok => {}
        Verdict::OkUnconfirmed => cell.counters.unconfirmed += 1,
        Verdict::Failed(failure) => cell.failures.count(failure),
    }
    if let Some(status) = operation.status {
        cell.statuses.count(&status);
    }
    cell.counters.payload_bytes += operation.payload_bytes;
    cell.counters.last_done_at_ns = cell.counters.last_done_at_ns.max(operation.done_at);
}

/// What of it lies in the measured part, by instants.
#[inline]
fn count_within(cell: &mut HotCell, window: Window, outcome: Outcome, operation: &Operation) {
    let within = &mut cell.counters.within;
    let Operation {
        intended_at,
        done_at,
        ..
    } = *operation;
    within.due_late += u64::from(window.contains(intended_at) && window.is_late(intended_at));
    if window.contains(done_at) {
        within.ended += 1;
        within.ok += u64::from(outcome == Outcome::Ok);
        within.payload_bytes += operation.payload_bytes;
        within.ended_late += u64::from(window.is_late(done_at));
    }
}

/// Times that every operation has.
#[inline]
fn record_whole(cell: &mut HotCell, outcome: Outcome, operation: &Operation) {
    let Operation {
        intended_at,
        noticed_at,
        begun_at,
        done_at,
        ..
    } = *operation;
    cell.response_times.record(
        outcome,
        second_of(intended_at),
        between(intended_at, done_at),
    );
    cell.record(outcome, Metric::ServiceTime, between(begun_at, done_at));
    if let Some(noticed_at) = noticed_at {
        cell.record(outcome, Metric::Lateness, between(intended_at, begun_at));
        cell.record(
            outcome,
            Metric::ScheduleDelay,
            between(intended_at, noticed_at),
        );
        if noticed_at < begun_at {
            cell.record(
                outcome,
                Metric::ConnectionWait,
                between(noticed_at, begun_at),
            );
        }
    }
}

/// Phases of an operation that opened its connection, as far as it came.
#[inline]
fn record_opening(cell: &mut HotCell, outcome: Outcome, operation: &Operation) {
    if let Some(ns) = operation.dns {
        cell.record(outcome, Metric::Dns, ns);
    }
    if let Some(ns) = operation.connect {
        cell.record(outcome, Metric::Connect, ns);
    }
    if let Some((kind, ns)) = operation.handshake {
        cell.record(outcome, kind.metric(), ns);
    }
    if let (Some((kind, ns)), Some(connect_ns)) = (operation.handshake, operation.connect)
        && let Some(metric) = kind.in_connects()
    {
        cell.record(outcome, metric, ns.saturating_mul(1000) / connect_ns.max(1));
    }
    if let Some(ready_at) = operation.ready_at {
        cell.record(
            outcome,
            Metric::Opening,
            between(operation.tried_at, ready_at),
        );
    }
}

/// Phases of request and response, as far as they came.
#[inline]
fn record_exchange(cell: &mut HotCell, outcome: Outcome, operation: &Operation) {
    let Operation {
        sent_at,
        written_at,
        first_byte_at,
        done_at,
        ..
    } = *operation;
    if let (Some(sent_at), Some(written_at)) = (sent_at, written_at) {
        cell.record(outcome, Metric::Send, between(sent_at, written_at));
    }
    if let (Some(sent_at), Some(first_byte_at)) = (sent_at, first_byte_at) {
        cell.record(outcome, Metric::FirstByte, between(sent_at, first_byte_at));
    }
    if let Some(first_byte_at) = first_byte_at {
        cell.record(outcome, Metric::Receive, between(first_byte_at, done_at));
    }
    if operation.ready_at.is_some() || sent_at.is_some() {
        cell.record(
            outcome,
            Metric::Processing,
            between(operation.ready_at.unwrap_or(operation.tried_at), done_at),
        );
    }
}

/// Nanoseconds from one instant to a later one.
#[inline]
fn between(earlier: u64, later: u64) -> u64 {
    debug_assert!(
        earlier <= later,
        "instants of an operation are in order: {earlier} then {later}"
    );
    later.saturating_sub(earlier)
}

/// The second of the run clock that holds `instant`; a run is shorter than 136 years.
#[inline]
fn second_of(instant: u64) -> u32 {
    u32::try_from(instant / SECOND_NS).unwrap_or(u32::MAX)
}
