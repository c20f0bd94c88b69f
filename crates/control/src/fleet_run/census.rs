//! How many agents of a run are at which stage, counted as they change, so that no message requires
//! a look at all of them.

use crate::participant::{Participant, ParticipantStage};

/// Agents by stage, and by whether they are attached.
#[derive(Debug, Default)]
pub(super) struct Census {
    attached: [u32; STAGES],
    away: [u32; STAGES],
    /// Agents that are neither over nor have begun.
    unbegun: u32,
}

const STAGES: usize = ParticipantStage::Barred as usize + 1;

impl Census {
    pub(super) fn from_agents(agents: &[Participant]) -> Census {
        let mut census = Census::default();
        agents.iter().for_each(|agent| census.add(agent));
        census
    }

    /// Counts an agent as it is now.
    pub(super) fn add(&mut self, agent: &Participant) {
        *self.place(agent) += 1;
        self.unbegun += u32::from(is_unbegun(agent));
    }

    /// Stops counting an agent that is about to change.
    pub(super) fn remove(&mut self, agent: &Participant) {
        *self.place(agent) -= 1;
        self.unbegun -= u32::from(is_unbegun(agent));
    }

    /// Agents whose part is not over.
    pub(super) fn living(&self) -> u32 {
        self.living_attached()
            + LIVING
                .iter()
                .map(|stage| self.away[*stage as usize])
                .sum::<u32>()
    }

    /// Agents whose part is not over and that are attached.
    pub(super) fn living_attached(&self) -> u32 {
        LIVING
            .iter()
            .map(|stage| self.attached[*stage as usize])
            .sum()
    }

    /// Whether every agent whose part is not over is attached and at this stage.
    pub(super) fn all_are(&self, stage: ParticipantStage) -> bool {
        self.attached[stage as usize] == self.living()
    }

    /// Attached agents at this stage.
    pub(super) fn count_attached(&self, stage: ParticipantStage) -> u32 {
        self.attached[stage as usize]
    }

    /// Agents that were given up and may still deliver.
    pub(super) fn late(&self) -> u32 {
        let lost = ParticipantStage::Lost as usize;
        self.attached[lost] + self.away[lost]
    }

    /// Whether every agent has begun or never will.
    pub(super) fn has_begun(&self) -> bool {
        self.unbegun == 0
    }

    fn place(&mut self, agent: &Participant) -> &mut u32 {
        let stage = agent.stage() as usize;
        match agent.connection() {
            Some(_) => &mut self.attached[stage],
            None => &mut self.away[stage],
        }
    }
}

const LIVING: [ParticipantStage; 5] = [
    ParticipantStage::Preparing,
    ParticipantStage::Ready,
    ParticipantStage::Armed,
    ParticipantStage::Asking,
    ParticipantStage::Going,
];

fn is_unbegun(agent: &Participant) -> bool {
    !agent.is_over() && agent.began().is_none()
}
