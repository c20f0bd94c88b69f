//! What a worker tells the recorder: an ended operation, an arrival that was never sent, a
//! completed handshake.

use crate::{CellId, Chain, Failure, HandshakeKind, Kind, Negotiated, Outcome};

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
    pub end: OperationEnd,
    /// Status, where a head was received.
    pub status: Option<u16>,
    /// Body bytes received, less those that [`crate::Recorder::payload`] has counted already.
    pub payload_bytes: u64,
}

/// How one operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationEnd {
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
    /// Why it could not be sent.
    pub failure: Failure,
    /// Whether its answer would have been a stream of events, the first of which it waited for.
    pub is_streamed: bool,
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
    /// Received until then; see `bytes_sent`.
    pub bytes_received: u64,
}

impl OperationEnd {
    /// The outcome its times are kept under.
    #[must_use]
    pub fn outcome(self) -> Outcome {
        match self {
            OperationEnd::Ok | OperationEnd::OkUnconfirmed => Outcome::Ok,
            OperationEnd::Failed(Failure {
                kind: Kind::TimeOut,
                ..
            }) => Outcome::TimedOut,
            OperationEnd::Failed(_) => Outcome::Failed,
        }
    }
}
