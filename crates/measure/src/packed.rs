//! Histograms that are kept and seldom read, in a fraction of their memory.

use crate::Histogram;
use crate::counts::{read_counts, write_counts};
use crate::deflate::{self, Inflater};

/// A histogram, deflated in memory: a second of response times takes 1 to 2 KiB.
#[derive(Debug, Clone)]
pub struct PackedHistogram(Box<[u8]>);

impl From<&Histogram> for PackedHistogram {
    fn from(histogram: &Histogram) -> PackedHistogram {
        let mut counts = Vec::new();
        write_counts(histogram, &mut counts);
        let mut packed = Vec::new();
        deflate::append(&counts, &mut packed);
        PackedHistogram(packed.into())
    }
}

impl PackedHistogram {
    /// The histogram again, exactly.
    #[must_use]
    pub fn unpack(&self) -> Histogram {
        let mut counts = Vec::new();
        Inflater::new()
            .inflate(&self.0, usize::MAX, &mut counts)
            .expect("it was deflated here");
        // No bound on the values: those of many agents may be more than one of them may say.
        read_counts(&counts, u64::MAX).expect("the counters were written here")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::MAX_COUNT;
    use proptest::prelude::*;

    #[test]
    fn many_agents_counts_are_unpacked_although_one_may_not_send_them() {
        let mut histogram = Histogram::default();
        assert!(histogram.append(5, MAX_COUNT) && histogram.append(9, MAX_COUNT));
        assert_eq!(PackedHistogram::from(&histogram).unpack(), histogram);
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back(
            values in proptest::collection::vec(0..=Histogram::HIGHEST_NS, 0..400),
        ) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&value| assert!(histogram.record(value)));
            prop_assert_eq!(PackedHistogram::from(&histogram).unpack(), histogram);
        }
    }
}
