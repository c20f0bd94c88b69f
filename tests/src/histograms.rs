//! `histograms.hlog` as another implementation of HdrHistogram reads it.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use std::collections::BTreeMap;
use std::path::Path;

/// What the comment before an agent's lines begins with.
const AGENT: &str = "#[Agent: ";

/// The histograms of a run by agent and tag, all seconds together. A tag is `<metric>.<outcome>`, in the warm-up
/// `warm_up.<metric>.<outcome>`; values are nanoseconds.
pub struct Histograms {
    by_agent: Vec<BTreeMap<String, Histogram<u64>>>,
}

impl Histograms {
    /// Reads a log.
    ///
    /// # Panics
    /// Where it is not one.
    #[must_use]
    pub fn read(path: &Path) -> Histograms {
        let log = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut by_agent = Vec::new();
        for part in split_by_agent(&log) {
            let (agent, lines) = part;
            by_agent.resize_with(by_agent.len().max(agent + 1), BTreeMap::new);
            add(&mut by_agent[agent], lines);
        }
        Histograms { by_agent }
    }

    /// How many agents there are.
    #[must_use]
    pub fn agents(&self) -> usize {
        self.by_agent.len()
    }

    /// What an agent recorded under these tags together.
    #[must_use]
    pub fn of_agent(&self, agent: usize, tags: &[&str]) -> Histogram<u64> {
        sum(tags.iter().filter_map(|&tag| self.by_agent[agent].get(tag)))
    }

    /// What all agents recorded under these tags together.
    #[must_use]
    pub fn of_all(&self, tags: &[&str]) -> Histogram<u64> {
        sum(self.by_agent.iter().flat_map(|histograms| tags.iter().filter_map(|&tag| histograms.get(tag))))
    }

    /// Every tag there is.
    #[must_use]
    pub fn tags(&self) -> Vec<&str> {
        let mut tags: Vec<&str> = self.by_agent.iter().flat_map(|histograms| histograms.keys().map(String::as_str)).collect();
        tags.sort_unstable();
        tags.dedup();
        tags
    }
}

/// The lines of each interval with the index of the agent they are of, one interval after the other.
fn split_by_agent(log: &str) -> impl Iterator<Item = (usize, &str)> {
    log.split(AGENT).skip(1).map(|part| {
        let (agent, lines) = part.split_once("]\n").expect("the comment is a line");
        (agent.parse().unwrap(), lines)
    })
}

fn add(histograms: &mut BTreeMap<String, Histogram<u64>>, lines: &str) {
    for entry in IntervalLogIterator::new(lines.as_bytes()) {
        let LogEntry::Interval(line) = entry.unwrap() else { continue };
        let encoded = STANDARD.decode(line.encoded_histogram()).unwrap();
        let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut encoded.as_slice()).unwrap();
        let tag = line.tag().expect("every line has a tag").as_str().to_owned();
        histograms.entry(tag).and_modify(|sum| sum.add(&histogram).unwrap()).or_insert(histogram);
    }
}

fn sum<'a>(histograms: impl Iterator<Item = &'a Histogram<u64>>) -> Histogram<u64> {
    // The same range as the agents': 1 ns to an hour.
    let mut sum = Histogram::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
    histograms.for_each(|histogram| sum.add(histogram).unwrap());
    sum
}
