//! Tokens that are fetched: Python hands them out and takes them, and counts both.

use crate::servers::variables::assert_unseen;
use analysis::TokenFigures;
use interop::{
    CoordinatorCommand, Finished, Nginx, NginxOptions, NginxServer, Pki, PythonServer, Tried,
    ensure, must_hold_in, plan, wait_until,
};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
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
    /// When each request was written, as it says itself, and each token was asked for:
    /// milliseconds since 1970.
    written_ms: Vec<u64>,
    asked_ms: Vec<u64>,
}

impl Seen {
    fn read(file: &Path) -> Seen {
        let text = std::fs::read_to_string(file).unwrap();
        let mut seen = Seen {
            statuses: BTreeMap::new(),
            fetches: BTreeMap::new(),
            tokens: BTreeMap::new(),
            written_ms: Vec::new(),
            asked_ms: Vec::new(),
        };
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let (status, number) = (words[1].parse().unwrap(), words[2].parse().unwrap());
            if words[0].starts_with("/items") {
                *seen.statuses.entry(status).or_default() += 1;
                *seen.tokens.entry(number).or_default() += 1;
                let (_, written) = words[0].rsplit_once('/').unwrap();
                seen.written_ms.extend(written.parse::<u64>());
            } else {
                *seen.fetches.entry(status).or_default() += 1;
                seen.asked_ms.extend(words[3].parse::<u64>());
            }
        }
        seen
    }

    /// Requests that were written `ms` after the first token was asked for, or later.
    fn written_after(&self, ms: u64) -> u64 {
        let from = self.asked_ms[0] + ms;
        self.written_ms.iter().filter(|&&at| at >= from).count() as u64
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

/// The figures of the only token that the result has.
fn figures(finished: &Finished) -> TokenFigures {
    let tokens = finished.document().tokens;
    assert_eq!(tokens.len(), 1, "{finished}");
    tokens.into_iter().next().unwrap()
}

/// Asserts that every fetch and every request succeeded, and that the result says so and has no
/// secret. Returns the number of fetches.
fn assert_all_valid(finished: &Finished, seen: &Seen) -> u64 {
    let ok = finished.clean().document().measured.operations.ok;
    assert_eq!(seen.statuses, BTreeMap::from([(200, ok)]), "{finished}");
    let fetched = seen.fetches[&200];
    assert_eq!(seen.fetches, BTreeMap::from([(200, fetched)]));
    let expected = TokenFigures {
        auth: "api".to_owned(),
        fetched,
        requests: ok,
        ..TokenFigures::default()
    };
    assert_eq!(figures(finished), expected, "{finished}");
    assert_unseen(finished, "p1anted");
    fetched
}

/// On a busy machine a token can be renewed too late, or asked for as the run ends, which is in no
/// result.
fn ensure_renewed(finished: &Finished, seen: &Seen) -> Tried {
    let token = figures(finished);
    let is_in_time = token.ran_out == 0 && !seen.statuses.contains_key(&401);
    let is_told = seen.fetches.get(&200) == Some(&token.fetched);
    ensure(is_in_time && is_told, || finished.to_string())
}

/// Tries of a load whose tokens are to be renewed in time.
const TRIES: usize = 3;

#[test]
fn tokens_are_renewed_beside_the_load_and_no_request_is_refused() {
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
        must_hold_in(TRIES, || renew(agents, place, more));
    }
}

fn renew(agents: u32, place: &str, more: &str) -> Tried {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let ip = Ipv4Addr::LOCALHOST.into();
    let Some(server) = PythonServer::granting(ip, &seen, 2.0, MANY) else {
        return Ok(());
    };
    let more = format!("{more}request = {{ path = \"/items/{{seq}}\", auth = \"api\" }}\n");
    let finished = run(agents, &tokens_plan(&server, place, &more));
    let seen = Seen::read(&seen);
    ensure_renewed(&finished, &seen)?;
    let finished = finished.expect(0);
    let fetched = assert_all_valid(&finished, &seen);
    assert!(fetched >= u64::from(agents) * 3, "{fetched}");
    assert!(
        seen.tokens.len() as u64 > u64::from(agents),
        "{:?}",
        seen.tokens
    );
    Ok(())
}

#[test]
fn fleet_has_one_token_at_a_time() {
    // The fourth token comes after 4.8 s and the fifth after 6.4 s: on a busy machine too the load
    // ends in between, since what comes at the very end is in no result.
    for load in [
        "rate = \"100/s\", duration = \"4300ms\"",
        "connections = 6, duration = \"4300ms\", think_time = \"20ms\"",
    ] {
        must_hold_in(TRIES, || renew_for_the_fleet(load));
    }
}

fn renew_for_the_fleet(load: &str) -> Tried {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let ip = Ipv4Addr::LOCALHOST.into();
    let Some(server) = PythonServer::granting(ip, &seen, 2.0, MANY) else {
        return Ok(());
    };
    let more = format!(
        ", per = \"fleet\" }}\nload = {{ {load} }}\n\
         let.at = {{ timestamp = \"unix_ms\" }}\n\
         request = {{ path = \"/items/{{at}}\", auth = \"api\" }}\n"
    );
    let finished = run(3, &tokens_plan(&server, "basic", &more));
    let seen = Seen::read(&seen);
    ensure_renewed(&finished, &seen)?;
    let finished = finished.expect(0);
    let fetched = assert_all_valid(&finished, &seen);
    assert!(seen.tokens.len() as u64 >= fetched - 1, "{:?}", seen.tokens);
    // Renewed after 1.6 s of its 2 s, whatever the number of agents. If the start is put off, there
    // is one more.
    ensure((3..=5).contains(&fetched), || {
        format!("{fetched}: {finished}")
    })
}

#[test]
fn fleet_goes_on_with_a_token_that_ran_out_and_counts_at_each_agent() {
    must_hold_in(TRIES, go_on_with_a_token_that_ran_out);
}

fn go_on_with_a_token_that_ran_out() -> Tried {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let ip = Ipv4Addr::LOCALHOST.into();
    let Some(server) = PythonServer::granting(ip, &seen, 3.0, 1) else {
        return Ok(());
    };
    let more = ", per = \"fleet\" }\nload = { rate = \"100/s\", duration = \"5s\" }\n\
                let.at = { timestamp = \"unix_ms\" }\n\
                request = { path = \"/items/{at}\", auth = \"api\" }\n";
    let finished = run(2, &tokens_plan(&server, "basic", more));
    let seen = Seen::read(&seen);
    let token = figures(&finished);
    let fetches = BTreeMap::from([(200, token.fetched), (503, token.not_fetched)]);
    assert_eq!(seen.fetches, fetches, "{finished}");
    assert_eq!(token.ran_out, 2, "at each agent: {finished}");
    let (least, most) = (
        seen.written_after(3_000 + ASKING_MS),
        seen.written_after(3_000 - ASKING_MS),
    );
    let expired = token.expired_requests;
    let text = finished.to_string();
    assert!(text.contains("could not be renewed"), "{text}");
    assert_unseen(&finished, "p1anted");
    // A server that waits for its CPU sees much later that it is asked.
    ensure((least..=most).contains(&expired), || {
        format!("{least} to {most}: {finished}")
    })
}

#[test]
fn run_does_not_begin_without_the_token_of_its_fleet() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let ip = Ipv4Addr::LOCALHOST.into();
    let Some(server) = PythonServer::granting(ip, &seen, LONG, 0) else {
        return;
    };
    let more = ", per = \"fleet\" }\nload = { connections = 1, requests = 1 }\n\
                request = { path = \"/items\", auth = \"api\" }\n";
    let finished = run(1, &tokens_plan(&server, "basic", more));
    let text = finished.to_string();
    assert!(
        text.contains("answered 503: temporarily_unavailable (no more)"),
        "{text}"
    );
    assert!(Seen::read(&seen).statuses.is_empty());
}

/// Requests count once each, whether they are early data that nginx takes, or that it rejects so
/// that they are written twice, or streams of HTTP/2; and those of each credential by themselves.
#[test]
fn each_request_with_a_token_counts_once_however_it_is_sent() {
    const EARLY: &str =
        "connection.requests = 2\ntls.resumption = \"always\"\ntls.early_data = true";
    const HTTP2: &str = "connection = { http = \"2\", streams = 5 }";
    let folder = tempfile::tempdir().unwrap();
    let pki = Pki::new();
    let start = |last| {
        let ip = IpAddr::V4(Ipv4Addr::new(127, 0, 0, last));
        let ticket_key = Some([7; 80]);
        let options = NginxOptions {
            ip,
            ticket_key,
            ..NginxOptions::default()
        };
        Nginx::start(&pki, &options)
    };
    let seen = folder.path().join("seen");
    let tokens = PythonServer::granting(Ipv4Addr::LOCALHOST.into(), &seen, LONG, MANY);
    let (Some(first), Some(second), Some(tokens)) = (start(1), start(2), tokens) else {
        return;
    };
    let early = first.address(NginxServer::EarlyData);
    // It knows the ticket key, and takes no early data.
    let late = second.address(NginxServer::Tls13Tickets);
    let http2 = first.address(NginxServer::Http2);
    let rows = || first.requests().len() + second.requests().len();
    for (addresses, more) in [(vec![early, late], EARLY), (vec![http2], HTTP2)] {
        let before = rows();
        let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        let oauth2 = format!(
            "token_url = \"{}basic\", client = \"load\", secret = \"{{client_secret}}\"",
            tokens.url()
        );
        let more = format!(
            "{more}\ntls.server_name = \"localhost\"\ntarget.addresses = {addresses:?}\n\
             load = {{ connections = 4, requests = 90 }}\n\
             vars.client_secret = \"env:INTEROP_SECRET\"\n\
             auth.one.oauth2 = {{ {oauth2} }}\n\
             auth.two.oauth2 = {{ {oauth2}, per = \"fleet\" }}\n\
             [[request]]\nname = \"a\"\nauth = \"one\"\n\
             [[request]]\nname = \"b\"\nauth = \"two\"\nweight = 2\n"
        );
        let finished = run(2, &plan("https://localhost/", &pki, &more)).expect(0);
        let document = finished.document();
        let rejected = document.measured.early_data.rejected;
        assert_eq!(rejected > 0, more.contains(EARLY), "{finished}");
        assert_eq!(document.measured.operations.ok, 90, "{finished}");
        let figures: Vec<_> = document
            .tokens
            .iter()
            .map(|token| (token.auth.as_str(), token.fetched, token.requests))
            .collect();
        assert_eq!(figures, [("one", 2, 30), ("two", 1, 60)], "{finished}");
        wait_until("nginx logs each request once", || {
            (rows() - before == 90).then_some(())
        });
    }
}

/// How long it may take until a server sees that it is asked for a token.
const ASKING_MS: u64 = 200;

#[test]
fn token_that_is_not_renewed_runs_out_and_the_result_says_so() {
    must_hold_in(TRIES, let_a_token_run_out);
}

fn let_a_token_run_out() -> Tried {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let ip = Ipv4Addr::LOCALHOST.into();
    let Some(server) = PythonServer::granting(ip, &seen, 3.0, 1) else {
        return Ok(());
    };
    // It is asked for again after 2.4, 3.4 and 5.4 s: the load ends in between, since what comes at
    // the very end is in no result.
    let more = "}\nload = { rate = \"100/s\", duration = \"4s\" }\n\
                [let]\nwritten = { timestamp = \"unix_ms\" }\n\
                [request]\npath = \"/items/{seq}/{written}\"\nauth = \"api\"\n";
    let finished = run(1, &tokens_plan(&server, "basic", more));
    let seen = Seen::read(&seen);
    let measured = &finished.document().measured;
    let statuses: BTreeMap<u16, u64> = measured.statuses.clone().into_iter().collect();
    assert_eq!(seen.statuses, statuses, "{finished}");
    assert_eq!(measured.operations.ok, seen.statuses[&200], "{finished}");
    let token = figures(&finished);
    let fetches = BTreeMap::from([(200, token.fetched), (503, token.not_fetched)]);
    assert_eq!(seen.fetches, fetches, "{finished}");
    assert_eq!(token.ran_out, 1);
    assert_eq!(token.requests, statuses.values().sum::<u64>(), "{finished}");
    // The agent's three seconds begin when it asks, which the server sees a little later.
    let (least, most) = (
        seen.written_after(3_000),
        seen.written_after(3_000 - ASKING_MS),
    );
    let expired = token.expired_requests;
    ensure((least..=most).contains(&expired), || {
        format!("{least} to {most}: {finished}")
    })?;
    // Those that were on their way when it ended are refused too.
    assert!(seen.statuses[&401] > 0, "{finished}");
    let text = finished.to_string();
    assert!(
        text.contains("answered 503: temporarily_unavailable (no more)"),
        "{text}"
    );
    let note = format!("{expired} with that of auth.api, from second ");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&note), "{text}");
    assert_unseen(&finished, "p1anted");
    Ok(())
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
        ("body", "", "answered 401: invalid_client (not (not saved))"),
        (
            "basic",
            ", client_auth = \"body\"",
            "answered 401: invalid_client (not (not saved))",
        ),
        (
            "tenant",
            ", parameters.tenant = \"{client_secret}-2\"",
            "answered 400: invalid_request (no (not saved)-2)",
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
