//! The interval log as another implementation of HdrHistogram reads it.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use measure::{Cell, CellKey, Metric, Outcome, Period, Snapshot};
use report::HlogWriter;
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;

/// What second 3 recorded: one request of the second before, one of its own, a time-out, and a warm-up's straggler.
fn snapshot() -> Snapshot {
    let mut snapshot = Snapshot::default();
    let mut cell = Cell::default();
    cell.response_times.entry((Outcome::Ok, 2)).or_default().record(1200 * MS);
    cell.response_times.entry((Outcome::Ok, 3)).or_default().record(250 * MS);
    cell.response_times.entry((Outcome::TimedOut, 3)).or_default().record(30_000 * MS);
    (1..=1000).for_each(|value| cell.times.entry((Outcome::Ok, Metric::Connect)).or_default().record(value * 1000));
    cell.times.entry((Outcome::Ok, Metric::Dns)).or_default();
    let mut warm = Cell::default();
    warm.response_times.entry((Outcome::Ok, 1)).or_default().record(7 * MS);
    snapshot.cells.insert(CellKey { period: Period::Measured, request: 0, address: None }, cell);
    snapshot.cells.insert(CellKey { period: Period::WarmUp, request: 0, address: None }, warm);
    snapshot
}

fn log() -> String {
    let writer = HlogWriter::new("2026-01-02T03:04:05.250Z", 1_767_323_045_250);
    writer.header() + &writer.interval(1, 3, &snapshot())
}

/// By tag and start second.
type Histograms = BTreeMap<(String, u64), Histogram<u64>>;

/// The log's histograms, and the header's start in milliseconds.
fn parsed(log: &str) -> (Histograms, Option<u128>) {
    let (mut histograms, mut start) = (BTreeMap::new(), None);
    for entry in IntervalLogIterator::new(log.as_bytes()) {
        match entry.unwrap() {
            LogEntry::StartTime(time) => start = Some(time.as_millis()),
            LogEntry::BaseTime(_) => {}
            LogEntry::Interval(line) => {
                assert_eq!(line.duration().as_secs(), 1);
                let encoded = STANDARD.decode(line.encoded_histogram()).unwrap();
                let histogram = Deserializer::new().deserialize(&mut encoded.as_slice()).unwrap();
                let key = (line.tag().unwrap().as_str().to_owned(), line.start_timestamp().as_secs());
                assert!(histograms.insert(key, histogram).is_none());
            }
        }
    }
    (histograms, start)
}

#[test]
fn other_reader_finds_every_value_under_its_tag_and_second() {
    let (histograms, start) = parsed(&log());
    assert_eq!(start, Some(1_767_323_045_250));
    let keys: Vec<(&str, u64)> = histograms.keys().map(|(tag, second)| (tag.as_str(), *second)).collect();
    let expected = [
        ("connect.ok", 3),
        ("response_time.ok", 2),
        ("response_time.ok", 3),
        ("response_time.timed_out", 3),
        ("warm_up.response_time.ok", 1),
    ];
    assert_eq!(keys, expected, "an empty histogram has no line");
    let connect = &histograms[&("connect.ok".to_owned(), 3)];
    assert_eq!((connect.len(), connect.sigfig()), (1000, 3));
    assert_eq!(connect.value_at_percentile(50.0) / 1000, 500);
    assert_eq!(histograms[&("response_time.ok".to_owned(), 2)].max() / MS, 1200);
    assert_eq!(histograms[&("response_time.timed_out".to_owned(), 3)].len(), 1);
}

#[test]
fn log_is_the_agreed_text() {
    let log = log();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(
        &lines[..5],
        [
            "#[Histogram log format version 1.3]",
            "#[StartTime: 1767323045.250 (seconds since epoch), 2026-01-02T03:04:05.250Z]",
            "#[BaseTime: 1767323045.250 (seconds since epoch)]",
            "#[values are nanoseconds; the column Interval_Max is milliseconds]",
            "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"",
        ]
    );
    assert_eq!(lines[5], "#[Agent: 1]");
    assert!(lines[6].starts_with("Tag=warm_up.response_time.ok,1.000,1.000,7.000,HISTF"), "{}", lines[6]);
    assert!(lines[7].starts_with("Tag=response_time.ok,2.000,1.000,1200.000,HISTF"), "{}", lines[7]);
}
