//! Tokens that are fetched: Python hands them out and takes them, and counts both.

use crate::variables::assert_unseen;
use interop::{CoordinatorCommand, Finished, Pki, PythonServer, plan};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;

const SECRET: &str = "p1anted secret+1";
const LONG: f64 = 3_600.0;
const MANY: u64 = 1_000;

/// What the server has answered.
struct Seen {
    /// Requests by status.
    statuses: BTreeMap<u16, u64>,
    /// Fetches by status.
    fetches: BTreeMap<u16, u64>,
    /// Requests by the number of their token.
    tokens: BTreeMap<u64, u64>,
}

impl Seen {
    fn read(file: &Path) -> Seen {
        let text = std::fs::read_to_string(file).unwrap();
        let mut seen = Seen {
            statuses: BTreeMap::new(),
            fetches: BTreeMap::new(),
            tokens: BTreeMap::new(),
        };
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let (status, number) = (words[1].parse().unwrap(), words[2].parse().unwrap());
            if words[0].starts_with("/items") {
                *seen.statuses.entry(status).or_default() += 1;
                *seen.tokens.entry(number).or_default() += 1;
            } else {
                *seen.fetches.entry(status).or_default() += 1;
            }
        }
        seen
    }
}

/// A plan whose requests carry a token that is fetched at `place` of `server`.
fn tokens_plan(server: &PythonServer, place: &str, more: &str) -> String {
    let url = server.url();
    let more = format!(
        "vars.client_secret = \"env:INTEROP_SECRET\"\n\
         auth.api.oauth2 = {{ token_url = \"{url}{place}\", client = \"load\", \
         secret = \"{{client_secret}}\", scope = \"read write\"{more}"
    );
    plan(&url, &Pki::new(), &more)
}

fn run(agents: u32, plan: &str) -> Finished {
    let command = CoordinatorCommand::local(agents, plan);
    let command = command.with(|command| {
        command.env("INTEROP_SECRET", SECRET);
    });
    let finished = command.run();
    assert!(!finished.to_string().contains("p1anted"), "{finished}");
    finished
}

/// The sum of the numbers that stand behind `words` in the run's notes.
fn noted(finished: &Finished, before: &str) -> u64 {
    let notes = finished.document().notes;
    let number = |note: &String| {
        let (_, rest) = note.split_once(before)?;
        let word = rest.trim_start().split(' ').next()?;
        if word.starts_with("once") {
            Some(1)
        } else {
            word.parse().ok()
        }
    };
    notes.iter().filter_map(number).sum::<u64>()
}

#[test]
fn tokens_are_renewed_beside_the_load_and_no_request_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (agents, place, more) in [
        (
            2,
            "basic",
            "}\nload = { rate = \"100/s\", duration = \"5s\" }\n",
        ),
        (
            1,
            "body",
            ", client_auth = \"body\" }\n\
             load = { connections = 3, duration = \"4s\", think_time = \"10ms\" }\n",
        ),
    ] {
        let seen = folder.path().join(place);
        let ip = Ipv4Addr::LOCALHOST.into();
        let Some(server) = PythonServer::granting(ip, &seen, 2.0, MANY) else {
            return;
        };
        let more = format!("{more}request = {{ path = \"/items/{{seq}}\", auth = \"api\" }}\n");
        let finished = run(agents, &tokens_plan(&server, place, &more)).expect(0);
        let seen = Seen::read(&seen);
        let document = finished.clean().document();
        let ok = document.measured.operations.ok;
        assert_eq!(seen.statuses, BTreeMap::from([(200, ok)]), "{finished}");
        let fetched = seen.fetches[&200];
        assert_eq!(seen.fetches, BTreeMap::from([(200, fetched)]));
        assert!(fetched >= u64::from(agents) * 3, "{fetched}");
        assert!(
            seen.tokens.len() as u64 > u64::from(agents),
            "{:?}",
            seen.tokens
        );
        assert_eq!(noted(&finished, "was fetched"), fetched, "{finished}");
        assert_unseen(&finished, "p1anted");
    }
}

#[test]
fn token_that_is_not_renewed_runs_out_and_the_result_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let ip = Ipv4Addr::LOCALHOST.into();
    let Some(server) = PythonServer::granting(ip, &seen, 3.0, 1) else {
        return;
    };
    let more = "}\nload = { rate = \"100/s\", duration = \"5s\" }\n\
                request = { path = \"/items/{seq}\", auth = \"api\" }\n";
    let finished = run(1, &tokens_plan(&server, "basic", more));
    let seen = Seen::read(&seen);
    let measured = &finished.document().measured;
    let statuses: BTreeMap<u16, u64> = measured.statuses.clone().into_iter().collect();
    assert_eq!(seen.statuses, statuses, "{finished}");
    let refused = seen.statuses[&401];
    assert_eq!(measured.operations.ok, seen.statuses[&200], "{finished}");
    // Agent and server do not end a token at the same instant, and a busy machine is late at both.
    assert!(refused > 0, "{finished}");
    assert!(noted(&finished, "s into the run, and") > 0, "{finished}");
    let failed = seen.fetches[&503];
    assert_eq!(
        noted(&finished, "could not be fetched"),
        failed,
        "{finished}"
    );
    let text = finished.to_string();
    assert!(
        text.contains("answered 503: temporarily_unavailable (no more)"),
        "{text}"
    );
    assert!(text.contains("it ran out once, first "), "{text}");
    assert_unseen(&finished, "p1anted");
}

#[test]
fn run_does_not_begin_without_its_token() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let ip = Ipv4Addr::LOCALHOST.into();
    let Some(server) = PythonServer::granting(ip, &seen, LONG, MANY) else {
        return;
    };
    for (place, more, why) in [
        (
            "html",
            "",
            "answered 200 with something else than an object of JSON (<html>log in",
        ),
        ("big", "", "sent more than 262144 bytes, which is no token"),
        (
            "moved",
            "",
            "answered 302, which leads to http://elsewhere.test/token; the secret goes",
        ),
        ("spent", "", "sent a token that has expired already"),
        ("hang", "", "gave no token within 10 s"),
        ("body", "", "answered 401: invalid_client (not ***)"),
        (
            "basic",
            ", client_auth = \"body\"",
            "answered 401: invalid_client (not ***)",
        ),
        (
            "basic",
            ", parameters.grant_type = \"a\"",
            "is sent by itself; remove it",
        ),
    ] {
        let more = format!(
            "{more} }}\nload = {{ connections = 1, requests = 1 }}\n\
             request = {{ path = \"/items\", auth = \"api\" }}\n"
        );
        let finished = run(1, &tokens_plan(&server, place, &more));
        let text = finished
            .to_string()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(text.contains(why), "{place}: {finished}");
    }
    assert!(Seen::read(&seen).statuses.is_empty());
}
