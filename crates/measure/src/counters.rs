//! Counts of one cell in one interval, or of any sum of intervals.

use crate::pieces::map_bytes;
use crate::{Chain, Failure, Negotiated, SessionOffer};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything that is counted. An operation counts as started in the second it begins and as ended
/// in the second it is done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Operations that began, arrivals never sent among them.
    pub started: u64,
    /// Operations that had begun at another address and were sent again to this one, less those
    /// that left this one so. Over all addresses of a second it is 0.
    pub moved: i64,
    /// Ended as the plan expects.
    pub ok: u64,
    /// Ended by a time-out; each stands in `failures` too.
    pub timed_out: u64,
    /// Ended otherwise; each stands in `failures` too. Arrivals not sent are here.
    pub failed: u64,
    /// Ended not ok, by stage and kind. Its sum is `timed_out + failed`.
    pub failures: BTreeMap<Failure, u64>,
    /// Responses by status, whatever the outcome.
    pub statuses: BTreeMap<u16, u64>,
    /// Bytes of response bodies, after chunked coding is removed.
    pub payload_bytes: u64,
    /// Bytes written to sockets, TLS records included.
    pub wire_bytes_sent: u64,
    /// Bytes read from sockets, TLS records included.
    pub wire_bytes_received: u64,
    /// Wire bytes of completed handshakes, sent and received until our Finished is written.
    pub handshake_bytes_sent: u64,
    /// Received until then; see `handshake_bytes_sent`.
    pub handshake_bytes_received: u64,
    /// Connections opened, reused and waited for.
    pub connections: ConnectionCounts,
    /// What happened to HTTP/2 connections.
    pub http2: Http2Counts,
    /// Session resumption over completed handshakes.
    pub resumption: ResumptionCounts,
    /// Sessions offered, by who had issued them and whether they were taken. Its sum is
    /// `resumption.offered`.
    pub session_offers: BTreeMap<SessionOffer, u64>,
    /// Requests sent as early data (TLS 1.3's 0-RTT).
    pub early_data: EarlyDataCounts,
    /// What handshakes agreed on.
    pub negotiated: BTreeMap<Negotiated, u64>,
    /// Chains of full handshakes.
    pub chains: BTreeMap<Chain, u64>,
    /// Handshake-only operations that ended ok without waiting for the server's confirmation; part
    /// of `ok`.
    pub unconfirmed: u64,
    /// When the last operation ended, nanoseconds of the run clock; 0 where none did. A sum has the
    /// latest.
    pub last_done_at_ns: u64,
    /// What happened within the measured part.
    pub within: Within,
}

/// What happened between the two instants of the measured part, by its own instant: whichever part
/// its operation belongs to. Rates are made of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Within {
    /// Operations that ended; arrivals never sent are not among them.
    pub ended: u64,
    /// Those of them that were ok.
    pub ok: u64,
    /// Bytes of response bodies.
    pub payload_bytes: u64,
    /// Bytes written to sockets.
    pub wire_bytes_sent: u64,
    /// Bytes read from sockets.
    pub wire_bytes_received: u64,
    /// Operations intended in its second half, sent or not.
    pub due_late: u64,
    /// Operations that ended in its second half, a part of `ended`.
    pub ended_late: u64,
    /// Operations that began before it, ended after it, or were due before it: the part of each
    /// one's service time that lies in it, in billionths ([`crate::Window::WHOLE`]).
    pub ended_parts: u64,
    /// The same, ok ones only.
    pub ok_parts: u64,
}

/// Counts of connections.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionCounts {
    /// TCP connects begun.
    pub attempted: u64,
    /// TCP connects that succeeded.
    pub opened: u64,
    /// Operations that went over a connection an earlier operation had opened.
    pub reused: u64,
    /// A reused connection was closed before any response byte; the request was sent once more on a
    /// new one.
    pub reused_closed: u64,
    /// Closed-loop users that waited after a connection failed, or broke before it served.
    pub back_offs: u64,
    /// Sum of those waits, nanoseconds.
    pub back_off_ns: u64,
    /// Connections that the server was to close (`close = "server"`) and had not when
    /// `connection.timeouts.request` was over.
    pub left_open: u64,
    /// Sum of the waits for the server's end, nanoseconds, those in vain included.
    pub end_wait_ns: u64,
}

/// Counts of HTTP/2 connections; all zero where HTTP/1.1 is spoken.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Http2Counts {
    /// GOAWAY frames received.
    pub go_aways: u64,
    /// Streams that the server refused (`REFUSED_STREAM`).
    pub refused_streams: u64,
    /// Requests that the server had not processed, by its GOAWAY or `REFUSED_STREAM`, and that were
    /// sent once more.
    pub sent_again: u64,
    /// Connections whose server allows fewer streams at once than the plan asks for.
    pub limited_connections: u64,
    /// The fewest streams at once that a server of those allowed; 0 where there is none.
    pub fewest_streams: u64,
    /// Connections that took no more requests, by the server's GOAWAY or by the plan, while some
    /// were under way: these ended there, and the next connection was opened meanwhile.
    pub draining_connections: u64,
}

/// Counts of session resumption over completed handshakes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumptionCounts {
    /// The ClientHello carried a session.
    pub offered: u64,
    /// The server took it.
    pub accepted: u64,
    /// The server did a full handshake instead.
    pub refused: u64,
    /// A session was to be offered and there was none.
    pub none_at_hand: u64,
    /// Tickets (TLS 1.3) or sessions (TLS 1.2) received.
    pub received: u64,
}

/// Counts of requests that went out as early data, over completed handshakes; offered is the sum.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlyDataCounts {
    /// The server took it.
    pub accepted: u64,
    /// The server did not, and the request was sent again after the handshake.
    pub rejected: u64,
    /// The server took it, answered 425 (RFC 8470 §5.2), and the request was sent again after the
    /// handshake; part of `accepted`.
    pub too_early: u64,
}

impl Counters {
    /// About how much memory its maps take, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let protocols = self.negotiated.keys().map(|agreed| agreed.alpn.len());
        let keys = self.chains.keys().map(|chain| chain.key.len());
        map_bytes(&self.failures)
            + map_bytes(&self.statuses)
            + map_bytes(&self.session_offers)
            + map_bytes(&self.negotiated)
            + map_bytes(&self.chains)
            + protocols.chain(keys).sum::<usize>()
    }

    /// Adds every count of `other`. Sums stop at the end of their type instead of wrapping; no
    /// honest run comes near.
    pub fn merge(&mut self, other: &Counters) {
        add(&mut self.started, other.started);
        // The only count that can be negative: an operation leaves the address where it began.
        self.moved = self.moved.saturating_add(other.moved);
        add(&mut self.ok, other.ok);
        add(&mut self.timed_out, other.timed_out);
        add(&mut self.failed, other.failed);
        add(&mut self.payload_bytes, other.payload_bytes);
        add(&mut self.wire_bytes_sent, other.wire_bytes_sent);
        add(&mut self.wire_bytes_received, other.wire_bytes_received);
        add(&mut self.handshake_bytes_sent, other.handshake_bytes_sent);
        add(
            &mut self.handshake_bytes_received,
            other.handshake_bytes_received,
        );
        add(&mut self.unconfirmed, other.unconfirmed);
        // An instant, not a count.
        self.last_done_at_ns = self.last_done_at_ns.max(other.last_done_at_ns);
        self.within.merge(&other.within);
        self.connections.merge(&other.connections);
        self.http2.merge(&other.http2);
        self.resumption.merge(&other.resumption);
        add(&mut self.early_data.accepted, other.early_data.accepted);
        add(&mut self.early_data.rejected, other.early_data.rejected);
        add(&mut self.early_data.too_early, other.early_data.too_early);
        add_all(&mut self.session_offers, &other.session_offers);
        add_all(&mut self.failures, &other.failures);
        add_all(&mut self.statuses, &other.statuses);
        add_all(&mut self.negotiated, &other.negotiated);
        add_all(&mut self.chains, &other.chains);
    }

    /// Operations begun, each at the address that it went to last: where it ends.
    #[must_use]
    pub fn operations_begun(&self) -> u64 {
        self.started.saturating_add_signed(self.moved)
    }

    /// Operations that ended, whatever the outcome.
    #[must_use]
    pub fn operations_ended(&self) -> u64 {
        self.ok
            .saturating_add(self.timed_out)
            .saturating_add(self.failed)
    }

    /// Completed handshakes: every one has a tally in `negotiated`.
    #[must_use]
    pub fn handshakes(&self) -> u64 {
        self.negotiated
            .values()
            .fold(0, |sum: u64, &count| sum.saturating_add(count))
    }
}

impl Within {
    /// Adds every count of `other`.
    pub fn merge(&mut self, other: &Within) {
        add(&mut self.ended, other.ended);
        add(&mut self.ok, other.ok);
        add(&mut self.payload_bytes, other.payload_bytes);
        add(&mut self.wire_bytes_sent, other.wire_bytes_sent);
        add(&mut self.wire_bytes_received, other.wire_bytes_received);
        add(&mut self.due_late, other.due_late);
        add(&mut self.ended_late, other.ended_late);
        add(&mut self.ended_parts, other.ended_parts);
        add(&mut self.ok_parts, other.ok_parts);
    }
}

impl ConnectionCounts {
    fn merge(&mut self, other: &ConnectionCounts) {
        add(&mut self.attempted, other.attempted);
        add(&mut self.opened, other.opened);
        add(&mut self.reused, other.reused);
        add(&mut self.reused_closed, other.reused_closed);
        add(&mut self.back_offs, other.back_offs);
        add(&mut self.back_off_ns, other.back_off_ns);
        add(&mut self.left_open, other.left_open);
        add(&mut self.end_wait_ns, other.end_wait_ns);
    }
}

impl Http2Counts {
    pub(crate) fn merge(&mut self, other: &Http2Counts) {
        add(&mut self.go_aways, other.go_aways);
        add(&mut self.refused_streams, other.refused_streams);
        add(&mut self.sent_again, other.sent_again);
        self.fewest_streams = match (self.has_limit(), other.has_limit()) {
            (_, false) => self.fewest_streams,
            (false, true) => other.fewest_streams,
            (true, true) => self.fewest_streams.min(other.fewest_streams),
        };
        add(&mut self.limited_connections, other.limited_connections);
        add(&mut self.draining_connections, other.draining_connections);
    }

    /// Whether `fewest_streams` is a limit. Limits are lowered in seconds in which no connection is
    /// newly limited.
    fn has_limit(&self) -> bool {
        self.limited_connections > 0 || self.fewest_streams > 0
    }
}

impl ResumptionCounts {
    fn merge(&mut self, other: &ResumptionCounts) {
        add(&mut self.offered, other.offered);
        add(&mut self.accepted, other.accepted);
        add(&mut self.refused, other.refused);
        add(&mut self.none_at_hand, other.none_at_hand);
        add(&mut self.received, other.received);
    }
}

fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

fn add_all<K: Ord + Clone>(sums: &mut BTreeMap<K, u64>, more: &BTreeMap<K, u64>) {
    for (key, &count) in more {
        match sums.get_mut(key) {
            Some(sum) => add(sum, count),
            None => _ = sums.insert(key.clone(), count),
        }
    }
}
