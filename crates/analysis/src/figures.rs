//! The figures of a set of operations: counts, rates, bytes, times, errors, TLS.

use crate::cell_tally::CellTally;
use crate::counts::{begun_and_sent, errors, not_sent, share, sum};
use crate::ratio_figure::handshakes_in_connects;
use crate::span::{EdgeCounting, Span};
use crate::{
    ChainFigure, ErrorFigure, Headline, HistogramColumns, NegotiatedFigure, PercentileFigure,
    RatioFigure, StapleFigure, StreamFigures, TimeFigure,
};
use measure::{Counters, HandshakeKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Times that get a curve of percentiles, and the buckets of monitoring systems.
const CURVES: [&str; 2] = ["response_time", "service_time"];

/// Times that get only the buckets of monitoring systems.
const BUCKETS: [&str; 4] = ["first_event", "event_gap", "message_time", "ping_time"];

/// The figures of a set of operations.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figures {
    /// Counts of operations by how they ended.
    pub operations: Operations,
    /// Rates per second of the measured part.
    pub rates: Rates,
    /// Bytes of bodies, on sockets and in handshakes.
    pub bytes: ByteFigures,
    /// Headline times by metric name: ok, timed out and never sent together. `handshake` merges all
    /// four kinds.
    pub times: BTreeMap<String, TimeFigure>,
    /// Times of each outcome alone (`ok`, `timed_out`, `failed`, `not_sent`); empty in groups.
    pub times_by_outcome: BTreeMap<String, BTreeMap<String, TimeFigure>>,
    /// Failures, most frequent first.
    pub errors: Vec<ErrorFigure>,
    /// Number of responses by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Connections opened, reused and waited for.
    pub connections: ConnectionFigures,
    /// HTTP/2 counts; absent if there are none.
    #[serde(default, skip_serializing_if = "Http2Figures::is_empty")]
    pub http2: Http2Figures,
    /// Handshakes and TLS session resumption.
    pub resumption: ResumptionFigures,
    /// Requests sent as early data; absent if there were none.
    #[serde(default, skip_serializing_if = "EarlyDataFigures::is_empty")]
    pub early_data: EarlyDataFigures,
    /// Answers that were streams of events; absent if there were none.
    #[serde(default, skip_serializing_if = "StreamFigures::is_empty")]
    pub streams: StreamFigures,
    /// Parameters that handshakes agreed on, most frequent first.
    pub negotiated: Vec<NegotiatedFigure>,
    /// Certificate chains of full handshakes, most frequent first.
    pub chains: Vec<ChainFigure>,
    /// Stapled OCSP responses, most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ocsp_staples: Vec<StapleFigure>,
    /// Handshake time over TCP connect time for each connection: `full` and `resumed`, without
    /// handshakes that had a HelloRetryRequest.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub handshake_in_connects: BTreeMap<String, RatioFigure>,
}

/// Counts of operations by how they ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Operations {
    /// Begun and sent.
    pub started: u64,
    /// Ended in any way.
    pub ended: u64,
    /// Ended as the plan expects.
    pub ok: u64,
    /// Ended by a time-out.
    pub timed_out: u64,
    /// Ended in any other way, including arrivals that could not be sent.
    pub failed: u64,
    /// Arrivals that could not be sent; part of `failed`.
    pub not_sent: u64,
    /// Ended ok without the server's confirmation (handshake only); part of `ok`.
    pub unconfirmed: u64,
    /// Timed out and failed.
    pub errors: u64,
    /// Errors over ended operations; absent if none ended.
    pub error_share: Option<f64>,
}

/// Rates per second of the measured part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rates {
    /// Open loop: operations due per second, sent or not, which is the load that was asked for.
    /// Closed loop: same as `operations_per_second`.
    #[serde(default)]
    pub due_per_second: f64,
    /// Open loop: operations begun per second. Closed loop: same as `operations_per_second`.
    pub started_per_second: f64,
    /// Operations per second. Open loop: those that ended within the measured part, whenever they
    /// began; those that ended in the drain are left out, so that a queue which empties after the
    /// end is not taken for capacity. Closed loop: an operation that was under way at the start or
    /// the end counts with the fraction of its service time that lies within.
    pub operations_per_second: f64,
    /// Operations that ended ok per second.
    pub ok_per_second: f64,
    /// Body bytes per second, counted in the same way.
    pub payload_bytes_per_second: f64,
    /// Bytes written to sockets per second.
    pub wire_sent_bytes_per_second: f64,
    /// Bytes read from sockets per second.
    pub wire_received_bytes_per_second: f64,
}

/// Bytes of bodies, on sockets and in handshakes, over the whole part of the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ByteFigures {
    /// Bytes of response bodies.
    pub payload_bytes: u64,
    /// Bytes written to sockets.
    pub wire_sent_bytes: u64,
    /// Bytes read from sockets.
    pub wire_received_bytes: u64,
    /// Bytes sent in completed handshakes.
    pub handshake_sent_bytes: u64,
    /// Bytes received in completed handshakes.
    pub handshake_received_bytes: u64,
}

/// Connections opened, reused and waited for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConnectionFigures {
    /// TCP connects begun.
    pub attempted: u64,
    /// TCP connects that succeeded.
    pub opened: u64,
    /// Operations on a connection that was already open.
    pub reused: u64,
    /// Reused connections that the server closed during a request, which was then sent again.
    pub reused_closed: u64,
    /// Waits of closed-loop users after a failed connection.
    pub back_offs: u64,
    /// Total time of these waits.
    pub back_off_ns: u64,
    /// Connections that the server was expected to close but left open.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_open: u64,
    /// Total time spent waiting for the server to close connections, including waits in vain.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub end_wait_ns: u64,
}

/// HTTP/2 counts; all zero with HTTP/1.1.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Http2Figures {
    /// GOAWAY frames received.
    pub go_aways: u64,
    /// Streams that the server refused.
    pub refused_streams: u64,
    /// Requests that the server had not processed and that were sent again.
    pub sent_again: u64,
    /// Connections whose server allows fewer streams at once than the plan asks for.
    pub limited_connections: u64,
    /// The fewest streams that one of those connections allowed.
    pub fewest_streams: u64,
    /// Connections that took no more requests while some were under way; the next connection was
    /// opened meanwhile.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub draining_connections: u64,
}

/// Handshakes and TLS session resumption.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResumptionFigures {
    /// Completed handshakes.
    pub handshakes: u64,
    /// Handshakes in which the server showed its certificate.
    pub full: u64,
    /// Handshakes that resumed a session.
    pub resumed: u64,
    /// Handshakes with a HelloRetryRequest.
    pub retried: u64,
    /// Handshakes whose ClientHello carried a session.
    pub offered: u64,
    /// Offered sessions that the server accepted.
    pub accepted: u64,
    /// Offered sessions that the server answered with a full handshake.
    pub refused: u64,
    /// Handshakes that were to offer a session when none was available.
    pub none_at_hand: u64,
    /// Tickets or sessions received.
    pub received: u64,
}

/// Requests sent as early data (TLS 1.3's 0-RTT), over completed handshakes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EarlyDataFigures {
    /// Requests sent before the handshake was complete.
    pub offered: u64,
    /// Requests that the server took as early data.
    pub accepted: u64,
    /// Requests that the server rejected as early data and that were sent again after the
    /// handshake.
    pub rejected: u64,
    /// Requests that the server took and answered with 425 (Too Early), and that were sent again
    /// after the handshake; part of `accepted`.
    #[serde(default)]
    pub too_early: u64,
}

impl Figures {
    /// Computes the figures of a part of the run, `span`. Histograms are large and only wanted for
    /// the whole.
    pub(crate) fn new(tally: &CellTally, span: Span, columns: HistogramColumns) -> Figures {
        let counters = &tally.counters;
        let figure = |(name, headline): (String, Headline)| {
            let figure = TimeFigure::new(&headline, columns);
            let is_one_of = |names: &[&str]| {
                columns == HistogramColumns::Drawn && names.contains(&name.as_str())
            };
            let figure = if is_one_of(&CURVES) {
                figure.with_curve(&headline)
            } else if is_one_of(&BUCKETS) {
                figure.with_buckets(&headline)
            } else {
                figure
            };
            (name, figure)
        };
        Figures {
            operations: Operations::new(counters),
            rates: Rates::new(tally, span),
            bytes: ByteFigures::new(counters),
            times: tally.headlines().map(figure).collect(),
            times_by_outcome: if columns == HistogramColumns::Drawn {
                by_outcome(tally)
            } else {
                BTreeMap::new()
            },
            errors: ErrorFigure::from_counters(counters),
            statuses: counters.statuses.clone(),
            connections: ConnectionFigures::from_counts(&counters.connections),
            http2: Http2Figures::from_counts(&counters.http2),
            resumption: ResumptionFigures::new(counters),
            early_data: EarlyDataFigures::from_counts(&counters.early_data),
            streams: StreamFigures::new(tally, span),
            negotiated: NegotiatedFigure::from_counters(counters),
            chains: ChainFigure::from_counters(counters),
            ocsp_staples: StapleFigure::from_counters(counters),
            handshake_in_connects: handshakes_in_connects(|metric| {
                Some(tally.headline(&[metric])?.distribution)
            }),
        }
    }
}

impl Figures {
    /// Returns a percentile, 0 to 100, of a metric by its name; `None` if it was not measured.
    #[must_use]
    pub fn percentile(&self, metric: &str, percentile: f64) -> Option<PercentileFigure> {
        self.times.get(metric)?.percentile(percentile)
    }
}

fn by_outcome(tally: &CellTally) -> BTreeMap<String, BTreeMap<String, TimeFigure>> {
    let mut outcomes: BTreeMap<String, BTreeMap<String, TimeFigure>> = BTreeMap::new();
    for ((outcome, metric), distribution) in tally
        .times
        .iter()
        .filter(|((_, metric), _)| metric.is_time())
    {
        let figure = TimeFigure::new(
            &crate::Headline::exact(distribution),
            HistogramColumns::Omitted,
        );
        outcomes
            .entry(outcome.name().to_owned())
            .or_default()
            .insert(metric.name().to_owned(), figure);
    }
    outcomes
}

impl Operations {
    fn new(counters: &Counters) -> Operations {
        let errors = errors(counters);
        let ended = counters.operations_ended();
        Operations {
            started: begun_and_sent(counters),
            ended,
            ok: counters.ok,
            timed_out: counters.timed_out,
            failed: counters.failed,
            not_sent: not_sent(counters),
            unconfirmed: counters.unconfirmed,
            errors,
            error_share: share(errors, ended),
        }
    }
}

impl Rates {
    fn new(tally: &CellTally, span: Span) -> Rates {
        let work = span.work(tally);
        let (due, started) = match span.counting {
            EdgeCounting::WhereEnded => (
                tally.counters.operations_begun() as f64,
                begun_and_sent(&tally.counters) as f64,
            ),
            // A user begins its next operation when the last is answered; any others begun are
            // still under way.
            EdgeCounting::ByTime => (work.ended, work.ended),
        };
        Rates {
            due_per_second: span.per_second(due),
            started_per_second: span.per_second(started),
            operations_per_second: span.per_second(work.ended),
            ok_per_second: span.per_second(work.ok),
            payload_bytes_per_second: span.per_second(work.payload_bytes as f64),
            wire_sent_bytes_per_second: span.per_second(work.wire_bytes_sent as f64),
            wire_received_bytes_per_second: span.per_second(work.wire_bytes_received as f64),
        }
    }
}

impl ByteFigures {
    fn new(counters: &Counters) -> ByteFigures {
        ByteFigures {
            payload_bytes: counters.payload_bytes,
            wire_sent_bytes: counters.wire_bytes_sent,
            wire_received_bytes: counters.wire_bytes_received,
            handshake_sent_bytes: counters.handshake_bytes_sent,
            handshake_received_bytes: counters.handshake_bytes_received,
        }
    }
}

impl ConnectionFigures {
    fn from_counts(counted: &measure::ConnectionCounts) -> ConnectionFigures {
        ConnectionFigures {
            attempted: counted.attempted,
            opened: counted.opened,
            reused: counted.reused,
            reused_closed: counted.reused_closed,
            back_offs: counted.back_offs,
            back_off_ns: counted.back_off_ns,
            left_open: counted.left_open,
            end_wait_ns: counted.end_wait_ns,
        }
    }
}

/// Zero counts are left out, so that results look as they did before the count existed.
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Http2Figures {
    fn from_counts(counted: &measure::Http2Counts) -> Http2Figures {
        Http2Figures {
            go_aways: counted.go_aways,
            refused_streams: counted.refused_streams,
            sent_again: counted.sent_again,
            limited_connections: counted.limited_connections,
            draining_connections: counted.draining_connections,
            fewest_streams: counted.fewest_streams,
        }
    }

    /// Returns whether nothing was counted.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Http2Figures::default()
    }
}

impl EarlyDataFigures {
    fn from_counts(counted: &measure::EarlyDataCounts) -> EarlyDataFigures {
        let measure::EarlyDataCounts {
            accepted,
            rejected,
            too_early,
        } = *counted;
        EarlyDataFigures {
            offered: accepted.saturating_add(rejected),
            accepted,
            rejected,
            too_early,
        }
    }

    /// Returns whether no request was sent as early data.
    pub(crate) fn is_empty(&self) -> bool {
        *self == EarlyDataFigures::default()
    }
}

impl ResumptionFigures {
    fn new(counters: &Counters) -> ResumptionFigures {
        use HandshakeKind::{Full, FullRetried, Resumed, ResumedRetried};
        let counted = &counters.resumption;
        ResumptionFigures {
            handshakes: handshakes(counters, &[Full, FullRetried, Resumed, ResumedRetried]),
            full: handshakes(counters, &[Full, FullRetried]),
            resumed: handshakes(counters, &[Resumed, ResumedRetried]),
            retried: handshakes(counters, &[FullRetried, ResumedRetried]),
            offered: counted.offered,
            accepted: counted.accepted,
            refused: counted.refused,
            none_at_hand: counted.none_at_hand,
            received: counted.received,
        }
    }
}

/// Counts the completed handshakes of these kinds.
fn handshakes(counters: &Counters, kinds: &[HandshakeKind]) -> u64 {
    let of_kinds = counters
        .negotiated
        .iter()
        .filter(|(agreed, _)| kinds.contains(&agreed.kind));
    sum(of_kinds.map(|(_, count)| count))
}
