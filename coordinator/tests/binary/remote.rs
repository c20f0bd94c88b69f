//! Agents that join over the network, as processes of their own.

use crate::command::{Folder, assert_code, told, wait_until};
use std::net::TcpListener;

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
