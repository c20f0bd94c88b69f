//! Streamed answers: their events are those that the servers sent.

use crate::{REQUESTS, USERS, run};
use analysis::{Document, StreamFigures};
use interop::{CoordinatorCommand, GoOptions, GoServer, Pki, PythonServer, plan};
use std::net::{IpAddr, Ipv4Addr};

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

/// The URL of answers with so many events.
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
    let load = format!("load = {{ connections = {USERS}, requests = {REQUESTS} }}\n");
    let text = plan(&url(&server, EVENTS, ""), &pki, &format!("{load}{stream}"));
    let finished = CoordinatorCommand::local(2, &text).run().expect(1);
    let document = finished.clean().document();
    // `[DONE]` is an event like any other then.
    let events = (EVENTS + 1) * REQUESTS;
    assert_eq!(counts(&document), [events, 0, 0, REQUESTS, 0]);
    let errors = &document.measured.errors;
    assert_eq!(errors.len(), 1);
    let (name, count) = (errors[0].name.as_str(), errors[0].count);
    assert_eq!((name, count), ("http.no_end_marker", REQUESTS));
}

#[test]
fn time_out_before_the_first_event_is_a_lower_bound_of_it() {
    let pki = Pki::new();
    let Some(server) = go(&pki, true) else {
        return;
    };
    let url = server.url("/events?n=2&gap=1h");
    let sections = format!(
        "load = {{ rate = \"20/s\", duration = \"1s\" }}\n\
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
        "load = {{ rate = \"100/s\", duration = \"1s\" }}\ndata.lines.file = {rows_file:?}\n\
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
