//! Reads `histograms.hlog` with another implementation of HdrHistogram.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use std::collections::BTreeMap;
use std::path::Path;

/// The histograms of a run by tag, with all seconds added up. A tag is `<metric>.<outcome>`,
/// `warm_up.<metric>.<outcome>` in the warm-up, and `agent_<index>.<metric>.<outcome>` for a single
/// agent. Values are nanoseconds.
pub struct Histograms {
    by_tag: BTreeMap<String, Histogram<u64>>,
}

impl Histograms {
    /// Reads a log.
    ///
    /// # Panics
    /// If it is not one.
    #[must_use]
    pub fn read(path: &Path) -> Histograms {
        let log = std::fs::read_to_string(path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut by_tag = BTreeMap::new();
        add(&mut by_tag, &log);
        Histograms { by_tag }
    }

    /// What was recorded under a tag.
    #[must_use]
    pub fn of(&self, tag: &str) -> Histogram<u64> {
        // The same range as the agents': 1 ns to an hour.
        let nothing = || Histogram::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        self.by_tag.get(tag).cloned().unwrap_or_else(nothing)
    }

    /// Every tag in the log.
    #[must_use]
    pub fn tags(&self) -> Vec<&str> {
        self.by_tag.keys().map(String::as_str).collect()
    }
}

fn add(histograms: &mut BTreeMap<String, Histogram<u64>>, lines: &str) {
    for entry in IntervalLogIterator::new(lines.as_bytes()) {
        let LogEntry::Interval(line) = entry.unwrap() else {
            continue;
        };
        let encoded = STANDARD.decode(line.encoded_histogram()).unwrap();
        let histogram: Histogram<u64> = Deserializer::new()
            .deserialize(&mut encoded.as_slice())
            .unwrap();
        let tag = line
            .tag()
            .expect("every line has a tag")
            .as_str()
            .to_owned();
        histograms
            .entry(tag)
            .and_modify(|sum| sum.add(&histogram).unwrap())
            .or_insert(histogram);
    }
}
