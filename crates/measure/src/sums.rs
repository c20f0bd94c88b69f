//! Sums over the cells of a snapshot: any selection of keys, any grouping, headline times.

use crate::{Cell, CellKey, Distribution, Metric, Outcome, Snapshot};
use std::collections::BTreeMap;

/// Outcomes of headline figures: fast failures would make a percentile look better.
const HEADLINE: [Outcome; 2] = [Outcome::Ok, Outcome::TimedOut];

impl Snapshot {
    /// Sum of the cells whose key `selects` takes, such as those of one period.
    #[must_use]
    pub fn sum(&self, selects: impl Fn(&CellKey) -> bool) -> Cell {
        self.sums_by(|key| selects(key).then_some(())).remove(&()).unwrap_or_default()
    }

    /// Sums of the cells by what `group` makes of their key (request, address, …); cells it gives `None` are left out.
    #[must_use]
    pub fn sums_by<G: Ord>(&self, group: impl Fn(&CellKey) -> Option<G>) -> BTreeMap<G, Cell> {
        let mut sums = BTreeMap::<G, Cell>::new();
        for (key, cell) in &self.cells {
            if let Some(group) = group(key) {
                sums.entry(group).or_default().merge(cell);
            }
        }
        sums
    }
}

impl Cell {
    /// Times of all `metrics` together, of operations that ended ok or timed out; for the response time, of all seconds.
    #[must_use]
    pub fn headline(&self, metrics: &[Metric]) -> Distribution {
        let mut sum = Distribution::default();
        for outcome in HEADLINE {
            metrics.iter().for_each(|&metric| sum.merge(&self.of(outcome, metric)));
        }
        sum
    }

    /// Headline response times by intended second of the run clock.
    #[must_use]
    pub fn headline_by_second(&self) -> BTreeMap<u32, Distribution> {
        let mut seconds = BTreeMap::<u32, Distribution>::new();
        for (&(outcome, second), distribution) in &self.response_times {
            if HEADLINE.contains(&outcome) {
                seconds.entry(second).or_default().merge(distribution);
            }
        }
        seconds
    }

    /// Times of one outcome and metric; the response time of all seconds together.
    #[must_use]
    pub fn of(&self, outcome: Outcome, metric: Metric) -> Distribution {
        if metric != Metric::ResponseTime {
            return self.times.get(&(outcome, metric)).cloned().unwrap_or_default();
        }
        let mut sum = Distribution::default();
        let seconds = self.response_times.range((outcome, 0)..=(outcome, u32::MAX));
        seconds.for_each(|(_, distribution)| sum.merge(distribution));
        sum
    }
}
