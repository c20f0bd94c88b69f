//! A sum of the funnels of one journey, over the measured part.

use measure::{Funnel, JourneyCell, JourneyCounts, Period, Snapshot};
use std::collections::BTreeMap;

/// The funnel of the journeys that were due in the measured part.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct JourneyTally {
    pub(crate) funnel: Funnel,
    /// Journeys of the warm-up that were completed within the measured part.
    pub(crate) carried: u64,
}

impl JourneyTally {
    /// Adds a funnel of any part of the run.
    fn add(&mut self, period: Period, funnel: &Funnel) {
        match period {
            Period::Measured => self.funnel.merge(funnel),
            Period::WarmUp => self.carry(funnel.counts.completed_within),
        }
    }

    /// Adds another tally.
    pub(crate) fn merge(&mut self, other: &JourneyTally) {
        self.funnel.merge(&other.funnel);
        self.carry(other.carried);
    }

    /// Returns the journeys that were completed within the measured part, whenever they were due.
    pub(crate) fn count_completed(&self) -> u64 {
        let own = self.funnel.counts.completed_within;
        own.saturating_add(self.carried)
    }

    fn carry(&mut self, completed: u64) {
        self.carried = self.carried.saturating_add(completed);
    }
}

/// Tallies by the journey's place in the plan.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct JourneyTallies(BTreeMap<u16, JourneyTally>);

impl JourneyTallies {
    /// Adds what an agent recorded in a second.
    pub(crate) fn add(&mut self, snapshot: &Snapshot) {
        for (&JourneyCell { period, journey }, funnel) in &snapshot.journeys {
            self.0.entry(journey).or_default().add(period, funnel);
        }
    }

    /// Adds other tallies.
    pub(crate) fn merge(&mut self, other: &JourneyTallies) {
        for (&journey, tally) in &other.0 {
            self.0.entry(journey).or_default().merge(tally);
        }
    }

    /// Returns the counts of all journeys together.
    pub(crate) fn sum(&self) -> JourneyCounts {
        let mut sum = JourneyCounts::default();
        let tallies = self.0.values();
        tallies.for_each(|tally| sum.merge(&tally.funnel.counts));
        sum
    }

    /// Returns the tally of a journey; `None` if nothing was recorded of it.
    pub(crate) fn of(&self, journey: u16) -> Option<&JourneyTally> {
        self.0.get(&journey)
    }
}
