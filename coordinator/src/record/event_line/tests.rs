//! Compares every kind of line with its golden form, which other programs read.

use super::*;
use control::{AgentId, EndCause, FleetTime, Skew, Stop};
use std::path::Path;

fn machine(name: &str) -> AgentFacts {
    AgentFacts {
        version: "0.1.0".to_owned(),
        labels: [("city".to_owned(), "bern".to_owned())].into(),
        workers: 2,
        ..AgentFacts::new(AgentId([7; 16]), name)
    }
}

fn ended(agent: u32, cause: EndCause, clock: Option<ClockReading>) -> RunEvent {
    RunEvent::Ended {
        agent,
        cause,
        missing: vec![3, 4],
        figures: proto::Bytes::new(),
        clock,
    }
}

/// One event of each kind, and some more for what their fields can hold. Only agent 0 has a name.
fn events() -> Vec<RunEvent> {
    let clock = ClockReading {
        offset_ns: -12,
        bound_ns: 34,
    };
    let text = || "a \"word\"".to_owned();
    let mut events = vec![
        RunEvent::Joined {
            agent: machine("web \"1\""),
        },
        RunEvent::Left {
            agent: machine("a"),
        },
        RunEvent::Assembled {
            agents: vec![machine("a"), machine("b")],
        },
        RunEvent::Ready {
            agent: 0,
            addresses: vec!["[::1]:443".to_owned()],
            workers: 2,
            clock,
        },
        RunEvent::Problem {
            agent: 0,
            problem: text(),
        },
        RunEvent::Armed {
            start_at: FleetTime(1),
            start_in: Duration::from_micros(300_900),
        },
        RunEvent::Began {
            agent: 0,
            at: FleetTime(2),
            bound_ns: 5,
        },
        RunEvent::Started {
            skew: Skew {
                agents: 2,
                skew_ns: 7,
                bound_ns: 8,
            },
        },
        RunEvent::Gone {
            agent: 0,
            why: text(),
        },
        RunEvent::Back { agent: 9 },
        ended(0, EndCause::Plan, Some(clock)),
        ended(0, EndCause::Stopped, None),
        ended(0, EndCause::LeaseExpired, None),
        ended(9, EndCause::Failed(text()), None),
        RunEvent::Lost {
            agent: 0,
            next_interval: 4,
            fired_until: None,
            why: text(),
        },
        RunEvent::Postponed { agents: vec![0, 9] },
        RunEvent::Redistributed {
            agent: 0,
            to: vec![1, 2],
            from: FleetTime(11),
        },
        RunEvent::TakenOver {
            agent: 0,
            by: 1,
            from: Some(FleetTime(12)),
        },
        RunEvent::TakenOver {
            agent: 0,
            by: 1,
            from: None,
        },
        RunEvent::Superseded { epoch: 2 },
        RunEvent::Note {
            agent: Some(0),
            event: "clock".to_owned(),
            text: text(),
        },
        RunEvent::Note {
            agent: None,
            event: "clock".to_owned(),
            text: text(),
        },
        RunEvent::Watching {
            monitor: machine("m"),
        },
        RunEvent::Preflight {
            agent: 0,
            findings: vec![Finding {
                text: text(),
                is_forced: true,
            }],
        },
    ];
    let outcomes = [
        RunOutcome::Ran,
        RunOutcome::StoppedBeforeStart(Stop::Now),
        RunOutcome::NotStarted,
        RunOutcome::TooFewAgents { have: 1, want: 2 },
        RunOutcome::Superseded,
    ];
    events.extend(outcomes.map(|outcome| RunEvent::Done { outcome }));
    events
}

fn lines() -> Vec<String> {
    let at = Utc::after_1970(Duration::from_millis(1_700_000_000_123));
    let name = |agent: u32| (agent == 0).then_some("a");
    let result = include_bytes!("../../../../crates/report/tests/golden/result-v1.json");
    let document = report::read(result).unwrap();
    let events = events();
    let events = events
        .iter()
        .map(|event| from_event(at, event, name).unwrap());
    events
        .chain([from_resumption(at, 2, Duration::from_millis(1_500))])
        .chain(from_result(at, &document))
        .collect()
}

/// `UPDATE_GOLDEN=1` rewrites the file; the difference is then for a person to review.
#[test]
fn every_line_is_the_one_that_others_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/events.jsonl");
    let text = lines().join("\n") + "\n";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "tests/golden/events.jsonl differs");
}

#[test]
fn what_only_carries_figures_has_no_line() {
    let waiting = RunEvent::Waiting { have: 1, want: 2 };
    assert_eq!(from_event(Utc::now(), &waiting, |_| None), None);
}
