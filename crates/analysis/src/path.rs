//! The way to the server, as the kernels of the agents see it.

use crate::{Headline, HistogramColumns, TimeFigure};
use measure::{Distribution, PathCounts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The way to the server in the measured part, as the agents' kernels see it (TCP_INFO): a few of
/// the connections with an operation under way were asked several times a second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathFigures {
    /// Smoothed round trips.
    pub round_trip: TimeFigure,
    /// By how much each was above the shortest one to its address that its worker knew: queues on
    /// the way, and acknowledgements that the server's kernel held back (40 ms on Linux, at most).
    pub above_least: TimeFigure,
    /// The shortest round trip of any connection.
    pub least_ns: u64,
    /// Part of the time for which bytes of ours were not acknowledged.
    pub busy_share: f64,
    /// Part of the time for which they waited for a server that took no more.
    pub peer_limited_share: f64,
    /// Segments sent with data on connections that were asked, those sent again included.
    pub segments_sent: u64,
    /// Segments sent again.
    pub segments_resent: u64,
    /// Segments received with data.
    pub segments_received: u64,
    /// Segments received out of their order: others were lost, or overtaken.
    pub segments_out_of_order: u64,
}

impl PathFigures {
    /// `None` where nothing was sampled.
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

    /// Part of the segments that were sent again, or came out of order, whichever is more.
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
