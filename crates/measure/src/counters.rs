//! Counts of one cell in one interval, or of any sum of intervals.

use crate::{Chain, Failure, Negotiated};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything that is counted. An operation counts as started in the second it begins and as ended in the second it is done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Operations begun.
    pub started: u64,
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
    /// See `handshake_bytes_sent`.
    pub handshake_bytes_received: u64,
    /// Connections.
    pub connections: Connections,
    /// Session resumption.
    pub resumption: Resumption,
    /// What handshakes agreed on.
    pub negotiated: BTreeMap<Negotiated, u64>,
    /// Chains of full handshakes.
    pub chains: BTreeMap<Chain, u64>,
    /// Handshake-only operations that ended ok without waiting for the server's confirmation; part of `ok`.
    pub unconfirmed: u64,
}

/// Counts of connections.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connections {
    /// TCP connects begun.
    pub attempted: u64,
    /// TCP connects that succeeded.
    pub opened: u64,
    /// Operations that went over a connection an earlier operation had opened.
    pub reused: u64,
    /// A reused connection was closed before any response byte; the request was sent once more on a new one.
    pub reused_closed: u64,
    /// Closed-loop users that waited after a failed connect.
    pub back_offs: u64,
    /// Sum of those waits, nanoseconds.
    pub back_off_ns: u64,
}

/// Counts of session resumption over completed handshakes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumption {
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
