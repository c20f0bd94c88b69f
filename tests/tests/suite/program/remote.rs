//! Agents that join over the network, as processes of their own.

use crate::program::command::{Folder, Running, assert_code, send, told, wait_until};
use plan::{CalibratedWork, Calibration, CalibrationRow};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

fn free_port() -> String {
    interop::free_address().to_string()
}

#[test]
fn agents_stay_and_serve_the_next_start() {
    let server = target::RunningTarget::new(target::Config::plain()).unwrap();
    let plan = format!(
        "target.url = \"{}\"\nload = {{ connections = 4, requests = 101 }}\n\
         fleet.max_skew = \"1s\"",
        server.url("/")
    );
    let folder = Folder::with_plan(&plan);
    let address = free_port();
    let start = [
        "start",
        "--agents",
        "2",
        "--listen",
        &address,
        "--token-file",
        "token",
        "plan.toml",
    ];
    let first = folder.begin(&start);
    wait_until("the token", || {
        std::fs::read_to_string(folder.path().join("token"))
            .is_ok_and(|token| token.ends_with('\n'))
    });
    let join = |name| {
        folder.begin(&[
            "agent",
            "join",
            "--name",
            name,
            "--token-file",
            "token",
            &address,
        ])
    };
    let (_one, _two) = (join("one"), join("two"));
    let output = first.end();
    assert_code(&output, 0);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("--token-file token") && !said.contains("cnn1_"),
        "{said}"
    );
    assert_eq!(folder.document().measured.operations.ended, 101);
    std::fs::remove_dir_all(folder.path().join("runs")).unwrap();
    let output = folder.run(&start);
    assert_code(&output, 0);
    let mut names: Vec<String> = folder
        .document()
        .agents
        .into_iter()
        .map(|agent| agent.name)
        .collect();
    names.sort_unstable();
    assert_eq!(
        (names, server.counts().requests),
        (vec!["one".to_owned(), "two".to_owned()], 202),
        "{}",
        told(&output)
    );
}

#[test]
fn agent_of_a_job_may_be_first_and_ends_with_its_coordinator() {
    let server = target::RunningTarget::new(target::Config::plain()).unwrap();
    let plan = format!(
        "target.url = \"{}\"\nload = {{ connections = 2, requests = 11 }}",
        server.url("/")
    );
    let folder = Folder::with_plan(&plan);
    let address = free_port();
    let join = ["agent", "join", "--once", "--token-file", "token", &address];
    let mut agent = folder.begin(&join);
    let mut said = BufReader::new(agent.child().stderr.take().unwrap()).lines();
    let waiting = said.next().unwrap().unwrap();
    assert!(
        waiting.contains("waiting for the token in token"),
        "{waiting}"
    );
    let output = folder.run(&[
        "start",
        "--listen",
        &address,
        "--token-file",
        "token",
        "plan.toml",
    ]);
    assert_code(&output, 0);
    assert_eq!(folder.document().measured.operations.ended, 11);
    let said: Vec<String> = said.map(Result::unwrap).collect();
    assert_code(&agent.end(), 0);
    assert!(!said.iter().any(|line| line.contains("next")), "{said:?}");
}

#[test]
fn token_is_there_before_a_coordinator_is() {
    let folder = Folder::with_plan("");
    let token = |more: &[&str]| {
        let output = folder.run(&[&["token", "--state", "state"], more].concat());
        assert_code(&output, 0);
        String::from_utf8(output.stdout).unwrap()
    };
    let printed = token(&[]);
    assert!(printed.starts_with("cnn1_") && printed.lines().count() == 1);
    assert_eq!(token(&["--file", "token"]), "");
    assert_eq!(
        std::fs::read_to_string(folder.path().join("token")).unwrap(),
        printed
    );
}

/// Runs a program so that SIGHUP kills it unless it handles the signal, wherever the tests run.
fn with_hangup(command: &Command) -> Command {
    let mut wrapped = Command::new("env");
    wrapped
        .arg("--default-signal=HUP")
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(command.get_current_dir().unwrap())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    wrapped
}

#[test]
fn agent_whose_terminal_is_gone_serves_its_run_to_the_end_and_ends_then() {
    let server = target::RunningTarget::new(target::Config::plain()).unwrap();
    let plan = format!(
        "target.url = \"{}\"\nload = {{ connections = 2, think_time = \"20ms\", requests = 200 }}",
        server.url("/")
    );
    let folder = Folder::with_plan(&plan);
    let address = free_port();
    let start = folder.begin(&[
        "start",
        "--listen",
        &address,
        "--token-file",
        "token",
        "plan.toml",
    ]);
    wait_until("the token", || {
        std::fs::read_to_string(folder.path().join("token"))
            .is_ok_and(|token| token.ends_with('\n'))
    });
    let join = folder.command(&["agent", "join", "--token-file", "token", &address]);
    let mut agent = Running::new(&mut with_hangup(&join));
    // No process reads what it writes, as behind `head -1`.
    drop(agent.child().stderr.take());
    folder.wait_for("started");
    agent.signal("HUP");
    assert_code(&start.end(), 0);
    assert_eq!(folder.document().measured.operations.ended, 200);
    let id = agent.id();
    wait_until("the agent's end", || {
        let has_ended = agent.child().try_wait().unwrap();
        if has_ended.is_none() {
            send("HUP", id);
        }
        has_ended.is_some_and(|status| status.success())
    });
}

/// A calibration of this machine by which a request takes 100 µs.
fn calibration() -> Vec<u8> {
    let facts = host::Sampler::new().facts().unwrap();
    let row = |work| CalibrationRow {
        work,
        cpu_ns: 100_000.0,
        rate_per_worker: 10_000.0,
    };
    Calibration {
        fingerprint: agent::fingerprint(&facts),
        measured_at_s: 1_795_305_600,
        disturbed_share: None,
        rows: vec![
            row(CalibratedWork::PlainConnection),
            row(CalibratedWork::Request),
            CalibrationRow {
                cpu_ns: 1e-6,
                ..row(CalibratedWork::Byte)
            },
        ],
    }
    .encode()
}

#[test]
fn check_knows_the_agents_that_have_joined_by_their_calibration() {
    let server = target::RunningTarget::new(target::Config::plain()).unwrap();
    let plan = format!(
        "target.url = \"{}\"\nload = {{ rate = \"100/s\", duration = \"1s\" }}",
        server.url("/")
    );
    let folder = Folder::with_plan(&plan);
    let check = || {
        let output = folder.run(&["check", "--state", "state", "--agents", "2", "plan.toml"]);
        assert_code(&output, 0);
        String::from_utf8(output.stdout).unwrap()
    };
    std::fs::write(folder.path().join("calibration.json"), calibration()).unwrap();
    let address = free_port();
    let start = folder.begin(&[
        "start",
        "--state",
        "state",
        "--listen",
        &address,
        "--token-file",
        "token",
        "plan.toml",
    ]);
    wait_until("the token", || {
        std::fs::read_to_string(folder.path().join("token"))
            .is_ok_and(|token| token.ends_with('\n'))
    });
    let _agent = folder.begin(&[
        "agent",
        "join",
        "--name",
        "one",
        "--workers",
        "1",
        "--calibration",
        "calibration.json",
        "--token-file",
        "token",
        &address,
    ]);
    // Whether the load was met on a busy machine does not matter here.
    let output = start.end();
    let text = check();
    for part in [
        "agent one needs 0.5 % of its CPU for this plan's share: 0.5 % requests (calibrated \
         2026-11-22)",
        "1 more of 2 agents: as agent one, the least capable that is known",
    ] {
        assert!(text.contains(part), "{text}\n{}", told(&output));
    }
    std::fs::write(folder.path().join("state/calibrations.json"), "[{").unwrap();
    let text = check();
    assert!(
        text.contains("the calibrations in state are not used"),
        "{text}"
    );
}
