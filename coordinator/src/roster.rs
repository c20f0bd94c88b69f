//! The agents of a run and how far each has come, according to the run's events. It serves to
//! decide when the run ends, and is what the display shows.

use control::{AgentFacts, AgentId, RunEvent};
use std::collections::HashMap;
use std::time::Instant;

/// The agents of a run, and how far the run has come.
#[derive(Debug, Clone)]
pub(crate) struct Roster {
    stage: RunStage,
    agents: Vec<RosterAgent>,
    /// Names of the monitors that watch or have watched; they are not agents.
    monitors: Vec<String>,
    /// The agent that left last, before the run.
    left: Option<String>,
    /// Whether any agent fires or has fired.
    has_begun: bool,
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunStage {
    /// Agents are awaited; they have no index yet.
    Gathering,
    /// They get the plan and answer.
    Preparing,
    /// The start instant is named, and may have passed.
    Armed {
        /// By this machine's clock.
        start: Instant,
    },
    /// The run is over.
    Over,
}

/// An agent of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RosterAgent {
    id: AgentId,
    /// The name that it states; the second agent of that name is called `name (2)`.
    pub(crate) name: String,
    /// How far it has come.
    pub(crate) status: AgentStatus,
    /// When it got that status.
    pub(crate) since: Instant,
}

/// How far an agent has come. From [`AgentStatus::Gone`] on it is in trouble.
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
    /// Its stream is gone; it can come back.
    Gone,
    /// It was given up.
    Lost,
}

impl Roster {
    /// A roster before any agent has joined.
    pub(crate) fn new() -> Roster {
        Roster {
            stage: RunStage::Gathering,
            agents: Vec::new(),
            monitors: Vec::new(),
            left: None,
            has_begun: false,
        }
    }

    /// Takes an event that came at `now`.
    pub(crate) fn take(&mut self, event: &RunEvent, now: Instant) {
        match event {
            RunEvent::Joined { agent } => self.add(agent, now),
            RunEvent::Left { agent } => self.remove(agent.id),
            RunEvent::Assembled { agents } => {
                self.stage = RunStage::Preparing;
                self.assemble(agents, now);
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
            // No agent fired, and another start instant is named next.
            RunEvent::Postponed { .. } => self.stage = RunStage::Preparing,
            RunEvent::Watching { monitor } => {
                let others = self.monitors.iter().map(String::as_str);
                let name = told_apart(&monitor.name, others);
                self.monitors.push(name);
            }
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

    /// How far the run has come.
    pub(crate) fn stage(&self) -> RunStage {
        self.stage
    }

    /// The agents in the order of their indices; while they gather, in the order in which they
    /// joined.
    pub(crate) fn agents(&self) -> &[RosterAgent] {
        &self.agents
    }

    /// Names of the monitors that watch or have watched.
    pub(crate) fn monitors(&self) -> &[String] {
        &self.monitors
    }

    /// Whether all the agents that were asked for are there.
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

    /// An agent's index by its name, which is unique among local agents.
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

    /// The name of the agent that joined last.
    pub(crate) fn joined(&self) -> &str {
        self.agents.last().map_or("", |agent| &agent.name)
    }

    /// The name of the agent that left last, before the run.
    pub(crate) fn left(&self) -> &str {
        self.left.as_deref().unwrap_or_default()
    }

    /// Names of all agents, and of the monitors.
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

    fn add(&mut self, facts: &AgentFacts, now: Instant) {
        let others = self.agents.iter().map(|agent| agent.name.as_str());
        let name = told_apart(&facts.name, others);
        self.agents.push(RosterAgent::new(facts.id, name, now));
    }

    fn remove(&mut self, id: AgentId) {
        if let Some(place) = self.agents.iter().position(|known| known.id == id) {
            self.left = Some(self.agents.remove(place).name);
        }
    }

    /// Puts agents in the order of their indices. Agents that are known keep their names.
    fn assemble(&mut self, agents: &[AgentFacts], now: Instant) {
        let known = std::mem::take(&mut self.agents).into_iter();
        let mut names: HashMap<AgentId, String> =
            known.map(|agent| (agent.id, agent.name)).collect();
        for facts in agents {
            let name = names.remove(&facts.id).unwrap_or_else(|| {
                let others = self.agents.iter().map(|agent| &agent.name);
                let others = others.chain(names.values());
                told_apart(&facts.name, others.map(String::as_str))
            });
            self.agents.push(RosterAgent::new(facts.id, name, now));
        }
    }
}

impl RosterAgent {
    fn new(id: AgentId, name: String, now: Instant) -> RosterAgent {
        RosterAgent {
            id,
            name,
            status: AgentStatus::Preparing,
            since: now,
        }
    }
}

/// Returns `name`, with a number if another one has that name.
fn told_apart<'a>(name: &str, others: impl Iterator<Item = &'a str> + Clone) -> String {
    let is_free = |called: &String| others.clone().all(|other| other != called);
    let numbered = (2..).map(|number: u64| format!("{name} ({number})"));
    std::iter::once(name.to_owned())
        .chain(numbered)
        .find(is_free)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(id: u8, name: &str) -> AgentFacts {
        AgentFacts::new(AgentId([id; 16]), name)
    }

    #[test]
    fn agents_of_one_name_are_told_apart_and_stay_what_they_are_called() {
        let (mut roster, now) = (Roster::new(), Instant::now());
        let [one, two, three] = [1, 2, 3].map(|id| facts(id, "web"));
        for agent in [&one, &two, &three] {
            let agent = agent.clone();
            roster.take(&RunEvent::Joined { agent }, now);
        }
        assert_eq!(roster.names(), ["web", "web (2)", "web (3)"]);
        assert_eq!(roster.joined(), "web (3)");
        roster.take(&RunEvent::Left { agent: two.clone() }, now);
        assert_eq!(roster.left(), "web (2)");
        assert_eq!(roster.names(), ["web", "web (3)"]);
        let agents = vec![three, two, one, facts(4, "db")];
        roster.take(&RunEvent::Assembled { agents }, now);
        assert_eq!(roster.names(), ["web (3)", "web (2)", "web", "db"]);
    }
}
