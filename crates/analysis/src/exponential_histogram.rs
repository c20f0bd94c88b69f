//! Times in the buckets of OpenTelemetry's exponential histogram, which are also those of
//! Prometheus's native histogram: a single number determines their bounds, which are the same in
//! every run.

use measure::Distribution;
use serde::{Deserialize, Serialize};

/// A histogram with the base `2^(2^-scale)`. Bucket `offset + n` of
/// [`ExponentialHistogram::counts`] holds times above `base^(offset + n)` ns, up to and including
/// the next power. Values read from it are off by up to 4.5 % (at scale 3); percentiles of the
/// result are exact to 0.1 %.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExponentialHistogram {
    /// Buckets per doubling, as a power of two.
    pub scale: u32,
    /// Index of the first bucket.
    pub offset: i32,
    /// Values by bucket; values above an hour are in none.
    pub counts: Vec<u64>,
    /// Values of 0 ns.
    pub zero_count: u64,
}

/// Eight buckets per doubling.
const SCALE: u32 = 3;

/// Longer times are in no bucket.
const HOUR_NS: u64 = 3_600_000_000_000;

impl ExponentialHistogram {
    pub(crate) fn new(distribution: &Distribution) -> ExponentialHistogram {
        let mut histogram = ExponentialHistogram {
            scale: SCALE,
            ..ExponentialHistogram::default()
        };
        // Buckets come in ascending order. Their ends are not capped at the largest value: if a
        // longer run had a larger one, a count would move to another bucket.
        for bucket in distribution.histogram.iter() {
            histogram.add(bucket.highest_ns, bucket.count);
        }
        histogram
    }

    fn add(&mut self, ns: u64, count: u64) {
        if ns == 0 {
            self.zero_count = self.zero_count.saturating_add(count);
            return;
        }
        let number = self.number(ns);
        if self.counts.is_empty() {
            self.offset = number;
        }
        let place = usize::try_from(number - self.offset).unwrap_or(0);
        self.counts.resize(self.counts.len().max(place + 1), 0);
        self.counts[place] = self.counts[place].saturating_add(count);
    }

    /// Returns the bucket of a time of at least 1 ns; a bucket includes its upper bound.
    fn number(&self, ns: u64) -> i32 {
        let exact = (ns as f64).log2() * f64::from(1_u32 << self.scale);
        exact.ceil() as i32 - 1
    }

    /// Returns how many values are at most a whole power of two, exact but for the width of the
    /// result's own buckets (0.1 %).
    #[must_use]
    pub fn up_to_power_of_two(&self, power: u32) -> u64 {
        let end = i64::from(power) << self.scale;
        let within = (end - i64::from(self.offset)).clamp(0, self.counts.len() as i64);
        let counts = self.counts.iter().take(within as usize);
        counts.fold(self.zero_count, |sum, &count| sum.saturating_add(count))
    }

    /// Returns the histogram for times in seconds. The `overflow` values above an hour go into the
    /// bucket of an hour, so that every value is in one.
    ///
    /// A second is not a power of the base, so the buckets shift: at scale 3 their bounds come out
    /// 1.6 % too high, and values read from a bucket's middle are off by up to 6.1 %.
    #[must_use]
    pub fn in_seconds(&self, overflow: u64) -> ExponentialHistogram {
        let mut histogram = self.clone();
        if overflow > 0 {
            histogram.add(HOUR_NS, overflow);
        }
        let buckets_ns_to_s = 1e9_f64.log2() * f64::from(1_u32 << self.scale);
        // Rounding down is what makes the bounds too high.
        histogram.offset -= buckets_ns_to_s.floor() as i32;
        histogram
    }

    /// Returns whether it holds no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty() && self.zero_count == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(values: &[u64]) -> ExponentialHistogram {
        let mut distribution = Distribution::default();
        values.iter().for_each(|&value| distribution.record(value));
        ExponentialHistogram::new(&distribution)
    }

    #[test]
    fn bucket_ends_with_its_power_as_opentelemetry_has_it() {
        // Base 2^(1/8): the bucket -1 ends at 1, the bucket 7 at 2, the bucket 15 at 4.
        for (ns, number) in [(1, -1), (2, 7), (3, 12), (4, 15), (1_024, 79)] {
            let histogram = recorded(&[ns]);
            assert_eq!(
                (histogram.offset, &histogram.counts[..]),
                (number, &[1][..]),
                "{ns}"
            );
        }
    }

    #[test]
    fn larger_value_moves_no_other_to_another_bucket() {
        for largest in 2_000_u64..60_000 {
            let [alone, among] = [&[largest][..], &[largest, 1 << 40]].map(recorded);
            let at = usize::try_from(alone.offset - among.offset).unwrap();
            assert_eq!((at, among.counts[0]), (0, 1), "{largest}");
        }
    }

    #[test]
    fn bounds_in_seconds_are_at_most_1_6_percent_too_high() {
        let histogram = recorded(&[1, 1_000_000, 1_000_000_000]).in_seconds(2);
        assert_eq!(histogram.counts.iter().sum::<u64>(), 5);
        let bound = |at: usize| {
            let number = f64::from(histogram.offset) + at as f64;
            2_f64.powf(number / 8.0)
        };
        let within: Vec<usize> = (0..histogram.counts.len())
            .filter(|&at| histogram.counts[at] > 0)
            .collect();
        for (at, seconds) in within.into_iter().zip([1e-9, 1e-3, 1.0, 3_600.0]) {
            // From 1.6 % above what it should be, up to the next bucket.
            let (from, to) = (bound(at) / 1.016, bound(at + 1));
            assert!(
                from <= seconds && seconds <= to,
                "{seconds}: {from} to {to}"
            );
        }
    }

    #[test]
    fn counts_are_cumulative_at_powers_of_two() {
        let histogram = recorded(&[0, 1, 2, 3, 4, 5, 1_024, 1_030, 900_000_000_000]);
        let counts =
            [0, 1, 2, 3, 10, 11, 39, 40, 60].map(|power| histogram.up_to_power_of_two(power));
        assert_eq!(counts, [2, 3, 5, 6, 7, 8, 8, 9, 9]);
        assert_eq!(histogram.zero_count, 1);
        assert!(recorded(&[]).is_empty());
        assert_eq!(ExponentialHistogram::default().up_to_power_of_two(63), 0);
    }
}
