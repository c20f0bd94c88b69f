//! Replays of logs, as nginx logs them: each request once, as it was recorded, however many agents
//! there are, over every protocol.

use analysis::Document;
use interop::{
    CoordinatorCommand, Finished, Invited, Nginx, NginxOptions, NginxRequest, NginxServer, Pki,
    Signal, plan, wait_until,
};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};

const REQUESTS: u64 = 300;
const CONNECTIONS: u64 = 23;

/// Statuses that nginx answers with, by path and method.
const ANSWERS: [(&str, &str, u16); 5] = [
    ("GET", "/", 200),
    ("GET", "/204", 204),
    ("HEAD", "/", 200),
    ("GET", "/500", 500),
    ("POST", "/length", 200),
];

/// A log of `requests`, `gap_ms` apart, whose paths have their numbers.
fn log(requests: u64, gap_ms: u64) -> String {
    let line = |number: u64| {
        let (method, path, status) = ANSWERS[(number % 5) as usize];
        let mut line = json!({
            "at": (number * gap_ms) as f64 / 1e3,
            "method": method,
            "path": format!("{path}?nr={number}"),
            "host": format!("host{}.test", number % 3),
            "headers": { "x-number": number.to_string(), "cookie": "secret=1" },
            "connection": (number * number % CONNECTIONS).to_string(),
            "status": status,
        });
        if method == "POST" {
            // One of them needs more than a window.
            let length = if number == 4 { 200_000 } else { number };
            line["body"] = "b".repeat(length as usize).into();
        }
        format!("{line}\n")
    };
    (0..requests).map(line).collect()
}

fn number_of(request: &NginxRequest) -> u64 {
    request.path.split_once("nr=").unwrap().1.parse().unwrap()
}

/// Checks that each request came once in each turn, and as the log has it.
fn check(seen: &[NginxRequest], requests: u64, turns: u64) {
    let mut times: BTreeMap<u64, u64> = BTreeMap::new();
    for request in seen {
        let number = number_of(request);
        *times.entry(number).or_default() += 1;
        let (method, path, status) = ANSWERS[(number % 5) as usize];
        assert_eq!((request.method.as_str(), request.status), (method, status));
        assert_eq!(request.path, format!("{path}?nr={number}"));
        assert_eq!(request.host, format!("host{}.test", number % 3));
    }
    let expected = (0..requests).map(|number| (number, turns));
    assert!(times.into_iter().eq(expected));
}

fn run(nginx: &Nginx, server: NginxServer, pki: &Pki, agents: u32, more: &str) -> Finished {
    let plan = plan(&nginx.url(server, "/"), pki, more);
    let log = log(REQUESTS, 10);
    let command = CoordinatorCommand::local(agents, &plan).file("replay.jsonl", log.as_bytes());
    command.run().expect(0)
}

fn errors(document: &Document) -> Vec<(String, u64)> {
    let errors = document.measured.errors.iter();
    errors
        .map(|error| (error.name.clone(), error.count))
        .collect()
}

#[test]
fn each_recorded_request_is_sent_once_with_any_number_of_agents() {
    let pki = Pki::new();
    let cases = [
        (NginxServer::Plain, 1, 1, ""),
        (NginxServer::Plain, 4, 2, ""),
        (NginxServer::Plain, 2, 1, "connection.requests = 1\n"),
        (
            NginxServer::Tls13Tickets,
            2,
            1,
            "tls.resumption = \"always\"\n",
        ),
        (NginxServer::Http2, 4, 1, "connection.http = \"2\"\n"),
        (
            NginxServer::Http2,
            1,
            2,
            "connection = { http = \"2\", streams = 3 }\n",
        ),
    ];
    for (server, agents, turns, more) in cases {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let more = format!(
            "replay = {{ file = \"replay.jsonl\", speed = 4, loop = {turns} }}\n\
             load.max_connections = 40\n{more}"
        );
        let finished = run(&nginx, server, &pki, agents, &more);
        let document = finished.clean().document();
        let seen = nginx.wait_for_requests((REQUESTS * turns) as usize);
        check(&seen, REQUESTS, turns);
        assert_eq!(
            document.measured.operations.ok,
            REQUESTS * turns,
            "{finished}"
        );
        assert_eq!(document.by_request.len(), 3, "GET, HEAD, POST: {finished}");
        let is_of = |seen: &&NginxRequest, method: &str| seen.method == method;
        for group in &document.by_request {
            let seen = seen.iter().filter(|seen| is_of(seen, &group.name)).count();
            assert_eq!(group.figures.operations.ended, seen as u64, "{finished}");
        }
        let replay = document.replay.as_ref().expect("what was replayed");
        let sent = (replay.sent, replay.not_sent, replay.other_status);
        assert_eq!(sent, (REQUESTS * turns, 0, 0), "{finished}");
        // 3 s of the log, and a gap, at four times its speed.
        let length_ns = turns * 750_000_000;
        let took_ns = document.run.duration_ns;
        assert!(
            (length_ns - 20_000_000..length_ns + 2_000_000_000).contains(&took_ns),
            "{took_ns}"
        );
        assert!(!finished.stdout.contains("secret=1"), "{finished}");
    }
}

#[test]
fn part_of_a_log_is_sent_with_the_fields_of_the_plan() {
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let more = "load.seed = 2\n[replay]\nfile = \"replay.jsonl\"\nfrom = \"1s\"\nto = \"2s\"\n\
                [request]\nheaders = { host = \"other.test\", X-Number = \"{seq}\" }\n";
    let finished = run(&nginx, NginxServer::Plain, &pki, 2, more);
    let document = finished.clean().document();
    assert_eq!(document.measured.operations.ok, 100, "{finished}");
    let seen = nginx.wait_for_requests(100);
    assert!(seen.iter().all(|request| request.host == "other.test"));
    let mut numbers: Vec<u64> = seen.iter().map(number_of).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(100..200));
}

#[test]
fn answers_with_another_status_than_the_logs_fail() {
    let pki = Pki::new();
    for (status, expected) in [
        ("recorded", vec![("http.not_as_recorded.404".to_owned(), 2)]),
        (
            "expected",
            vec![
                ("http.status.500".to_owned(), 1),
                ("http.status.404".to_owned(), 2),
            ],
        ),
        ("any", vec![]),
    ] {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let log = "{\"at\":0,\"method\":\"GET\",\"path\":\"/500\",\"status\":500}\n\
                   {\"at\":0.1,\"method\":\"GET\",\"path\":\"/none\",\"status\":200}\n\
                   {\"at\":0.2,\"method\":\"GET\",\"path\":\"/\"}\n\
                   {\"at\":0.3,\"method\":\"GET\",\"path\":\"/none\",\"status\":403}\n";
        let more = format!("replay = {{ file = \"r.jsonl\", status = {status:?} }}\n");
        let plan = plan(&nginx.url(NginxServer::Plain, "/"), &pki, &more);
        let command = CoordinatorCommand::local(2, &plan).file("r.jsonl", log.as_bytes());
        let finished = command.run();
        let mut expected = expected;
        let document = finished.document();
        let mut found = errors(&document);
        let other = document.replay.map(|replay| replay.other_status);
        assert_eq!(
            other,
            Some(if status == "recorded" { 2 } else { 0 }),
            "{finished}"
        );
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{status}: {finished}");
        assert_eq!(nginx.wait_for_requests(4).len(), 4);
    }
}

#[test]
fn agent_that_is_killed_in_a_replay_has_its_requests_sent_by_others() {
    const SECONDS: u64 = 18;
    let Some(nginx) = Nginx::start(&Pki::new(), &NginxOptions::default()) else {
        return;
    };
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = folder.path().join("replay.jsonl");
    let requests = SECONDS * 50;
    std::fs::write(&file, log(requests, 20)).unwrap();
    let url = nginx.url(NginxServer::Plain, "/");
    let plan = format!(
        "name = \"interop\"\ntarget.url = {url:?}\nreplay.file = {file:?}\n\
         load.max_connections = 30\n\
         fleet = {{ lost = \"redistribute\", lease = \"5s\", max_skew = \"1s\" }}\n"
    );
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let invited = Invited::start(3, listen, state.path(), &plan);
    let agents: Vec<_> = (0..3)
        .map(|n| invited.agent(&format!("agent-{n}")))
        .collect();
    wait_until("100 requests", || {
        (nginx.requests().len() >= 100).then_some(())
    });
    agents[1].signal(Signal::KILL);
    let ended = invited.coordinator.wait();
    let finished = ended.clean();
    let mut times: BTreeMap<u64, u64> = BTreeMap::new();
    for request in nginx.requests() {
        *times.entry(number_of(&request)).or_default() += 1;
    }
    assert!(times.values().all(|&times| times == 1), "{finished}");
    let missing: Vec<u64> = (0..requests).filter(|nr| !times.contains_key(nr)).collect();
    // Only until its part is taken over, and only what it had: a third of the connections.
    let late = missing.iter().filter(|&&nr| nr > requests * 3 / 4).count();
    assert!(late == 0 && !missing.is_empty(), "{missing:?}\n{finished}");
    let connections = |numbers: &[u64]| -> BTreeSet<u64> {
        numbers.iter().map(|nr| nr * nr % CONNECTIONS).collect()
    };
    let all = connections(&(0..requests).collect::<Vec<_>>()).len();
    let missed = connections(&missing);
    assert!(missed.len() <= all.div_ceil(3), "{missed:?} of {all}");
}
