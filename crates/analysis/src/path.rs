//! The network path to the server, as the agents' kernels see it.

use crate::{Headline, HistogramColumns, TimeFigure};
use measure::{Distribution, PathCounts};
use serde::{Deserialize, Serialize};

/// The network path to the server in the measured part, as the agents' kernels see it (TCP_INFO): a
/// few of the connections with an operation under way were sampled several times a second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathFigures {
    /// Smoothed round trips.
    pub round_trip: TimeFigure,
    /// How far each round trip was above the shortest one to its address that its worker knew:
    /// queues on the path, and acknowledgements delayed by the server's kernel (40 ms at most on
    /// Linux).
    pub above_least: TimeFigure,
    /// The shortest round trip of any connection.
    pub least_ns: u64,
    /// Share of the time in which bytes sent by the agents were unacknowledged.
    pub busy_share: f64,
    /// Share of the time in which they waited because the server's receive window was full.
    pub peer_limited_share: f64,
    /// Segments with data sent on sampled connections, including retransmitted ones.
    pub segments_sent: u64,
    /// Segments retransmitted.
    pub segments_resent: u64,
    /// Segments with data received.
    pub segments_received: u64,
    /// Segments received out of order: others were lost or overtaken.
    pub segments_out_of_order: u64,
}

impl PathFigures {
    /// Returns `None` if nothing was sampled.
    pub(crate) fn new(counts: &PathCounts) -> Option<PathFigures> {
        let sums = &counts.sums;
        let share = |part: u64| part as f64 / sums.watched_ns.max(1) as f64;
        (!counts.round_trip.is_empty()).then(|| PathFigures {
            round_trip: figure(&counts.round_trip),
            above_least: figure(&counts.above_least),
            least_ns: sums.least_ns,
            busy_share: share(sums.busy_ns),
            peer_limited_share: share(sums.peer_limited_ns),
            segments_sent: sums.segments_sent,
            segments_resent: sums.segments_resent,
            segments_received: sums.segments_received,
            segments_out_of_order: sums.segments_out_of_order,
        })
    }

    /// Returns the share of segments that were retransmitted or arrived out of order, whichever is
    /// larger.
    #[must_use]
    pub fn disorder_share(&self) -> f64 {
        let share = |part: u64, of: u64| part as f64 / of.max(1) as f64;
        share(self.segments_resent, self.segments_sent)
            .max(share(self.segments_out_of_order, self.segments_received))
    }
}

fn figure(times: &Distribution) -> TimeFigure {
    TimeFigure::new(&Headline::exact(times), HistogramColumns::Omitted)
}
