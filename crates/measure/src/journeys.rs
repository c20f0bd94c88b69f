//! Journeys: what a worker tells of them, and the funnel that is counted of each.

use crate::{Distribution, Period};
use serde::{Deserialize, Serialize};

/// Which of the plan's journeys, in which part of the run: that of the instant at which the journey
/// was due, whenever its steps are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct JourneyCell {
    /// Warm-up or measured.
    pub period: Period,
    /// Index of the journey in the plan.
    pub journey: u16,
}

/// How a journey ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JourneyEnd {
    /// Its last step ended ok.
    Completed,
    /// A step did not end ok, and no further one was begun.
    Failed,
    /// The run ended before its next step was begun.
    Abandoned,
}

/// How long a journey took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JourneyTimes {
    /// When its last operation ended, run clock.
    pub done_at: u64,
    /// From the instant at which it was due until then.
    pub time_ns: u64,
    /// Pauses that the plan wants, within that time.
    pub paused_ns: u64,
}

/// What became of the journeys of one name, and the times of those that were completed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Funnel {
    /// Journeys by how they ended.
    pub counts: JourneyCounts,
    /// By the place of the step in the plan, up to the last one that was begun.
    pub steps: Vec<StepCounts>,
    /// From the instant at which a completed journey was due to the end of its last operation.
    pub time: Distribution,
    /// The same without the pauses that the plan wants.
    pub wait: Distribution,
    /// By the place of the step in the plan, how often it was skipped because its user had made it
    /// before; up to the last one that was.
    pub skipped: Vec<u64>,
    /// By the place of the group in its journey, up to the last one that was begun.
    pub groups: Vec<GroupTally>,
}

/// What became of a group of steps, and the times of the completed ones. A journey that repeats a
/// group counts each time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupTally {
    /// Groups whose first step was begun.
    pub begun: u64,
    /// Groups whose last step ended ok.
    pub completed: u64,
    /// From the instant at which the first step was due to the end of the last one.
    pub time: Distribution,
    /// The same without the pauses that the plan wants.
    pub wait: Distribution,
}

/// Journeys by how they ended. Those that began and did not end yet are in `begun` alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JourneyCounts {
    /// Journeys whose first step was begun.
    pub begun: u64,
    /// Journeys that were due and could not be begun; not among `begun`.
    pub not_sent: u64,
    /// Journeys whose last step ended ok.
    pub completed: u64,
    /// Journeys that a step ended which did not end ok.
    pub failed: u64,
    /// Journeys that the run's end cut off between two steps.
    pub abandoned: u64,
    /// Those of `completed` that ended within the measured part, by the instant of their end.
    pub completed_within: u64,
}

/// Counts of one step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepCounts {
    /// Journeys that came to it, also those that skipped it.
    pub reached: u64,
    /// Times that it was begun: more often than reached where the plan repeats it.
    pub begun: u64,
    /// Ended as the plan expects.
    pub ok: u64,
    /// Ended otherwise.
    pub failed: u64,
}

impl Funnel {
    /// Adds everything in `other`.
    pub fn merge(&mut self, other: &Funnel) {
        self.counts.merge(&other.counts);
        StepCounts::merge_all(&mut self.steps, &other.steps);
        self.time.merge(&other.time);
        self.wait.merge(&other.wait);
        add_each(&mut self.skipped, &other.skipped);
        GroupTally::merge_all(&mut self.groups, &other.groups);
    }

    /// How often a step was skipped.
    #[must_use]
    pub fn count_skipped(&self, step: usize) -> u64 {
        self.skipped.get(step).copied().unwrap_or(0)
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts == JourneyCounts::default() && self.steps.is_empty()
    }

    /// Forgets everything and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.counts = JourneyCounts::default();
        self.steps.clear();
        self.time.clear();
        self.wait.clear();
        self.skipped.clear();
        self.groups.iter_mut().for_each(GroupTally::clear);
    }

    /// Counts that a step was skipped.
    pub(crate) fn skip(&mut self, step: u16) {
        let place = usize::from(step);
        if self.skipped.len() <= place {
            self.skipped.resize(place + 1, 0);
        }
        self.skipped[place] += 1;
    }

    /// The tally of a group, made where there is none yet.
    pub(crate) fn group(&mut self, group: u16) -> &mut GroupTally {
        let place = usize::from(group);
        if self.groups.len() <= place {
            self.groups.resize_with(place + 1, GroupTally::default);
        }
        &mut self.groups[place]
    }

    /// The counts of a step, made where there are none yet.
    pub(crate) fn step(&mut self, step: u16) -> &mut StepCounts {
        let place = usize::from(step);
        if self.steps.len() <= place {
            self.steps.resize(place + 1, StepCounts::default());
        }
        &mut self.steps[place]
    }

    /// About how much memory it takes beside its own size, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let groups = self.groups.iter().map(GroupTally::heap_bytes);
        self.steps.len() * size_of::<StepCounts>()
            + self.time.histogram.heap_bytes()
            + self.wait.histogram.heap_bytes()
            + self.skipped.len() * size_of::<u64>()
            + groups.sum::<usize>()
    }
}

impl GroupTally {
    /// Adds everything in `other`.
    pub fn merge(&mut self, other: &GroupTally) {
        self.begun = self.begun.saturating_add(other.begun);
        self.completed = self.completed.saturating_add(other.completed);
        self.time.merge(&other.time);
        self.wait.merge(&other.wait);
    }

    fn merge_all(groups: &mut Vec<GroupTally>, others: &[GroupTally]) {
        // Memory that is kept from one second to the next holds groups without counts.
        let last = others
            .iter()
            .rposition(|other| other.begun + other.completed > 0);
        let others = &others[..last.map_or(0, |last| last + 1)];
        merge_each(groups, others, GroupTally::merge);
    }

    fn clear(&mut self) {
        (self.begun, self.completed) = (0, 0);
        self.time.clear();
        self.wait.clear();
    }

    fn heap_bytes(&self) -> usize {
        let histograms = [&self.time, &self.wait].map(|times| times.histogram.heap_bytes());
        size_of::<GroupTally>() + histograms.iter().sum::<usize>()
    }
}

/// Merges what stands at the same places.
pub(crate) fn merge_each<S: Default, T>(
    sums: &mut Vec<S>,
    others: &[T],
    merge: impl Fn(&mut S, &T),
) {
    if sums.len() < others.len() {
        sums.resize_with(others.len(), S::default);
    }
    for (sum, other) in sums.iter_mut().zip(others) {
        merge(sum, other);
    }
}

/// Adds counts at the same places.
pub(crate) fn add_each(sums: &mut Vec<u64>, others: &[u64]) {
    merge_each(sums, others, |sum, &other| *sum = sum.saturating_add(other));
}

impl JourneyCounts {
    /// Adds every count of `other`.
    pub fn merge(&mut self, other: &JourneyCounts) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.begun, other.begun);
        add(&mut self.not_sent, other.not_sent);
        add(&mut self.completed, other.completed);
        add(&mut self.failed, other.failed);
        add(&mut self.abandoned, other.abandoned);
        add(&mut self.completed_within, other.completed_within);
    }

    /// Journeys that ended, in any way.
    #[must_use]
    pub fn count_ended(&self) -> u64 {
        let ended = self.completed.saturating_add(self.failed);
        ended.saturating_add(self.abandoned)
    }
}

impl StepCounts {
    /// Adds the counts of steps at the same places.
    pub(crate) fn merge_all(steps: &mut Vec<StepCounts>, others: &[StepCounts]) {
        merge_each(steps, others, StepCounts::merge);
    }

    /// Adds every count of `other`.
    pub fn merge(&mut self, other: &StepCounts) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.reached, other.reached);
        add(&mut self.begun, other.begun);
        add(&mut self.ok, other.ok);
        add(&mut self.failed, other.failed);
    }
}
