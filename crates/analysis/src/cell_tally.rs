//! A sum of snapshot cells over any keys: counters, and times by outcome and metric.

use crate::Headline;
use measure::{
    Cell, Counters, Distribution, HANDSHAKE, Metric, Outcome, Period, Snapshot, StreamCounts,
    WebSocketFact, Within,
};
use std::collections::BTreeMap;

/// A sum of cells.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CellTally {
    pub(crate) counters: Counters,
    /// Work of other parts' operations within this one: those of the warm-up that ended in the
    /// measured part.
    pub(crate) carried: Within,
    /// Streamed answers.
    pub(crate) streams: StreamCounts,
    /// Events within this part, of other parts' operations.
    pub(crate) carried_events: u64,
    /// Messages of WebSockets whose answers came within this part.
    pub(crate) messages_within: u64,
    /// Times by outcome and metric, over all seconds.
    pub(crate) times: BTreeMap<(Outcome, Metric), Distribution>,
}

impl CellTally {
    /// Adds a cell.
    pub(crate) fn add(&mut self, cell: &Cell) {
        self.counters.merge(&cell.counters);
        self.streams.merge(&cell.streams);
        for (&key, distribution) in &cell.times {
            self.times.entry(key).or_default().merge(distribution);
        }
        // Cells keep response times by second for the series only; here their sum is enough.
        for (&(outcome, _), distribution) in &cell.response_times {
            self.times
                .entry((outcome, Metric::ResponseTime))
                .or_default()
                .merge(distribution);
        }
    }

    /// Sums the measured part of a snapshot.
    pub(crate) fn measured(snapshot: &Snapshot) -> CellTally {
        CellTally::measured_of(snapshot, |_| true)
    }

    /// Sums the measured part of a snapshot, for the wanted requests only.
    pub(crate) fn measured_of(snapshot: &Snapshot, is_wanted: impl Fn(u16) -> bool) -> CellTally {
        let mut sum = CellTally::default();
        let counts = snapshot.websockets.iter();
        let counts = counts.filter(|(request, _, _)| is_wanted(*request));
        counts.for_each(|(_, fact, number)| sum.count_messages(fact, number));
        let cells = snapshot.cells.iter();
        for (key, cell) in cells.filter(|(key, _)| is_wanted(key.request)) {
            match key.period {
                Period::Measured => sum.add(cell),
                Period::WarmUp => sum.carry(&cell.counters.within, &cell.streams),
            }
        }
        sum
    }

    /// Adds what WebSockets count, which is of the measured part alone. Late answers are among all
    /// answers, and have to be added after them.
    pub(crate) fn count_messages(&mut self, fact: WebSocketFact, number: u64) {
        self.messages_within = match fact {
            WebSocketFact::Answered => self.messages_within.saturating_add(number),
            WebSocketFact::AnsweredLate => self.messages_within.saturating_sub(number),
            _ => return,
        };
    }

    /// Adds another tally.
    pub(crate) fn merge(&mut self, other: &CellTally) {
        self.counters.merge(&other.counters);
        self.carried.merge(&other.carried);
        self.streams.merge(&other.streams);
        self.carried_events = self.carried_events.saturating_add(other.carried_events);
        self.messages_within = self.messages_within.saturating_add(other.messages_within);
        for (&key, distribution) in &other.times {
            self.times.entry(key).or_default().merge(distribution);
        }
    }

    /// Adds a tally of this part of the run; of a tally of the other part, adds only what happened
    /// within this one.
    pub(crate) fn take(&mut self, is_own: bool, other: &CellTally) {
        if is_own {
            self.merge(other);
        } else {
            self.carry(&other.counters.within, &other.streams);
        }
    }

    /// Adds what operations of the other part did within this one.
    fn carry(&mut self, within: &Within, streams: &StreamCounts) {
        self.carried.merge(within);
        self.carried_events = self.carried_events.saturating_add(streams.events_within);
    }

    /// Merges the values of all headline outcomes of these metrics; `None` if nothing was recorded.
    pub(crate) fn headline(&self, metrics: &[Metric]) -> Option<Headline> {
        let mut headline = Headline::default();
        for (&metric, outcome) in metrics
            .iter()
            .flat_map(|metric| Outcome::ALL.map(|outcome| (metric, outcome)))
        {
            if let Some(distribution) = self.times.get(&(outcome, metric)) {
                headline.take(outcome, metric, distribution);
            }
        }
        (headline.distribution.count > 0).then_some(headline)
    }

    /// Returns the headline of every time that has values, by name, and of all handshakes together.
    pub(crate) fn headlines(&self) -> impl Iterator<Item = (String, Headline)> + '_ {
        let times = Metric::ALL.into_iter().filter(|metric| metric.is_time());
        let each =
            times.filter_map(|metric| Some((metric.name().to_owned(), self.headline(&[metric])?)));
        each.chain(
            self.headline(&Metric::HANDSHAKES)
                .map(|headline| (HANDSHAKE.to_owned(), headline)),
        )
    }
}
