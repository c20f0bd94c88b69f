//! What the kernel says of the way to the server, by samples of connections that are in use.

use crate::Distribution;
use serde::{Deserialize, Serialize};

/// What the client's kernel says of connections with an operation under way, in the measured part:
/// a few of them are asked several times a second, or any sum of such.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathCounts {
    /// Smoothed round trips, nanoseconds (tcpi_rtt).
    pub round_trip: Distribution,
    /// By how much each was above the shortest to its address that the worker knew (tcpi_min_rtt),
    /// nanoseconds: queues on the way, and acknowledgements that the server's kernel held back.
    pub above_least: Distribution,
    /// What of it is plainly added up.
    pub sums: PathSums,
}

/// What is added up between two samples of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathSums {
    /// The shortest round trip of any connection, nanoseconds; 0 where none is known.
    pub least_ns: u64,
    /// Time between the samples, summed over connections.
    pub watched_ns: u64,
    /// The part of it with bytes of ours that were not acknowledged (tcpi_busy_time).
    pub busy_ns: u64,
    /// The part of that in which the server's full buffer held us up (tcpi_rwnd_limited).
    pub peer_limited_ns: u64,
    /// Segments sent with data, those sent again included.
    pub segments_sent: u64,
    /// Segments sent again.
    pub segments_resent: u64,
    /// Segments received with data.
    pub segments_received: u64,
    /// Segments received out of their order: others were lost, or overtaken.
    pub segments_out_of_order: u64,
}

/// One look at a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PathSample {
    /// Smoothed round trip, nanoseconds; 0 where there was none.
    pub round_trip_ns: u64,
    /// What has come about since the connection was looked at before, and the shortest round trip
    /// to its address.
    pub sums: PathSums,
}

impl PathCounts {
    /// Takes in one look at a connection.
    pub(crate) fn record(&mut self, sample: &PathSample) {
        let least = sample.sums.least_ns;
        if sample.round_trip_ns > 0 && least > 0 {
            self.round_trip.record(sample.round_trip_ns);
            self.above_least
                .record(sample.round_trip_ns.saturating_sub(least));
        }
        self.sums.merge(&sample.sums);
    }

    /// Adds everything in `other`.
    pub fn merge(&mut self, other: &PathCounts) {
        self.round_trip.merge(&other.round_trip);
        self.above_least.merge(&other.above_least);
        self.sums.merge(&other.sums);
    }

    /// Forgets everything and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.round_trip.clear();
        self.above_least.clear();
        self.sums = PathSums::default();
    }
}

impl PathSums {
    /// Adds everything in `other`.
    pub fn merge(&mut self, other: &PathSums) {
        self.least_ns = match (self.least_ns, other.least_ns) {
            (0, least) | (least, 0) => least,
            (one, other) => one.min(other),
        };
        let sums = [
            (&mut self.watched_ns, other.watched_ns),
            (&mut self.busy_ns, other.busy_ns),
            (&mut self.peer_limited_ns, other.peer_limited_ns),
            (&mut self.segments_sent, other.segments_sent),
            (&mut self.segments_resent, other.segments_resent),
            (&mut self.segments_received, other.segments_received),
            (&mut self.segments_out_of_order, other.segments_out_of_order),
        ];
        for (sum, more) in sums {
            *sum = sum.saturating_add(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(round_trip_ns: u64, least_ns: u64) -> PathSample {
        PathSample {
            round_trip_ns,
            sums: PathSums {
                least_ns,
                busy_ns: 5,
                ..PathSums::default()
            },
        }
    }

    #[test]
    fn queue_is_what_a_round_trip_takes_above_the_shortest() {
        let mut counts = PathCounts::default();
        counts.record(&sample(300, 100));
        counts.record(&sample(50, 40));
        counts.record(&sample(0, 0)); // nothing was acknowledged yet
        assert_eq!((counts.round_trip.count, counts.round_trip.sum), (2, 350));
        assert_eq!((counts.above_least.sum, counts.above_least.max), (210, 200));
        assert_eq!((counts.sums.least_ns, counts.sums.busy_ns), (40, 15));
    }

    #[test]
    fn shortest_of_a_sum_is_that_of_its_parts_where_they_know_one() {
        for (one, other, expected) in [(0, 0, 0), (0, 7, 7), (7, 0, 7), (7, 9, 7), (9, 7, 7)] {
            let mut sums = sample(0, one).sums;
            sums.merge(&sample(0, other).sums);
            assert_eq!(sums.least_ns, expected, "{one} and {other}");
        }
    }
}
