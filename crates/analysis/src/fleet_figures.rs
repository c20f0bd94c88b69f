//! The figures of the fleet: which agents contributed when, and when there was no coordinator.

use crate::agent_run::Charge;
use crate::whole_seconds::WholeRule;
use plan::{LostAgents, Words as _};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Most stretches of contribution that a result lists.
const CONTRIBUTIONS_MAX: usize = 200;

/// The plan's settings for the fleet, and the changes of the fleet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetFigures {
    /// `fail`, `continue` or `redistribute`: what happens to the run if an agent is lost. Empty in
    /// results of versions that knew `fail` only.
    pub lost: String,
    /// Number of agents of this run that may be lost.
    pub tolerate: u32,
    /// How far apart agents may begin; 0 in results of versions that did not record it.
    pub max_skew_ns: u64,
    /// How many agents contributed to which seconds of the load; absent if all agents contributed
    /// to all of them. At most 200 stretches; later ones are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contributions: Vec<Contribution>,
    /// Shares of lost agents that others fired, ordered by instant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub takeovers: Vec<Takeover>,
    /// Length of the whole seconds in the measured part, if thresholds on times and rates are
    /// judged by these; absent if they are judged by everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_ns: Option<u64>,
}

/// How many agents contributed to a stretch of seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contribution {
    /// First second, on the run clock.
    pub from_second: u32,
    /// Last second.
    pub to_second: u32,
    /// Number of agents whose figures of these seconds arrived.
    pub agents: u32,
    /// Whether these are whole seconds: every agent then in charge fired throughout, and its
    /// figures arrived.
    pub whole: bool,
}

/// A lost agent's share that others fired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Takeover {
    /// The lost agent, by index.
    pub agent: u32,
    /// The agents that fired it, by index, without those that reported that they could not.
    pub to: Vec<u32>,
    /// Instant from which they did, run clock.
    pub after_ns: u64,
}

/// A stretch of time without a coordinator.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unattended {
    /// Its start, run clock.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
    /// Its length.
    pub seconds: f64,
}

impl FleetFigures {
    /// Returns what happens to the run if an agent is lost.
    #[must_use]
    pub fn lost(&self) -> LostAgents {
        LostAgents::from_word(&self.lost).unwrap_or(LostAgents::Fail)
    }

    /// Returns how far apart agents may begin, in nanoseconds.
    #[must_use]
    pub fn max_skew_ns(&self) -> u64 {
        match self.max_skew_ns {
            0 => measure::nanoseconds(plan::FleetPlan::DEFAULT_MAX_SKEW),
            skew => skew,
        }
    }
}

/// Returns how many agents contributed to each second in which load was offered; empty if all of
/// them always did and every second is whole.
pub(crate) fn contributions(rule: WholeRule<'_>) -> Vec<Contribution> {
    let charges = rule.charges();
    let mut list: Vec<Contribution> = Vec::new();
    let changes: Vec<u32> = changes(rule, &charges).into_iter().collect();
    for span in changes.windows(2) {
        let second = span[0];
        let here = Contribution {
            from_second: second,
            to_second: span[1] - 1,
            agents: rule.agents.iter().filter(|agent| agent.has(second)).count() as u32,
            whole: rule.is_whole(&charges, second),
        };
        let is_full = list.len() == CONTRIBUTIONS_MAX;
        let last = list.last_mut();
        let same = last.filter(|last| (last.agents, last.whole) == (here.agents, here.whole));
        match same {
            Some(same) => same.to_second = here.to_second,
            None if is_full => break,
            None => list.push(here),
        }
    }
    let is_all = |part: &Contribution| part.whole && part.agents as usize == rule.agents.len();
    if list.iter().all(is_all) {
        list.clear();
    }
    list
}

/// Returns the seconds at which contributions can change, including the first and the end.
fn changes(rule: WholeRule<'_>, charges: &[Charge]) -> BTreeSet<u32> {
    let ends = rule.agents.iter().map(|agent| agent.seconds().end());
    let end = rule.fire_end.min(ends.max().unwrap_or(0));
    let stretches = rule.agents.iter().flat_map(|agent| agent.seconds().iter());
    let delivered = stretches.flat_map(|(first, last)| [first, last.saturating_add(1)]);
    let needed = charges.iter().map(|charge| charge.needed_below);
    let spoilt = charges.iter().flat_map(|charge| &charge.spoilt);
    let spoilt = spoilt.flat_map(|&(first, end)| [first, end]);
    let changes = delivered.chain(needed).chain(spoilt);
    let inside = changes.filter(|&second| second < end);
    inside.chain([0, end]).collect()
}
