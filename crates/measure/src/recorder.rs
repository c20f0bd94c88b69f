//! A worker's recorder: no lock, no allocation once its cells exist.

use crate::hot::HotCell;
use crate::interval::{Cells, place};
use crate::session_offer::HotOffer;
use crate::{CellId, Chain, Failure, HandshakeKind, Interval, Kind, Metric, Negotiated, Outcome, Spare};
use std::net::SocketAddr;
use std::sync::Arc;

/// One ended operation, instants in nanoseconds of the run clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Where it belongs.
    pub key: CellId,
    /// When it should have begun.
    pub intended_at: u64,
    /// First act for it.
    pub begun_at: u64,
    /// First act of the attempt that its phases belong to: `begun_at`, or later where it was sent again.
    pub tried_at: u64,
    /// Where this operation opened its connection: when that was ready, the end of the handshake (without TLS, of the TCP
    /// connect). `None` on a connection that was open already, and where it never became ready.
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
    /// Body bytes received.
    pub payload_bytes: u64,
    /// Whether lateness has a meaning (open loop).
    pub scheduled: bool,
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
/// Everything goes into the interval of the second in which it is recorded; response times are keyed in it by the second
/// of `intended_at`. Intervals must be cut in time order: [`Recorder::cut`] ends the current one, and whatever is recorded
/// afterwards belongs to a later one, so the caller cuts before it records something of a later second.
#[derive(Debug)]
pub struct Recorder {
    requests: u16,
    /// By index; the first is "none". Shared with intervals that are under way.
    addresses: Arc<Vec<Option<SocketAddr>>>,
    interval: u32,
    cells: Cells,
}

const SECOND_NS: u64 = 1_000_000_000;

/// Nothing of the load path is recorded: only for the bench that shows what recording costs.
const BLIND: bool = cfg!(feature = "blind");

impl Recorder {
    /// A recorder for a plan with so many requests; its first interval is 0.
    #[must_use]
    pub fn new(requests: u16) -> Recorder {
        Recorder { requests: requests.max(1), addresses: Arc::new(vec![None]), interval: 0, cells: Cells::new() }
    }

    /// The index of `address` in [`CellId`]s from now on; the same address gets the same index. An address beyond the
    /// 65,535th counts as "none", index 0.
    pub fn address(&mut self, address: SocketAddr) -> u16 {
        let known = self.addresses.iter().position(|&known| known == Some(address));
        let Ok(index) = u16::try_from(known.unwrap_or(self.addresses.len())) else { return 0 };
        if known.is_none() {
            Arc::make_mut(&mut self.addresses).push(Some(address));
        }
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

    /// Ends the current interval and begins the one that holds `now`, or the next one where `now` lies before the boundary
    /// (the last cut of a run). Skipped seconds are empty: no interval is made for them.
    ///
    /// Costs a few moves. Send the interval to another thread, call [`Interval::merge_into`] or [`Interval::into_snapshot`]
    /// there, and give the [`Spare`] back at a later cut, so that nothing is allocated.
    pub fn cut(&mut self, now: u64, spare: Option<Spare>) -> Interval {
        let fresh = spare.map(|spare| spare.0).unwrap_or_default();
        let cells = std::mem::replace(&mut self.cells, fresh);
        let ended = self.interval;
        self.interval = second_of(now).max(ended.saturating_add(1));
        Interval::new(ended, self.requests, Arc::clone(&self.addresses), cells)
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
        let cell = self.cell(operation.key);
        let outcome = operation.verdict.outcome();
        count_end(cell, operation);
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
        let fewest = if http2.limited_connections == 0 { u64::MAX } else { http2.fewest_streams };
        http2.fewest_streams = fewest.min(u64::from(streams));
        http2.limited_connections += 1;
    }

    /// A user waits after a failed connect.
    pub fn backed_off(&mut self, key: CellId, wait_ns: u64) {
        let connections = &mut self.cell(key).counters.connections;
        connections.back_offs += 1;
        connections.back_off_ns += wait_ns;
    }

    /// Bytes crossed a socket.
    pub fn wire_bytes(&mut self, key: CellId, sent: u64, received: u64) {
        if BLIND {
            return;
        }
        let counters = &mut self.cell(key).counters;
        counters.wire_bytes_sent += sent;
        counters.wire_bytes_received += received;
    }

    /// An arrival could not be sent at all: counted as started and failed, in no histogram.
    pub fn not_sent(&mut self, key: CellId, failure: Failure) {
        let cell = self.cell(key);
        cell.counters.started += 1;
        cell.counters.failed += 1;
        cell.failures.count(&failure);
    }

    #[inline]
    fn cell(&mut self, key: CellId) -> &mut HotCell {
        assert!(key.request < self.requests, "a cell's request is one of the plan's");
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
        assert!(usize::from(address) < self.addresses.len(), "a cell's address has been given to this recorder");
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
            Verdict::Failed(Failure { kind: Kind::TimeOut, .. }) => Outcome::TimedOut,
            Verdict::Failed(_) => Outcome::Failed,
        }
    }
}

#[inline]
fn count_end(cell: &mut HotCell, operation: &Operation) {
    match operation.verdict.outcome() {
        Outcome::Ok => cell.counters.ok += 1,
        Outcome::TimedOut => cell.counters.timed_out += 1,
        Outcome::Failed => cell.counters.failed += 1,
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

/// Times that every operation has.
#[inline]
fn record_whole(cell: &mut HotCell, outcome: Outcome, operation: &Operation) {
    let Operation { intended_at, begun_at, done_at, .. } = *operation;
    cell.response_times.record(outcome, second_of(intended_at), between(intended_at, done_at));
    cell.record(outcome, Metric::ServiceTime, between(begun_at, done_at));
    if operation.scheduled {
        cell.record(outcome, Metric::Lateness, between(intended_at, begun_at));
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
        cell.record(outcome, Metric::Opening, between(operation.tried_at, ready_at));
    }
}

/// Phases of request and response, as far as they came.
#[inline]
fn record_exchange(cell: &mut HotCell, outcome: Outcome, operation: &Operation) {
    let Operation { sent_at, written_at, first_byte_at, done_at, .. } = *operation;
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
        cell.record(outcome, Metric::Processing, between(operation.ready_at.unwrap_or(operation.tried_at), done_at));
    }
}

/// Nanoseconds from one instant to a later one.
#[inline]
fn between(earlier: u64, later: u64) -> u64 {
    debug_assert!(earlier <= later, "instants of an operation are in order: {earlier} then {later}");
    later.saturating_sub(earlier)
}

/// The second of the run clock that holds `instant`; a run is shorter than 136 years.
#[inline]
fn second_of(instant: u64) -> u32 {
    u32::try_from(instant / SECOND_NS).unwrap_or(u32::MAX)
}
