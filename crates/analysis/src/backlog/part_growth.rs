//! Whether a backlog grew in a part of a load, and whether it can be told from chance.
//!
//! In front of a server that gets ρ times what it can carry, each answer takes ρ − 1 seconds longer
//! with every second. Chance is estimated from what overload cannot make larger: by how differently
//! the backlog grew from one second to the next, and by a bound of a queue of independent answers.
//! A service time that a queue has made long is never part of it.

use super::load_seconds::OfferedSecond;
use crate::student::quantile;

/// Chance leads farther than this from its mean in one of a thousand parts at most.
const SIGMAS: f64 = 3.7;

/// The same for means of few values: Student's t on both sides.
const ALPHA: f64 = 0.0005;

/// Part of what was due by which a backlog may always grow.
const GROWTH_SHARE_MAX: f64 = 0.01;

/// Answers that become slower by this with each second stand in a queue that grows.
const SLOWING_MIN: f64 = 0.05;

/// The variance of a number that is rounded to a whole one.
const WHOLE_SCATTER: f64 = 0.25;

/// A backlog of fewer operations than this is none.
const GROWTH_MIN: f64 = 3.0;

/// The variance of the time that an answer takes, in squares of its mean: that of an exponential
/// distribution.
const SERVICE_SCATTER: f64 = 1.0;

/// A walk that chance leads scatters over its length this many times as much as within a piece.
const WALK: f64 = 6.0;

/// Fewer answers in a second than this do not show how much they scatter.
const SPREAD_DUE_MIN: f64 = 20.0;

/// Means of at most so many equal pieces are compared.
const BLOCKS_MAX: usize = 8;

/// The backlog that chance alone may leave of so many arrivals.
pub(super) fn chance(due: f64, is_even: bool) -> f64 {
    let arrivals = if is_even { 0.0 } else { 1.0 };
    SIGMAS * (due * (arrivals + SERVICE_SCATTER)).sqrt() + GROWTH_SHARE_MAX * due
}

/// Seconds of a part, and what was there before them.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartGrowth<'a> {
    pub(super) seconds: &'a [OfferedSecond],
    /// Backlog before the first of them.
    pub(super) before: f64,
    pub(super) is_even: bool,
}

/// By how many seconds answers took longer with each second.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slowing {
    pub(super) mean: f64,
    /// It may be so much more or less by chance.
    pub(super) error: f64,
}

impl PartGrowth<'_> {
    pub(super) fn due(&self) -> f64 {
        self.seconds.iter().map(|second| second.due).sum()
    }

    pub(super) fn length_s(&self) -> f64 {
        self.seconds.iter().map(|second| second.length_s()).sum()
    }

    /// Operations under way or waiting, on average: arrivals times their response time (Little).
    pub(super) fn under_way(&self) -> f64 {
        let time = self.seconds.iter();
        let time: f64 = time.map(|second| second.due * second.response_s).sum();
        time / self.length_s().max(f64::MIN_POSITIVE)
    }

    /// By how much the backlog grew.
    pub(super) fn growth(&self) -> f64 {
        self.seconds
            .last()
            .map_or(0.0, |last| last.backlog - self.before)
    }

    pub(super) fn chance(&self) -> f64 {
        chance(self.due(), self.is_even)
    }

    /// Whether it grew by more than chance, and not in a single second in which something stood
    /// still. `expected` operations more are under way by what the plan changed.
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

    /// By how much the backlog grew in each second.
    fn steps(&self) -> Vec<f64> {
        let mut before = self.before;
        let steps = self.seconds.iter().map(|second| {
            let step = second.backlog - before;
            before = second.backlog;
            step
        });
        steps.collect()
    }

    /// Whether it grew so evenly that no chance explains it, however few they were.
    fn is_steady(&self, steps: &[f64], expected: f64) -> bool {
        let number = steps.len() as f64;
        if steps.len() < 3 {
            return false;
        }
        let mean = (steps.iter().sum::<f64>() - expected) / number;
        // Few whole numbers may be equal by chance.
        let arrivals = if self.is_even {
            0.0
        } else {
            self.due() / number
        };
        let scatter = standard_deviation(steps).max(arrivals.max(WHOLE_SCATTER).sqrt());
        mean > error(scatter, steps.len()) + GROWTH_SHARE_MAX * self.due() / number
    }

    /// How much slower answers became, with the smaller of two errors: of means of equal pieces,
    /// and of a walk by the scatter within a second.
    pub(super) fn slowing(&self) -> Option<Slowing> {
        let by_blocks = self.by_blocks()?;
        Some(Slowing {
            error: by_blocks.error.min(self.walk()),
            ..by_blocks
        })
    }

    /// By the mean response times of equal pieces.
    fn by_blocks(&self) -> Option<Slowing> {
        let seconds = self.seconds.iter().filter(|second| second.due > 0.0);
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

    /// The error of a walk whose steps make answers scatter as they do within a second.
    fn walk(&self) -> f64 {
        let is_telling = |second: &OfferedSecond| second.due >= SPREAD_DUE_MIN;
        if !self.seconds.iter().all(is_telling) {
            return f64::INFINITY;
        }
        let spread = self.seconds.iter().map(|second| second.spread_s);
        let spread = spread.fold(0.0, f64::max);
        SIGMAS * (WALK * self.seconds.len() as f64).sqrt() * spread / self.length_s()
    }
}

/// The middle of some seconds, and the mean response time of what was due in them.
fn mean_response(seconds: &[&OfferedSecond]) -> (f64, f64) {
    let due: f64 = seconds.iter().map(|second| second.due).sum();
    let time = seconds.iter().map(|it| it.due * it.response_s).sum::<f64>();
    let from = seconds.first().map_or(0.0, |first| first.from_s);
    let to = seconds.last().map_or(0.0, |last| last.to_s);
    (f64::midpoint(from, to), time / due)
}

/// By how much the mean of so many values with this standard deviation may be off; of fewer than
/// two nothing shows it.
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
