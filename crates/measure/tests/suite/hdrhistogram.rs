//! Our buckets, percentiles and encoding against those of the `hdrhistogram` crate.

use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
use measure::{HdrEncoder, Histogram};
use proptest::prelude::*;

type Theirs = hdrhistogram::Histogram<u64>;

fn ours(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::default();
    for &value in values {
        assert!(histogram.record(value));
    }
    histogram
}

fn theirs(values: &[u64]) -> Theirs {
    let mut histogram = Theirs::new_with_bounds(1, Histogram::HIGHEST_NS, 3).unwrap();
    for &value in values {
        histogram.record(value).unwrap();
    }
    histogram
}

/// (lowest, highest, count) of every bucket that is not empty.
fn our_buckets(histogram: &Histogram) -> Vec<(u64, u64, u64)> {
    histogram
        .iter()
        .map(|bucket| (bucket.lowest_ns, bucket.highest_ns, bucket.count))
        .collect()
}

fn their_buckets(histogram: &Theirs) -> Vec<(u64, u64, u64)> {
    let bounds = |value| {
        (
            histogram.lowest_equivalent(value),
            histogram.highest_equivalent(value),
        )
    };
    let buckets = histogram
        .iter_recorded()
        .map(|step| (bounds(step.value_iterated_to()), step.count_at_value()));
    buckets
        .map(|((lowest, highest), count)| (lowest, highest, count))
        .collect()
}

/// Values of every magnitude, many of them alike.
fn values() -> impl Strategy<Value = Vec<u64>> {
    let value = prop_oneof![
        0..=Histogram::HIGHEST_NS,
        (0u32..42).prop_flat_map(|bits| 0..=(1u64 << bits).min(Histogram::HIGHEST_NS)),
        Just(250_000),
        Just(0),
    ];
    proptest::collection::vec(value, 0..400)
}

fn their_encoding(histogram: &Theirs) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    serializer.serialize(histogram, &mut bytes).unwrap();
    bytes
}

proptest! {
    #[test]
    fn encoding_is_theirs_even_after_another_histogram(first in values(), values in values()) {
        let mut encoder = HdrEncoder::new();
        encoder.encode(&ours(&first));
        let encoded = encoder.encode(&ours(&values));
        prop_assert_eq!(encoded, their_encoding(&theirs(&values)));
    }

    #[test]
    fn buckets_are_theirs(values in values()) {
        prop_assert_eq!(our_buckets(&ours(&values)), their_buckets(&theirs(&values)));
    }

    #[test]
    fn merge_is_that_of_the_values_together(left in values(), right in values()) {
        let mut merged = ours(&left);
        merged.merge(&ours(&right));
        prop_assert_eq!(merged, ours(&[left, right].concat()));
    }

    #[test]
    fn percentiles_are_theirs(
        values in values(),
        percentile in prop_oneof![Just(99.9), Just(50.0), 0.001f64..100.0],
    ) {
        prop_assume!(!values.is_empty());
        let (ours, theirs) = (ours(&values), theirs(&values));
        let expected = theirs.value_at_percentile(percentile);
        prop_assert_eq!(ours.value_at_percentile(percentile), Some(expected));
    }
}
