//! Decides whether a backlog grew in a part of a load, beyond chance.
//!
//! In front of a server that gets ρ times what it can carry, each answer takes ρ − 1 seconds longer
//! per second of load. Chance is estimated from what overload cannot increase: how much the growth
//! of the backlog differs from second to second, and a bound for a queue of independent answers.
//! Service times that a queue has made longer never enter it.

use super::load_seconds::OfferedSecond;
use crate::student::quantile;

/// By chance, at most one part in a thousand deviates from its mean by more than this many standard
/// deviations.
const SIGMAS: f64 = 3.7;

/// The same bound for means of few values: Student's t, on both sides.
const ALPHA: f64 = 0.0005;

/// Share of what was due by which a backlog may always grow.
const GROWTH_SHARE_MAX: f64 = 0.01;

/// Answers that become slower by this much per second wait in a growing queue.
const SLOWING_MIN: f64 = 0.05;

/// Variance that rounding to a whole number can cause.
const WHOLE_SCATTER: f64 = 0.25;

/// Growth of fewer operations than this is ignored.
const GROWTH_MIN: f64 = 3.0;

/// Variance of the time an answer takes, relative to the square of its mean: that of an exponential
/// distribution.
const SERVICE_SCATTER: f64 = 1.0;

/// The variance of a random walk's end is this many times the variance of its values on the way.
const WALK: f64 = 6.0;

/// With fewer answers in a second than this, their scatter is not known.
const SPREAD_DUE_MIN: f64 = 20.0;

/// Most pieces of equal length whose means are compared.
const BLOCKS_MAX: usize = 8;

/// Returns the backlog that chance alone may leave of `due` arrivals.
pub(super) fn chance(due: f64, is_even: bool) -> f64 {
    let arrivals = if is_even { 0.0 } else { 1.0 };
    SIGMAS * (due * (arrivals + SERVICE_SCATTER)).sqrt() + GROWTH_SHARE_MAX * due
}

/// The seconds of a part, and the backlog before them.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartGrowth<'a> {
    pub(super) seconds: &'a [OfferedSecond],
    /// Backlog before the first of them.
    pub(super) before: f64,
    pub(super) is_even: bool,
}

/// How many seconds slower answers became per second of load.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slowing {
    pub(super) mean: f64,
    /// Possible error of `mean` by chance.
    pub(super) error: f64,
}

impl PartGrowth<'_> {
    pub(super) fn due(&self) -> f64 {
        self.seconds.iter().map(|second| second.due).sum()
    }

    pub(super) fn length_s(&self) -> f64 {
        self.seconds.iter().map(|second| second.length_s()).sum()
    }

    /// Returns the mean number of operations under way or waiting: arrivals times their response
    /// time (Little's law).
    pub(super) fn under_way(&self) -> f64 {
        let timed: f64 = self.seconds.iter().map(|second| second.timed).sum();
        let time = self.seconds.iter();
        let time: f64 = time.map(|second| second.timed * second.response_s).sum();
        // Failures have no response time: that of the others stands for it.
        let all = if timed > 0.0 { self.due() / timed } else { 1.0 };
        all * time / self.length_s().max(f64::MIN_POSITIVE)
    }

    /// Returns by how much the backlog grew.
    pub(super) fn growth(&self) -> f64 {
        self.seconds
            .last()
            .map_or(0.0, |last| last.backlog - self.before)
    }

    pub(super) fn chance(&self) -> f64 {
        chance(self.due(), self.is_even)
    }

    /// Returns whether the backlog grew by more than chance, and not in a single second of
    /// standstill. `expected` is how many more operations are under way because the plan's rate
    /// changed.
    pub(super) fn is_significant(&self, expected: f64) -> bool {
        let growth = self.growth() - expected;
        let steps = self.steps();
        let most = steps.iter().copied().fold(0.0, f64::max);
        let lasting = if steps.len() < 3 {
            growth
        } else {
            growth - most
        };
        let is_slower = |it: Slowing| it.mean - it.error > SLOWING_MIN;
        growth >= GROWTH_MIN
            && (lasting > self.chance()
                || self.is_steady(&steps, expected)
                || self.by_blocks().is_some_and(is_slower))
    }

    /// Returns by how much the backlog grew in each second.
    fn steps(&self) -> Vec<f64> {
        let mut before = self.before;
        let steps = self.seconds.iter().map(|second| {
            let step = second.backlog - before;
            before = second.backlog;
            step
        });
        steps.collect()
    }

    /// Returns whether it grew so evenly that chance does not explain it, however little it grew.
    fn is_steady(&self, steps: &[f64], expected: f64) -> bool {
        let number = steps.len() as f64;
        if steps.len() < 3 {
            return false;
        }
        let mean = (steps.iter().sum::<f64>() - expected) / number;
        // A few whole numbers can be equal by chance.
        let arrivals = if self.is_even {
            0.0
        } else {
            self.due() / number
        };
        let scatter = standard_deviation(steps).max(arrivals.max(WHOLE_SCATTER).sqrt());
        mean > error(scatter, steps.len()) + GROWTH_SHARE_MAX * self.due() / number
    }

    /// Returns how much slower answers became, with the smaller of two errors: that of the means of
    /// equal pieces, and that of a random walk with the scatter seen within a second.
    pub(super) fn slowing(&self) -> Option<Slowing> {
        let by_blocks = self.by_blocks()?;
        Some(Slowing {
            error: by_blocks.error.min(self.walk()),
            ..by_blocks
        })
    }

    /// Estimates the slowing from the mean response times of equal pieces.
    fn by_blocks(&self) -> Option<Slowing> {
        let seconds = self.seconds.iter().filter(|second| second.timed > 0.0);
        let seconds: Vec<&OfferedSecond> = seconds.collect();
        let per_block = seconds.len().div_ceil(BLOCKS_MAX).max(1);
        let blocks: Vec<(f64, f64)> = seconds.chunks(per_block).map(mean_response).collect();
        let [(first_at, first), .., (last_at, last)] = blocks[..] else {
            return None;
        };
        let slopes = blocks.windows(2).map(|pair| {
            let ((at, before), (next_at, after)) = (pair[0], pair[1]);
            (after - before) / (next_at - at)
        });
        Some(Slowing {
            mean: (last - first) / (last_at - first_at),
            error: {
                let slopes: Vec<f64> = slopes.collect();
                error(standard_deviation(&slopes), slopes.len())
            },
        })
    }

    /// Returns the error for a random walk whose steps scatter answers as much as they scatter
    /// within a second.
    fn walk(&self) -> f64 {
        let is_telling = |second: &OfferedSecond| second.timed >= SPREAD_DUE_MIN;
        if !self.seconds.iter().all(is_telling) {
            return f64::INFINITY;
        }
        let spread = self.seconds.iter().map(|second| second.spread_s);
        let spread = spread.fold(0.0, f64::max);
        SIGMAS * (WALK * self.seconds.len() as f64).sqrt() * spread / self.length_s()
    }
}

/// Returns the middle of some seconds, and the mean response time of what was due in them.
fn mean_response(seconds: &[&OfferedSecond]) -> (f64, f64) {
    let timed: f64 = seconds.iter().map(|second| second.timed).sum();
    let time = seconds.iter().map(|it| it.timed * it.response_s);
    let time = time.sum::<f64>();
    let from = seconds.first().map_or(0.0, |first| first.from_s);
    let to = seconds.last().map_or(0.0, |last| last.to_s);
    (f64::midpoint(from, to), time / timed)
}

/// Returns the possible error of the mean of `number` values with this standard deviation; infinite
/// for fewer than two, which do not show it.
fn error(deviation: f64, number: usize) -> f64 {
    if number < 2 {
        return f64::INFINITY;
    }
    let freedom = u32::try_from(number - 1).unwrap_or(u32::MAX);
    quantile(ALPHA, freedom) * deviation / (number as f64).sqrt()
}

fn standard_deviation(values: &[f64]) -> f64 {
    let number = values.len() as f64;
    let mean = values.iter().sum::<f64>() / number;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (number - 1.0).max(1.0)).sqrt()
}
