//! A sum of cells of snapshots, whichever keys they had: counters, and times by outcome and metric.

use crate::Headline;
use measure::{Cell, Counters, Distribution, Metric, Outcome};
use std::collections::BTreeMap;

/// Name under which the four kinds of handshakes stand together.
pub(crate) const HANDSHAKE: &str = "handshake";

/// The four kinds.
pub(crate) const HANDSHAKES: [Metric; 4] =
    [Metric::HandshakeFull, Metric::HandshakeFullRetried, Metric::HandshakeResumed, Metric::HandshakeResumedRetried];

/// A sum of cells.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tally {
    pub(crate) counters: Counters,
    /// Part of `counters` that was counted after the measured part's end.
    pub(crate) drained: Counters,
    /// Response times of all seconds together.
    pub(crate) times: BTreeMap<(Outcome, Metric), Distribution>,
}

impl Tally {
    /// Takes a cell in.
    pub(crate) fn add(&mut self, cell: &Cell, is_drain: bool) {
        self.counters.merge(&cell.counters);
        if is_drain {
            self.drained.merge(&cell.counters);
        }
        for (&key, distribution) in &cell.times {
            self.times.entry(key).or_default().merge(distribution);
        }
        for (&(outcome, _), distribution) in &cell.response_times {
            self.times.entry((outcome, Metric::ResponseTime)).or_default().merge(distribution);
        }
    }

    /// Takes another tally in.
    pub(crate) fn merge(&mut self, other: &Tally) {
        self.counters.merge(&other.counters);
        self.drained.merge(&other.drained);
        for (&key, distribution) in &other.times {
            self.times.entry(key).or_default().merge(distribution);
        }
    }

    /// Whether counters and times equal `other`'s, bucket by bucket; which part had been counted in the drain is not asked.
    pub(crate) fn has_same_totals(&self, other: &Tally) -> bool {
        let filled = |tally: &Tally| -> Vec<((Outcome, Metric), Distribution)> {
            let times = tally.times.iter().filter(|(_, distribution)| distribution.count > 0);
            times.map(|(&key, distribution)| (key, distribution.clone())).collect()
        };
        self.counters == other.counters && filled(self) == filled(other)
    }

    /// Ok and timed-out values of one metric together; `None` where nothing was recorded.
    pub(crate) fn headline(&self, metrics: &[Metric]) -> Option<Headline> {
        let mut headline = Headline::default();
        for &metric in metrics {
            if let Some(distribution) = self.times.get(&(Outcome::Ok, metric)) {
                headline.merge(&Headline::exact(distribution));
            }
            if let Some(distribution) = self.times.get(&(Outcome::TimedOut, metric)) {
                headline.merge(&Self::of_timed_out(metric, distribution));
            }
        }
        (headline.distribution.count > 0).then_some(headline)
    }

    /// Only the times that a time-out cut short are lower bounds; a timed-out operation's connect was measured whole.
    fn of_timed_out(metric: Metric, distribution: &Distribution) -> Headline {
        match metric {
            Metric::ResponseTime | Metric::ServiceTime | Metric::Processing | Metric::Receive => {
                Headline::timed_out(distribution)
            }
            _ => Headline::exact(distribution),
        }
    }

    /// Every time that has a value, by name, and the handshakes together.
    pub(crate) fn headlines(&self) -> impl Iterator<Item = (String, Headline)> + '_ {
        let times = Metric::ALL.into_iter().filter(|metric| metric.is_time());
        let each = times.filter_map(|metric| Some((metric.name().to_owned(), self.headline(&[metric])?)));
        each.chain(self.headline(&HANDSHAKES).map(|headline| (HANDSHAKE.to_owned(), headline)))
    }
}
