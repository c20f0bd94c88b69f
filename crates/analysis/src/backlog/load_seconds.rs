//! The measured part by seconds: what was due, how long it took, and the backlog at the end of
//! each.
//!
//! A load of journeys is seen in journeys: their steps' operations, over the number that a journey
//! has on average, and their steps' response times, times that number. Overload makes each journey
//! longer by its whole part, and a single one of ten steps by a tenth of it only.

use super::OfferedLoad;
use crate::{LoadRecord, Row};

const SECOND: f64 = 1e9;

/// A last row shorter than this share of the others is added to the one before it.
const TAIL_MIN: f64 = 0.5;

/// In a normal distribution, the 90th and the 99th percentile lie this many standard deviations
/// above the median.
const P90_SIGMAS: f64 = 1.28;
const P99_SIGMAS: f64 = 2.33;

/// One second, or a few seconds in a long run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OfferedSecond {
    /// Start on the run clock.
    pub(super) from_s: f64,
    pub(super) to_s: f64,
    pub(super) due: f64,
    /// Those of them that have a response time: failures have none.
    pub(super) timed: f64,
    /// Mean response time of the operations due in it, of all steps together.
    pub(super) response_s: f64,
    /// Scatter of response times within it, about one standard deviation.
    pub(super) spread_s: f64,
    /// Operations due by its end that had not ended then.
    pub(super) backlog: f64,
}

/// The seconds of the measured part.
#[derive(Debug, Clone)]
pub(super) struct LoadSeconds {
    seconds: Vec<OfferedSecond>,
    /// Backlog when the first of them began.
    before: f64,
    is_even: bool,
    has_unsent: bool,
}

impl LoadSeconds {
    pub(super) fn new(load: &OfferedLoad<'_>) -> LoadSeconds {
        let end_s = (load.from_ns.saturating_add(load.length_ns)) as f64 / SECOND;
        let (mut seconds, mut before, mut backlog) = (Vec::new(), 0.0, 0.0);
        for row in &load.series.rows {
            let second = OfferedSecond::new(row, backlog, load.operations_each);
            backlog = second.backlog;
            if second.from_s < load.from_ns as f64 / SECOND {
                before = backlog;
            } else if second.to_s <= end_s {
                seconds.push(second);
            } else if second.from_s < end_s {
                let last = OfferedSecond {
                    to_s: end_s,
                    backlog: load.at_end as f64,
                    ..second
                };
                take_last(&mut seconds, last, f64::from(row.seconds.max(1)));
            }
        }
        let is_even = match &load.plan.load {
            // Only first steps follow the schedule.
            LoadRecord::Open { arrivals, .. } => arrivals == "even" && load.operations_each == 1.0,
            LoadRecord::Closed { .. } => false,
        };
        LoadSeconds {
            seconds,
            before,
            is_even,
            has_unsent: load.not_sent > 0,
        }
    }

    /// Returns whether no second begins in the measured part.
    pub(super) fn is_empty(&self) -> bool {
        self.seconds.is_empty()
    }

    /// Returns whether arrivals follow a schedule without randomness.
    pub(super) fn is_even(&self) -> bool {
        self.is_even
    }

    /// Returns whether some arrivals found no connection and were given up.
    pub(super) fn has_unsent(&self) -> bool {
        self.has_unsent
    }

    /// Returns the seconds that lie in this time by at least half, and the backlog before them.
    pub(super) fn within(&self, from_s: f64, to_s: f64) -> (&[OfferedSecond], f64) {
        let middle = |second: &OfferedSecond| f64::midpoint(second.from_s, second.to_s);
        let first = self.seconds.partition_point(|it| middle(it) < from_s);
        let last = self.seconds.partition_point(|it| middle(it) < to_s);
        let before = match first {
            0 => self.before,
            first => self.seconds[first - 1].backlog,
        };
        (&self.seconds[first..last.max(first)], before)
    }

    /// Returns the mean response time of answers that did not wait: that of the second with the
    /// shortest, extrapolated back to its start if the next second is slower. In front of an
    /// overloaded server even the first second has a queue.
    pub(super) fn unqueued_s(&self) -> f64 {
        let seconds = self.seconds.iter().filter(|second| second.timed > 0.0);
        let times: Vec<f64> = seconds.map(|second| second.response_s).collect();
        let next = times.iter().skip(1).chain(times.last());
        let at_begin = times.iter().zip(next);
        let at_begin = at_begin.map(|(own, next)| own - (next - own).max(0.0) / 2.0);
        at_begin.reduce(f64::min).unwrap_or(0.0).max(0.0)
    }
}

impl OfferedSecond {
    fn new(row: &Row, before: f64, operations_each: f64) -> OfferedSecond {
        let from_s = f64::from(row.second);
        let due = row.due() as f64;
        let above_median = |ns: u64| ns.saturating_sub(row.response_time_p50_ns) as f64 / SECOND;
        let by_p90 = above_median(row.response_time_p90_ns) / P90_SIGMAS;
        let by_p99 = above_median(row.response_time_p99_ns) / P99_SIGMAS;
        OfferedSecond {
            from_s,
            to_s: from_s + f64::from(row.seconds.max(1)),
            due: due / operations_each,
            timed: row.response_time_count as f64 / operations_each,
            response_s: row.response_time_mean_ns / SECOND * operations_each,
            spread_s: by_p90.max(by_p99) * operations_each,
            backlog: before + due - row.ended as f64,
        }
    }

    pub(super) fn length_s(&self) -> f64 {
        self.to_s - self.from_s
    }
}

/// Adds the last second, of which only a part is measured. Since a single second shows no trend, a
/// second one is kept however short it is.
fn take_last(seconds: &mut Vec<OfferedSecond>, last: OfferedSecond, whole_s: f64) {
    let is_course = seconds.len() > 1;
    match seconds.last_mut() {
        Some(before) if is_course && last.length_s() < TAIL_MIN * whole_s => {
            let timed = before.timed + last.timed;
            let sum = before.response_s * before.timed + last.response_s * last.timed;
            *before = OfferedSecond {
                from_s: before.from_s,
                due: before.due + last.due,
                timed,
                response_s: if timed > 0.0 { sum / timed } else { 0.0 },
                spread_s: before.spread_s.max(last.spread_s),
                ..last
            };
        }
        _ => seconds.push(last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_that_fail_at_once_do_not_hide_those_that_pile_up() {
        let row = Row {
            response_time_count: 850,
            failed_due: 150,
            ended: 950,
            ..Row::default()
        };
        let second = OfferedSecond::new(&row, 10.0, 1.0);
        let numbers = (second.due, second.timed, second.backlog);
        assert_eq!(numbers, (1_000.0, 850.0, 60.0));
    }
}
