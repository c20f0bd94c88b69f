//! Figures of the whole seconds of a run that may lose agents: those through which every agent then
//! in charge of a share fired, and which it delivered.
//!
//! A second is kept separately until it is known to be whole, since sums cannot be split again.

use crate::agent_run::{AgentRun, Charge};
use crate::cell_tally::CellTally;
use crate::journey_tally::JourneyTallies;
use crate::stretches::Stretches;
use measure::Client;
use plan::LostAgents;
use std::collections::BTreeMap;

/// Most seconds kept separately. A second that still waits for an agent when this many newer ones
/// do is treated as not whole, whatever comes later.
const KEPT_MAX: usize = 300;

/// Figures that agents delivered for one second, or for several.
#[derive(Debug, Clone, Default)]
pub(crate) struct SecondTally {
    pub(crate) measured: CellTally,
    /// The measured part of the requests that thresholds name.
    pub(crate) requests: BTreeMap<String, CellTally>,
    /// The measured part of journeys.
    pub(crate) journeys: JourneyTallies,
    pub(crate) client: Client,
}

impl SecondTally {
    fn merge(&mut self, other: &SecondTally) {
        self.measured.merge(&other.measured);
        self.client.merge(&other.client);
        self.journeys.merge(&other.journeys);
        for (name, tally) in &other.requests {
            self.requests.entry(name.clone()).or_default().merge(tally);
        }
    }
}

/// The facts that decide whether a second is whole.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WholeRule<'a> {
    pub(crate) agents: &'a [AgentRun],
    pub(crate) policy: LostAgents,
    /// The first second in which no agent fires any more.
    pub(crate) fire_end: u32,
}

impl WholeRule<'_> {
    /// Returns each agent's charge, for asking about many seconds.
    pub(crate) fn charges(self) -> Vec<Charge> {
        let agents = self.agents.iter();
        agents
            .map(|agent| agent.charge(self.policy, self.fire_end))
            .collect()
    }

    /// Returns whether every agent in charge fired through this second and delivered it.
    pub(crate) fn is_whole(self, charges: &[Charge], second: u32) -> bool {
        self.agents.iter().zip(charges).all(|(agent, charge)| {
            let mut spoilt = charge.spoilt.iter();
            let is_spoilt = spoilt.any(|&(first, end)| (first..end).contains(&second));
            !is_spoilt && (second >= charge.needed_below || agent.has(second))
        })
    }

    /// Returns whether nothing learnt later can make this second less than whole.
    fn is_certain(self, second: u32) -> bool {
        !self.agents.iter().any(|agent| agent.is_doubtful(second))
    }
}

/// Sum of the seconds known to be whole, and the seconds not decided yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct WholeSeconds {
    sum: SecondTally,
    summed: Stretches,
    apart: BTreeMap<u32, Apart>,
    /// Seconds below it that are not in the sum will never be.
    settled_below: u32,
}

#[derive(Debug, Clone, Default)]
struct Apart {
    tally: SecondTally,
    agents: usize,
}

impl WholeSeconds {
    /// Adds what one agent recorded in `second`, which it has not delivered before.
    pub(crate) fn add(&mut self, rule: WholeRule<'_>, second: u32, delivered: &SecondTally) {
        if self.summed.contains(second) {
            return self.sum.merge(delivered);
        }
        if second < self.settled_below {
            return; // it was found not to be whole
        }
        let apart = self.apart.entry(second).or_default();
        apart.tally.merge(delivered);
        apart.agents += 1;
        // Only the last agent to deliver makes it worth looking at all of them.
        let over = rule.agents.iter().filter(|agent| agent.is_over());
        if apart.agents + over.count() >= rule.agents.len() {
            self.settle(rule, second);
        }
        if self.apart.len() > KEPT_MAX {
            self.give_up_oldest(rule);
        }
    }

    /// Adds a second to the sum if it is certainly whole.
    fn settle(&mut self, rule: WholeRule<'_>, second: u32) {
        let is_whole = rule.is_certain(second) && rule.is_whole(&rule.charges(), second);
        if is_whole && let Some(apart) = self.apart.remove(&second) {
            self.sum.merge(&apart.tally);
            self.summed.mark(second);
        }
    }

    fn give_up_oldest(&mut self, rule: WholeRule<'_>) {
        if let Some((&second, _)) = self.apart.first_key_value() {
            self.settle(rule, second);
            self.apart.remove(&second);
            self.settled_below = second.saturating_add(1);
        }
    }

    /// Returns the seconds that are whole by what is known now, and their sum.
    pub(crate) fn so_far(&self, rule: WholeRule<'_>) -> (Stretches, SecondTally) {
        let (mut seconds, mut sum) = (self.summed.clone(), self.sum.clone());
        let charges = rule.charges();
        for (&second, apart) in &self.apart {
            if rule.is_whole(&charges, second) {
                seconds.mark(second);
                sum.merge(&apart.tally);
            }
        }
        (seconds, sum)
    }
}
