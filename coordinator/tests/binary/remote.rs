//! Agents that join over the network, as processes of their own.

use crate::command::{Folder, Running, assert_code, send, told, wait_until};
use std::net::TcpListener;
use std::process::{Command, Stdio};

fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string()
}

#[test]
fn agents_stay_and_serve_the_next_start() {
    let server = target::RunningTarget::new(target::Config::plain()).unwrap();
    let plan = format!(
        "target.url = \"{}\"\nload = {{ connections = 4, requests = 101 }}",
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

/// A program that dies of SIGHUP unless it does something about it, wherever the tests run.
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
    // Nobody reads what it says, as behind `head -1`.
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
