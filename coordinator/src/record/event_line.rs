//! `events.jsonl`: one JSON object per line for each thing that happened in a run, with the time at
//! which the coordinator learned of it.

use super::recorded_agents::ending;
use analysis::{
    AgentIntroduction, AgentMention, ClockFigure, Document, EventLine, FleetEnding, Happened,
    MachineFinding, NamedAgent,
};
use control::{AgentFacts, ClockReading, Finding, RunEvent, RunOutcome};
use run_folder::Utc;
use std::time::Duration;

/// The line of an event; `None` for events that only carry figures. `name_of` gives an agent's name
/// by its index.
pub(super) fn from_event<'n>(
    at: Utc,
    event: &RunEvent,
    name_of: impl Fn(u32) -> Option<&'n str>,
) -> Option<String> {
    let mention = |agent: u32| {
        let name = name_of(agent).map(|name| AgentMention::Name(name.to_owned()));
        name.unwrap_or(AgentMention::Index(agent))
    };
    Some(line(at, happened(event, mention)?))
}

fn happened(event: &RunEvent, mention: impl Fn(u32) -> AgentMention) -> Option<Happened> {
    let mentions = |agents: &[u32]| agents.iter().copied().map(&mention).collect();
    Some(match event {
        RunEvent::Joined { agent } => Happened::Joined(introduction(agent)),
        RunEvent::Left { agent } => Happened::Left(identity(agent)),
        RunEvent::Assembled { agents } => Happened::Assembled {
            agents: agents.iter().map(identity).collect(),
        },
        RunEvent::Problem { agent, problem } => Happened::Problem {
            agent: mention(*agent),
            text: problem.clone(),
        },
        RunEvent::Armed { start_at, start_in } => Happened::Armed {
            start_at_ns: start_at.0,
            start_in_ms: start_in.as_millis() as u64,
        },
        RunEvent::Began {
            agent,
            at,
            bound_ns,
        } => Happened::Began {
            agent: mention(*agent),
            began_at_ns: at.0,
            bound_ns: *bound_ns,
        },
        RunEvent::Started { skew } => Happened::Started {
            agents: skew.agents,
            bound_ns: skew.bound_ns,
            skew_ns: skew.skew_ns,
        },
        RunEvent::Postponed { agents } => Happened::Postponed {
            agents: mentions(agents),
        },
        RunEvent::Redistributed { agent, to, from } => Happened::Redistributed {
            agent: mention(*agent),
            from_ns: from.0,
            to: mentions(to),
        },
        RunEvent::TakenOver { agent, by, from } => Happened::TakenOver {
            agent: mention(*agent),
            by: mention(*by),
            from_ns: from.map(|from| from.0),
        },
        RunEvent::Superseded { epoch } => Happened::Superseded { epoch: *epoch },
        RunEvent::Note { agent, event, text } => Happened::Note {
            about: event.clone(),
            agent: agent.map(mention),
            text: text.clone(),
        },
        RunEvent::Done { outcome } => Happened::Done {
            outcome: run_ending(*outcome),
        },
        RunEvent::Watching { monitor } => Happened::Watching(introduction(monitor)),
        RunEvent::Preflight { agent, findings } => Happened::Preflight {
            agent: mention(*agent),
            findings: findings.iter().map(preflight_finding).collect(),
        },
        RunEvent::Ready { .. }
        | RunEvent::Gone { .. }
        | RunEvent::Back { .. }
        | RunEvent::Ended { .. }
        | RunEvent::Lost { .. } => return happened_to_agent(event, mention),
        RunEvent::Waiting { .. }
        | RunEvent::TokenAsked { .. }
        | RunEvent::Interval { .. }
        | RunEvent::Totals { .. }
        | RunEvent::Observed { .. }
        | RunEvent::ProfilePart { .. } => return None,
    })
}

/// What an agent came to; `None` for other events.
fn happened_to_agent(event: &RunEvent, mention: impl Fn(u32) -> AgentMention) -> Option<Happened> {
    Some(match event {
        RunEvent::Ready {
            agent,
            addresses,
            workers,
            clock,
        } => Happened::Ready {
            addresses: addresses.clone(),
            agent: mention(*agent),
            clock: clock_figure(*clock),
            workers: *workers,
        },
        RunEvent::Gone { agent, why } => Happened::Gone {
            agent: mention(*agent),
            text: why.clone(),
        },
        RunEvent::Back { agent } => Happened::Back {
            agent: mention(*agent),
        },
        RunEvent::Ended {
            agent,
            cause,
            missing,
            clock,
            ..
        } => {
            let (cause, text) = ending(cause);
            Happened::Ended {
                agent: mention(*agent),
                cause,
                clock: clock.map(clock_figure),
                missing: missing.clone(),
                text,
            }
        }
        RunEvent::Lost {
            agent,
            next_interval,
            why,
            ..
        } => Happened::Lost {
            agent: mention(*agent),
            next_interval: *next_interval,
            text: why.clone(),
        },
        _ => return None,
    })
}

/// The line of a coordinator that resumed a run after it had none for the time `unattended`.
pub(super) fn from_resumption(at: Utc, epoch: u64, unattended: Duration) -> String {
    let resumed = Happened::Resumed {
        epoch,
        unattended_seconds: unattended.as_secs_f64(),
    };
    line(at, resumed)
}

/// The lines of a run's result: each threshold, then the verdict.
pub(super) fn from_result(at: Utc, document: &Document) -> Vec<String> {
    let verdict = Happened::Verdict {
        evidence: document.verdict.evidence.clone(),
        state: document.run.state,
        verdict: document.verdict.verdict,
    };
    let thresholds = document.thresholds.iter().map(Happened::from);
    thresholds
        .chain([verdict])
        .map(|happened| line(at, happened))
        .collect()
}

fn line(at: Utc, event: Happened) -> String {
    let at = at.to_string();
    serde_json::to_string(&EventLine { at, event })
        .expect("a line holds no map with keys that JSON has not")
}

fn introduction(agent: &AgentFacts) -> AgentIntroduction {
    AgentIntroduction {
        agent: agent.name.clone(),
        id: agent.id.to_string(),
        labels: agent.labels.clone(),
        version: agent.version.clone(),
        workers: agent.workers,
    }
}

fn identity(agent: &AgentFacts) -> NamedAgent {
    NamedAgent {
        agent: agent.name.clone(),
        id: agent.id.to_string(),
    }
}

fn preflight_finding(finding: &Finding) -> MachineFinding {
    MachineFinding {
        forced: finding.is_forced,
        text: finding.text.clone(),
    }
}

fn clock_figure(clock: ClockReading) -> ClockFigure {
    ClockFigure {
        bound_ns: clock.bound_ns,
        offset_ns: clock.offset_ns,
    }
}

fn run_ending(outcome: RunOutcome) -> FleetEnding {
    match outcome {
        RunOutcome::Ran => FleetEnding::Ran,
        RunOutcome::StoppedBeforeStart(_) => FleetEnding::StoppedBeforeStart,
        RunOutcome::NotStarted => FleetEnding::NotStarted,
        RunOutcome::TooFewAgents { .. } => FleetEnding::TooFewAgents,
        RunOutcome::Superseded => FleetEnding::Superseded,
    }
}

#[cfg(test)]
mod tests;
