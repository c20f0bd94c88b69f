//! Decides for an open loop whether the load was carried while it was offered, or piled up and was
//! worked off later: over the whole measured part and in each piece of it, stages included.

mod load_part;
mod load_seconds;
mod part_growth;

pub use load_part::{LoadOutcome, LoadPart};

use crate::cell_tally::CellTally;
use crate::counts::not_sent;
use crate::{PlanRecord, Series};
use load_seconds::LoadSeconds;
use serde::{Deserialize, Serialize};

/// Operations that were due and had not ended, over the measured part; of a load of journeys the
/// journeys that had an operation under way, so that pauses do not count as a backlog.
///
/// A load that is carried has as many operations under way at its end as in its middle. One that is
/// not carried piles up, at the server or in front of it. It proves nothing that a drain, or a
/// stage with a lower rate, works the pile off later.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Backlog {
    /// Operations, or journeys, that were due in the second half, sent or not.
    pub due: u64,
    /// Operations, or journeys, that ended in the second half, whenever they were due.
    pub ended: u64,
    /// Operations that were due and had not ended at the end.
    pub at_end: u64,
    /// Number of operations by which it may have grown in the second half by chance alone.
    pub noise: f64,
    /// The stages, or pieces of them, each judged separately; empty in results of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<LoadPart>,
}

/// The load offered and its outcome: everything needed to judge it.
#[derive(Debug, Clone, Copy)]
pub struct OfferedLoad<'a> {
    /// The plan, for its arrivals and stages.
    pub plan: &'a PlanRecord,
    /// Rows by second, including the warm-up.
    pub series: &'a Series,
    /// Start of the measured part, run clock.
    pub from_ns: u64,
    /// Length of the measured part.
    pub length_ns: u64,
    /// Operations due in its second half.
    pub due_late: u64,
    /// Operations that ended in its second half.
    pub ended_late: u64,
    /// Operations that were due and had not ended at its end.
    pub at_end: u64,
    /// Arrivals of the measured part that were never sent.
    pub not_sent: u64,
    /// Operations for each unit of the plan's load: 1, or the steps of a journey on average.
    pub operations_each: f64,
}

impl Backlog {
    pub(crate) fn new(
        whole: &CellTally,
        plan: &PlanRecord,
        series: &Series,
        [from_ns, length_ns]: [u64; 2],
        operations_each: f64,
    ) -> Backlog {
        let within = whole.counters.within;
        Backlog::judge(&OfferedLoad {
            plan,
            series,
            from_ns,
            length_ns,
            due_late: within.due_late,
            ended_late: within.ended_late.saturating_add(whole.carried.ended_late),
            at_end: whole
                .counters
                .operations_begun()
                .saturating_sub(within.ended),
            not_sent: not_sent(&whole.counters),
            operations_each,
        })
    }

    /// Judges each part of a load.
    #[must_use]
    pub fn judge(load: &OfferedLoad<'_>) -> Backlog {
        let seconds = LoadSeconds::new(load);
        // The difference is journeys under way whether operations or journeys are counted.
        let due = (load.due_late as f64 / load.operations_each).round() as u64;
        let ended = due.saturating_add(load.ended_late);
        let mut backlog = Backlog {
            due,
            ended: ended.saturating_sub(load.due_late),
            at_end: load.at_end,
            noise: part_growth::chance(due as f64, seconds.is_even()),
            parts: Vec::new(),
        };
        backlog.parts = if seconds.is_empty() {
            let growth = backlog.growth() as f64;
            vec![load_part::second_half(load, due, growth, backlog.noise)]
        } else {
            load_part::parts(load, &seconds)
        };
        backlog
    }

    /// Returns by how many operations it grew in the second half.
    #[must_use]
    pub fn growth(&self) -> u64 {
        self.due.saturating_sub(self.ended)
    }

    /// Returns the outcome of the whole load: carried only if every part of it was.
    #[must_use]
    pub fn outcome(&self) -> LoadOutcome {
        let parts = self.parts.iter().map(|part| part.outcome);
        parts
            .max()
            .unwrap_or(if self.growth() as f64 <= self.noise {
                LoadOutcome::Carried
            } else {
                LoadOutcome::PiledUp
            })
    }

    /// Returns whether no part of the load was seen to pile up.
    #[must_use]
    pub fn has_kept_up(&self) -> bool {
        self.outcome() != LoadOutcome::PiledUp
    }

    /// Returns the part that decided the outcome: of those with the worst outcome, the one that
    /// grew most.
    #[must_use]
    pub fn decisive(&self) -> Option<&LoadPart> {
        let outcome = self.outcome();
        let worst = self.parts.iter().filter(|part| part.outcome == outcome);
        worst.max_by(|a, b| a.growth.total_cmp(&b.growth))
    }
}
