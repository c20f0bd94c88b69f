//! What a watcher should know of a run at a moment, gathered from its events.

use analysis::Live;
use control::{RunEvent, RunOutcome};
use plan::{End, Plan};
use std::time::{Duration, Instant};

/// What a watcher should know at a moment.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(super) planned: Planned,
    pub(super) stage: Stage,
    pub(super) agents: Vec<Agent>,
    pub(super) live: Option<Live>,
    pub(super) is_stopping: bool,
    /// Agents of the run before; that they join and begin together is no news.
    known: Vec<String>,
}

/// What the plan says of the run's length.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    /// What the run is called.
    pub(super) name: String,
    pub(super) warm_up: Duration,
    pub(super) end: End,
    /// Agents asked for.
    pub(super) agents: u32,
}

/// How far the run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Gathering,
    Preparing,
    /// From the moment the start instant is named.
    Fixed {
        start: Instant,
    },
    Over,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Agent {
    pub(super) name: String,
    pub(super) status: Status,
}

/// What an agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Status {
    Preparing,
    Ready,
    Firing,
    Done,
    Gone,
    Lost,
}

impl Planned {
    /// What `plan` says, for so many agents, in a run called `name`.
    pub(crate) fn of(plan: &Plan, agents: u32, name: String) -> Planned {
        Planned {
            name,
            warm_up: plan.load().warm_up,
            end: plan.load().end,
            agents,
        }
    }
}

impl Scene {
    /// Before anything happens; agents called as `known` were there before.
    pub(crate) fn new(planned: Planned, known: Vec<String>) -> Scene {
        Scene {
            planned,
            stage: Stage::Gathering,
            agents: Vec::new(),
            live: None,
            is_stopping: false,
            known,
        }
    }

    /// Names of the agents.
    pub(crate) fn names(&self) -> Vec<String> {
        self.agents.iter().map(|agent| agent.name.clone()).collect()
    }

    /// From now on the run is to end.
    pub(crate) fn stop(&mut self) {
        self.is_stopping = true;
    }

    /// Figures of the latest second.
    pub(crate) fn set_live(&mut self, live: Option<Live>) {
        self.live = live;
    }

    /// Whether the agents that were asked for are all there.
    pub(crate) fn is_assembled(&self) -> bool {
        self.stage != Stage::Gathering
    }

    /// Takes an event in that came at `now`; gives the line that a watcher is to read of it.
    pub(crate) fn take(&mut self, event: &RunEvent, now: Instant) -> Option<String> {
        match event {
            RunEvent::Joined { agent } => {
                self.agents.push(Agent {
                    name: agent.name.clone(),
                    status: Status::Preparing,
                });
                let is_news = !self.known.contains(&agent.name);
                is_news.then(|| {
                    format!(
                        "agent {} joined ({} of {})",
                        agent.name,
                        self.agents.len(),
                        self.planned.agents
                    )
                })
            }
            RunEvent::Left { agent } => {
                let place = self
                    .agents
                    .iter()
                    .position(|known| known.name == agent.name);
                place.map(|place| self.agents.remove(place));
                Some(format!(
                    "agent {} left ({} of {})",
                    agent.name,
                    self.agents.len(),
                    self.planned.agents
                ))
            }
            RunEvent::Assembled { agents } => {
                self.stage = Stage::Preparing;
                let agent = |facts: &control::AgentFacts| Agent {
                    name: facts.name.clone(),
                    status: Status::Preparing,
                };
                self.agents = agents.iter().map(agent).collect();
                None
            }
            RunEvent::Ready { agent, .. } => self.set(*agent, Status::Ready, None),
            RunEvent::Armed { start_in, .. } => {
                self.stage = Stage::Fixed {
                    start: now + *start_in,
                };
                None
            }
            RunEvent::Began { agent, .. } => self.set(*agent, Status::Firing, None),
            RunEvent::Started { skew } if skew.agents > 1 && self.known.is_empty() => {
                Some(format!(
                    "{} agents began within {} ± {}",
                    skew.agents,
                    analysis::human::time(skew.skew_ns as f64),
                    analysis::human::time(skew.bound_ns as f64)
                ))
            }
            RunEvent::Gone { agent, why } => {
                self.set(*agent, Status::Gone, Some(format!("is gone: {why}")))
            }
            RunEvent::Back { agent } => {
                self.set(*agent, Status::Firing, Some("is back".to_owned()))
            }
            RunEvent::Ended { agent, cause, .. } => self.set(*agent, Status::Done, ending(cause)),
            RunEvent::Lost { agent, why, .. } => {
                self.set(*agent, Status::Lost, Some(format!("is lost: {why}")))
            }
            RunEvent::Note { agent, text, .. } => Some(agent.map_or_else(
                || text.clone(),
                |agent| format!("agent {}: {text}", self.name(agent)),
            )),
            RunEvent::Done {
                outcome:
                    RunOutcome::Ran | RunOutcome::NotStarted | RunOutcome::StoppedBeforeStart(_),
            } => {
                self.stage = Stage::Over;
                None
            }
            RunEvent::Waiting { .. }
            | RunEvent::Problem { .. }
            | RunEvent::Started { .. }
            | RunEvent::Interval { .. }
            | RunEvent::Totals { .. } => None,
        }
    }

    fn set(&mut self, agent: u32, status: Status, news: Option<String>) -> Option<String> {
        let line = news.map(|news| format!("agent {} {news}", self.name(agent)));
        if let Some(known) = self.agents.get_mut(agent as usize) {
            known.status = status;
        }
        line
    }

    /// Agents whose part is not over, by index.
    pub(crate) fn unfinished(&self) -> Vec<u32> {
        let agents = (0..)
            .zip(&self.agents)
            .filter(|(_, agent)| !matches!(agent.status, Status::Done | Status::Lost));
        agents.map(|(index, _)| index).collect()
    }

    /// Whether the agent's stream is gone.
    pub(crate) fn is_gone(&self, agent: u32) -> bool {
        self.agents
            .get(agent as usize)
            .is_some_and(|agent| agent.status == Status::Gone)
    }

    /// An agent's index by its name, which local agents have each to themselves.
    pub(crate) fn index(&self, name: &str) -> Option<u32> {
        self.agents
            .iter()
            .position(|agent| agent.name == name)
            .and_then(|index| u32::try_from(index).ok())
    }

    /// An agent's name by its index.
    pub(crate) fn name(&self, agent: u32) -> String {
        self.agents
            .get(agent as usize)
            .map_or_else(|| agent.to_string(), |known| known.name.clone())
    }
}

fn ending(cause: &control::EndCause) -> Option<String> {
    match cause {
        control::EndCause::Plan | control::EndCause::Stopped => None,
        control::EndCause::LeaseExpired => {
            Some("heard nothing of the coordinator for longer than a lease, and stopped".to_owned())
        }
        control::EndCause::Failed(why) => Some(format!("failed: {why}")),
    }
}
