//! Gives a record events by hand.

use super::*;
use crate::fleet;
use crate::record::recorded_run::REMARKS_MAX;
use crate::sample_run::{end_of, folder, loss_of, operation, planned, start_events};
use analysis::MachineRole;
use control::{AgentFacts, AgentId, Finding, FleetTime, Observer, RunOutcome};
use measure::{Snapshot, Totals};
use proto::Bytes;
use run_folder::ResumedRun;
use std::time::Duration;

const PLAN: &str = "target.builtin = true\nload = { connections = 2, duration = \"2s\" }";
fn agent(name: &str) -> AgentFacts {
    AgentFacts {
        version: "0.1.0".to_owned(),
        labels: [("k".into(), "v".into())].into(),
        workers: 3,
        host: Bytes::from_static(b"another version"),
        ..AgentFacts::new(AgentId([0; 16]), name)
    }
}

/// A run of two agents up to its start.
fn started(folder: Option<RunFolder>) -> KeptRun {
    let mut record = KeptRun::new(planned(PLAN, 2), folder);
    let agents = vec![agent("a"), agent("b")];
    for event in start_events(agents, FleetTime(1_000), Duration::ZERO) {
        record.take_event(Utc::now(), &event);
    }
    record
}

fn interval(record: &mut KeptRun, agent: u32, interval: u32, encoded: &[u8]) {
    let encoded = Bytes::copy_from_slice(encoded);
    let delivered = RunEvent::Interval {
        agent,
        interval,
        encoded,
    };
    record.take_event(Utc::now(), &delivered);
}

fn ended(record: &mut KeptRun, agent: u32, totals: &[u8]) {
    let encoded = Bytes::copy_from_slice(totals);
    let totals = RunEvent::Totals {
        agent,
        intervals: 1,
        encoded,
    };
    record.take_event(Utc::now(), &totals);
    record.take_event(Utc::now(), &end_of(agent));
}

/// The totals of an agent that delivered this interval alone, as it sends them.
fn totals(snapshot: &Snapshot) -> Vec<u8> {
    let mut totals = Totals::default();
    totals.add(snapshot);
    totals.encode()
}

#[test]
fn each_interval_counts_once_and_totals_are_compared() {
    let mut record = started(None);
    let began = RunEvent::Began {
        agent: 0,
        at: FleetTime(990),
        bound_ns: 1,
    };
    record.take_event(Utc::now(), &began);
    for agent in [0, 1] {
        interval(&mut record, agent, 0, &operation(0).encode());
        interval(&mut record, agent, 0, &operation(0).encode());
        ended(&mut record, agent, &totals(&operation(0)));
    }
    let document = record.finish(Utc::now(), RunState::Complete, None).document;
    assert_eq!(document.measured.operations.ok, 2);
    assert!(
        document
            .agents
            .iter()
            .all(|agent| agent.totals_match == Some(true) && agent.workers == 3)
    );
    let began: Vec<_> = document
        .agents
        .iter()
        .map(|agent| agent.began_at_ns)
        .collect();
    assert_eq!(began, [Some(-10), Some(0)]);
    assert_eq!(document.agents[0].clock_bound_ns, Some(1));
}

#[test]
fn interval_that_cannot_be_read_invalidates_its_agent_with_one_sentence() {
    let mut record = started(None);
    interval(&mut record, 0, 0, &operation(0).encode());
    interval(&mut record, 1, 0, b"\xffnonsense");
    interval(&mut record, 1, 1, b"\xffnonsense");
    ended(&mut record, 0, &totals(&operation(0)));
    ended(&mut record, 1, &totals(&operation(0)));
    let document = record.finish(Utc::now(), RunState::Complete, None).document;
    assert_eq!(document.verdict.verdict, analysis::Verdict::Invalid);
    let told = document
        .notes
        .iter()
        .filter(|note| note.contains("agent b: second 0 of its run cannot be read"))
        .count();
    assert_eq!(
        (told, document.agents[1].totals_match),
        (1, Some(false)),
        "{:?}",
        document.notes
    );
    assert_eq!(document.agents[0].totals_match, Some(true));
}

#[test]
fn agent_without_readable_totals_is_not_trusted() {
    let mut record = started(None);
    for agent in [0, 1] {
        interval(&mut record, agent, 0, &operation(0).encode());
    }
    ended(&mut record, 0, &totals(&operation(0)));
    ended(&mut record, 1, b"");
    let document = record.finish(Utc::now(), RunState::Complete, None).document;
    assert_eq!(
        (document.verdict.verdict, document.agents[1].totals_match),
        (analysis::Verdict::Invalid, None)
    );
}

#[test]
fn agents_of_the_result_have_an_index_and_the_names_that_they_state() {
    let mut record = KeptRun::new(planned(PLAN, 2), None);
    let twins = || vec![agent("web"), agent("web")];
    let joined = |record: &mut KeptRun| {
        for agent in twins() {
            record.take_event(Utc::now(), &RunEvent::Joined { agent });
        }
        let agents = record.document(RunState::Incomplete).agents.into_iter();
        agents.map(|agent| agent.name).collect::<Vec<_>>()
    };
    assert_eq!(joined(&mut record), Vec::<String>::new());
    let agents = twins();
    record.take_event(Utc::now(), &RunEvent::Assembled { agents });
    assert_eq!(
        joined(&mut record),
        ["web", "web"],
        "taken up before the start"
    );
}

#[test]
fn lost_agent_has_fired_until_the_same_second_by_the_clock_of_a_later_coordinator() {
    let mut record = started(None);
    let lost = loss_of(1, Some(FleetTime(1_000 + 1_500_000_000)));
    record.take_event(Utc::now(), &lost);
    let before = record.document(RunState::Incomplete).agents;
    assert_eq!(
        before[1].unstored.map(|unstored| unstored.to_ns),
        Some(1_500_000_000)
    );
    let resumed = ResumedRun {
        clock_shift_ns: 60_000_000_000,
        ..ResumedRun::new(2, fleet::clock_name())
    };
    let at = Utc::now();
    let what = FactContent::Whole(Box::new(FactKind::Resumed(resumed)));
    record.take(StoredFact { at, what });
    record.take_event(at, &RunEvent::Back { agent: 1 });
    assert_eq!(record.document(RunState::Incomplete).agents, before);
}

#[test]
fn folder_holds_an_incomplete_result_from_the_beginning() {
    let base = tempfile::tempdir().unwrap();
    let folder = folder(base.path());
    let path = folder.path().join(run_folder::RESULT);
    let read = || report::read(&std::fs::read(&path).unwrap()).unwrap();
    let mut record = KeptRun::new(planned(PLAN, 2), Some(folder));
    assert_eq!(
        (read().run.state, read().agents.len()),
        (RunState::Incomplete, 0)
    );
    let (agent, agents) = (0, vec![agent("a")]);
    let problem = "cannot".to_owned();
    let outcome = RunOutcome::NotStarted;
    for event in [
        RunEvent::Assembled { agents },
        RunEvent::Problem { agent, problem },
        RunEvent::Done { outcome },
    ] {
        record.take_event(Utc::now(), &event);
    }
    let finished = record.finish(Utc::now(), RunState::Incomplete, None);
    assert_eq!(finished.unsaved, Vec::<String>::new());
    assert_eq!(read().run.refusals, ["agent a: cannot"]);
    assert_eq!(
        read().verdict.evidence,
        ["no agent began", "agent a: cannot"]
    );
    assert_eq!(read(), finished.document);
}

#[test]
fn remarks_are_cut_in_the_result_and_whole_in_the_events() {
    let base = tempfile::tempdir().unwrap();
    let folder = folder(base.path());
    let events = folder.path().join("events.jsonl");
    let mut record = started(Some(folder));
    for number in 0..100 {
        let note = RunEvent::Note {
            agent: Some(0),
            event: "policy".into(),
            text: format!("remark {number}"),
        };
        record.take_event(Utc::now(), &note);
    }
    let document = record.finish(Utc::now(), RunState::Complete, None).document;
    let remarks = document
        .notes
        .iter()
        .filter(|note| note.contains("remark"))
        .count();
    assert_eq!(remarks, REMARKS_MAX + 1, "{:?}", document.notes);
    assert_eq!(
        std::fs::read_to_string(events)
            .unwrap()
            .matches("\"note\"")
            .count(),
        100
    );
}

#[test]
fn log_holds_one_line_a_second_of_all_agents_however_the_coordinator_ends() {
    let base = tempfile::tempdir().unwrap();
    let folder = folder(base.path());
    let folder = folder.with_histograms_by_agent().unwrap();
    let path = folder.path().to_owned();
    let mut record = started(Some(folder));
    for second in 0..10 {
        interval(&mut record, 0, second, &operation(second).encode());
        let encoded = if second == 4 {
            Vec::new()
        } else {
            operation(second).encode()
        };
        interval(&mut record, 1, second, &encoded);
    }
    let lines = |log: &str| {
        std::fs::read_to_string(path.join(log))
            .unwrap()
            .matches("Tag=")
            .count()
    };
    assert_eq!(
        lines("histograms.hlog"),
        9,
        "all but the last second, as a kill would leave it"
    );
    ended(&mut record, 0, b"");
    assert_eq!(lines("histograms.hlog"), 9);
    let lost = loss_of(1, None);
    record.take_event(Utc::now(), &lost);
    assert_eq!(lines("histograms.hlog"), 10, "nobody is waited for");
    assert_eq!(lines("histograms-by-agent.hlog"), 19);
    assert_eq!(
        record.finish(Utc::now(), RunState::Complete, None).unsaved,
        Vec::<String>::new()
    );
    assert_eq!(lines("histograms.hlog"), 10);
}

#[test]
fn log_of_a_run_whose_start_was_postponed_has_one_header_of_the_last_start() {
    let base = tempfile::tempdir().unwrap();
    let folder = folder(base.path());
    let path = folder.path().join("histograms.hlog");
    let mut record = started(Some(folder));
    let lost = loss_of(1, None);
    record.take_event(Utc::now(), &lost);
    record.take_event(Utc::now(), &RunEvent::Postponed { agents: vec![1] });
    let armed_at = Utc::after_1970(Duration::from_secs(1_767_225_600));
    let armed = RunEvent::Armed {
        start_at: FleetTime(2_000),
        start_in: Duration::from_secs(1),
    };
    record.take_event(armed_at, &armed);
    for second in 0..3 {
        interval(&mut record, 0, second, &operation(second).encode());
    }
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("#[StartTime").count(), 1, "{text}");
    assert!(text.contains("2026-01-01T00:00:01"), "{text}");
    assert_eq!(
        text.matches("Tag=").count(),
        2,
        "the lost one is not waited for"
    );
    drop(record.finish(Utc::now(), RunState::Complete, None));
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("#[StartTime").count(), 1, "{text}");
}

#[test]
fn machines_of_agents_and_monitors_stand_in_the_result_and_strangers_do_not() {
    let mut record = started(None);
    let name = "n".repeat(10_000);
    let process = |pid| host::ProcessSecond {
        pid,
        name: name.clone(),
        ..host::ProcessSecond::default()
    };
    let observation = host::Observation {
        elapsed_ns: 1_000_000_000,
        cpu_busy: f32::NAN,
        softirq: -1.0,
        steal: 0.1,
        processes: (0..1_000).map(process).collect(),
        interfaces: vec![host::InterfaceSecond::default(); 1_000],
        ..host::Observation::default()
    };
    let mut observed = |by, second, encoded: Vec<u8>| {
        let encoded = Bytes::from(encoded);
        record.take_event(
            Utc::now(),
            &RunEvent::Observed {
                by,
                second,
                encoded,
            },
        );
    };
    observed(Observer::Agent(1), 0, observation.encode());
    observed(Observer::Agent(1), 0, observation.encode());
    observed(Observer::Agent(1), 1, b"of another version".to_vec());
    observed(Observer::Agent(2), 0, observation.encode());
    observed(Observer::Monitor(0), 0, observation.encode());
    let watching = RunEvent::Watching {
        monitor: agent("db"),
    };
    record.take_event(Utc::now(), &watching);
    for second in [4, 5] {
        let encoded = Bytes::from(observation.encode());
        let by = Observer::Monitor(0);
        record.take_event(
            Utc::now(),
            &RunEvent::Observed {
                by,
                second,
                encoded,
            },
        );
    }
    let document = record.finish(Utc::now(), RunState::Complete, None).document;
    let told: Vec<_> = document
        .machines
        .iter()
        .map(|machine| {
            let seconds: Vec<u32> = machine.rows.iter().map(|row| row.second).collect();
            (machine.name.as_str(), machine.role, seconds)
        })
        .collect();
    assert_eq!(
        told,
        [
            ("b", MachineRole::Agent, vec![0]),
            ("db", MachineRole::Monitor, vec![4, 5])
        ]
    );
    assert_eq!(document.machines[1].labels["k"], "v");
    let row = &document.machines[0].rows[0];
    assert_eq!((row.cpu_busy, row.softirq, row.steal), (0.0, 0.0, 0.1));
    assert_eq!((row.processes.len(), row.interfaces.len()), (64, 32));
    assert_eq!(row.processes[0].name.len(), 64);
}

#[test]
fn what_an_agent_found_before_the_start_stands_in_the_result_whenever_it_told() {
    let mut record = KeptRun::new(planned(PLAN, 2), None);
    let found = |record: &mut KeptRun, agent, is_forced| {
        let text = "too few ports".to_owned();
        let findings = vec![Finding { text, is_forced }];
        record.take_event(Utc::now(), &RunEvent::Preflight { agent, findings });
    };
    let agents = vec![agent("a"), agent("b")];
    record.take_event(Utc::now(), &RunEvent::Assembled { agents });
    found(&mut record, 0, true);
    let armed = RunEvent::Armed {
        start_at: FleetTime(1),
        start_in: Duration::ZERO,
    };
    record.take_event(Utc::now(), &armed);
    found(&mut record, 1, false);
    let told: Vec<_> = record
        .finish(Utc::now(), RunState::Complete, None)
        .document
        .preflight
        .into_iter()
        .map(|finding| (finding.agent, finding.forced))
        .collect();
    assert_eq!(told, [("a".to_owned(), true), ("b".to_owned(), false)]);
}
