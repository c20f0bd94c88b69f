//! Ctrl-C: the first drains and keeps the result, the second stops at once; nothing is left behind.

use interop::{Coordinator, CoordinatorCommand, Signal, wait_until};
use std::path::Path;
use std::time::{Duration, Instant};
use target::{Config, RunningTarget, TargetAnswer};

/// Long enough never to end by itself here.
const LONG: &str = "load = { connections = 4, duration = \"10m\" }\n";

/// A run that is firing at `server`.
fn firing(server: &RunningTarget) -> Coordinator {
    let coordinator =
        CoordinatorCommand::local(2, &format!("target.url = {:?}\n{LONG}", server.url("/")))
            .spawn();
    wait_until("load", || (server.counts().requests > 100).then_some(()));
    coordinator
}

#[test]
fn ctrl_c_drains_and_keeps_what_was_measured() {
    for signal in [Signal::INT, Signal::TERM] {
        let server = RunningTarget::new(Config::plain()).unwrap();
        let coordinator = firing(&server);
        let children = coordinator.children();
        assert_eq!(children.len(), 2);
        coordinator.signal(signal);
        let finished = coordinator.wait().expect(130);
        let document = finished.clean().document();
        assert_eq!(
            document.run.state,
            analysis::RunState::Interrupted,
            "{finished}"
        );
        let operations = &document.measured.operations;
        // Operations under way were allowed to finish, so both sides counted the same.
        assert_eq!(
            (operations.ok, operations.errors),
            (server.stop().requests, 0),
            "{finished}"
        );
        assert!(finished.stdout.contains("interrupted"), "{finished}");
        assert!(
            document
                .agents
                .iter()
                .all(|agent| agent.totals_match == Some(true))
        );
        children.iter().for_each(|id| {
            assert!(
                !Path::new(&format!("/proc/{id}")).exists(),
                "agent {id} is left behind"
            )
        });
    }
}

#[test]
fn second_ctrl_c_does_not_wait_for_answers() {
    let server = RunningTarget::new(Config {
        answer: TargetAnswer {
            delay: Duration::from_secs(20),
            ..TargetAnswer::default()
        },
        ..Config::plain()
    });
    let server = server.unwrap();
    let plan = format!("target.url = {:?}\n{LONG}", server.url("/"));
    let mut coordinator = CoordinatorCommand::local(2, &plan).spawn();
    wait_until("load", || (server.counts().requests == 4).then_some(()));
    coordinator.signal(Signal::INT);
    let _ = coordinator.wait_for("once more stops at once");
    let asked_at = Instant::now();
    coordinator.signal(Signal::INT);
    let finished = coordinator.wait().expect(130);
    assert!(asked_at.elapsed() < Duration::from_secs(15), "{finished}");
    let document = finished.clean().document();
    assert_eq!(document.run.state, analysis::RunState::Interrupted);
    let errors: Vec<_> = document
        .measured
        .errors
        .iter()
        .map(|error| (error.name.as_str(), error.count))
        .collect();
    assert_eq!(errors, [("http.cut", 4)], "{finished}");
}

#[test]
fn ctrl_c_before_the_agents_have_come_ends_at_once() {
    let state = tempfile::tempdir().unwrap();
    let plan = "target.url = \"http://127.0.0.1:1/\"\nload = { connections = 2, requests = 2 }\n";
    let arguments = [
        "--agents",
        "2",
        "--listen",
        "127.0.0.1:0",
        "--state",
        state.path().to_str().unwrap(),
    ];
    let mut coordinator = CoordinatorCommand::start(&arguments, plan).spawn();
    let _ = coordinator.wait_for("agent join ");
    let asked_at = Instant::now();
    coordinator.signal(Signal::INT);
    let finished = coordinator.wait().expect(130);
    assert!(asked_at.elapsed() < Duration::from_secs(15), "{finished}");
}
