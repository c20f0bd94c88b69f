//! A connection's kernel counters at the last look, from which the next look computes the change.

use crate::socket::PathInfo;
use measure::{PathSample, PathSums};

/// A connection's counters at the last look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathMark {
    at: u64,
    info: PathInfo,
}

impl PathMark {
    /// Creates the mark of a connection established at `at`, when all counters were 0.
    pub(crate) fn new(at: u64) -> PathMark {
        PathMark {
            at,
            info: PathInfo::default(),
        }
    }

    /// Returns the change until `now`, when the counters are `info`.
    pub(crate) fn pass(&mut self, now: u64, info: PathInfo) -> PathSample {
        let PathMark { at, info: before } = std::mem::replace(self, PathMark { at: now, info });
        let since = |now: u32, before: u32| u64::from(now.wrapping_sub(before));
        PathSample {
            round_trip_ns: info.round_trip_ns,
            sums: PathSums {
                least_ns: info.least_ns,
                watched_ns: now.saturating_sub(at),
                busy_ns: info.busy_ns.saturating_sub(before.busy_ns),
                peer_limited_ns: info.peer_limited_ns.saturating_sub(before.peer_limited_ns),
                segments_sent: since(info.segments_sent, before.segments_sent),
                segments_resent: since(info.segments_resent, before.segments_resent),
                segments_received: since(info.segments_received, before.segments_received),
                segments_out_of_order: since(
                    info.segments_out_of_order,
                    before.segments_out_of_order,
                ),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_look_counts_what_came_about_since_the_first() {
        let mut mark = PathMark::new(100);
        let info = |number: u32| PathInfo {
            round_trip_ns: 9,
            least_ns: 7,
            busy_ns: u64::from(number) * 10,
            segments_sent: number.wrapping_sub(3), // the kernel's counters wrap
            ..PathInfo::default()
        };
        mark.pass(150, info(1));
        let sample = mark.pass(350, info(5));
        assert_eq!((sample.round_trip_ns, sample.sums.least_ns), (9, 7));
        assert_eq!((sample.sums.watched_ns, sample.sums.busy_ns), (200, 40));
        assert_eq!(sample.sums.segments_sent, 4);
    }
}
