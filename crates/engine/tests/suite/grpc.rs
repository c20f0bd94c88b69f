//! gRPC calls against hand-written servers: right answers, every status, and broken ones.

use crate::http2_servers::{GO_AWAY, SETTINGS, answer, frame, serving};
use crate::support::{Outcome, parse, run};
use measure::{GrpcStatus, StreamCounts};
use std::collections::BTreeMap;
use std::net::SocketAddr;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Answers stream after stream with these in turn, each a list of frames for a stream.
fn answering(answers: Vec<Vec<u8>>) -> SocketAddr {
    serving(frame(SETTINGS, 0, 0, &[]), move |_, stream, _| {
        let nth = (stream as usize - 1) / 2 % answers.len();
        on_stream(&answers[nth], stream)
    })
}

/// Frames that were made for stream 0, for another.
fn on_stream(frames: &[u8], stream: u32) -> Vec<u8> {
    let (mut all, mut at) = (frames.to_vec(), 0);
    while at < all.len() {
        let length = u32::from_be_bytes([0, all[at], all[at + 1], all[at + 2]]) as usize;
        all[at + 5..at + 9].copy_from_slice(&stream.to_be_bytes());
        at += 9 + length;
    }
    all
}

/// A block of fields that are not indexed.
fn fields(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.extend([0, name.len() as u8]);
        block.extend(name.as_bytes());
        block.push(value.len() as u8);
        block.extend(value.as_bytes());
    }
    block
}

const GRPC: (&str, &str) = ("content-type", "application/grpc");

fn head(more: &[(&str, &str)], flags: u8) -> Vec<u8> {
    let block = [&[0x88], &fields(&[&[GRPC], more].concat())[..]].concat();
    frame(HEADERS, flags | END_HEADERS, 0, &block)
}

fn body(bytes: &[u8]) -> Vec<u8> {
    frame(DATA, 0, 0, bytes)
}

fn trailers(status: &str) -> Vec<u8> {
    let block = fields(&[("grpc-status", status), ("grpc-message", "why%21")]);
    frame(HEADERS, END_STREAM | END_HEADERS, 0, &block)
}

/// An answer without a body: all its fields stand in one head.
fn trailers_only(status: &str) -> Vec<u8> {
    head(&[("grpc-status", status)], END_STREAM)
}

const MESSAGE: &[u8] = b"\0\0\0\0\x02hi";

fn right() -> Vec<u8> {
    [head(&[], 0), body(MESSAGE), trailers("0")].concat()
}

fn calling(address: SocketAddr, sections: &str) -> Outcome {
    run(parse(
        &format!(
            "name = \"t\"\ntarget.url = \"http://{address}/\"\n{sections}\n\
             request.grpc = {{ method = \"a.B/C\", encoded = [\"CgJoaQ==\"] }}\n"
        ),
        None,
    ))
}

/// Calls once for each of the answers, one after the other.
fn called(answers: Vec<Vec<u8>>, expect: &str) -> Outcome {
    let sections = format!(
        "connection.http = \"2\"\nload = {{ connections = 1, requests = {} }}\n{expect}",
        answers.len()
    );
    calling(answering(answers), &sections)
}

fn failures(outcome: &Outcome) -> BTreeMap<String, u64> {
    let failures = outcome.measured().failures;
    failures
        .iter()
        .map(|(failure, number)| (failure.to_string(), *number))
        .collect()
}

fn statuses(outcome: &Outcome) -> Vec<(GrpcStatus, u64)> {
    let tally = outcome.sum.grpc.iter();
    tally.map(|(_, status, number)| (status, number)).collect()
}

#[test]
fn every_status_is_a_failure_of_its_own() {
    for answer in [trailers_only, |status: &str| {
        [head(&[], 0), trailers(status)].concat()
    }] {
        let answers = GrpcStatus::all()
            .skip(1)
            .map(|status| answer(&status.code().to_string()));
        let outcome = called(answers.chain([right()]).collect(), "");
        let expected: BTreeMap<String, u64> = GrpcStatus::all()
            .skip(1)
            .map(|status| (format!("grpc.{}", status.name()), 1))
            .collect();
        assert_eq!(failures(&outcome), expected);
        assert_eq!(outcome.measured().ok, 1);
        let each: Vec<_> = GrpcStatus::all().map(|status| (status, 1)).collect();
        assert_eq!(statuses(&outcome), each);
        assert_eq!(outcome.measured().connections.opened, 1);
    }
}

#[test]
fn expected_statuses_are_ok_and_counted() {
    let expect = "request.expect.grpc_status = [\"not_found\", \"ok\"]";
    let answers = vec![trailers_only("5"), right(), trailers_only("14")];
    let outcome = called(answers, expect);
    assert_eq!(outcome.measured().ok, 2);
    assert_eq!(
        failures(&outcome),
        BTreeMap::from([("grpc.unavailable".to_owned(), 1)])
    );
    let expected = [
        GrpcStatus::Ok,
        GrpcStatus::NotFound,
        GrpcStatus::Unavailable,
    ];
    assert_eq!(statuses(&outcome), expected.map(|status| (status, 1)));
}

#[test]
fn broken_answers_have_names_and_cost_no_connection() {
    let message = |bytes: &[u8]| [head(&[], 0), body(bytes), trailers("0")].concat();
    let last = |bytes: &[u8]| frame(DATA, END_STREAM, 0, bytes);
    let html = frame(
        HEADERS,
        END_HEADERS,
        0,
        &[&[0x88], &fields(&[("content-type", "text/html")])[..]].concat(),
    );
    let unavailable = frame(
        HEADERS,
        END_HEADERS | END_STREAM,
        0,
        &[&[0x48, 3], &b"503"[..]].concat(),
    );
    let cases = [
        ([head(&[], 0), last(MESSAGE)].concat(), "grpc.no_status"),
        (head(&[], END_STREAM), "grpc.no_status"),
        // Only the last fields have the status.
        (
            [head(&[("grpc-status", "0")], 0), last(MESSAGE)].concat(),
            "grpc.no_status",
        ),
        (
            [head(&[], 0), body(MESSAGE), trailers("zero")].concat(),
            "grpc.bad_status",
        ),
        (trailers_only("0"), "grpc.no_message"),
        (message(&[MESSAGE, MESSAGE].concat()), "grpc.many_messages"),
        (message(b"\0\0\0"), "grpc.bad_message"),
        (message(b"\0\0\0\0\x05hi"), "grpc.bad_message"),
        (message(b"\0\xff\xff\xff\xffhi"), "grpc.bad_message"),
        (message(b"\x01\0\0\0\x02hi"), "grpc.bad_message"),
        (message(b"\x07\0\0\0\x02hi"), "grpc.bad_message"),
        ([html, last(b"<p>")].concat(), "grpc.content_type"),
        (unavailable, "http.status.503"),
        (
            frame(RST_STREAM, 0, 0, &[0, 0, 0, 8]),
            "http.stream_reset.cancel",
        ),
        (
            [
                head(&[], 0),
                body(MESSAGE),
                frame(RST_STREAM, 0, 0, &[0, 0, 0, 2]),
            ]
            .concat(),
            "http.stream_reset.internal_error",
        ),
    ];
    let mut expected = BTreeMap::new();
    for (_, name) in &cases {
        *expected.entry((*name).to_owned()).or_default() += 1;
    }
    let answers: Vec<_> = cases.into_iter().map(|(answer, _)| answer).collect();
    let outcome = called([answers, vec![right()]].concat(), "");
    assert_eq!(failures(&outcome), expected);
    let counters = outcome.measured();
    assert_eq!((counters.ok, counters.connections.opened), (1, 1));
}

#[test]
fn message_in_many_frames_and_compressed_is_one() {
    let bytes: Vec<u8> = MESSAGE.iter().flat_map(|&byte| body(&[byte])).collect();
    let gzip = head(&[("grpc-encoding", "gzip")], 0);
    let answers = vec![
        [head(&[], 0), bytes, trailers("0")].concat(),
        [gzip, body(b"\x01\0\0\0\x02hi"), trailers("0")].concat(),
        [head(&[], 0), body(b"\0\0\0\0\0"), trailers("0")].concat(),
    ];
    let outcome = called(answers, "");
    assert_eq!(
        (outcome.measured().ok, failures(&outcome)),
        (3, BTreeMap::new())
    );
}

/// The bytes of `number` messages.
fn messages(number: usize) -> Vec<u8> {
    MESSAGE.repeat(number)
}

fn streams(outcome: &Outcome) -> StreamCounts {
    let mut sum = StreamCounts::default();
    for cell in outcome.sum.cells.values() {
        sum.merge(&cell.streams);
    }
    sum
}

const STREAM: &str = "request.stream = {}";

#[test]
fn each_message_of_a_stream_is_an_event() {
    let in_pieces = messages(3);
    let in_pieces = in_pieces.chunks(4).flat_map(body);
    let answers = vec![
        [head(&[], 0), body(&messages(1000)), trailers("0")].concat(),
        [head(&[], 0), in_pieces.collect(), trailers("0")].concat(),
        [head(&[], 0), trailers("0")].concat(),
        trailers_only("0"),
        [head(&[], 0), body(b"\0\0\0\0\0"), trailers("0")].concat(),
    ];
    let outcome = called(answers, STREAM);
    assert_eq!(failures(&outcome), BTreeMap::new());
    let counters = outcome.measured();
    assert_eq!((counters.ok, counters.connections.opened), (5, 1));
    let streams = streams(&outcome);
    assert_eq!((streams.events, streams.whole, streams.empty), (1004, 5, 2));
}

#[test]
fn streams_fail_by_their_end_and_keep_their_events() {
    let streaming = |bytes: &[u8], end: Vec<u8>| [head(&[], 0), body(bytes), end].concat();
    let cases = [
        (streaming(&messages(3), trailers("14")), "grpc.unavailable"),
        (
            streaming(&messages(2), trailers("4")),
            "grpc.deadline_exceeded",
        ),
        (trailers_only("14"), "grpc.unavailable"),
        (
            streaming(&messages(2), frame(RST_STREAM, 0, 0, &[0, 0, 0, 2])),
            "http.stream_reset.internal_error",
        ),
        (
            streaming(b"\0\0\0\0\x02hi\0\0\0\0\x05hi", trailers("0")),
            "grpc.bad_message",
        ),
        (
            streaming(b"\0\xff\xff\xff\xffhi", trailers("0")),
            "grpc.bad_message",
        ),
        (
            streaming(b"\x01\0\0\0\x02hi", trailers("0")),
            "grpc.bad_message",
        ),
        (
            [head(&[], 0), frame(DATA, END_STREAM, 0, &messages(1))].concat(),
            "grpc.no_status",
        ),
    ];
    let mut expected = BTreeMap::new();
    for (_, name) in &cases {
        *expected.entry((*name).to_owned()).or_default() += 1;
    }
    let outcome = called(
        cases.into_iter().map(|(answer, _)| answer).collect(),
        STREAM,
    );
    assert_eq!(failures(&outcome), expected);
    let streams = streams(&outcome);
    // One that is reset has not ended.
    assert_eq!((streams.events, streams.whole, streams.empty), (9, 7, 3));
}

#[test]
fn stream_is_cut_after_the_messages_that_the_plan_wants() {
    for lanes in [1, 4] {
        let answers = vec![
            [head(&[], 0), body(&messages(2)), body(&messages(500))].concat(),
            [head(&[], 0), body(&messages(2)), trailers("0")].concat(),
            [head(&[], 0), body(&messages(3)), trailers("0")].concat(),
        ];
        let sections = format!(
            "connection = {{ http = \"2\", streams = {lanes} }}\n\
             load = {{ connections = 1, requests = 30 }}\nrequest.stream.cut_after = 3"
        );
        let outcome = calling(answering(answers), &sections);
        let counters = outcome.measured();
        assert_eq!(failures(&outcome), BTreeMap::new());
        assert_eq!((counters.ok, counters.connections.opened), (30, 1));
        let streams = streams(&outcome);
        assert_eq!((streams.cut, streams.whole), (20, 10));
        assert_eq!(streams.events, 80);
    }
}

#[test]
fn failed_call_outweighs_a_header_that_is_missing() {
    let expect = "request.expect.headers.x-id = \"7\"";
    let with = [head(&[("x-id", "7")], 0), body(MESSAGE), trailers("0")].concat();
    let outcome = called(vec![trailers_only("14"), right(), with], expect);
    assert_eq!(outcome.measured().ok, 1);
    let expected = [("grpc.unavailable", 1), ("http.check.1", 1)];
    assert_eq!(
        failures(&outcome),
        expected
            .map(|(name, number)| (name.to_owned(), number))
            .into()
    );
}

#[test]
fn calls_that_a_server_going_away_did_not_take_are_sent_again() {
    for load in ["connections = 1", "rate = \"300/s\", max_connections = 2"] {
        let server = serving(frame(SETTINGS, 0, 0, &[]), |connection, stream, _| {
            let said = on_stream(&right(), stream);
            match (connection, stream) {
                (0, 5) => [said, frame(GO_AWAY, 0, 0, &[0, 0, 0, 5, 0, 0, 0, 0])].concat(),
                (0, 7..) => answer(stream),
                _ => said,
            }
        });
        let sections = format!(
            "connection = {{ http = \"2\", streams = 3 }}\nload = {{ {load}, requests = 100 }}"
        );
        let outcome = calling(server, &sections);
        assert_eq!(
            (outcome.measured().ok, failures(&outcome)),
            (100, BTreeMap::new()),
            "{load}"
        );
        assert_eq!(statuses(&outcome), [(GrpcStatus::Ok, 100)]);
    }
}

/// Journeys of a call whose answer is looked at, and of one that has what was taken from it.
fn taking(answers: Vec<Vec<u8>>, look: &str, journeys: usize) -> Outcome {
    let shape = "[{ number = 1, name = \"id\", label = \"implicit\", type = \"string\" }, \
                 { number = 2, name = \"n\", label = \"repeated\", type = \"int32\" }]";
    let address = answering(answers);
    run(parse(
        &format!(
            "name = \"t\"\ntarget.url = \"http://{address}/\"\nconnection.http = \"2\"\n\
             load = {{ connections = 1, journeys = {journeys} }}\n\
             journey = [{{ steps = [\"first\"] }}]\n\
             [[request]]\nname = \"first\"\n{look}\n\
             grpc = {{ method = \"a.B/C\", encoded = [], answer = {shape} }}\n"
        ),
        None,
    ))
}

fn answer_of(message: &[u8]) -> Vec<u8> {
    let prefixed = [&[0, 0, 0, 0, message.len() as u8][..], message].concat();
    [head(&[], 0), body(&prefixed), trailers("0")].concat()
}

#[test]
fn messages_are_tested_and_taken_from() {
    let answers = || {
        vec![
            answer_of(b"\x0a\x02ab\x12\x02\x05\x07"),
            answer_of(b"\x0a\x02ab"),
            answer_of(b"\x10\x05"),
            answer_of(b"\x0a\x09ab"),
            [
                head(&[("grpc-encoding", "gzip")], 0),
                body(b"\x01\0\0\0\0"),
                trailers("0"),
            ]
            .concat(),
            trailers_only("14"),
        ]
    };
    for (look, ok, checks) in [
        ("capture.x = { json = \"/id\" }", 2, 1),
        ("capture.x = { json = \"/n/*\", pick = \"random\" }", 2, 1),
        ("capture.x = { json = \"/n/1\", missing = \"skip\" }", 3, 0),
        ("expect.json = { \"/n/0\" = { above = 4 } }", 2, 1),
        ("expect.json = { \"/id\" = \"ab\", \"/n/1\" = 7 }", 1, 2),
    ] {
        let outcome = taking(answers(), look, 6);
        let mut failures = failures(&outcome);
        // A message that is cut, and one that is compressed though the client takes no coding.
        assert_eq!(failures.remove("grpc.bad_message"), Some(2), "{look}");
        assert_eq!(failures.remove("grpc.unavailable"), Some(1), "{look}");
        assert_eq!(
            failures.values().sum::<u64>(),
            checks,
            "{look}: {failures:?}"
        );
        assert_eq!(outcome.measured().ok, ok, "{look}");
    }
}
