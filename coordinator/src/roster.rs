//! The agents of a run and how far each of them is, as the run's events tell. When the run ends is
//! decided from it, and the display shows it.

use control::{AgentFacts, RunEvent};
use std::time::Instant;

/// The agents of a run, and how far it is.
#[derive(Debug, Clone)]
pub(crate) struct Roster {
    stage: RunStage,
    agents: Vec<RosterAgent>,
    /// Names of those that watch or have watched; they are no agents.
    monitors: Vec<String>,
    /// Some agent fires or has fired.
    has_begun: bool,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunStage {
    /// Agents are awaited; they have no index yet.
    Gathering,
    /// They get the plan and answer.
    Preparing,
    /// The start instant is named, and may have passed.
    Armed {
        /// On this machine's clock.
        start: Instant,
    },
    /// Nothing more comes.
    Over,
}

/// An agent of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RosterAgent {
    /// Two may have the same.
    pub(crate) name: String,
    /// How far it is.
    pub(crate) status: AgentStatus,
    /// Since then it is so.
    pub(crate) since: Instant,
}

/// How far an agent is. From [`AgentStatus::Gone`] on it is not as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AgentStatus {
    /// It has the plan, or waits for it.
    Preparing,
    /// It can run the plan.
    Ready,
    /// It has begun to send.
    Firing,
    /// It sends nothing more, and its last data is on its way.
    Uploading,
    /// Its part is over.
    Done,
    /// Its stream is gone; it may come back.
    Gone,
    /// It is given up.
    Lost,
}

impl Roster {
    /// Before any agent is at hand.
    pub(crate) fn new() -> Roster {
        Roster {
            stage: RunStage::Gathering,
            agents: Vec::new(),
            monitors: Vec::new(),
            has_begun: false,
        }
    }

    /// Takes an event in that came at `now`.
    pub(crate) fn take(&mut self, event: &RunEvent, now: Instant) {
        match event {
            RunEvent::Joined { agent } => self.agents.push(RosterAgent::new(agent, now)),
            RunEvent::Left { agent } => self.remove(&agent.name),
            RunEvent::Assembled { agents } => {
                self.stage = RunStage::Preparing;
                let new = |agent| RosterAgent::new(agent, now);
                self.agents = agents.iter().map(new).collect();
            }
            RunEvent::Ready { agent, .. } => self.set(*agent, AgentStatus::Ready, now),
            RunEvent::Armed { start_in, .. } => {
                let start = now + *start_in;
                self.stage = RunStage::Armed { start };
            }
            RunEvent::Began { agent, .. } => {
                self.has_begun = true;
                self.set(*agent, AgentStatus::Firing, now);
            }
            RunEvent::Totals { agent, .. } => self.set(*agent, AgentStatus::Uploading, now),
            RunEvent::Gone { agent, .. } => self.set(*agent, AgentStatus::Gone, now),
            RunEvent::Back { agent } => {
                let status = if self.has_begun {
                    AgentStatus::Firing
                } else {
                    AgentStatus::Ready
                };
                self.set(*agent, status, now);
            }
            RunEvent::Ended { agent, .. } => self.set(*agent, AgentStatus::Done, now),
            RunEvent::Lost { agent, .. } => self.set(*agent, AgentStatus::Lost, now),
            // Nobody fired, and another instant is named next.
            RunEvent::Postponed { .. } => self.stage = RunStage::Preparing,
            RunEvent::Watching { monitor } => self.monitors.push(monitor.name.clone()),
            RunEvent::Done { .. } => self.stage = RunStage::Over,
            RunEvent::Waiting { .. }
            | RunEvent::Problem { .. }
            | RunEvent::Started { .. }
            | RunEvent::Interval { .. }
            | RunEvent::Redistributed { .. }
            | RunEvent::TakenOver { .. }
            | RunEvent::Superseded { .. }
            | RunEvent::Observed { .. }
            | RunEvent::Preflight { .. }
            | RunEvent::ProfilePart { .. }
            | RunEvent::Note { .. } => {}
        }
    }

    /// How far the run is.
    pub(crate) fn stage(&self) -> RunStage {
        self.stage
    }

    /// In the order of their indices; while they gather, of their joining.
    pub(crate) fn agents(&self) -> &[RosterAgent] {
        &self.agents
    }

    /// How many monitors watch or have watched.
    pub(crate) fn monitors(&self) -> usize {
        self.monitors.len()
    }

    /// Whether the agents that were asked for are all there.
    pub(crate) fn is_assembled(&self) -> bool {
        self.stage != RunStage::Gathering
    }

    /// Agents whose part is not over, by index.
    pub(crate) fn unfinished(&self) -> Vec<u32> {
        let is_unfinished =
            |agent: &RosterAgent| !matches!(agent.status, AgentStatus::Done | AgentStatus::Lost);
        let agents = (0..).zip(&self.agents);
        agents
            .filter(|(_, agent)| is_unfinished(agent))
            .map(|(index, _)| index)
            .collect()
    }

    /// Whether the agent's stream is gone.
    pub(crate) fn is_gone(&self, agent: u32) -> bool {
        self.agents
            .get(agent as usize)
            .is_some_and(|agent| agent.status == AgentStatus::Gone)
    }

    /// An agent's index by its name, which local agents have each to themselves.
    pub(crate) fn index(&self, name: &str) -> Option<u32> {
        let index = self.agents.iter().position(|agent| agent.name == name)?;
        u32::try_from(index).ok()
    }

    /// An agent's name by its index.
    pub(crate) fn name(&self, agent: u32) -> String {
        self.agents
            .get(agent as usize)
            .map_or_else(|| agent.to_string(), |known| known.name.clone())
    }

    /// Names of all of them, and of the monitors.
    pub(crate) fn names(&self) -> Vec<String> {
        let agents = self.agents.iter().map(|agent| &agent.name);
        agents.chain(&self.monitors).cloned().collect()
    }

    fn set(&mut self, agent: u32, status: AgentStatus, now: Instant) {
        if let Some(known) = self.agents.get_mut(agent as usize) {
            known.status = status;
            known.since = now;
        }
    }

    /// Of two that are called the same, either will do: they differ in nothing that is shown.
    fn remove(&mut self, name: &str) {
        if let Some(place) = self.agents.iter().position(|known| known.name == name) {
            self.agents.remove(place);
        }
    }
}

impl RosterAgent {
    fn new(facts: &AgentFacts, now: Instant) -> RosterAgent {
        RosterAgent {
            name: facts.name.clone(),
            status: AgentStatus::Preparing,
            since: now,
        }
    }
}
