//! `tls.key_log`: tshark can decrypt a capture with what agents write, and not without it.

use crate::servers::REQUESTS;
use interop::{Capture, CoordinatorCommand, Finished, Nginx, NginxOptions, NginxServer, Pki, plan};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;

/// Runs a plan with `agents` local agents, which may write secrets to the folder `keys`.
fn run(agents: u32, plan: &str) -> Finished {
    let load = format!("load = {{ connections = 4, requests = {REQUESTS} }}\n");
    CoordinatorCommand::local(agents, &format!("{load}{plan}"))
        .with(|command| _ = command.args(["--key-log", "keys"]))
        .run()
}

/// What the agents of a run have written; other users must not be able to read it.
fn secrets(finished: &Finished, agents: usize) -> String {
    let files: Vec<_> = std::fs::read_dir(finished.folder().join("keys"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(files.len(), agents, "{files:?}");
    let of_file = |path: &std::path::PathBuf| {
        assert_eq!(
            path.metadata().unwrap().permissions().mode() & 0o777,
            0o600,
            "{path:?}"
        );
        std::fs::read_to_string(path).unwrap()
    };
    files.iter().map(of_file).collect()
}

/// Connections in NSS's format: each has a client random of its own.
fn connections(secrets: &str) -> usize {
    secrets
        .lines()
        .map(|line| line.split(' ').nth(1).unwrap())
        .collect::<BTreeSet<_>>()
        .len()
}

#[test]
fn capture_is_read_with_the_secrets_of_all_connections() {
    let pki = Pki::new();
    for server in [
        NginxServer::Tls12Rsa,
        NginxServer::Tls12Tickets,
        NginxServer::Tls13,
        NginxServer::Tls13Tickets,
    ] {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let Some(capture) = Capture::start(nginx.address(server)) else {
            return;
        };
        let sections = "tls.key_log = \"all\"\ntls.resumption = \"always\"\nconnection.requests = \
                        1\n[request]\npath = \"/?{seq}\"\n";
        let finished = run(2, &plan(&nginx.url(server, "/"), &pki, sections)).expect(0);
        let secrets = secrets(&finished, 2);
        assert_eq!(connections(&secrets), REQUESTS as usize, "{server:?}");
        let read: BTreeSet<String> = capture
            .wait_for_requests(&secrets, REQUESTS as usize)
            .into_iter()
            .collect();
        assert_eq!(
            read,
            (0..REQUESTS).map(|seq| format!("/?{seq}")).collect(),
            "{server:?}"
        );
        assert_eq!(
            capture.requests(""),
            [""; 0],
            "{server:?}: without secrets nothing is read"
        );
        assert_eq!(notes_of(&finished), 2, "{finished}");
        assert_no_secret(&finished, &secrets);
    }
}

#[test]
fn connections_that_a_redirect_left_are_in_the_key_log() {
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let sections = "tls.key_log = \"all\"\nconnection.requests = 1\n\
                    request = { path = \"/moved\", redirects = 2 }\n";
    let finished = run(
        2,
        &plan(&nginx.url(NginxServer::Tls13, "/"), &pki, sections),
    )
    .expect(0);
    let secrets = secrets(&finished, 2);
    assert_eq!(connections(&secrets), 3 * REQUESTS as usize, "{finished}");
}

/// Number of notes in the result that say what was written where.
fn notes_of(finished: &Finished) -> usize {
    let notes = finished.document().notes;
    notes
        .iter()
        .filter(|note| note.contains("wrote the secrets of 30 connections to "))
        .count()
}

/// Asserts that no file of the run folder, which is kept and shared, helps to decrypt anything.
fn assert_no_secret(finished: &Finished, secrets: &str) {
    let words: Vec<&str> = secrets
        .lines()
        .filter_map(|line| line.rsplit(' ').next())
        .collect();
    for entry in std::fs::read_dir(finished.run_folder().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        assert!(
            words.iter().all(|word| !text.contains(word)),
            "{path:?} has a secret"
        );
    }
}

#[test]
fn sample_holds_the_first_connections_that_failed_or_were_slow() {
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let Some(capture) = Capture::start(nginx.address(NginxServer::Tls13)) else {
        return;
    };
    // Every successful operation takes longer than a microsecond.
    let sections = "tls.key_log = { failed = 3, slow = 2, over = \"1us\" }\nconnection.requests = \
                    1\n[[request]]\npath = \"/\"\n[[request]]\npath = \"/500\"\n";
    let finished = run(
        1,
        &plan(&nginx.url(NginxServer::Tls13, "/"), &pki, sections),
    )
    .expect(0);
    let secrets = secrets(&finished, 1);
    assert_eq!(connections(&secrets), 5);
    let mut read = capture.wait_for_requests(&secrets, 5);
    read.sort();
    assert_eq!(read, ["/", "/", "/500", "/500", "/500"]);
}

#[test]
fn agent_that_allows_no_secrets_refuses_the_plan() {
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let text = plan(
        &nginx.url(NginxServer::Tls13, "/"),
        &pki,
        "tls.key_log = \"all\"\n",
    );
    let finished = CoordinatorCommand::local(
        1,
        &format!("load = {{ connections = 1, requests = 1 }}\n{text}"),
    )
    .run()
    .expect(4);
    let message = "tls.key_log: this agent writes no secrets of connections; start it, or \
                   `coordinator start --local`, with --key-log DIR, or write key_log = \"off\"";
    assert!(finished.clean().stderr.contains(message), "{finished}");
    assert!(nginx.requests().is_empty());
}
