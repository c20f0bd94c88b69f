//! A run that waits for its agents.

use crate::fleet_action::Actions;
use crate::{AgentFacts, AgentId, RunEvent, RunRequest};

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

    /// These agents are free now; says what changed, and whether there are enough.
    pub(crate) fn update(&mut self, free: &[AgentFacts], first: bool, out: &mut Actions) -> bool {
        let want = self.request.agents;
        let is_free = |id: AgentId| free.iter().any(|agent| agent.id == id);
        let (stay, left): (Vec<_>, Vec<_>) =
            self.at_hand.drain(..).partition(|agent| is_free(agent.id));
        self.at_hand = stay;
        let is_new = |agent: &&AgentFacts| !self.at_hand.iter().any(|known| known.id == agent.id);
        let room = (want as usize).saturating_sub(self.at_hand.len());
        let joined: Vec<AgentFacts> = free.iter().filter(is_new).take(room).cloned().collect();
        let changed = first || !left.is_empty() || !joined.is_empty();
        left.into_iter()
            .for_each(|agent| out.tell(RunEvent::Left { agent }));
        joined.iter().for_each(|agent| {
            out.tell(RunEvent::Joined {
                agent: agent.clone(),
            })
        });
        self.at_hand.extend(joined);
        if changed {
            out.tell(RunEvent::Waiting {
                have: self.at_hand.len() as u32,
                want,
            });
        }
        self.at_hand.len() >= want as usize
    }

    pub(crate) fn into_parts(self) -> (RunRequest, Vec<AgentFacts>) {
        (self.request, self.at_hand)
    }
}
