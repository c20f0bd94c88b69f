//! What happened. One recorder per worker, snapshots of one second, an exact merge, a versioned
//! encoding. Pure: no clock, no thread, no I/O; instants are nanoseconds of the run clock, given by
//! the caller.

mod beside_cells;
mod bucket;
pub mod calendar;
mod client;
mod counters;
mod counts;
mod deflate;
mod distribution;
mod failed_rows;
mod failure;
mod failure_name;
mod funnels;
mod grpc;
mod grpc_messages;
mod hdr_encoding;
mod histogram;
mod hot;
pub mod http2;
mod http_violation;
mod interval;
mod journeys;
mod key;
mod metric;
mod nanoseconds;
mod operation;
mod packed;
mod path_counts;
mod percentile;
mod pieces;
mod recorder;
mod request_counts;
mod seconds;
mod session_offer;
mod signing;
mod snapshot;
mod split_mix;
mod streams;
mod tally;
pub mod tls;
mod token_tallies;
mod totals;
mod unprintable;
mod websocket;
mod window;
mod wire;
mod withheld_bodies;
mod zigzag;

pub use client::Client;
pub use counters::{
    ConnectionCounts, Counters, EarlyDataCounts, Http2Counts, ResumptionCounts, Within,
};
pub use counts::HistogramError;
pub use distribution::Distribution;
pub use failed_rows::{FailedRow, FailedRows, RowId};
pub use failure::{CertificateFault, Failure, FailureStage, Kind, RedirectFault};
pub use failure_name::UnknownFailure;
pub use grpc::{GrpcFault, GrpcStatus};
pub use grpc_messages::GrpcMessages;
pub use hdr_encoding::HdrEncoder;
pub use histogram::{Bucket, Histogram, rank};
pub use http_violation::HttpViolation;
pub use interval::{Interval, Spare};
pub use journeys::{
    Funnel, GroupTally, JourneyCell, JourneyCounts, JourneyEnd, JourneyTimes, StepCounts,
};
pub use key::{CellId, CellKey, Period};
pub use metric::{HANDSHAKE, LOOP_LAG, Metric, Outcome};
pub use nanoseconds::nanoseconds;
pub use operation::{Handshake, NotSent, Operation, OperationEnd};
pub use packed::PackedHistogram;
pub use path_counts::{PathCounts, PathSample, PathSums};
pub use percentile::Percentile;
pub use recorder::Recorder;
pub use request_counts::{FollowedRedirects, GrpcTally, RequestCounts, WebSocketTally};
pub use session_offer::SessionOffer;
pub use signing::SigningTally;
pub use snapshot::{Cell, Snapshot};
pub use split_mix::SplitMix;
pub use streams::{EventsRead, StreamCounts, StreamEnd};
pub use tls::{Chain, HandshakeKind, Negotiated, Staple};
pub use token_tallies::{RequestsByPart, TokenTallies, TokenTally};
pub use totals::{Totals, TotalsError};
pub use unprintable::is_unprintable;
pub use websocket::{WebSocketFact, WebSocketFault};
pub use window::Window;
pub use wire::{DecodeError, SnapshotDecoder};
pub use withheld_bodies::WithheldBodies;

/// Number of the encodings of snapshots and totals together, which differs where one of them does.
/// Coordinator and agent compare it when the agent joins.
pub const ENCODING: u32 = (wire::VERSION as u32) << 8 | totals::VERSION as u32;
