//! Reads the interval log with another implementation of HdrHistogram.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use measure::{Cell, CellKey, Metric, Outcome, Period, Snapshot};
use report::{HlogWriter, MergedHlog};
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;

/// What second 3 recorded: one request of the previous second, one of its own, a time-out, and a
/// late one of the warm-up.
fn snapshot() -> Snapshot {
    let mut snapshot = Snapshot::default();
    let mut cell = Cell::default();
    cell.response_times
        .entry((Outcome::Ok, 2))
        .or_default()
        .record(1200 * MS);
    cell.response_times
        .entry((Outcome::Ok, 3))
        .or_default()
        .record(250 * MS);
    cell.response_times
        .entry((Outcome::TimedOut, 3))
        .or_default()
        .record(30_000 * MS);
    (1..=1000).for_each(|value| {
        cell.times
            .entry((Outcome::Ok, Metric::Connect))
            .or_default()
            .record(value * 1000)
    });
    cell.times.entry((Outcome::Ok, Metric::Dns)).or_default();
    let mut warm = Cell::default();
    warm.response_times
        .entry((Outcome::Ok, 1))
        .or_default()
        .record(7 * MS);
    snapshot.cells.insert(
        CellKey {
            period: Period::Measured,
            request: 0,
            address: None,
        },
        cell,
    );
    snapshot.cells.insert(
        CellKey {
            period: Period::WarmUp,
            request: 0,
            address: None,
        },
        warm,
    );
    snapshot
}

fn log() -> String {
    let mut merged = merged(1);
    let header = merged.writer().header();
    header + &merged.take(0, 3, &snapshot()) + &merged.finish()
}

fn merged(agents: usize) -> MergedHlog {
    MergedHlog::new(
        HlogWriter::new("2026-01-02T03:04:05.250Z", 1_767_323_045_250),
        agents,
    )
}

/// Operations of one kind, recorded in one second, that were intended in `seconds`.
fn intended_in(seconds: &[u32]) -> Snapshot {
    let mut cell = Cell::default();
    for &second in seconds {
        cell.response_times
            .entry((Outcome::Ok, second))
            .or_default()
            .record(10 * MS);
        cell.times
            .entry((Outcome::Ok, Metric::ServiceTime))
            .or_default()
            .record(9 * MS);
    }
    Snapshot {
        cells: [(
            CellKey {
                period: Period::Measured,
                request: 0,
                address: None,
            },
            cell,
        )]
        .into(),
        ..Snapshot::default()
    }
}

/// Tag, second, and number of values of each line.
fn summary(lines: &str) -> Vec<(String, u64, u64)> {
    let entries = IntervalLogIterator::new(lines.as_bytes()).map(Result::unwrap);
    let line = |entry| match entry {
        LogEntry::Interval(line) => {
            let encoded = STANDARD.decode(line.encoded_histogram()).unwrap();
            let histogram: Histogram<u64> = Deserializer::new()
                .deserialize(&mut encoded.as_slice())
                .unwrap();
            (
                line.tag().unwrap().as_str().to_owned(),
                line.start_timestamp().as_secs(),
                histogram.len(),
            )
        }
        other => panic!("{other:?}"),
    };
    entries.map(line).collect()
}

fn expected(lines: &[(&str, u64, u64)]) -> Vec<(String, u64, u64)> {
    lines
        .iter()
        .map(|&(tag, second, count)| (tag.to_owned(), second, count))
        .collect()
}

/// Histograms by tag and start second.
type Histograms = BTreeMap<(String, u64), Histogram<u64>>;

/// The log's histograms, and the start in its header in milliseconds.
fn parsed(log: &str) -> (Histograms, Option<u128>) {
    let (mut histograms, mut start) = (BTreeMap::new(), None);
    for entry in IntervalLogIterator::new(log.as_bytes()) {
        match entry.unwrap() {
            LogEntry::StartTime(time) => start = Some(time.as_millis()),
            LogEntry::BaseTime(_) => {}
            LogEntry::Interval(line) => {
                assert_eq!(line.duration().as_secs(), 1);
                let encoded = STANDARD.decode(line.encoded_histogram()).unwrap();
                let histogram = Deserializer::new()
                    .deserialize(&mut encoded.as_slice())
                    .unwrap();
                let key = (
                    line.tag().unwrap().as_str().to_owned(),
                    line.start_timestamp().as_secs(),
                );
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
    let keys: Vec<(&str, u64)> = histograms
        .keys()
        .map(|(tag, second)| (tag.as_str(), *second))
        .collect();
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
    assert_eq!(
        histograms[&("response_time.ok".to_owned(), 2)].max() / MS,
        1200
    );
    assert_eq!(
        histograms[&("response_time.timed_out".to_owned(), 3)].len(),
        1
    );
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
            "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"\
             Interval_Compressed_Histogram\"",
        ]
    );
    assert!(
        lines[5].starts_with("Tag=warm_up.response_time.ok,1.000,1.000,7.000,HISTF"),
        "{}",
        lines[5]
    );
    assert!(
        lines[6].starts_with("Tag=response_time.ok,2.000,1.000,1200.000,HISTF"),
        "{}",
        lines[6]
    );
}

#[test]
fn lines_of_one_agent_are_told_apart_by_their_tags() {
    let mut writer = HlogWriter::new("2026-01-02T03:04:05.250Z", 1_767_323_045_250);
    let lines = writer.of_agent(7, 3, &intended_in(&[3, 2, 3]));
    let wanted = [
        ("agent_7.response_time.ok", 2, 1),
        ("agent_7.response_time.ok", 3, 2),
        ("agent_7.service_time.ok", 3, 3),
    ];
    assert_eq!(summary(&lines), expected(&wanted));
}

#[test]
fn second_has_one_line_a_tag_over_all_agents_once_all_have_delivered_it_and_the_next() {
    let mut merged = merged(2);
    assert_eq!(merged.take(0, 0, &intended_in(&[0])), "");
    assert_eq!(merged.take(0, 1, &intended_in(&[0, 1])), "");
    assert_eq!(merged.take(1, 0, &intended_in(&[0])), "");
    let lines = merged.take(1, 1, &intended_in(&[0]));
    assert_eq!(
        summary(&lines),
        expected(&[("response_time.ok", 0, 4), ("service_time.ok", 0, 2)])
    );
    assert_eq!(
        summary(&merged.finish()),
        expected(&[("response_time.ok", 1, 1), ("service_time.ok", 1, 3)])
    );
    assert_eq!(merged.finish(), "");
}

#[test]
fn agent_that_has_ended_is_not_waited_for_nor_one_whose_seconds_cannot_be_read() {
    let mut merged = merged(3);
    assert_eq!(merged.take(0, 0, &intended_in(&[0])), "");
    assert_eq!(merged.take(0, 1, &intended_in(&[1])), "");
    assert_eq!(merged.skip(1, 1), "");
    assert_eq!(
        summary(&merged.agent_ended(2)),
        expected(&[("response_time.ok", 0, 1), ("service_time.ok", 0, 1)])
    );
    assert_eq!(merged.agent_ended(1), "");
    assert_eq!(summary(&merged.agent_ended(0)).len(), 2, "all have ended");
    assert_eq!(
        summary(&merged.take(0, 1, &intended_in(&[0]))).len(),
        2,
        "nobody is waited for any more"
    );
}

#[test]
fn agent_that_is_away_holds_back_a_minute_at_most() {
    let mut merged = merged(2);
    let held = (0..10_000)
        .map(|second| merged.take(0, second, &intended_in(&[second])))
        .take_while(String::is_empty)
        .count();
    assert!(held <= 62, "{held} s are held back");
    let lines = merged.take(1, 0, &intended_in(&[0])) + &merged.finish();
    let seconds = summary(&lines)
        .iter()
        .map(|&(_, second, _)| second)
        .filter(|&second| second == 0)
        .count();
    assert_eq!(seconds, 2, "its line comes all the same");
}

#[test]
fn responses_that_come_very_late_make_few_lines_more_and_lose_nothing() {
    let (mut merged, mut lines) = (merged(1), String::new());
    let seconds = 1000_u32;
    for second in 0..seconds {
        // Each second records operations that were due up to 20 s earlier.
        let due: Vec<u32> = (second.saturating_sub(20)..=second).collect();
        lines += &merged.take(0, second, &intended_in(&due));
    }
    lines += &merged.finish();
    let summary = summary(&lines);
    let of_second = |wanted: u64| {
        let found: Vec<u64> = summary
            .iter()
            .filter(|(tag, second, _)| tag == "response_time.ok" && *second == wanted)
            .map(|&(_, _, count)| count)
            .collect();
        (found.len(), found.iter().sum::<u64>())
    };
    for second in [0, 500, 900] {
        let (lines, values) = of_second(second);
        assert_eq!(values, 21, "second {second}");
        assert!(lines <= 4, "{lines} lines for second {second}");
    }
}
