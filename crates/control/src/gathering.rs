//! A run that waits for its agents.

use crate::fleet_action::Actions;
use crate::{AgentFacts, RunEvent, RunRequest};

/// Who is at hand for a run so far, in the order in which they joined.
#[derive(Debug)]
pub(crate) struct Gathering {
    request: RunRequest,
    at_hand: Vec<AgentFacts>,
}

impl Gathering {
    pub(crate) fn new(request: RunRequest) -> Gathering {
        Gathering {
            request,
            at_hand: Vec::new(),
        }
    }

    /// These agents are free now; says what changed, and whether there are enough. The `first` time
    /// how many there are is told in any case.
    pub(crate) fn update(&mut self, free: &[AgentFacts], first: bool, out: &mut Actions) -> bool {
        let left = self.drop_unless_among(free);
        let joined = self.take_missing(free);
        let changed = first || !left.is_empty() || !joined.is_empty();
        for agent in left {
            out.tell(RunEvent::Left { agent });
        }
        for agent in joined {
            out.tell(RunEvent::Joined { agent });
        }
        let have = self.at_hand.len() as u32;
        let want = self.request.agents;
        if changed {
            out.tell(RunEvent::Waiting { have, want });
        }
        have >= want
    }

    /// Those that are not free any more.
    fn drop_unless_among(&mut self, free: &[AgentFacts]) -> Vec<AgentFacts> {
        let is_free = |agent: &AgentFacts| free.iter().any(|other| other.id == agent.id);
        let (stay, left) = self.at_hand.drain(..).partition(is_free);
        self.at_hand = stay;
        left
    }

    /// New ones, but no more than are asked for: others wait for the next run.
    fn take_missing(&mut self, free: &[AgentFacts]) -> Vec<AgentFacts> {
        let room = (self.request.agents as usize).saturating_sub(self.at_hand.len());
        let is_new = |agent: &&AgentFacts| !self.at_hand.iter().any(|known| known.id == agent.id);
        let joined: Vec<AgentFacts> = free.iter().filter(is_new).take(room).cloned().collect();
        self.at_hand.extend(joined.iter().cloned());
        joined
    }

    pub(crate) fn into_parts(self) -> (RunRequest, Vec<AgentFacts>) {
        (self.request, self.at_hand)
    }
}
