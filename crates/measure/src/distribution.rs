//! A histogram with its exact moments beside it.

use crate::histogram::rank;
use crate::{Histogram, Percentile};

/// A histogram, and what it would blur kept exactly: count, sum, sum of squares, min, max; and what lies beyond it, counted.
///
/// Sums saturate at the ends of their types instead of wrapping; no run comes near (10¹⁰ operations of an hour each).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Distribution {
    /// Buckets; holds every value but those counted in `overflow`.
    pub histogram: Histogram,
    /// All values, overflow included.
    pub count: u64,
    /// Sum, nanoseconds.
    pub sum: u128,
    /// Sum of squares.
    pub sum_of_squares: u128,
    /// Smallest value; 0 where there is none.
    pub min: u64,
    /// Largest value.
    pub max: u64,
    /// Values above one hour: in count, sums and max, in no bucket.
    pub overflow: u64,
}

impl Distribution {
    /// Takes one value in, nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        if self.count == 0 || ns < self.min {
            self.min = ns;
        }
        self.max = self.max.max(ns);
        self.count += 1;
        self.sum += u128::from(ns);
        self.sum_of_squares = self.sum_of_squares.saturating_add(u128::from(ns) * u128::from(ns));
        self.overflow += u64::from(!self.histogram.record(ns));
    }

    /// Takes in everything of `other`, exactly.
    pub fn merge(&mut self, other: &Distribution) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
        self.overflow = self.overflow.saturating_add(other.overflow);
        self.histogram.merge(&other.histogram);
    }

    /// Forgets all values and keeps the memory.
    pub fn clear(&mut self) {
        self.histogram.clear();
        let histogram = std::mem::take(&mut self.histogram);
        *self = Distribution { histogram, ..Distribution::default() };
    }

    /// Whether there is no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Arithmetic mean of the exact values, nanoseconds; `None` where there is none.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Standard deviation of the population, nanoseconds, from exact integers; `None` where there is no value.
    #[must_use]
    pub fn std_dev(&self) -> Option<f64> {
        (self.count > 0).then(|| self.variance().sqrt())
    }

    /// n·Σx² − (Σx)², in integers as long as they fit, so that no digits cancel; over n².
    fn variance(&self) -> f64 {
        let count = u128::from(self.count);
        let exact = count.checked_mul(self.sum_of_squares).zip(self.sum.checked_mul(self.sum));
        match exact {
            Some((left, right)) => left.saturating_sub(right) as f64 / (count as f64 * count as f64),
            None => self.variance_around_mean(),
        }
    }

    /// (Σx² − Σx·m − r·m) / n − (r/n)² with m = ⌊mean⌋ and r = Σx − n·m: still integers where the squares above are too large.
    fn variance_around_mean(&self) -> f64 {
        let count = u128::from(self.count);
        let (floor, rest) = (self.sum / count, self.sum % count);
        let around = self.sum.checked_mul(floor).zip(rest.checked_mul(floor));
        let Some(numerator) = around.and_then(|(whole, rest)| self.sum_of_squares.checked_sub(whole)?.checked_sub(rest)) else {
            return 0.0;
        };
        let fraction = rest as f64 / count as f64;
        (numerator as f64 / count as f64 - fraction * fraction).max(0.0)
    }

    /// HdrHistogram's percentile (0 to 100; see [`Histogram::value_at_percentile`]), but never above the exact `max`; among
    /// values beyond the histogram it is `max` and says so. `None` where there is no value.
    #[must_use]
    pub fn percentile(&self, percentile: f64) -> Option<Percentile> {
        if self.count == 0 {
            return None;
        }
        let bucket = self.histogram.value_at_rank(rank(percentile, self.count));
        Some(Percentile { value_ns: bucket.unwrap_or(self.max).min(self.max), at_least: bucket.is_none() })
    }
}
