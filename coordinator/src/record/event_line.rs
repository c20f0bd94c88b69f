//! `events.jsonl`: one JSON object per line for what happened in a run, with the time it was heard
//! of.

use crate::utc::Utc;
use analysis::Document;
use control::{AgentFacts, ClockReading, EndCause, Finding, RunEvent, RunOutcome};
use serde_json::{Value, json};
use std::time::Duration;

/// The line of an event; nothing for those that only carry figures. `name_of` gives an agent's name
/// by its index.
pub(super) fn from_event<'n>(
    at: Utc,
    event: &RunEvent,
    name_of: impl Fn(u32) -> Option<&'n str>,
) -> Option<String> {
    let name = |agent: u32| name_of(agent).map_or_else(|| json!(agent), |name| json!(name));
    let (word, rest) = match event {
        RunEvent::Joined { agent } => ("joined", whole(agent)),
        RunEvent::Left { agent } => ("left", brief(agent)),
        RunEvent::Assembled { agents } => (
            "assembled",
            json!({ "agents": agents.iter().map(brief).collect::<Vec<Value>>() }),
        ),
        RunEvent::Ready {
            agent,
            addresses,
            workers,
            clock,
        } => {
            let clock = reading(*clock);
            (
                "ready",
                json!({
                    "agent": name(*agent), "addresses": addresses, "workers": workers,
                    "clock": clock,
                }),
            )
        }
        RunEvent::Problem { agent, problem } => {
            ("problem", json!({ "agent": name(*agent), "text": problem }))
        }
        RunEvent::Armed { start_at, start_in } => (
            "armed",
            json!({ "start_at_ns": start_at.0, "start_in_ms": start_in.as_millis() as u64 }),
        ),
        RunEvent::Began {
            agent,
            at,
            bound_ns,
        } => (
            "began",
            json!({ "agent": name(*agent), "began_at_ns": at.0, "bound_ns": bound_ns }),
        ),
        RunEvent::Started { skew } => (
            "started",
            json!({ "agents": skew.agents, "skew_ns": skew.skew_ns, "bound_ns": skew.bound_ns }),
        ),
        RunEvent::Gone { agent, why } => ("gone", json!({ "agent": name(*agent), "text": why })),
        RunEvent::Back { agent } => ("back", json!({ "agent": name(*agent) })),
        RunEvent::Ended {
            agent,
            cause,
            missing,
            clock,
            ..
        } => {
            let (cause, text) = ending(cause);
            let clock = clock.map(reading);
            (
                "ended",
                json!({
                    "agent": name(*agent), "cause": cause, "text": text, "missing": missing,
                    "clock": clock,
                }),
            )
        }
        RunEvent::Lost {
            agent,
            next_interval,
            why,
            ..
        } => (
            "lost",
            json!({ "agent": name(*agent), "next_interval": next_interval, "text": why }),
        ),
        RunEvent::Postponed { agents } => (
            "postponed",
            json!({ "agents": agents.iter().copied().map(name).collect::<Vec<Value>>() }),
        ),
        RunEvent::Redistributed { agent, to, from } => (
            "redistributed",
            json!({
                "agent": name(*agent), "to": to.iter().copied().map(name).collect::<Vec<Value>>(),
                "from_ns": from.0,
            }),
        ),
        RunEvent::TakenOver { agent, by, from } => (
            "taken_over",
            json!({
                "agent": name(*agent), "by": name(*by), "from_ns": from.map(|from| from.0),
            }),
        ),
        RunEvent::Superseded { epoch } => ("superseded", json!({ "epoch": epoch })),
        RunEvent::Note { agent, event, text } => (
            "note",
            json!({ "agent": agent.map(name), "about": event, "text": text }),
        ),
        RunEvent::Done { outcome } => ("done", json!({ "outcome": outcome_word(*outcome) })),
        RunEvent::Watching { monitor } => ("watching", whole(monitor)),
        RunEvent::Preflight { agent, findings } => (
            "preflight",
            json!({
                "agent": name(*agent),
                "findings": findings.iter().map(finding).collect::<Vec<Value>>(),
            }),
        ),
        RunEvent::Waiting { .. }
        | RunEvent::Interval { .. }
        | RunEvent::Totals { .. }
        | RunEvent::Observed { .. }
        | RunEvent::ProfilePart { .. } => return None,
    };
    Some(line(at, word, &rest))
}

/// The line of a coordinator that went on with a run that had none for so long.
pub(super) fn from_resumption(at: Utc, epoch: u64, unattended: Duration) -> String {
    let rest = json!({ "epoch": epoch, "unattended_seconds": unattended.as_secs_f64() });
    line(at, "resumed", &rest)
}

/// The lines of what the run came to: each threshold, then the verdict.
pub(super) fn from_result(at: Utc, document: &Document) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for judgement in &document.thresholds {
        lines.push(line(at, "threshold", &json!(judgement)));
    }
    let state = document.run.state;
    let record = &document.verdict;
    lines.push(line(
        at,
        "verdict",
        &json!({ "state": state, "verdict": record.verdict, "evidence": record.evidence }),
    ));
    lines
}

/// Time and word stand first, so that lines sort by time and are read at a glance.
fn line(at: Utc, word: &str, rest: &Value) -> String {
    let rest = rest.to_string();
    let rest = rest.trim_start_matches('{');
    let comma = if rest == "}" { "" } else { "," };
    format!("{{\"at\":\"{at}\",\"event\":\"{word}\"{comma}{rest}")
}

fn whole(agent: &AgentFacts) -> Value {
    json!({
        "agent": agent.name, "id": agent.id.to_string(), "version": agent.version,
        "labels": agent.labels, "workers": agent.workers,
    })
}

fn brief(agent: &AgentFacts) -> Value {
    json!({ "agent": agent.name, "id": agent.id.to_string() })
}

fn finding(finding: &Finding) -> Value {
    json!({ "text": finding.text, "forced": finding.is_forced })
}

fn reading(clock: ClockReading) -> Value {
    json!({ "offset_ns": clock.offset_ns, "bound_ns": clock.bound_ns })
}

fn ending(cause: &EndCause) -> (&'static str, Option<&str>) {
    match cause {
        EndCause::Plan => ("plan", None),
        EndCause::Stopped => ("stopped", None),
        EndCause::LeaseExpired => ("lease_expired", None),
        EndCause::Failed(why) => ("failed", Some(why)),
    }
}

fn outcome_word(outcome: RunOutcome) -> &'static str {
    match outcome {
        RunOutcome::Ran => "ran",
        RunOutcome::StoppedBeforeStart(_) => "stopped_before_start",
        RunOutcome::NotStarted => "not_started",
        RunOutcome::TooFewAgents { .. } => "too_few_agents",
        RunOutcome::Superseded => "superseded",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use control::{AgentId, FleetTime, Stop};
    use std::time::Duration;

    #[test]
    fn each_line_is_an_object_that_begins_with_time_and_word() {
        let agent = AgentFacts {
            id: AgentId([7; 16]),
            name: "web \"1\"".into(),
            version: "0.1.0".into(),
            labels: [("city".to_owned(), "bern".to_owned())].into(),
            workers: 2,
            host: proto::Bytes::new(),
            role: control::Role::Agent,
            calibration: proto::Bytes::new(),
        };
        let at = Utc::now();
        for (event, word, agent) in [
            (
                RunEvent::Joined {
                    agent: agent.clone(),
                },
                "joined",
                json!("web \"1\""),
            ),
            (
                RunEvent::Assembled {
                    agents: vec![agent],
                },
                "assembled",
                Value::Null,
            ),
            (RunEvent::Back { agent: 0 }, "back", json!("a")),
            (RunEvent::Back { agent: 9 }, "back", json!(9)),
            (
                RunEvent::Armed {
                    start_at: FleetTime(1),
                    start_in: Duration::from_millis(300),
                },
                "armed",
                Value::Null,
            ),
            (
                RunEvent::Done {
                    outcome: RunOutcome::StoppedBeforeStart(Stop::Now),
                },
                "done",
                Value::Null,
            ),
        ] {
            let line = from_event(at, &event, |agent| (agent == 0).then_some("a")).unwrap();
            assert!(
                line.starts_with(&format!("{{\"at\":\"{at}\",\"event\":\"{word}\"")),
                "{line}"
            );
            let object: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(
                object.get("agent").unwrap_or(&Value::Null),
                &agent,
                "{line}"
            );
        }
        assert_eq!(
            from_event(at, &RunEvent::Waiting { have: 1, want: 2 }, |_| None),
            None
        );
        assert_eq!(
            line(at, "x", &json!({})),
            format!("{{\"at\":\"{at}\",\"event\":\"x\"}}")
        );
    }
}
