//! A run that is waiting for its agents.

use crate::fleet_action::Actions;
use crate::{AgentFacts, AgentId, FleetTime, FleetToken, RunEvent, RunId, RunOutcome, RunRequest};
use std::collections::BTreeSet;

/// The agents available for a run so far, in the order in which they joined.
#[derive(Debug)]
pub(crate) struct Gathering {
    request: RunRequest,
    at_hand: Vec<AgentId>,
    /// The same agents as in `at_hand`.
    known: BTreeSet<AgentId>,
    /// When the run is given up, if ever.
    until: Option<FleetTime>,
}

impl Gathering {
    pub(crate) fn new(request: RunRequest, now: FleetTime) -> Gathering {
        let until = request.rules.join_timeout.map(|timeout| now.after(timeout));
        Gathering {
            request,
            at_hand: Vec::new(),
            known: BTreeSet::new(),
            until,
        }
    }

    pub(crate) fn run(&self) -> RunId {
        self.request.run
    }

    pub(crate) fn has(&self, agent: AgentId) -> bool {
        self.known.contains(&agent)
    }

    /// How many more agents are wanted.
    pub(crate) fn room(&self) -> usize {
        (self.request.agents as usize).saturating_sub(self.at_hand.len())
    }

    /// Adds a free agent; there must be room for it.
    pub(crate) fn add(&mut self, agent: &AgentFacts, out: &mut Actions) {
        self.at_hand.push(agent.id);
        self.known.insert(agent.id);
        let agent = agent.clone();
        out.tell(self.request.run, RunEvent::Joined { agent });
    }

    /// Removes an agent that has gone. Returns whether it had been added.
    pub(crate) fn remove(&mut self, agent: &AgentFacts, out: &mut Actions) -> bool {
        let Some(place) = self.at_hand.iter().position(|id| *id == agent.id) else {
            return false;
        };
        self.at_hand.remove(place);
        self.known.remove(&agent.id);
        let agent = agent.clone();
        out.tell(self.request.run, RunEvent::Left { agent });
        true
    }

    /// Reports how many agents are available; called after each change.
    pub(crate) fn tell(&self, out: &mut Actions) {
        out.tell(
            self.request.run,
            RunEvent::Waiting {
                have: self.at_hand.len() as u32,
                want: self.request.agents,
            },
        );
    }

    /// The outcome, once the run has waited for too long.
    pub(crate) fn too_late(&self, now: FleetTime) -> Option<RunOutcome> {
        self.until.filter(|until| now >= *until)?;
        Some(RunOutcome::TooFewAgents {
            have: self.at_hand.len() as u32,
            want: self.request.agents,
        })
    }

    /// Keeps a token for the run.
    pub(crate) fn put_token(&mut self, token: FleetToken) {
        token.replace_in(&mut self.request.tokens);
    }

    pub(crate) fn into_parts(self) -> (RunRequest, Vec<AgentId>) {
        (self.request, self.at_hand)
    }
}
