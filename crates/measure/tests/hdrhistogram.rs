//! Our buckets, percentiles and bytes against the `hdrhistogram` crate, both ways.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use measure::{Histogram, HistogramError};
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

fn their_bytes(histogram: &Theirs) -> Vec<u8> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .unwrap();
    bytes
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

proptest! {
    #[test]
    fn buckets_are_theirs(values in values()) {
        prop_assert_eq!(our_buckets(&ours(&values)), their_buckets(&theirs(&values)));
    }

    #[test]
    fn they_read_what_we_write(values in values()) {
        let bytes = ours(&values).encode_v2_deflate();
        let read: Theirs = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        prop_assert_eq!(their_buckets(&read), our_buckets(&ours(&values)));
    }

    #[test]
    fn we_read_what_they_write(values in values()) {
        let read = Histogram::decode_v2_deflate(&their_bytes(&theirs(&values)));
        prop_assert_eq!(read, Ok(ours(&values)));
    }

    #[test]
    fn counts_of_every_size_survive(
        counts in proptest::collection::vec((0..=Histogram::HIGHEST_NS, 1u64..1 << 46), 1..50),
    ) {
        let mut histogram = theirs(&[]);
        for (value, count) in counts {
            histogram.record_n(value, count).unwrap();
        }
        let decoded = Histogram::decode_v2_deflate(&their_bytes(&histogram)).unwrap();
        prop_assert_eq!(our_buckets(&decoded), their_buckets(&histogram));
        prop_assert_eq!(Histogram::decode_v2_deflate(&decoded.encode_v2_deflate()), Ok(decoded));
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

    #[test]
    fn random_bytes_are_an_error_or_a_histogram(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let _ = Histogram::decode_v2_deflate(&bytes);
    }

    #[test]
    fn a_flipped_byte_is_an_error_or_a_histogram(
        values in values(),
        at in any::<prop::sample::Index>(),
        flip in 1u8..,
    ) {
        let mut bytes = ours(&values).encode_v2_deflate();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        let _ = Histogram::decode_v2_deflate(&bytes);
    }

    #[test]
    fn hostile_counters_are_an_error_or_a_histogram(
        payload in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        if let Ok(histogram) = Histogram::decode_v2_deflate(&deflated(&plain(&payload))) {
            let again = Histogram::decode_v2_deflate(&histogram.encode_v2_deflate());
            prop_assert_eq!(again, Ok(histogram));
        }
    }
}

/// A V2 histogram around `payload`.
fn plain(payload: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    plain.extend(0x1c84_9313u32.to_be_bytes());
    plain.extend(u32::try_from(payload.len()).unwrap().to_be_bytes());
    plain.extend(0u32.to_be_bytes());
    plain.extend(3u32.to_be_bytes());
    plain.extend(1u64.to_be_bytes());
    plain.extend(3_600_000_000_000u64.to_be_bytes());
    plain.extend(1f64.to_be_bytes());
    plain.extend(payload);
    plain
}

fn deflated(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, plain).unwrap();
    let stream = encoder.finish().unwrap();
    let mut bytes = 0x1c84_9314u32.to_be_bytes().to_vec();
    bytes.extend(u32::try_from(stream.len()).unwrap().to_be_bytes());
    bytes.extend(stream);
    bytes
}

#[test]
fn bytes_that_are_no_histogram_of_ours_are_refused_with_the_reason() {
    let good = deflated(&plain(&[2]));
    assert!(Histogram::decode_v2_deflate(&good).is_ok());
    let edited = |at: usize, byte: u8| {
        let mut plain = plain(&[2]);
        plain[at] = byte;
        Histogram::decode_v2_deflate(&deflated(&plain))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        edited(3, 0x12),
        "histogram begins with 0x1c849312, where HdrHistogram V2 has 0x1c849313"
    );
    assert_eq!(
        edited(7, 2),
        "histogram of 1 bytes, where its header says 2"
    );
    assert_eq!(
        edited(11, 1),
        "histogram's normalizing offset is 1, only 0 can be merged"
    );
    assert_eq!(
        edited(15, 2),
        "histogram's number of significant digits is 2, only 3 can be merged"
    );
    assert_eq!(
        edited(23, 2),
        "histogram's lowest discernible value is 2, only 1 can be merged"
    );
    assert!(edited(31, 7).starts_with("histogram's highest trackable value is "));
    for cut in 0..good.len() {
        assert!(
            Histogram::decode_v2_deflate(&good[..cut]).is_err(),
            "cut after {cut} bytes"
        );
    }
}

#[test]
fn counters_that_no_run_makes_are_refused() {
    let zeros = |number: u64| {
        let mut varint = Vec::new();
        let mut rest = number * 2 - 1;
        while rest >= 0x80 {
            varint.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        varint.push(rest as u8);
        varint
    };
    let beyond_the_last_bucket = [zeros(33 * 1024), vec![2]].concat();
    let most_negative_then_a_count = [vec![0xff; 9], vec![2]].concat();
    let enormous = vec![0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    for payload in [
        beyond_the_last_bucket,
        most_negative_then_a_count,
        enormous,
        vec![0x80],
    ] {
        let decoded = Histogram::decode_v2_deflate(&deflated(&plain(&payload)));
        assert!(
            matches!(decoded, Err(HistogramError::Counter { .. })),
            "{payload:?} gave {decoded:?}"
        );
    }
    let last_bucket = [zeros(33 * 1024 - 1), vec![2]].concat();
    assert!(Histogram::decode_v2_deflate(&deflated(&plain(&last_bucket))).is_ok());
}

#[test]
fn a_deflate_bomb_is_refused() {
    let bomb = deflated(&plain(&vec![0; 50_000_000]));
    assert!(bomb.len() < 60_000);
    assert_eq!(
        Histogram::decode_v2_deflate(&bomb),
        Err(HistogramError::Deflate)
    );
}
