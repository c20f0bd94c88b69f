//! A histogram with its exact moments beside it.

use crate::histogram::rank;
use crate::{Histogram, Percentile};

/// A histogram, and what it would blur kept exactly: count, sum, sum of squares, min, max; and what
/// lies beyond it, counted.
///
/// Sums saturate at the ends of their types instead of wrapping; no run comes near (10¹⁰ operations
/// of an hour each).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Distribution {
    /// Buckets; holds every value but those counted in `overflow`.
    pub histogram: Histogram,
    /// All values, overflow included.
    pub count: u64,
    /// Sum of all values, nanoseconds.
    pub sum: u128,
    /// Sum of squares.
    pub sum_of_squares: u128,
    /// Smallest value; 0 where there is none.
    pub min: u64,
    /// Largest value; 0 where there is none.
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
        self.sum_of_squares = self
            .sum_of_squares
            .saturating_add(u128::from(ns) * u128::from(ns));
        self.overflow += u64::from(!self.histogram.record(ns));
    }

    /// Takes the same value in `number` times, at least once. Costs as much as a few values.
    pub fn record_many(&mut self, ns: u64, number: u64) {
        if self.count == 0 || ns < self.min {
            self.min = ns;
        }
        self.max = self.max.max(ns);
        self.count = self.count.saturating_add(number);
        let (value, times) = (u128::from(ns), u128::from(number));
        self.sum = self.sum.saturating_add(value.saturating_mul(times));
        let squares = (value * value).saturating_mul(times);
        self.sum_of_squares = self.sum_of_squares.saturating_add(squares);
        if !self.histogram.record_many(ns, number) {
            self.overflow = self.overflow.saturating_add(number);
        }
    }

    /// Takes in everything of `other`, exactly.
    pub fn merge(&mut self, other: &Distribution) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 {
            other.min
        } else {
            self.min.min(other.min)
        };
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
        *self = Distribution {
            histogram,
            ..Distribution::default()
        };
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

    /// Standard deviation of the population, nanoseconds, from exact integers; `None` where there
    /// is no value.
    #[must_use]
    pub fn std_dev(&self) -> Option<f64> {
        (self.count > 0).then(|| self.variance().sqrt())
    }

    /// n·Σx² − (Σx)², in integers as long as they fit, so that no digits cancel; over n².
    fn variance(&self) -> f64 {
        let count = u128::from(self.count);
        let exact = count
            .checked_mul(self.sum_of_squares)
            .zip(self.sum.checked_mul(self.sum));
        match exact {
            Some((left, right)) => {
                left.saturating_sub(right) as f64 / (count as f64 * count as f64)
            }
            None => self.variance_around_mean(),
        }
    }

    /// (Σx² − Σx·m − r·m) / n − (r/n)² with m = ⌊mean⌋ and r = Σx − n·m: still integers where the
    /// squares above are too large.
    fn variance_around_mean(&self) -> f64 {
        let count = u128::from(self.count);
        let floor = self.sum / count;
        let rest = self.sum % count;
        let around = self.sum.checked_mul(floor).zip(rest.checked_mul(floor));
        let Some(numerator) = around
            .and_then(|(whole, rest)| self.sum_of_squares.checked_sub(whole)?.checked_sub(rest))
        else {
            return 0.0; // sums that saturated say nothing of how values scatter
        };
        let fraction = rest as f64 / count as f64;
        (numerator as f64 / count as f64 - fraction * fraction).max(0.0)
    }

    /// HdrHistogram's percentile (0 to 100; see [`Histogram::value_at_percentile`]), but never
    /// above the exact `max`. Where it falls beyond the histogram it is "at least one hour", for
    /// the largest value of all again `max`. `None` where there is no value.
    #[must_use]
    pub fn percentile(&self, percentile: f64) -> Option<Percentile> {
        self.percentiles(&[percentile]).pop()
    }

    /// Percentiles as [`Distribution::percentile`] has them, smallest first, in one walk through
    /// the buckets. `None` if there is no value.
    ///
    /// # Panics
    /// Where they are not in order.
    #[must_use]
    pub fn percentiles(&self, percentiles: &[f64]) -> Vec<Percentile> {
        if self.count == 0 {
            return Vec::new();
        }
        assert!(percentiles.is_sorted(), "percentiles are in order");
        let mut buckets = self.histogram.iter();
        let (mut seen, mut bucket_end) = (0_u64, None);
        let at = |&percentile: &f64| {
            let rank = rank(percentile, self.count);
            while seen < rank {
                let bucket = buckets.next();
                // Beyond the last bucket lies what overflowed.
                seen = bucket.map_or(u64::MAX, |bucket| seen.saturating_add(bucket.count));
                bucket_end = bucket.map(|bucket| bucket.highest_ns);
            }
            self.at_rank(rank, bucket_end)
        };
        percentiles.iter().map(at).collect()
    }

    /// The value of this rank, which lies in a bucket that ends at `bucket_end`, or in none.
    fn at_rank(&self, rank: u64, bucket_end: Option<u64>) -> Percentile {
        let exact = |value_ns| Percentile {
            value_ns,
            at_least: false,
        };
        match bucket_end {
            _ if rank == self.count => exact(self.max),
            Some(value_ns) => exact(value_ns.min(self.max)),
            None => Percentile {
                value_ns: Histogram::HIGHEST_NS,
                at_least: true,
            },
        }
    }

    /// Values by the largest that their bucket can hold, ascending, and how many there are; what
    /// is in `overflow` is not among them. No value is above the largest that was recorded.
    pub fn by_bucket_end(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let buckets = self.histogram.iter();
        buckets.map(|bucket| (bucket.highest_ns.min(self.max), bucket.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(values: &[u64]) -> Distribution {
        let mut distribution = Distribution::default();
        values.iter().for_each(|&value| distribution.record(value));
        distribution
    }

    #[test]
    fn moments_are_those_worked_out_by_hand() {
        // Mean 5, squares of the differences 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32, over 8 is 4, its
        // root 2.
        let distribution = recorded(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!(
            (
                distribution.count,
                distribution.sum,
                distribution.sum_of_squares
            ),
            (8, 40, 232)
        );
        assert_eq!(
            (distribution.min, distribution.max, distribution.overflow),
            (2, 9, 0)
        );
        assert_eq!(
            (distribution.mean(), distribution.std_dev()),
            (Some(5.0), Some(2.0))
        );
        assert_eq!(
            (
                recorded(&[]).mean(),
                recorded(&[]).std_dev(),
                recorded(&[]).percentile(50.0)
            ),
            (None, None, None)
        );
    }

    #[test]
    fn deviation_keeps_its_digits_where_values_are_large_and_alike() {
        let hour = Histogram::HIGHEST_NS;
        assert_eq!(recorded(&[hour - 1, hour + 1]).std_dev(), Some(1.0));
        assert_eq!(recorded(&[hour; 1000]).std_dev(), Some(0.0));
        // Squares of the sums no longer fit here: 2^63 ± 3.
        let large = 1 << 63;
        assert_eq!(recorded(&[large - 3, large + 3]).std_dev(), Some(3.0));
    }

    #[test]
    fn percentile_is_never_above_the_largest_value() {
        let exactly = |value_ns| {
            Some(Percentile {
                value_ns,
                at_least: false,
            })
        };
        let distribution = recorded(&[1_000_000; 3]);
        assert_eq!(
            distribution.histogram.value_at_percentile(50.0),
            Some(1_000_447)
        );
        for percentile in [0.0, 50.0, 100.0] {
            assert_eq!(
                distribution.percentile(percentile),
                exactly(1_000_000),
                "p{percentile}"
            );
        }
    }

    #[test]
    fn percentile_beyond_an_hour_is_a_lower_bound() {
        let hour = Histogram::HIGHEST_NS;
        let distribution = recorded(&[1, 2, hour + 5, 2 * hour]);
        assert_eq!(
            (distribution.count, distribution.overflow, distribution.max),
            (4, 2, 2 * hour)
        );
        for (percentile, value_ns, at_least) in [
            (50.0, 2, false),
            (75.0, hour, true),
            (100.0, 2 * hour, false),
        ] {
            assert_eq!(
                distribution.percentile(percentile),
                Some(Percentile { value_ns, at_least }),
                "p{percentile}"
            );
        }
        assert_eq!(
            distribution.percentile(75.0).unwrap().to_string(),
            "≥ 3600s"
        );
    }

    #[test]
    fn percentiles_of_one_walk_are_those_of_a_walk_each() {
        let hour = Histogram::HIGHEST_NS;
        let percentiles = [
            f64::NEG_INFINITY,
            0.0,
            1.0,
            50.0,
            50.0,
            75.0,
            99.0,
            99.99,
            100.0,
            101.0,
        ];
        for values in [
            &[][..],
            &[0],
            &[7; 5],
            &[1, 2, 2, 3, 9_000],
            &[1, 2 * hour, hour, 4 * hour],
        ] {
            let distribution = recorded(values);
            let each = percentiles
                .iter()
                .filter_map(|&at| distribution.percentile(at));
            let each: Vec<_> = each.collect();
            assert_eq!(distribution.percentiles(&percentiles), each, "{values:?}");
            assert_eq!(
                each.len(),
                if values.is_empty() {
                    0
                } else {
                    percentiles.len()
                }
            );
        }
    }

    #[test]
    fn value_recorded_many_times_is_as_if_recorded_each_time() {
        for ns in [0, 1, 5_000_000, Histogram::HIGHEST_NS + 1, u64::MAX] {
            let mut many = recorded(&[7]);
            many.record_many(ns, 3);
            many.record_many(9, 1);
            assert_eq!(many, recorded(&[7, ns, ns, ns, 9]), "{ns}");
        }
    }

    #[test]
    fn zero_is_a_value() {
        let distribution = recorded(&[0, 0, 3]);
        assert_eq!(
            (distribution.count, distribution.min, distribution.max),
            (3, 0, 3)
        );
        assert_eq!(distribution.percentile(50.0).unwrap().value_ns, 0);
    }

    #[test]
    fn cleared_distribution_is_as_new() {
        let mut distribution = recorded(&[1, 2, 3, u64::MAX]);
        distribution.clear();
        assert_eq!(distribution, Distribution::default());
        distribution.record(7);
        assert_eq!(distribution, recorded(&[7]));
    }
}
