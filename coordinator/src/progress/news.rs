//! Decides which events of a run are reported to a watcher, and in which words.

use super::text::{NAMES_MAX, listed};
use analysis::human;
use control::{EndCause, RunEvent, RunModel, Skew};

/// Reports to a watcher what is new.
#[derive(Debug)]
pub(crate) struct RunNews {
    agents_wanted: u32,
    /// Agents and monitors of the previous run: that they join, begin together or watch is not
    /// news.
    known: Vec<String>,
}

impl RunNews {
    /// News of a run that asks for `agents_wanted` agents; those named in `known` were there
    /// before.
    pub(crate) fn new(agents_wanted: u32, known: Vec<String>) -> RunNews {
        RunNews {
            agents_wanted,
            known,
        }
    }

    /// The line that reports an event, if there is one; `run` has taken the event already.
    pub(crate) fn line(&self, event: &RunEvent, run: &RunModel) -> Option<String> {
        match event {
            RunEvent::Joined { .. } => {
                let name = run.last_joined();
                let is_news = !self.known.iter().any(|known| known == name);
                is_news.then(|| self.attendance(name, "joined", run))
            }
            RunEvent::Left { .. } => Some(self.attendance(run.last_left(), "left", run)),
            RunEvent::Started { skew } if skew.agents > 1 && self.known.is_empty() => {
                Some(skew_in_words(*skew))
            }
            RunEvent::Gone { agent, why } => {
                let what = format!("is away: {why}; the run waits for it to come back");
                Some(about(*agent, &what, run))
            }
            RunEvent::Back { agent } => Some(about(*agent, "is back", run)),
            RunEvent::Ended { agent, cause, .. } => {
                ending(cause).map(|ending| about(*agent, &ending, run))
            }
            RunEvent::Lost { agent, why, .. } => {
                let what = format!(
                    "is lost: {why}; what it delivered counts, the rest of its share is missing"
                );
                Some(about(*agent, &what, run))
            }
            RunEvent::Note { agent, text, .. } => Some(agent.map_or_else(
                || text.clone(),
                |agent| format!("agent {}: {text}", run.name(agent)),
            )),
            RunEvent::Postponed { agents } => Some(postponement(agents, run)),
            RunEvent::Redistributed { agent, to, .. } => Some(about(
                *agent,
                &format!(
                    "is replaced: {} of the others fire the rest of its share ({})",
                    to.len(),
                    listed_names(to, run)
                ),
                run,
            )),
            RunEvent::Superseded { .. } => Some(
                "another coordinator has taken this run up: it goes on there, and nothing more \
                     comes here"
                    .to_owned(),
            ),
            RunEvent::Watching { .. } => {
                let all = run.monitors().len();
                let name = run.monitors().last()?;
                let all = human::counted(all as u64, "monitor");
                let is_news = !self.known.iter().any(|known| known == name);
                is_news.then(|| format!("monitor {name} watches ({all})"))
            }
            _ => None,
        }
    }

    fn attendance(&self, name: &str, what: &str, run: &RunModel) -> String {
        let here = run.agents().len();
        format!("agent {name} {what} ({here} of {})", self.agents_wanted)
    }
}

fn skew_in_words(skew: Skew) -> String {
    format!(
        "{} agents began within {} ± {}",
        skew.agents,
        human::time(skew.skew_ns as f64),
        human::time(skew.bound_ns as f64)
    )
}

fn postponement(agents: &[u32], run: &RunModel) -> String {
    if agents.is_empty() {
        return "the start is tried again: this coordinator was too slow, or its disk; no agent \
                has fired"
            .to_owned();
    }
    format!(
        "the start is tried again: {} did not answer in time ({}); no agent has fired",
        agents_in_words(agents.len()),
        listed_names(agents, run)
    )
}

fn about(agent: u32, what: &str, run: &RunModel) -> String {
    format!("agent {} {what}", run.name(agent))
}

fn agents_in_words(count: usize) -> String {
    human::counted(count as u64, "agent")
}

fn listed_names(agents: &[u32], run: &RunModel) -> String {
    let names: Vec<String> = agents
        .iter()
        .take(NAMES_MAX + 1)
        .map(|&agent| run.name(agent))
        .collect();
    listed(&names, agents.len())
}

/// `None` for an end that was planned or asked for.
fn ending(cause: &EndCause) -> Option<String> {
    match cause {
        EndCause::Plan | EndCause::Stopped => None,
        EndCause::LeaseExpired => {
            Some("heard nothing of the coordinator for longer than a lease, and stopped".to_owned())
        }
        EndCause::Failed(why) => Some(format!("failed: {why}")),
    }
}
