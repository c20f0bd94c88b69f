//! What agents measured, as encoded on the wire and in files.

use flate2::Compression;
use flate2::write::DeflateEncoder;
use measure::{Histogram, PackedHistogram, Snapshot, Totals};
use std::io::Write as _;

/// An encoded snapshot, or the content of its deflate stream, because changing a byte of the stream
/// itself usually breaks it.
pub fn snapshot(data: &[u8]) {
    encoded_snapshot(data);
    let version = vec![(measure::ENCODING >> 8) as u8];
    let mut encoder = DeflateEncoder::new(version, Compression::none());
    let written = encoder.write_all(data).and_then(|()| encoder.finish());
    encoded_snapshot(&written.expect("writing to memory cannot fail"));
}

/// A snapshot that is accepted can be merged and encoded again.
fn encoded_snapshot(data: &[u8]) {
    let Ok(snapshot) = Snapshot::decode(data) else {
        return;
    };
    let said = Snapshot::decode(&snapshot.encode());
    assert!(said.as_ref() == Ok(&snapshot), "it changes on its way");
    let mut totals = Totals::default();
    totals.add(&snapshot);
    let mut sum = Snapshot::default();
    sum.merge(&snapshot);
    assert!(sum == snapshot || snapshot.cells.len() != sum.cells.len());
    sum.merge(&snapshot);
    for cell in sum.cells.values() {
        for times in cell.times.values().chain(cell.response_times.values()) {
            let _ = (times.mean(), times.std_dev(), times.percentile(99.9));
            histogram(&times.histogram);
        }
    }
    let mut twice = totals.clone();
    twice.add(&snapshot);
    let read = Totals::decode(&twice.encode()).expect("our own totals are read");
    assert!(read == twice, "totals change on their way");
}

/// Encoded totals.
pub fn totals(data: &[u8]) {
    let Ok(totals) = Totals::decode(data) else {
        return;
    };
    let read = Totals::decode(&totals.encode()).expect("our own totals are read");
    assert!(read == totals, "they change on their way");
}

/// The histogram is packed without loss, and doubling all its counts changes no percentile.
fn histogram(histogram: &Histogram) {
    assert!(PackedHistogram::from(histogram).unpack() == *histogram);
    let buckets: u64 = histogram.iter().map(|bucket| bucket.count).sum();
    assert_eq!(buckets, histogram.count());
    let mut sum = histogram.clone();
    sum.merge(histogram);
    for percentile in [0.0, 50.0, 100.0] {
        let value = histogram.value_at_percentile(percentile);
        assert_eq!(value.is_none(), histogram.is_empty());
        assert_eq!(sum.value_at_percentile(percentile), value, "{percentile}");
    }
}
