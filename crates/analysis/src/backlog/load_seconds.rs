//! The measured part by the second: what was due, how long it took, and the backlog after it.

use super::OfferedLoad;
use crate::{LoadRecord, Row};

const SECOND: f64 = 1e9;

/// A last row of less than this part of the others counts with the one before it.
const TAIL_MIN: f64 = 0.5;

/// A standard deviation lies this far above the median in a normal distribution: the 90th and the
/// 99th percentile in standard deviations.
const P90_SIGMAS: f64 = 1.28;
const P99_SIGMAS: f64 = 2.33;

/// One second, or a few of a long run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OfferedSecond {
    /// Run clock.
    pub(super) from_s: f64,
    pub(super) to_s: f64,
    pub(super) due: f64,
    /// Mean response time of what was due in it.
    pub(super) response_s: f64,
    /// How much response times scatter within it: about a standard deviation.
    pub(super) spread_s: f64,
    /// Due and not ended at its end, whenever it was due.
    pub(super) backlog: f64,
}

/// The measured part.
#[derive(Debug, Clone)]
pub(super) struct LoadSeconds {
    seconds: Vec<OfferedSecond>,
    /// The backlog when the first of them began.
    before: f64,
    is_even: bool,
    has_unsent: bool,
}

impl LoadSeconds {
    pub(super) fn new(load: &OfferedLoad<'_>) -> LoadSeconds {
        let end_s = (load.from_ns.saturating_add(load.length_ns)) as f64 / SECOND;
        let (mut seconds, mut before, mut backlog) = (Vec::new(), 0.0, 0.0);
        for row in &load.series.rows {
            let second = OfferedSecond::new(row, backlog);
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
            LoadRecord::Open { arrivals, .. } => arrivals == "even",
            LoadRecord::Closed { .. } => false,
        };
        LoadSeconds {
            seconds,
            before,
            is_even,
            has_unsent: load.not_sent > 0,
        }
    }

    /// Arrivals come by a schedule that has no chance in it.
    pub(super) fn is_even(&self) -> bool {
        self.is_even
    }

    /// Some arrivals found no connection, and were given up.
    pub(super) fn has_unsent(&self) -> bool {
        self.has_unsent
    }

    /// Those that lie in a part of the run at least by half, and the backlog before them.
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

    /// Mean response time of answers that waited for nothing: that of the second with the shortest,
    /// carried back to its beginning where the next one has longer ones. In front of an overloaded
    /// server even the first second has a queue.
    pub(super) fn unqueued_s(&self) -> f64 {
        let seconds = self.seconds.iter().filter(|second| second.due > 0.0);
        let times: Vec<f64> = seconds.map(|second| second.response_s).collect();
        let next = times.iter().skip(1).chain(times.last());
        let at_begin = times.iter().zip(next);
        let at_begin = at_begin.map(|(own, next)| own - (next - own).max(0.0) / 2.0);
        at_begin.reduce(f64::min).unwrap_or(0.0).max(0.0)
    }
}

impl OfferedSecond {
    fn new(row: &Row, before: f64) -> OfferedSecond {
        let from_s = f64::from(row.second);
        let due = row.response_time_count as f64;
        let above_median = |ns: u64| ns.saturating_sub(row.response_time_p50_ns) as f64 / SECOND;
        let by_p90 = above_median(row.response_time_p90_ns) / P90_SIGMAS;
        let by_p99 = above_median(row.response_time_p99_ns) / P99_SIGMAS;
        OfferedSecond {
            from_s,
            to_s: from_s + f64::from(row.seconds.max(1)),
            due,
            response_s: row.response_time_mean_ns / SECOND,
            spread_s: by_p90.max(by_p99),
            backlog: before + due - row.ended as f64,
        }
    }

    pub(super) fn length_s(&self) -> f64 {
        self.to_s - self.from_s
    }
}

/// The last second, of which the measured part has a piece. A single second shows no course, so a
/// second one is kept however short it is.
fn take_last(seconds: &mut Vec<OfferedSecond>, last: OfferedSecond, whole_s: f64) {
    let is_course = seconds.len() > 1;
    match seconds.last_mut() {
        Some(before) if is_course && last.length_s() < TAIL_MIN * whole_s => {
            let due = before.due + last.due;
            let sum = before.response_s * before.due + last.response_s * last.due;
            *before = OfferedSecond {
                from_s: before.from_s,
                due,
                response_s: if due > 0.0 { sum / due } else { 0.0 },
                spread_s: before.spread_s.max(last.spread_s),
                ..last
            };
        }
        _ => seconds.push(last),
    }
}
