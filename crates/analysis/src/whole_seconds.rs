//! Figures of the whole seconds of a run that may lose agents: those in which every agent then in
//! charge of a share fired, and delivered.
//!
//! A second is kept apart until it is known to be whole, since sums cannot be taken apart again.

use crate::agent_run::{AgentRun, Charge};
use crate::cell_tally::CellTally;
use crate::stretches::Stretches;
use measure::Client;
use plan::LostAgents;
use std::collections::BTreeMap;

/// Seconds that are kept apart. A second that still waits for an agent when so many newer ones do
/// is not whole, whatever comes later.
const KEPT_MAX: usize = 300;

/// What agents delivered of one second, or of several.
#[derive(Debug, Clone, Default)]
pub(crate) struct SecondTally {
    pub(crate) measured: CellTally,
    /// The same of requests that a threshold names.
    pub(crate) requests: BTreeMap<String, CellTally>,
    pub(crate) client: Client,
}

impl SecondTally {
    fn merge(&mut self, other: &SecondTally) {
        self.measured.merge(&other.measured);
        self.client.merge(&other.client);
        for (name, tally) in &other.requests {
            self.requests.entry(name.clone()).or_default().merge(tally);
        }
    }
}

/// What decides whether a second is whole.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WholeRule<'a> {
    pub(crate) agents: &'a [AgentRun],
    pub(crate) policy: LostAgents,
    /// The first second in which nobody fires any more.
    pub(crate) fire_end: u32,
}

impl WholeRule<'_> {
    /// Each agent's charge, so that many seconds can be asked about.
    pub(crate) fn charges(self) -> Vec<Charge> {
        let agents = self.agents.iter();
        agents
            .map(|agent| agent.charge(self.policy, self.fire_end))
            .collect()
    }

    /// Whether every agent in charge fired through this second, and delivered it.
    pub(crate) fn is_whole(self, charges: &[Charge], second: u32) -> bool {
        self.agents.iter().zip(charges).all(|(agent, charge)| {
            let mut spoilt = charge.spoilt.iter();
            let is_spoilt = spoilt.any(|&(first, end)| (first..end).contains(&second));
            !is_spoilt && (second >= charge.needed_below || agent.has(second))
        })
    }

    /// Whether nothing that is learnt later can make a whole second less.
    fn is_certain(self, second: u32) -> bool {
        !self.agents.iter().any(|agent| agent.is_doubtful(second))
    }
}

/// Sums of whole seconds, and the seconds of which it is not known yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct WholeSeconds {
    sum: SecondTally,
    summed: Stretches,
    apart: BTreeMap<u32, Apart>,
    /// Below it, what is not summed never will be.
    settled_below: u32,
}

#[derive(Debug, Clone, Default)]
struct Apart {
    tally: SecondTally,
    agents: usize,
}

impl WholeSeconds {
    /// Takes in what one agent recorded in `second`, which it has not delivered before.
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
        // Looking at all agents is for the last of them.
        let over = rule.agents.iter().filter(|agent| agent.is_over());
        if apart.agents + over.count() >= rule.agents.len() {
            self.settle(rule, second);
        }
        if self.apart.len() > KEPT_MAX {
            self.give_up_oldest(rule);
        }
    }

    /// Adds a second to the sum where it is certain that it is whole.
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

    /// The whole seconds by what is known now, and their sum.
    pub(crate) fn known(&self, rule: WholeRule<'_>) -> (Stretches, SecondTally) {
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
