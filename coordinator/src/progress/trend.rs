//! The course of the live figures over the last minutes, second by second.

use analysis::Live;
use std::collections::VecDeque;

/// How many seconds are kept: more than the widest terminal has columns.
const SECONDS_MAX: usize = 600;

/// Rate and times of the last seconds.
#[derive(Debug, Default)]
pub(super) struct Trend {
    /// The seconds, the latest first; `None` for a second that was not seen.
    seconds: VecDeque<Option<TrendSecond>>,
    /// The number of the latest second.
    last: u32,
}

/// Figures of a second.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrendSecond {
    /// Operations that ended in it.
    pub(super) rate: u64,
    /// Median response time.
    pub(super) p50_ns: Option<u64>,
    /// 99th percentile of the response times.
    pub(super) p99_ns: Option<u64>,
}

impl Trend {
    /// Takes the latest second. A second that is there already is replaced, since more agents have
    /// delivered it by now.
    pub(super) fn take(&mut self, live: &Live) {
        let second = Some(TrendSecond {
            rate: live.ended_per_second,
            p50_ns: live.p50_ns,
            p99_ns: live.p99_ns,
        });
        if self.seconds.is_empty() {
            self.last = live.second;
            self.seconds.push_front(None);
        }
        // If it is far ahead, nothing that is kept is from the last minutes.
        let ahead = live.second.saturating_sub(self.last) as usize;
        for _ in 0..ahead.min(SECONDS_MAX) {
            self.seconds.push_front(None);
        }
        self.seconds.truncate(SECONDS_MAX);
        self.last = self.last.max(live.second);
        let back = (self.last - live.second) as usize;
        if let Some(place) = self.seconds.get_mut(back) {
            *place = second;
        }
    }

    /// One figure of the last `seconds` seconds at most, in order.
    pub(super) fn last(
        &self,
        seconds: usize,
        figure: impl Fn(TrendSecond) -> Option<u64>,
    ) -> Vec<Option<u64>> {
        let last = self.seconds.iter().take(seconds);
        last.rev().map(|second| figure((*second)?)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_stand_in_order_and_what_was_not_seen_is_a_gap() {
        let mut trend = Trend::default();
        let mut take = |second, ended_per_second| {
            trend.take(&Live {
                second,
                ended_per_second,
                ..Live::default()
            });
        };
        for (second, rate) in [(3, 30), (4, 1), (4, 40), (7, 70), (6, 60)] {
            take(second, rate);
        }
        let rates = |seconds| trend.last(seconds, |second| Some(second.rate));
        let expected = [Some(30), Some(40), None, Some(60), Some(70)];
        assert_eq!(rates(9), expected);
        assert_eq!(rates(2), expected[3..]);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut trend = Trend::default();
        for second in [0, 5, 100_000] {
            let live = Live {
                second,
                ..Live::default()
            };
            trend.take(&live);
        }
        let all = trend.last(usize::MAX, |second| Some(second.rate));
        assert_eq!(all.len(), SECONDS_MAX);
        assert_eq!(all.iter().flatten().count(), 1);
    }
}
