//! A worker's recorder: no lock, no allocation once its cells and funnels exist, but for failed
//! rows, redirects and statuses of gRPC.

mod ended;
mod journeys;
mod streamed;
mod websockets;

use crate::beside_cells::BesideCells;
use crate::client::HotClient;
use crate::funnels::HotFunnels;
use crate::hot::HotCell;
use crate::interval::{Cells, place};
use crate::session_offer::HotOffer;
use crate::{
    CellId, CellKey, EventsRead, Failure, GrpcStatus, Handshake, Http2Counts, Interval, Metric,
    NotSent, Operation, Outcome, PathSample, Period, RowId, SigningTally, Spare, StreamEnd,
    TokenTally, Window,
};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

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
    beside: BesideCells,
    funnels: HotFunnels,
}

const SECOND_NS: u64 = 1_000_000_000;

/// Nothing of the load path is recorded: only for the bench that shows what recording costs.
const BLIND: bool = cfg!(feature = "blind");

impl Recorder {
    /// A recorder for a plan with `requests` requests; its first interval is 0.
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
            beside: BesideCells::default(),
            funnels: HotFunnels::default(),
        }
    }

    /// The same, with the measured part that rates are counted in; without it that is all time.
    #[must_use]
    pub fn measuring(self, window: Window) -> Recorder {
        Recorder { window, ..self }
    }

    /// The measured part ends at `at`, before the plan would end it; whether it did, and had
    /// not ended yet.
    pub fn close_window(&mut self, at: u64) -> bool {
        let ends = self.window.close(at);
        if ends {
            self.client.client.fired_until_ns = at;
        }
        ends
    }

    /// Nothing begins after `at`, and what has begun is measured until it ends: all of a number of
    /// operations have begun.
    pub fn end_firing(&mut self, at: u64) {
        // 0 stands for "not ended by anything but the clock" there.
        self.client.client.fired_until_ns = at.max(self.window.from()).max(1);
    }

    /// The index of `address` in [`CellId`]s from now on; the same address gets the same index.
    /// Beyond [`CellKey::ADDRESSES`] they share one, that of [`CellKey::OTHER_ADDRESSES`].
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
        let funnels = std::mem::replace(&mut self.funnels, fresh.funnels);
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
            (cells, funnels),
            client,
            std::mem::take(&mut self.beside),
        )
    }

    /// An operation is under way from `at` on, until [`Recorder::end`].
    #[inline]
    pub fn begin(&mut self, at: u64) {
        self.client.begin(at);
    }

    /// Operations under way.
    #[inline]
    #[must_use]
    pub fn under_way(&self) -> u64 {
        self.client.open()
    }

    /// The loop handled a ready socket at `at`, or looked at its sockets again; it could have done
    /// so at most this much earlier.
    #[inline]
    pub fn record_lag(&mut self, at: u64, lag_ns: u64) {
        if !BLIND && self.window.meets(at.saturating_sub(lag_ns), at) {
            self.client.client.loop_lag.record(lag_ns);
        }
    }

    /// The kernel was asked at `at` how a connection does on which an operation is under way.
    pub fn record_path(&mut self, at: u64, sample: &PathSample) {
        if self.window.contains(at) {
            self.client.client.path.record(sample);
        }
    }

    /// An operation began.
    pub fn count_start(&mut self, key: CellId) {
        if BLIND {
            return;
        }
        self.cell(key).counters.started += 1;
    }

    /// An operation that began at the address of `from` is sent again, to that of `to`.
    pub fn count_move(&mut self, from: CellId, to: CellId) {
        self.cell(from).counters.moved -= 1;
        self.cell(to).counters.moved += 1;
    }

    /// An operation ended: all its times, its outcome, status and bytes.
    pub fn end(&mut self, operation: &Operation) {
        if BLIND {
            return;
        }
        self.client.end(operation.done_at);
        let window = self.window;
        ended::record(self.cell(operation.key), window, operation);
    }

    /// A measured operation failed that had this row of a data file, which begins in `line`.
    pub fn row_failed(&mut self, id: RowId, line: u64, failure: Failure) {
        self.beside.failed_rows.count(id, line, failure, 1);
    }

    /// An operation follows a redirect, the answer with this status: what it has opened so far is
    /// recorded now, since it may open another connection.
    #[cold]
    pub fn count_redirect(&mut self, so_far: &Operation, status: u16) {
        if BLIND {
            return;
        }
        let key = so_far.key;
        if key.period == Period::Measured {
            self.beside.redirects.count(key.request, status, 1);
        }
        ended::record_opening(self.cell(key), Outcome::Ok, so_far);
    }

    /// The answer came in place of the leave to send a body, which will not be sent.
    #[cold]
    pub fn count_withheld_body(&mut self, key: CellId) {
        if key.period == Period::Measured {
            self.beside.withheld.count(key.request, 1);
        }
    }

    /// A gRPC call ended with this status.
    pub fn count_grpc(&mut self, key: CellId, status: GrpcStatus) {
        if !BLIND && key.period == Period::Measured {
            self.beside.grpc.count(key.request, status, 1);
        }
    }

    /// A gRPC call failed by this status, of which the server says this.
    #[cold]
    pub fn count_grpc_message(&mut self, key: CellId, status: GrpcStatus, text: &str) {
        if !BLIND && key.period == Period::Measured {
            let messages = &mut self.beside.grpc_messages;
            messages.count(key.request, status, text, 1);
        }
    }

    /// Adds what became of the token of the credential at this place.
    pub fn add_tokens(&mut self, place: u16, tally: &TokenTally) {
        self.beside.tokens.add(place, tally);
    }

    /// Adds digests and signatures that were made.
    pub fn add_signing(&mut self, tally: &SigningTally) {
        self.beside.signing.merge(tally);
    }

    /// Events of a streamed answer came.
    pub fn events(&mut self, read: &EventsRead) {
        if BLIND {
            return;
        }
        let window = self.window;
        streamed::record(self.cell(read.key), window, read);
    }

    /// An operation ran out of time at `at` before the first event of its answer came: what it had
    /// waited since the instants at which it was intended and begun is a lower bound.
    pub fn event_missed(&mut self, key: CellId, since: (u64, u64), at: u64) {
        streamed::record_first(self.cell(key), Outcome::TimedOut, since, at);
    }

    /// A streamed answer ended after `events` events.
    pub fn stream_ended(&mut self, key: CellId, end: StreamEnd, events: u64) {
        self.cell(key).streams.count_end(end, events);
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
        // A session that was offered and not resumed was refused: TLS reports no more (RFC 8446,
        // section 2.2).
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
    pub fn count_reuse(&mut self, key: CellId) {
        if BLIND {
            return;
        }
        self.cell(key).counters.connections.reused += 1;
    }

    /// A reused connection was closed under a request, which was sent again.
    pub fn count_closed_under_reuse(&mut self, key: CellId) {
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
    pub fn count_refused_stream(&mut self, key: CellId) {
        self.cell(key).counters.http2.refused_streams += 1;
    }

    /// A request that an HTTP/2 server had not processed is sent once more.
    pub fn count_resend(&mut self, key: CellId) {
        self.cell(key).counters.http2.sent_again += 1;
    }

    /// An HTTP/2 server limits the streams at once on a connection: to fewer than asked for,
    /// and fewer than before unless it `is_first` said to.
    pub fn count_stream_limit(&mut self, key: CellId, streams: u32, is_first: bool) {
        self.cell(key).counters.http2.merge(&Http2Counts {
            limited_connections: u64::from(is_first),
            fewest_streams: u64::from(streams),
            ..Http2Counts::default()
        });
    }

    /// A connection that takes no more requests is left to end those under way.
    pub fn draining(&mut self, key: CellId) {
        self.cell(key).counters.http2.draining_connections += 1;
    }

    /// The wait for the server to end a connection is over: how long it took, and whether it did.
    pub fn end_awaited(&mut self, key: CellId, wait_ns: u64, has_come: bool) {
        let connections = &mut self.cell(key).counters.connections;
        connections.end_wait_ns += wait_ns;
        connections.left_open += u64::from(!has_come);
    }

    /// A user waits after a connection failed.
    pub fn count_back_off(&mut self, key: CellId, wait_ns: u64) {
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
            is_streamed,
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
        if is_streamed {
            cell.record(Outcome::NotSent, Metric::FirstEvent, waited);
        }
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
