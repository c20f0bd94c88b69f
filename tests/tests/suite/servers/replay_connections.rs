//! Replays that repeat the connections of a log: nginx's log of the replay has the same
//! connections, with the same requests in the same order.

use interop::{
    CoordinatorCommand, Finished, Invited, Nginx, NginxOptions, NginxRequest, NginxServer, Pki,
    Signal, plan, wait_until,
};
use serde_json::json;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

/// A log of `connections`, which begin `gap_ms` apart and have requests 40 ms apart: from one to
/// nineteen. Paths say connection and place.
fn log(connections: u64, gap_ms: u64) -> (String, u64) {
    let mut lines = BTreeMap::new();
    for connection in 0..connections {
        for nth in 0..requests_of(connection) {
            let at_ms = connection * gap_ms + nth * 40;
            let line = json!({
                "at": at_ms as f64 / 1e3,
                "method": "GET",
                "path": format!("/204?c={connection}&n={nth}"),
                "connection": format!("c{connection}"),
                "status": 204,
            });
            lines.insert((at_ms, connection), line);
        }
    }
    let text = lines.values().map(|line| format!("{line}\n")).collect();
    (text, lines.len() as u64)
}

fn requests_of(connection: u64) -> u64 {
    1 + connection * 7 % 19
}

/// The paths that each connection to nginx carried, as nginx logged them.
fn by_connection(seen: &[NginxRequest]) -> Vec<Vec<String>> {
    let mut connections: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for request in seen {
        let paths = connections.entry(request.connection).or_default();
        paths.push(request.path.clone());
        assert!(request.alpn == "h2" || request.nth == paths.len() as u64);
    }
    let mut paths: Vec<_> = connections.into_values().collect();
    paths.sort();
    paths
}

/// The paths of each connection of [`log`], as often as it is sent.
fn expected(connections: u64, turns: u64) -> Vec<Vec<String>> {
    let path = |connection: u64, nth: u64| format!("/204?c={connection}&n={nth}");
    let of_turn = || {
        (0..connections).map(|connection| {
            let nths = 0..requests_of(connection);
            nths.map(|nth| path(connection, nth)).collect::<Vec<_>>()
        })
    };
    let mut paths: Vec<_> = (0..turns).flat_map(|_| of_turn()).collect();
    paths.sort();
    paths
}

/// Replays `log` with this many local agents and `more` of a plan.
pub(crate) fn run(url: &str, pki: &Pki, log: &str, agents: u32, more: &str) -> Finished {
    let plan = plan(url, pki, more);
    let command = CoordinatorCommand::local(agents, &plan).file("replay.jsonl", log.as_bytes());
    command.run().expect(0)
}

#[test]
fn each_connection_of_a_log_is_repeated_with_any_number_of_agents() {
    const CONNECTIONS: u64 = 100;
    let pki = Pki::new();
    let cases = [
        (NginxServer::Plain, 1, 2, ""),
        (NginxServer::Plain, 4, 1, ""),
        (NginxServer::Tls13, 2, 1, ""),
        (
            NginxServer::Http2,
            2,
            1,
            "connection = { http = \"2\", streams = 3 }\n",
        ),
    ];
    for (server, agents, turns, more) in cases {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let (log, requests) = log(CONNECTIONS, 10);
        let more = format!(
            "replay = {{ file = \"replay.jsonl\", connections = \"recorded\", loop = {turns} }}\n\
             load.max_connections = 200\n{more}"
        );
        let finished = run(&nginx.url(server, "/"), &pki, &log, agents, &more);
        let document = finished.clean().document();
        let mut seen = by_connection(&nginx.wait_for_requests((requests * turns) as usize));
        if server == NginxServer::Http2 {
            // Requests of one connection may be under way at once.
            seen.iter_mut().for_each(|paths| paths.sort());
            let mut expected = expected(CONNECTIONS, turns);
            expected.iter_mut().for_each(|paths| paths.sort());
            expected.sort();
            seen.sort();
            assert_eq!(seen, expected, "{finished}");
        } else {
            assert_eq!(seen, expected(CONNECTIONS, turns), "{finished}");
        }
        let replay = document.replay.as_ref().expect("what was replayed");
        let connections = CONNECTIONS * turns;
        assert_eq!(replay.planned_connections, Some(connections), "{finished}");
        assert_eq!(replay.opened_connections, connections, "{finished}");
        assert_eq!(replay.sent, requests * turns, "{finished}");
        assert_eq!(
            document.measured.operations.ok,
            requests * turns,
            "{finished}"
        );
    }
}

#[test]
fn replay_of_a_replays_own_log_has_the_same_connections() {
    const CONNECTIONS: u64 = 1000;
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let url = nginx.url(NginxServer::Plain, "/");
    let (first, requests) = log(CONNECTIONS, 10);
    assert!(requests > 9_900, "{requests}");
    let more = "replay = { file = \"replay.jsonl\", connections = \"recorded\", speed = 2 }\n\
                load.max_connections = 400\n";
    let first = run(&url, &pki, &first, 2, more);
    let seen = nginx.wait_for_requests(requests as usize);
    let expected = expected(CONNECTIONS, 1);
    assert_eq!(by_connection(&seen), expected, "{first}");
    let path = nginx.access_log();
    let arguments = [
        "import",
        "--strict",
        "--log-format",
        Nginx::log_format(),
        path.to_str().unwrap(),
    ];
    let second = CoordinatorCommand::new(&arguments).run().expect(0).stdout;
    let finished = run(
        &url,
        &pki,
        &second,
        1,
        &more.replace("speed = 2", "speed = 1"),
    );
    let seen = nginx.wait_for_requests(2 * requests as usize);
    let repeated = by_connection(&seen[requests as usize..]);
    assert_eq!(repeated, expected, "{finished}");
}

#[test]
fn connection_that_the_server_closes_is_opened_again() {
    const REQUESTS: u64 = 25;
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let line = |nr: u64| {
        let at = nr as f64 / 100.0;
        format!("{{\"at\":{at},\"method\":\"GET\",\"path\":\"/?n={nr}\",\"connection\":\"a\"}}\n")
    };
    let log: String = (0..REQUESTS).map(line).collect();
    // It closes after ten requests.
    let url = nginx.url(NginxServer::KeepAliveLimited, "/");
    let more = "replay = { file = \"replay.jsonl\", connections = \"recorded\" }\n";
    let finished = run(&url, &pki, &log, 2, more);
    let document = finished.clean().document();
    assert_eq!(document.measured.operations.ok, REQUESTS, "{finished}");
    let lengths: Vec<usize> = by_connection(&nginx.wait_for_requests(REQUESTS as usize))
        .iter()
        .map(Vec::len)
        .collect();
    assert_eq!(lengths.iter().sum::<usize>(), REQUESTS as usize);
    assert_eq!(lengths.len(), 3, "{lengths:?}");
    let replay = document.replay.expect("what was replayed");
    assert_eq!(replay.planned_connections, Some(1));
    assert_eq!(replay.opened_connections, 3);
}

#[test]
fn connections_beyond_the_plans_wait_whole_for_their_turn() {
    const CONNECTIONS: u64 = 30;
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let (log, requests) = log(CONNECTIONS, 1);
    let more = "replay = { file = \"replay.jsonl\", connections = \"recorded\", speed = 10 }\n\
                load.max_connections = 2\n";
    let finished = run(&nginx.url(NginxServer::Plain, "/"), &pki, &log, 1, more);
    let document = finished.clean().document();
    let seen = by_connection(&nginx.wait_for_requests(requests as usize));
    assert_eq!(seen, expected(CONNECTIONS, 1), "{finished}");
    assert_eq!(document.measured.operations.ok, requests, "{finished}");
    assert!(
        finished.stderr.contains("makes connections wait"),
        "{finished}"
    );
}

#[test]
fn connections_of_an_agent_that_is_killed_are_continued_by_others() {
    const CONNECTIONS: u64 = 400;
    let Some(nginx) = Nginx::start(&Pki::new(), &NginxOptions::default()) else {
        return;
    };
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = folder.path().join("replay.jsonl");
    std::fs::write(&file, log(CONNECTIONS, 45).0).unwrap();
    let plan = format!(
        "name = \"interop\"\ntarget.url = {:?}\n\
         replay = {{ file = {file:?}, connections = \"recorded\" }}\n\
         load.max_connections = 60\n\
         fleet = {{ lost = \"redistribute\", lease = \"5s\", max_skew = \"1s\" }}\n",
        nginx.url(NginxServer::Plain, "/")
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
    let mut parts: BTreeMap<u64, Vec<Vec<u64>>> = BTreeMap::new();
    for paths in &seen {
        let of = |path: &String| {
            let (connection, nth) = path["/204?c=".len()..].split_once("&n=").unwrap();
            (connection.parse().unwrap(), nth.parse().unwrap())
        };
        let requests: Vec<(u64, u64)> = paths.iter().map(of).collect();
        assert!(
            requests
                .iter()
                .all(|(connection, _)| *connection == requests[0].0)
        );
        let nths = requests.iter().map(|(_, nth)| *nth).collect();
        parts.entry(requests[0].0).or_default().push(nths);
    }
    let is_whole = |connection: u64| {
        let parts = parts.get(&connection).map_or(&[][..], Vec::as_slice);
        matches!(parts, [one] if one.iter().copied().eq(0..requests_of(connection)))
    };
    let broken: Vec<u64> = (0..CONNECTIONS).filter(|&c| !is_whole(c)).collect();
    assert!(
        !broken.is_empty() && broken.len() < 200,
        "{broken:?}\n{finished}"
    );
    for connection in broken {
        // Nothing twice, and nothing out of order.
        let mut parts = parts.remove(&connection).unwrap_or_default();
        parts.sort();
        let all: Vec<u64> = parts.concat();
        assert!(
            parts.len() <= 2 && all.is_sorted_by(|a, b| a < b),
            "{parts:?}"
        );
        // Those that began after the share was taken over are whole.
        assert!(connection < CONNECTIONS * 4 / 5, "{connection}\n{finished}");
    }
}
