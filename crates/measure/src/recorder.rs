//! A worker's recorder: no lock, no allocation once its cells exist.

use crate::{CellId, Chain, Failure, HandshakeKind, Interval, Negotiated, Spare};

/// One ended operation, instants in nanoseconds of the run clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Where it belongs.
    pub key: CellId,
    /// When it should have begun.
    pub intended_at: u64,
    /// First act for it.
    pub begun_at: u64,
    /// Its connection was ready for it: end of the handshake it waited for, or `begun_at` on an open connection.
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
    /// The ClientHello carried a session.
    pub offered: bool,
    /// A session was to be offered and there was none.
    pub none_at_hand: bool,
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
pub struct Recorder {}

impl Recorder {
    /// A recorder for a plan with so many requests; its first interval is 0.
    #[must_use]
    pub fn new(_requests: u16) -> Recorder {
        unimplemented!()
    }

    /// The index of `address` in [`CellId`]s from now on; the same address gets the same index.
    pub fn address(&mut self, _address: std::net::SocketAddr) -> u16 {
        unimplemented!()
    }

    /// First nanosecond that no longer belongs to the current interval.
    #[must_use]
    pub fn boundary(&self) -> u64 {
        unimplemented!()
    }

    /// Number of the current interval.
    #[must_use]
    pub fn interval(&self) -> u32 {
        unimplemented!()
    }

    /// Ends the current interval and begins the one that holds `now`, or the next one where `now` lies before the boundary
    /// (the last cut of a run). Skipped seconds are empty: no interval is made for them.
    ///
    /// Costs a few moves. Send the interval to another thread, call [`Interval::merge_into`] or [`Interval::into_snapshot`]
    /// there, and give the [`Spare`] back at a later cut, so that nothing is allocated.
    pub fn cut(&mut self, _now: u64, _spare: Option<Spare>) -> Interval {
        unimplemented!()
    }

    /// An operation began.
    pub fn started(&mut self, _key: CellId) {
        unimplemented!()
    }

    /// An operation ended: all its times, its outcome, status and bytes.
    pub fn ended(&mut self, _operation: &Operation) {
        unimplemented!()
    }

    /// A TCP connect was begun.
    pub fn connect_attempted(&mut self, _key: CellId) {
        unimplemented!()
    }

    /// A TCP connect succeeded.
    pub fn connect_opened(&mut self, _key: CellId) {
        unimplemented!()
    }

    /// A handshake completed.
    pub fn handshake(&mut self, _key: CellId, _handshake: Handshake<'_>) {
        unimplemented!()
    }

    /// Tickets or sessions arrived.
    pub fn sessions_received(&mut self, _key: CellId, _number: u64) {
        unimplemented!()
    }

    /// An operation went over a connection that was already open.
    pub fn reused(&mut self, _key: CellId) {
        unimplemented!()
    }

    /// A reused connection was closed under a request, which was sent again.
    pub fn reused_closed(&mut self, _key: CellId) {
        unimplemented!()
    }

    /// A user waits after a failed connect.
    pub fn backed_off(&mut self, _key: CellId, _wait_ns: u64) {
        unimplemented!()
    }

    /// Bytes crossed a socket.
    pub fn wire_bytes(&mut self, _key: CellId, _sent: u64, _received: u64) {
        unimplemented!()
    }

    /// An arrival could not be sent at all: counted as started and failed, in no histogram.
    pub fn not_sent(&mut self, _key: CellId, _failure: Failure) {
        unimplemented!()
    }
}
