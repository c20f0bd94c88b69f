//! Streamed answers: their events are those that the servers sent.

use crate::servers::data_losses::resume;
use crate::servers::{REQUESTS, USERS, run};
use analysis::{Document, StreamFigures};
use interop::{
    Agent, CoordinatorCommand, GoOptions, GoServer, Invited, Pki, PythonServer, Signal, plan,
    wait_until,
};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

const EVENTS: u64 = 5;
/// Between two events.
const GAP_MS: u64 = 10;

fn go(pki: &Pki, http2: bool) -> Option<GoServer> {
    let options = GoOptions {
        http2,
        ..GoOptions::default()
    };
    GoServer::start(pki, options)
}

/// The URL of answers with `events` events.
fn url(server: &GoServer, events: u64, more: &str) -> String {
    server.url(&format!("/events?n={events}&gap={GAP_MS}ms{more}"))
}

fn stream(more: &str) -> String {
    format!("[request.stream]\nevents = \"sse\"\n{more}\n")
}

/// Counts of streamed answers, without the rate.
fn counts(document: &Document) -> [u64; 5] {
    let StreamFigures {
        events,
        whole,
        cut,
        unmarked,
        empty,
        ..
    } = document.measured.streams;
    [events, whole, cut, unmarked, empty]
}

fn count_of(document: &Document, time: &str) -> u64 {
    let figure = document.measured.times.get(time);
    figure.map_or(0, |figure| figure.count)
}

#[test]
fn events_are_those_that_go_sent() {
    let pki = Pki::new();
    let cases = [
        (false, "", ""),
        (false, "&gzip", "connection.requests = 1\n"),
        (true, "", "connection = { http = \"2\", streams = 3 }\n"),
        (true, "&gzip", "connection = { http = \"2\" }\n"),
    ];
    for (http2, coding, connection) in cases {
        let Some(server) = go(&pki, http2) else {
            return;
        };
        let stream = stream("end = \"[DONE]\"");
        let thresholds = "[thresholds]\n\"events.count\" = \">= 300\"\n\
                          \"first_event.p50\" = \">= 10ms\"\n\"event_gap.max\" = \"< 10s\"\n";
        let url = url(&server, EVENTS, coding);
        let sections = format!("{connection}{stream}{thresholds}");
        let document = run(&plan(&url, &pki, &sections));
        let seen = server.counts();
        assert_eq!((seen.requests, seen.left), (REQUESTS, 0));
        let wanted = [seen.events, REQUESTS, 0, 0, 0];
        assert_eq!(counts(&document), wanted, "{sections}");
        assert_eq!(seen.events, EVENTS * REQUESTS);
        assert_eq!(count_of(&document, "first_event"), REQUESTS);
        assert_eq!(count_of(&document, "first_event_service"), REQUESTS);
        assert_eq!(count_of(&document, "event_gap"), REQUESTS * (EVENTS - 1));
        let times = &document.measured.times;
        // A read may have two events, so that one gap is longer and the next one shorter.
        let mean_ms = times["event_gap"].mean_ns / 1e6;
        assert!(mean_ms >= 0.8 * GAP_MS as f64, "{mean_ms} ms");
        let (first, whole) = (&times["first_event_service"], &times["service_time"]);
        assert!(first.min_ns >= GAP_MS * 1_000_000, "{first:?}");
        assert!(first.mean_ns + mean_ms * 4e6 <= whole.mean_ns + 1.0);
        assert!(document.measured.streams.events_per_second > 0.0);
        if connection.is_empty() {
            assert_eq!(
                seen.connections, USERS,
                "a whole stream leaves its connection"
            );
        }
    }
}

#[test]
fn answers_are_cut_after_enough_events() {
    let pki = Pki::new();
    for http2 in [false, true] {
        let Some(server) = go(&pki, http2) else {
            return;
        };
        let connection = match http2 {
            true => "connection = { http = \"2\", streams = 2 }\n",
            false => "",
        };
        let stream = stream("end = \"[DONE]\"\ncut_after = 3");
        let sections = format!("{connection}{stream}");
        let document = run(&plan(&url(&server, 1000, ""), &pki, &sections));
        assert_eq!(counts(&document), [3 * REQUESTS, 0, REQUESTS, 0, 0]);
        assert_eq!(document.measured.operations.ok, REQUESTS);
        let seen = server.counts();
        assert_eq!(seen.requests, REQUESTS);
        assert!(seen.events >= 3 * REQUESTS, "{seen:?}");
        let opened = if http2 { USERS } else { REQUESTS };
        assert_eq!(document.measured.connections.opened, opened, "{http2}");
    }
}

#[test]
fn answer_without_its_end_marker_fails_and_its_events_count() {
    let pki = Pki::new();
    let Some(server) = go(&pki, false) else {
        return;
    };
    let stream = stream("end = \"[FIN]\"");
    let document = run_to(1, &url(&server, EVENTS, ""), &pki, &stream);
    // `[DONE]` is an event like any other then.
    let events = (EVENTS + 1) * REQUESTS;
    assert_eq!(counts(&document), [events, 0, 0, REQUESTS, 0]);
    assert_eq!(errors(&document), [("http.no_end_marker", REQUESTS)]);
}

/// Runs a closed loop that must end with this code, with two agents.
fn run_to(code: i32, url: &str, pki: &Pki, sections: &str) -> Document {
    let load = format!("load = {{ connections = {USERS}, requests = {REQUESTS} }}\n");
    let text = plan(url, pki, &format!("{load}{sections}"));
    let finished = CoordinatorCommand::local(2, &text).run().expect(code);
    finished.whole_document(2)
}

/// The names of errors, each with its count.
fn errors(document: &Document) -> Vec<(&str, u64)> {
    let errors = document.measured.errors.iter();
    errors.map(|error| (&*error.name, error.count)).collect()
}

#[test]
fn stream_at_the_end_of_a_redirect_is_read() {
    let pki = Pki::new();
    let cases = [
        (false, "connection.requests = \"unlimited\"\n"),
        (false, "connection.requests = 1\n"),
        (true, "connection = { http = \"2\", streams = 2 }\n"),
        (
            true,
            "connection = { http = \"2\", streams = 3, requests = 3 }\n",
        ),
    ];
    for (http2, connection) in cases {
        let Some(server) = go(&pki, http2) else {
            return;
        };
        let url = server.url(&format!("/elsewhere?n={EVENTS}&gap={GAP_MS}ms"));
        let stream = stream("end = \"[DONE]\"");
        let sections = format!("{connection}request.redirects = 1\n{stream}");
        let document = run(&plan(&url, &pki, &sections));
        let seen = server.counts();
        assert_eq!((seen.requests, seen.left), (2 * REQUESTS, 0), "{sections}");
        let wanted = [EVENTS * REQUESTS, REQUESTS, 0, 0, 0];
        assert_eq!(counts(&document), wanted, "{sections}");
        let followed = document.redirects.iter().map(|each| each.followed);
        assert_eq!(followed.sum::<u64>(), REQUESTS, "{sections}");
        assert_eq!(count_of(&document, "first_event"), REQUESTS, "{sections}");
        assert_eq!(document.measured.connections.opened, seen.connections);
    }
}

#[test]
fn checks_judge_a_stream_whose_events_count() {
    let pki = Pki::new();
    let last = EVENTS - 1;
    let last = format!("contains = '\"nth\": {last}}}'");
    let cases = [
        (0, &*last, None, REQUESTS),
        (1, "contains = \"absent\"", Some("http.check.1"), REQUESTS),
        (
            1,
            "headers = { content-type = \"text/plain\" }",
            Some("http.check.1"),
            REQUESTS,
        ),
        (1, "status = [201]", Some("http.status.200"), REQUESTS),
        (1, "bytes = 7", Some("http.body_length"), REQUESTS),
    ];
    for (code, expect, name, whole) in cases {
        for http2 in [false, true] {
            let Some(server) = go(&pki, http2) else {
                return;
            };
            let http = if http2 { "2" } else { "1.1" };
            let connection = format!("connection.http = \"{http}\"\n");
            let stream = stream("end = \"[DONE]\"");
            let sections = format!("{connection}[request.expect]\n{expect}\n{stream}");
            let document = run_to(code, &url(&server, EVENTS, ""), &pki, &sections);
            assert_eq!(server.counts().requests, REQUESTS);
            let wanted = [EVENTS * REQUESTS, whole, 0, 0, 0];
            assert_eq!(counts(&document), wanted, "{sections}");
            let wanted = name.map(|name| (name, REQUESTS));
            assert_eq!(errors(&document), Vec::from_iter(wanted), "{sections}");
        }
    }
}

#[test]
fn events_before_a_time_out_count() {
    let pki = Pki::new();
    for http2 in [false, true] {
        let Some(server) = go(&pki, http2) else {
            return;
        };
        let http = if http2 { "2" } else { "1.1" };
        let sections = format!(
            "connection = {{ http = \"{http}\", timeouts = {{ request = \"1500ms\" }} }}\n\
             load = {{ rate = \"20/s\", requests = 20 }}\n{}",
            stream("end = \"[DONE]\"")
        );
        let text = plan(&url(&server, EVENTS, "&stall"), &pki, &sections);
        let finished = CoordinatorCommand::local(2, &text).run().expect(1);
        let document = finished.document();
        let operations = &document.measured.operations;
        let wanted = (20, 20);
        assert_eq!((operations.ended, operations.timed_out), wanted, "{http}");
        // A busy machine may be late with them, and what came is what counts.
        let [events, ends @ ..] = counts(&document);
        assert_eq!(ends, [0; 4], "{http}");
        let sent = wait_until("clients to be gone", || {
            let seen = server.counts();
            (seen.left == 20).then_some(seen.events)
        });
        assert!(events <= sent && sent <= 20 * EVENTS, "{events} of {sent}");
        assert!(events > 0, "{http}");
        let first = &document.measured.times["first_event"];
        assert_eq!(first.count, 20, "{first:?}");
        let gaps = count_of(&document, "event_gap");
        assert_eq!(gaps, events - (20 - first.timed_out), "{first:?}");
    }
}

/// What comes of streams that were left must use up no window of their connection.
#[test]
fn streams_that_are_cut_in_a_burst_hold_nothing_up() {
    let pki = Pki::new();
    for connection in [
        "connection = { http = \"2\", streams = 3 }\n",
        "connection.requests = \"unlimited\"\n",
        "connection = { requests = 1, close = \"server\" }\n",
        "connection.requests = 1\ntls.resumption = \"always\"\n",
    ] {
        let Some(server) = go(&pki, connection.contains("http")) else {
            return;
        };
        let url = server.url("/events?n=30000&gap=0s");
        let load = "load = { connections = 4, requests = 400 }\n";
        let sections = format!("{load}{connection}{}", stream("cut_after = 2"));
        let text = plan(&url, &pki, &sections);
        let finished = CoordinatorCommand::local(2, &text).run().expect(0);
        let document = finished.clean().document();
        assert_eq!(counts(&document), [800, 0, 400, 0, 0], "{connection}");
        assert_eq!(document.measured.operations.ok, 400, "{connection}");
        let gaps = document.measured.times["event_gap"].count;
        assert_eq!(gaps, 400, "{connection}");
        let requests = wait_until("streams to be left", || {
            let seen = server.counts();
            (seen.left == seen.requests).then_some(seen.requests)
        });
        assert_eq!(requests, 400, "{connection}");
    }
}

#[test]
fn requests_of_a_connection_hold_with_streams_that_are_cut() {
    let pki = Pki::new();
    let Some(server) = go(&pki, true) else {
        return;
    };
    let connection = "connection = { http = \"2\", streams = 2, requests = 3 }\n";
    let sections = format!("{connection}{}", stream("cut_after = 2"));
    let document = run(&plan(&url(&server, 1000, ""), &pki, &sections));
    assert_eq!(counts(&document), [2 * REQUESTS, 0, REQUESTS, 0, 0]);
    let opened = document.measured.connections.opened;
    assert!(opened >= REQUESTS.div_ceil(3), "{opened}");
    wait_until("streams to be left", || {
        (server.counts().left == REQUESTS).then_some(())
    });
    let seen = server.counts();
    assert_eq!((seen.requests, seen.connections), (REQUESTS, opened));
}

const RATE: u64 = 60;
const SECONDS: u64 = 10;

/// A coordinator with three agents that have been reading streams for a few seconds.
fn streams_under_way(
    server: &GoServer,
    pki: &Pki,
    state: &Path,
    fleet: &str,
) -> (Invited, Vec<Agent>) {
    let sections = format!(
        "connection = {{ http = \"2\", streams = 4 }}\n\
         load = {{ rate = \"{RATE}/s\", max_connections = 12, requests = {} }}\n\
         fleet = {{ {fleet}, max_skew = \"1s\" }}\n{}",
        RATE * SECONDS,
        stream("end = \"[DONE]\"")
    );
    let text = plan(&url(server, EVENTS, ""), pki, &sections);
    let listen = interop::free_address();
    let invited = Invited::start(3, listen, state, &text);
    let agents = (0..3).map(|n| invited.agent(&format!("agent-{n}")));
    let agents = agents.collect();
    wait_until("a few seconds of requests", || {
        (server.counts().requests >= 4 * RATE).then_some(())
    });
    (invited, agents)
}

#[test]
fn run_that_is_gone_on_with_has_every_event() {
    let pki = Pki::new();
    let Some(server) = go(&pki, true) else {
        return;
    };
    let state = tempfile::tempdir().unwrap();
    let (invited, agents) = streams_under_way(&server, &pki, state.path(), "lease = \"30s\"");
    let folder = invited.coordinator.run_folder();
    invited.coordinator.signal(Signal::KILL);
    wait_until("its end", || {
        let is_alone = |agent: &Agent| agent.output().contains("not joined");
        agents.iter().all(is_alone).then_some(())
    });
    let resumed = resume(&folder, &[]);
    let document = report::read(&std::fs::read(folder.join("result.json")).unwrap()).unwrap();
    let matching = document.agents.iter().map(|agent| agent.totals_match);
    assert_eq!(matching.collect::<Vec<_>>(), [Some(true); 3], "{resumed}");
    let (seen, answers) = (server.counts(), RATE * SECONDS);
    assert_eq!((seen.requests, seen.events), (answers, EVENTS * answers));
    let wanted = [EVENTS * answers, answers, 0, 0, 0];
    assert_eq!(counts(&document), wanted, "{resumed}");
}

/// What a killed agent had stored counts; an answer under way then has events and no end.
#[test]
fn events_of_a_lost_agent_are_those_of_its_stored_seconds() {
    let pki = Pki::new();
    let Some(server) = go(&pki, true) else {
        return;
    };
    let state = tempfile::tempdir().unwrap();
    let fleet = "lost = \"continue\", lease = \"5s\"";
    let (invited, agents) = streams_under_way(&server, &pki, state.path(), fleet);
    agents[1].signal(Signal::KILL);
    let finished = invited.coordinator.wait();
    let document = finished.clean().document();
    let seen = server.counts();
    let streams = &document.measured.streams;
    let operations = &document.measured.operations;
    let lost: Vec<_> = document
        .agents
        .iter()
        .filter(|agent| agent.unstored.is_some())
        .collect();
    assert_eq!(lost.len(), 1, "{finished}");
    assert_eq!(
        (streams.whole, streams.cut),
        (operations.ok, 0),
        "{finished}"
    );
    assert!(streams.whole > 2 * RATE, "{finished}");
    let events = EVENTS * streams.whole..=seen.events;
    assert!(events.contains(&streams.events), "{seen:?}\n{finished}");
    let times = &document.measured.times;
    let [first, gaps] = ["first_event", "event_gap"].map(|name| times[name].count);
    assert_eq!(first + gaps, streams.events, "{finished}");
}

#[test]
fn time_out_before_the_first_event_is_a_lower_bound_of_it() {
    let pki = Pki::new();
    let Some(server) = go(&pki, true) else {
        return;
    };
    let url = server.url("/events?n=2&gap=1h");
    let sections = format!(
        "load = {{ rate = \"20/s\", requests = 20 }}\n\
         connection = {{ http = \"2\", streams = 50, timeouts = {{ request = \"500ms\" }} }}\n{}",
        stream("")
    );
    let text = plan(&url, &pki, &sections);
    let finished = CoordinatorCommand::local(2, &text).run().expect(1);
    let document = finished.document();
    let first = &document.measured.times["first_event"];
    let operations = &document.measured.operations;
    assert_eq!((first.count, first.timed_out), (20, 20), "{operations:?}");
    assert!(first.at_least && first.min_ns >= 500_000_000, "{first:?}");
    assert_eq!(counts(&document), [0; 5]);
}

#[test]
fn replayed_requests_are_answered_with_streams() {
    let pki = Pki::new();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("replay.jsonl");
    let line = |number: u64| {
        // Answers to HEAD have no body, so they are no streams.
        let (method, path) = match number % 5 {
            0 => ("HEAD", "/".to_owned()),
            events => ("GET", format!("/events?n={}&gap=2ms", events - 1)),
        };
        let (at, connection) = (number as f64 / 100.0, number % 7);
        format!(
            "{{\"at\": {at}, \"method\": \"{method}\", \"path\": \"{path}\", \
             \"connection\": \"{connection}\", \"status\": 200}}\n"
        )
    };
    let lines: String = (0..100).map(line).collect();
    std::fs::write(&log, lines).unwrap();
    for (http2, connections) in [(false, "pooled"), (false, "recorded"), (true, "pooled")] {
        let Some(server) = go(&pki, http2) else {
            return;
        };
        let http = if http2 { "2" } else { "1.1" };
        let sections = format!(
            "connection.http = \"{http}\"\nload.max_connections = 20\n\
             replay = {{ file = {log:?}, connections = {connections:?} }}\n{}",
            stream("end = \"[DONE]\"")
        );
        let text = plan(&server.url("/"), &pki, &sections);
        let finished = CoordinatorCommand::local(2, &text).run().expect(0);
        let document = finished.clean().document();
        let seen = server.counts();
        assert_eq!((seen.requests, seen.events), (100, 20 * 6), "{sections}");
        assert_eq!(counts(&document), [120, 80, 0, 0, 20], "{sections}");
        assert_eq!(document.measured.operations.ok, 100, "{sections}");
        assert_eq!(count_of(&document, "first_event"), 60, "{sections}");
    }
}

#[test]
fn example_runs_against_its_server() {
    let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let Some(server) = PythonServer::example(ip) else {
        return;
    };
    let example = include_str!("../../../../examples/stream.toml");
    // A busy machine may be late, which is not what is tested.
    let (plan, _) = example.split_once("[thresholds]").unwrap();
    let plan = plan.replace("http://127.0.0.1:8089/", &server.url());
    let plan = plan.replace("duration = \"10s\"", "requests = 100");
    assert!(plan.contains(&server.url()) && plan.contains("requests = 100"));
    let document = CoordinatorCommand::local(2, &plan)
        .run()
        .expect(0)
        .document();
    assert_eq!(counts(&document), [2000, 100, 0, 0, 0]);
    let first = &document.measured.times["first_event_service"];
    assert!(first.min_ns >= 100_000_000, "{first:?}");
    let rows = &document.series.rows;
    let events: u64 = rows.iter().map(|row| row.events).sum();
    assert_eq!(events, 2000);
}

#[test]
fn lines_are_those_that_python_sent() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let Some(server) = PythonServer::streaming(ip, &seen) else {
        return;
    };
    let rows = "7\n1\n0\n12\n";
    let rows_file = folder.path().join("lines.txt");
    std::fs::write(&rows_file, rows).unwrap();
    let sections = format!(
        "load = {{ rate = \"100/s\", requests = 100 }}\ndata.lines.file = {rows_file:?}\n\
         request.path = \"/{{lines.line}}\"\nrequest.stream.events = \"lines\"\n"
    );
    let text = plan(&server.url(), &Pki::new(), &sections);
    let document = CoordinatorCommand::local(2, &text)
        .run()
        .expect(0)
        .document();
    let sent = std::fs::read_to_string(&seen).unwrap();
    let sent: Vec<u64> = sent.lines().map(|line| line.parse().unwrap()).collect();
    let empty = sent.iter().filter(|&&lines| lines == 0).count() as u64;
    let answers = sent.len() as u64;
    let events = sent.iter().sum();
    assert_eq!((answers, empty), (100, 25));
    assert_eq!(counts(&document), [events, answers, 0, 0, empty]);
    assert_eq!(count_of(&document, "first_event"), answers - empty);
    let gaps = events - (answers - empty);
    assert_eq!(count_of(&document, "event_gap"), gaps);
}
