//! What makes a run worthless as a measurement, whatever the load.

use crate::{AgentEndCause, AgentResult, Document, RunState, human};

/// Agents that begin farther apart than this do not make one load.
const SKEW_MAX_NS: u64 = 50_000_000;

/// Every fault of the run, in words; none where its numbers can be trusted.
pub(super) fn all(document: &Document) -> Vec<String> {
    let is_unfinished = document.run.state == RunState::Incomplete;
    // While the run goes on, an agent that has not ended yet is no fault.
    let ended = document
        .agents
        .iter()
        .filter(|agent| !is_unfinished || agent.ended.is_some());
    let mut faults: Vec<String> = ended.flat_map(of_agent).collect();
    if is_unfinished {
        faults.push(
            "the run was never finished: its coordinator ended, or is still at it".to_owned(),
        );
    }
    if document.measured.operations.ended == 0 {
        faults.push("no operation ended in the measured part".to_owned());
    }
    faults.extend(began_apart(document));
    faults
}

/// Agents that began too far apart, by the worst that their clocks allow.
fn began_apart(document: &Document) -> Option<String> {
    let skew = document.skew?;
    let worst_ns = skew.skew_ns.saturating_add(skew.bound_ns);
    (worst_ns > SKEW_MAX_NS).then(|| {
        format!(
            "agents began {} ± {} apart; more than {} is not one load",
            human::time(skew.skew_ns as f64),
            human::time(skew.bound_ns as f64),
            human::time(SKEW_MAX_NS as f64)
        )
    })
}

fn of_agent(agent: &AgentResult) -> Vec<String> {
    let began = match agent.began_at_ns {
        Some(_) => None,
        None => Some(format!("agent {} never began", agent.name)),
    };
    [began, bad_end(agent), wrong_totals(agent)]
        .into_iter()
        .flatten()
        .collect()
}

fn bad_end(agent: &AgentResult) -> Option<String> {
    let name = &agent.name;
    match agent.ended {
        Some(AgentEndCause::Plan | AgentEndCause::Stopped) => None,
        Some(AgentEndCause::LeaseExpired) => Some(format!(
            "agent {name} lost its coordinator and stopped firing"
        )),
        Some(AgentEndCause::Failed) => Some(format!("agent {name} failed: {}", agent.ended_text)),
        Some(AgentEndCause::Lost) | None => {
            let why = if agent.ended_text.is_empty() {
                String::new()
            } else {
                format!(" ({})", agent.ended_text)
            };
            Some(format!(
                "agent {name} was lost{why}: what it did after its last interval is unknown"
            ))
        }
    }
}

fn wrong_totals(agent: &AgentResult) -> Option<String> {
    let name = &agent.name;
    match agent.totals_match {
        Some(true) => None,
        Some(false) => Some(format!(
            "agent {name}: the sum of its intervals is not the totals it reported{}",
            gaps(agent)
        )),
        None => Some(format!(
            "agent {name} reported no totals, so that nothing shows whether all of its intervals \
             came{}",
            gaps(agent)
        )),
    }
}

fn gaps(agent: &AgentResult) -> String {
    let spans = agent.missing_intervals.iter().map(|&(first, last)| {
        if first == last {
            format!("{first}")
        } else {
            format!("{first} to {last}")
        }
    });
    let spans: Vec<String> = spans.collect();
    if spans.is_empty() {
        String::new()
    } else {
        format!("; seconds {} are missing", spans.join(", "))
    }
}
