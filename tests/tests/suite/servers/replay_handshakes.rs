//! Replays that repeat the handshakes of a log: nginx's log of the replay has the same server
//! names, versions and resumptions.

use crate::servers::early_data::assert_seen;
use crate::servers::replay_connections::run;
use analysis::ReplayedHandshakes;
use interop::{
    CoordinatorCommand, Finished, Invited, Nginx, NginxOptions, NginxRequest, NginxServer, Pki,
    Signal, Tried, ensure, must_hold_in, wait_until,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

/// Tries of a replay whose sessions must come before the next connection is due.
const TRIES: usize = 3;

const NAMES: [&str; 4] = ["", "a.test", "b.test", "c.test"];

/// What a connection's handshake was like.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SeenHandshake {
    server_name: String,
    protocol: String,
    resumed: bool,
    requests: usize,
}

/// The handshake of a connection of [`log`]. The first ones of each name and version are full.
fn handshake(connection: u64) -> SeenHandshake {
    let kind = connection % 8;
    SeenHandshake {
        server_name: NAMES[(kind % 4) as usize].to_owned(),
        protocol: if kind < 4 { "TLSv1.3" } else { "TLSv1.2" }.to_owned(),
        resumed: connection / 8 % 5 > 1,
        requests: requests_of(connection) as usize,
    }
}

fn requests_of(connection: u64) -> u64 {
    1 + connection % 3
}

/// A log of `connections`, which begin `gap_ms` apart and have requests 50 ms apart. Paths say
/// which connection it is.
fn log(connections: u64, gap_ms: u64) -> String {
    let mut lines: BTreeMap<(u64, u64), Value> = BTreeMap::new();
    for connection in 0..connections {
        let made = handshake(connection);
        for nth in 0..requests_of(connection) {
            let at_ms = connection * gap_ms + nth * 50;
            let mut line = json!({
                "at": at_ms as f64 / 1e3,
                "method": "GET",
                "path": format!("/204?c={connection}"),
                "host": "a.test",
                "connection": format!("c{connection}"),
                "status": 204,
                "resumed": made.resumed,
                "protocol": made.protocol,
            });
            if !made.server_name.is_empty() {
                line["server_name"] = made.server_name.clone().into();
            }
            lines.insert((at_ms, connection), line);
        }
    }
    lines.values().map(|line| format!("{line}\n")).collect()
}

fn requests(connections: u64) -> usize {
    (0..connections).map(requests_of).sum::<u64>() as usize
}

/// The connections to nginx, by the number in their paths: each path has one of them.
fn by_connection(seen: &[NginxRequest]) -> BTreeMap<u64, Vec<SeenHandshake>> {
    let mut connections: BTreeMap<(u64, u64), SeenHandshake> = BTreeMap::new();
    for request in seen {
        let number: u64 = request.path["/204?c=".len()..].parse().unwrap();
        let made = connections.entry((number, request.connection));
        let made = made.or_insert_with(|| SeenHandshake {
            server_name: request.server_name.clone(),
            protocol: request.protocol.clone(),
            resumed: request.resumed,
            requests: 0,
        });
        made.requests += 1;
    }
    let mut by_number: BTreeMap<u64, Vec<SeenHandshake>> = BTreeMap::new();
    for ((number, _), made) in connections {
        by_number.entry(number).or_default().push(made);
    }
    by_number
}

fn expected(connections: u64, turns: usize) -> BTreeMap<u64, Vec<SeenHandshake>> {
    let of = |connection| (connection, vec![handshake(connection); turns]);
    (0..connections).map(of).collect()
}

const RECORDED: &str = "replay = { file = \"replay.jsonl\", connections = \"recorded\", handshakes \
                        = \"recorded\" }\nload.max_connections = 400\ntls.verify = \"none\"\n";

fn handshakes(finished: &Finished) -> ReplayedHandshakes {
    let document = finished.document();
    let replay = document.replay.expect("what was replayed");
    replay.handshakes.expect("handshakes")
}

/// Shows only what differs.
fn assert_same(
    seen: &BTreeMap<u64, Vec<SeenHandshake>>,
    expected: &BTreeMap<u64, Vec<SeenHandshake>>,
    finished: &Finished,
) {
    let differs = |&(number, made): &(&u64, &Vec<SeenHandshake>)| seen.get(number) != Some(made);
    let other: Vec<_> = expected.iter().filter(differs).take(3).collect();
    let found: Vec<_> = other.iter().map(|(number, _)| seen.get(number)).collect();
    assert!(other.is_empty(), "{other:?}\n{found:?}\n{finished}");
    assert_eq!(seen.len(), expected.len());
}

#[test]
fn handshakes_of_a_log_are_repeated_with_any_number_of_agents() {
    const CONNECTIONS: u64 = 400;
    let pki = Pki::new();
    let log = log(CONNECTIONS, 10);
    let planned = (0..CONNECTIONS).map(handshake);
    let resumed = planned.filter(|made| made.resumed).count() as u64;
    let cases = [
        (1, 2, ""),
        (2, 1, ""),
        (4, 1, ""),
        (2, 1, "connection = { http = \"2\", streams = 3 }\n"),
    ];
    for (agents, turns, more) in cases {
        let one_try = || {
            let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
                return Ok(());
            };
            let url = nginx.url(NginxServer::AnyTlsTickets, "/");
            let recorded = RECORDED.replace(" }", &format!(", loop = {turns} }}"));
            let finished = run(&url, &pki, &log, agents, &format!("{recorded}{more}"));
            let seen = nginx.wait_for_requests(requests(CONNECTIONS) * turns);
            let made = handshakes(finished.clean());
            // On a busy machine the session of a connection can come after the next one is due.
            ensure(made.none_at_hand == 0, || format!("{made:?}\n{finished}"))?;
            let (seen, expected) = (by_connection(&seen), expected(CONNECTIONS, turns));
            assert_same(&seen, &expected, &finished);
            let turns = turns as u64;
            let expected = ReplayedHandshakes {
                planned_full: (CONNECTIONS - resumed) * turns,
                full: (CONNECTIONS - resumed) * turns,
                planned_resumed: resumed * turns,
                resumed: resumed * turns,
                none_at_hand: 0,
                refused: 0,
                names: 3,
                planned_tls12: CONNECTIONS / 2 * turns,
                tls12: CONNECTIONS / 2 * turns,
                planned_tls13: CONNECTIONS / 2 * turns,
                tls13: CONNECTIONS / 2 * turns,
            };
            assert_eq!(made, expected, "{finished}");
            Ok(())
        };
        must_hold_in(TRIES, one_try);
    }
}

/// On a busy machine the session of a connection can come after the next one is due.
fn ensure_in_time(finished: &Finished) -> Tried {
    let made = handshakes(finished);
    ensure(made.none_at_hand == 0, || format!("{made:?}\n{finished}"))
}

#[test]
fn replay_of_a_replays_own_log_has_the_same_handshakes() {
    must_hold_in(TRIES, replay_twice);
}

fn replay_twice() -> Tried {
    const CONNECTIONS: u64 = 1500;
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return Ok(());
    };
    let url = nginx.url(NginxServer::AnyTlsTickets, "/");
    let fast = RECORDED.replace(" }", ", speed = 2 }");
    let first = run(&url, &pki, &log(CONNECTIONS, 12), 2, &fast);
    let lines = requests(CONNECTIONS);
    assert!(lines >= 3000, "{lines}");
    let seen = by_connection(&nginx.wait_for_requests(lines));
    ensure_in_time(&first)?;
    assert_same(&seen, &expected(CONNECTIONS, 1), &first);
    let path = nginx.access_log();
    let arguments = [
        "import",
        "--strict",
        "--log-format",
        Nginx::log_format(),
        path.to_str().unwrap(),
    ];
    let second = CoordinatorCommand::new(&arguments).run().expect(0).stdout;
    let finished = run(&url, &pki, &second, 1, RECORDED);
    let seen = nginx.wait_for_requests(2 * lines);
    let repeated = by_connection(&seen[lines..]);
    ensure_in_time(&finished)?;
    assert_same(&repeated, &expected(CONNECTIONS, 1), &finished);
    Ok(())
}

/// A log of one name whose connections all resume, `gap_ms` apart.
fn resumed_log(connections: u64, gap_ms: u64, protocol: &str) -> String {
    let line = |number: u64| {
        let line = json!({
            "at": (number * gap_ms) as f64 / 1e3,
            "method": "GET",
            "path": format!("/204?c={number}"),
            "connection": number.to_string(),
            "server_name": "a.test",
            "resumed": true,
            "protocol": protocol,
        });
        format!("{line}\n")
    };
    (0..connections).map(line).collect()
}

#[test]
fn sessions_older_than_the_log_are_counted_and_are_there_in_the_next_turn() {
    const CONNECTIONS: u64 = 20;
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let cases = [
        // The first of all makes a session for the others, whatever the number of agents.
        (NginxServer::Tls13Tickets, "TLSv1.3", 1, 0),
        (NginxServer::Tls12Tickets, "TLSv1.2", 1, 0),
        (NginxServer::Tls12Cache, "TLSv1.2", 1, 0),
        // There never is one.
        (NginxServer::Tls12Rsa, "TLSv1.2", 2 * CONNECTIONS, 0),
        // It sends tickets that it does not take.
        (NginxServer::Tls13, "TLSv1.3", 1, 2 * CONNECTIONS - 1),
    ];
    for (server, protocol, none_at_hand, refused) in cases {
        let more = RECORDED.replace(" }", ", loop = 2 }");
        let log = resumed_log(CONNECTIONS, 50, protocol);
        let one_try = || {
            let finished = run(&nginx.url(server, "/"), &pki, &log, 2, &more);
            let made = handshakes(finished.clean());
            assert_eq!(made.planned_resumed, 2 * CONNECTIONS, "{finished}");
            assert_eq!(made.full, made.none_at_hand + made.refused, "{finished}");
            assert_eq!(made.full + made.resumed, 2 * CONNECTIONS, "{finished}");
            assert!(
                finished.stdout.contains("asked to resume, made full"),
                "{finished}"
            );
            // If the first handshake takes until the next connection is due, that has no session.
            let failed = (made.none_at_hand, made.refused);
            ensure(failed == (none_at_hand, refused), || finished.to_string())
        };
        must_hold_in(TRIES, one_try);
    }
}

#[test]
fn early_data_goes_with_the_connections_that_resumed_in_the_log() {
    must_hold_in(TRIES, resume_with_early_data);
}

fn resume_with_early_data() -> Tried {
    const CONNECTIONS: u64 = 20;
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return Ok(());
    };
    let url = nginx.url(NginxServer::EarlyData, "/");
    let log = resumed_log(CONNECTIONS, 50, "TLSv1.3");
    let more = format!("{RECORDED}tls.early_data = true\n");
    let finished = run(&url, &pki, &log, 1, &more);
    let made = handshakes(finished.clean());
    // The answer to early data comes before the ticket, and ends the connection here: sessions come
    // from full handshakes only.
    assert_eq!(
        (made.full, made.refused),
        (made.none_at_hand, 0),
        "{finished}"
    );
    assert_eq!(made.full + made.resumed, CONNECTIONS, "{finished}");
    // A client that stands still makes many at once, before there is a session.
    ensure(made.resumed >= CONNECTIONS / 2, || finished.to_string())?;
    let seen = nginx.wait_for_requests(CONNECTIONS as usize);
    let accepted = finished.document().measured.early_data.accepted;
    assert_eq!(accepted, made.resumed, "{finished}");
    let early = seen.iter().filter(|request| request.is_early).count();
    assert_seen(early as u64, accepted);
    Ok(())
}

#[test]
fn handshakes_of_an_agent_that_is_killed_are_made_by_others() {
    const CONNECTIONS: u64 = 800;
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = folder.path().join("replay.jsonl");
    std::fs::write(&file, log(CONNECTIONS, 25)).unwrap();
    let plan = format!(
        "name = \"interop\"\ntarget.url = {:?}\n\
         fleet = {{ lost = \"redistribute\", lease = \"5s\", max_skew = \"1s\" }}\n{}",
        nginx.url(NginxServer::AnyTlsTickets, "/"),
        RECORDED.replace("\"replay.jsonl\"", &format!("{file:?}"))
    );
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let invited = Invited::start(3, listen, state.path(), &plan);
    let agents: Vec<_> = (0..3)
        .map(|n| invited.agent(&format!("agent-{n}")))
        .collect();
    wait_until("300 requests", || {
        (nginx.requests().len() >= 300).then_some(())
    });
    agents[1].signal(Signal::KILL);
    let finished = invited.coordinator.wait();
    let seen = by_connection(&nginx.requests());
    let mut made_full = 0;
    for (number, made) in &seen {
        let planned = handshake(*number);
        for one in made {
            assert_eq!(one.server_name, planned.server_name, "{number}");
            assert_eq!(one.protocol, planned.protocol, "{number}");
            assert!(planned.resumed || !one.resumed, "{number}\n{finished}");
            made_full += usize::from(planned.resumed && !one.resumed);
        }
    }
    // The sessions of an eighth of all connections each, in lineages of a third.
    assert!((1..=100).contains(&made_full), "{made_full}\n{finished}");
    let late = (CONNECTIONS * 3 / 4..CONNECTIONS).filter(|number| !seen.contains_key(number));
    assert_eq!(late.count(), 0, "{finished}");
}

#[test]
#[ignore = "takes a minute on a quiet machine"]
fn ten_minutes_in_one_are_sent_within_a_millisecond() {
    const CONNECTIONS: u64 = 50_000;
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let lines = requests(CONNECTIONS);
    assert!((99_990..=100_000).contains(&lines), "{lines}");
    let url = nginx.url(NginxServer::AnyTlsTickets, "/");
    let fast = RECORDED.replace(" }", ", speed = 10 }");
    let finished = run(&url, &pki, &log(CONNECTIONS, 12), 1, &fast);
    let seen = by_connection(&nginx.wait_for_requests(lines));
    assert_same(&seen, &expected(CONNECTIONS, 1), &finished);
    let document = finished.document();
    let p99 = document.measured.times["lateness"].percentile(99.0);
    let p99_ns = p99.expect("lateness").value_ns;
    println!("late by {p99_ns} ns (p99)");
    // Without optimisation two CPUs are full.
    assert!(cfg!(debug_assertions) || p99_ns <= 1_000_000, "{finished}");
}
