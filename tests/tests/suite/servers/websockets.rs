//! WebSockets against the library `websockets` of Python: sockets, messages and close codes are
//! those that it saw, and the time of a message is at least what it waits.

use interop::{
    CoordinatorCommand, Haproxy, HaproxyFrontend, HaproxyOptions, Nginx, NginxOptions, NginxServer,
    Pki, PythonServer, plan, wait_until,
};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::path::Path;

/// How long the server waits before each answer.
const DELAY_MS: u64 = 20;

/// Runs a plan against a new server to its end with `exit`. Asserts that sockets, messages and
/// codes are those of the server; returns the result of the first request.
fn run(path: &str, sections: &str, exit: i32) -> Option<Value> {
    run_over(Over::Http1, path, sections, exit)
}

/// What carries the sockets to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Http1,
    /// HAProxy takes them over HTTP/2 and TLS (RFC 8441), this many on a connection.
    Http2(u32),
}

fn run_over(over: Over, path: &str, sections: &str, exit: i32) -> Option<Value> {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let pki = Pki::new();
    let server = PythonServer::sockets(ip, &seen, DELAY_MS)?;
    let mut sections = format!("request.path = {path:?}\n{sections}");
    let (mut proxy, mut url) = (None, server.url());
    if let Over::Http2(streams) = over {
        let options = HaproxyOptions {
            behind: Some(server.address()),
            ..HaproxyOptions::default()
        };
        let haproxy = proxy.insert(Haproxy::start(&pki, options)?);
        url = haproxy.url(HaproxyFrontend::Http2, "/");
        let connection = format!("connection = {{ http = \"2\", streams = {streams} }}\n");
        sections.insert_str(0, &connection);
    }
    let text = plan(&url, &pki, &sections);
    let finished = CoordinatorCommand::local(2, &text).run();
    // A busy machine can bound the client.
    assert!([exit, 3].contains(&finished.code), "{finished}");
    let document = finished.document();
    let sockets = &document.websockets[0];
    wait_until("all sockets have ended", || {
        (ended(&seen) >= sockets.opened).then_some(())
    });
    let seen = read(&seen);
    let counts = json!([sockets.opened, sockets.sent, sockets.received]);
    let wanted = json!([seen["opened"], seen["received"], seen["sent"]]);
    assert_eq!(counts, wanted, "{sections}");
    let mut result = serde_json::to_value(sockets).unwrap();
    let times = &document.measured.times;
    if let Some(times) = times.get("message_time") {
        // What was sent and not answered is there as a lower bound, and so is what was due.
        assert_eq!(times.count - times.timed_out, sockets.answered);
        assert!(
            times.timed_out >= sockets.sent - sockets.answered,
            "{times:?}"
        );
        let has_answers_only = times.timed_out == 0;
        assert!(
            !has_answers_only || times.min_ns >= DELAY_MS * 1_000_000,
            "{times:?}"
        );
        result["missed"] = times.timed_out.into();
    }
    result["codes_seen"] = seen["codes"].clone();
    result["pings_seen"] = seen["pings"].clone();
    if let Some(times) = times.get("ping_time") {
        result["ping_times"] = (times.count - times.timed_out).into();
        result["pings_missed"] = times.timed_out.into();
    }
    result["ok"] = document.measured.operations.ok.into();
    let errors = document.measured.errors.iter();
    let errors = errors.map(|error| (error.name.clone(), error.count.into()));
    result["errors"] = Value::Object(errors.collect());
    Some(result)
}

fn read(seen: &Path) -> Value {
    let text = std::fs::read_to_string(seen).unwrap_or_else(|_| "{\"codes\": {}}".to_owned());
    serde_json::from_str(&text).unwrap()
}

fn ended(seen: &Path) -> u64 {
    let seen = read(seen);
    let codes = seen["codes"].as_object().unwrap().values();
    codes.map(|number| number.as_u64().unwrap()).sum()
}

/// Runs 12 sockets to their ends, each with these messages.
fn every_message_is_answered(over: Over, (path, socket, received): (&str, &str, u64)) {
    let load = "load = { connections = 4, requests = 12 }\n";
    let sections = format!("{load}[request.websocket]\n{socket}\n");
    let Some(result) = run_over(over, path, &sections, 0) else {
        return;
    };
    assert_eq!(result["ok"], 12, "{path} {result}");
    assert_eq!(result["answered"], result["sent"], "{path}");
    assert_eq!(result["received"], received, "{path}");
    assert_eq!(result["closed"], json!({"1000": 12}), "{path}");
    assert_eq!(result["codes_seen"], json!({"1000": 12}), "{path}");
}

const COUNTED: (&str, &str, u64) = ("/echo", "message = \"{seq} {message}\"\ncount = 5", 60);
/// The first of two answers belongs to the second message.
const SWAPPED: (&str, &str, u64) = (
    "/swap",
    "message = '{\"id\": {message}}'\nanswer.json = \"/id\"\nevery = \"10ms\"\ncount = 6",
    72,
);
const PUSHED: (&str, &str, u64) = ("/push", "message = \"x\"\nanswer = \"echo\"\ncount = 5", 96);
const PINGED: (&str, &str, u64) = ("/ping", "message = \"x\"\ncount = 5", 60);

#[test]
fn each_message_has_its_answer() {
    let binary = "message = [\"a\", \"b\"]\nbinary = true\nanswer = \"echo\"\ncount = 5";
    for talk in [COUNTED, ("/echo", binary, 60), SWAPPED, PUSHED, PINGED] {
        every_message_is_answered(Over::Http1, talk);
    }
}

#[test]
fn sockets_share_a_connection_of_http_2() {
    for (streams, talk) in [(1, COUNTED), (4, SWAPPED), (4, PUSHED), (3, PINGED)] {
        every_message_is_answered(Over::Http2(streams), talk);
    }
}

#[test]
fn server_that_offers_none_over_http_2_says_so() {
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let sections = "connection = { http = \"2\", streams = 3 }\n\
                    load = { connections = 2, requests = 6 }\n\
                    request.websocket = { message = \"x\", count = 1 }\n";
    let text = plan(&nginx.url(NginxServer::Http2, "/"), &pki, sections);
    let finished = CoordinatorCommand::local(1, &text).run().expect(1);
    let document = finished.document();
    let errors = document.measured.errors.iter();
    let errors: Vec<_> = errors.map(|it| (it.name.as_str(), it.count)).collect();
    assert_eq!(errors, [("websocket.not_offered", 6)], "{finished}");
    assert_eq!(nginx.requests().len(), 0);
}

#[test]
fn sockets_over_http_2_are_held_and_fail_by_themselves() {
    let held = "load = { connections = 2, duration = \"3s\" }\n[request.websocket]\n\
                message = \"x\"\nevery = \"100ms\"\nping = \"200ms\"\nhold = \"1h\"\n";
    let Some(result) = run_over(Over::Http2(3), "/echo", held, 0) else {
        return;
    };
    assert_eq!(
        (&result["ok"], &result["cut_by_end"]),
        (&json!(6), &json!(6))
    );
    assert_eq!(result["codes_seen"], json!({"1001": 6}), "{result}");
    assert_eq!(result["pings"], result["pings_seen"], "{result}");
    assert_eq!(result["ping_times"], result["pongs"], "{result}");
    let closed = "load = { connections = 2, requests = 6 }\n[request.websocket]\n\
                  message = \"x\"\ncount = 2\n";
    let result = run_over(Over::Http2(3), "/close", closed, 1).expect("the same servers");
    let errors = json!({"websocket.close.1011": 6});
    assert_eq!(
        (&result["ok"], &result["errors"]),
        (&json!(0), &errors),
        "{result}"
    );
}

#[test]
fn sockets_that_are_held_are_cut_by_the_end_of_the_run() {
    let sections = "load = { connections = 6, duration = \"3s\" }\n[request.websocket]\n\
                    message = \"x\"\nevery = \"100ms\"\nhold = \"1h\"\n";
    let Some(result) = run("/echo", sections, 0) else {
        return;
    };
    assert_eq!(
        (&result["ok"], &result["cut_by_end"]),
        (&json!(6), &json!(6))
    );
    assert_eq!(result["codes_seen"], json!({"1001": 6}));
}

#[test]
fn sockets_of_a_number_of_arrivals_are_used_to_their_end() {
    let load = "load = { rate = \"100/s\", requests = 6, max_connections = 6 }\n";
    let socket = "[request.websocket]\nmessage = \"x\"\nevery = \"100ms\"\ncount = 5\n";
    let Some(result) = run("/echo", &format!("{load}{socket}"), 0) else {
        return;
    };
    assert_eq!((&result["ok"], &result["sent"]), (&json!(6), &json!(30)));
    assert_eq!(result["closed"], json!({"1000": 6}), "{result}");
}

#[test]
fn close_before_the_plans_and_silence_are_failures_with_names() {
    let load = "load = { connections = 2, requests = 4 }\n\
                connection.timeouts.request = \"3s\"\n";
    let socket = "[request.websocket]\nmessage = \"x\"\ncount = 9\n";
    let sections = format!("{load}{socket}");
    let Some(closed) = run("/close", &sections, 1) else {
        return;
    };
    assert_eq!(closed["errors"], json!({"websocket.close.1011": 4}));
    assert_eq!(closed["codes_seen"], json!({"1011": 4}));
    assert_eq!(
        (&closed["answered"], &closed["missed"]),
        (&json!(4), &json!(4))
    );
    let silent = run("/silent", &sections, 1).unwrap();
    assert_eq!(silent["errors"], json!({"websocket.unanswered": 4}));
    assert_eq!(silent["missed"], 4);
}

#[test]
fn pings_have_their_pongs_or_their_socket_fails() {
    let load = "load = { connections = 3, requests = 6 }\n\
                connection.timeouts.request = \"4s\"\n\
                [request.websocket]\nping = \"100ms\"\nhold = \"10s\"\n";
    let Some(heard) = run("/echo", &load.replace("10s", "1s"), 0) else {
        return;
    };
    let number = |name: &str| heard[name].as_u64().unwrap();
    assert_eq!(heard["closed"], json!({"1000": 6}));
    assert_eq!(number("pings"), number("pings_seen"));
    assert!((6..=60).contains(&number("pings")), "{heard}");
    // The close may come before the pong.
    assert!(number("pongs") + 6 >= number("pings"), "{heard}");
    let deaf = run("/deaf", load, 1).unwrap();
    assert_eq!(deaf["errors"], json!({"websocket.no_pong": 6}));
    assert_eq!([&deaf["pings"], &deaf["pings_seen"]], [6, 6]);
    assert_eq!([&deaf["ping_times"], &deaf["pings_missed"]], [0, 6]);
    assert_eq!(heard["ping_times"], heard["pongs"], "{heard}");
}

#[test]
fn messages_that_the_end_of_the_run_leaves_without_an_answer_fail_a_threshold() {
    let sections = "load = { connections = 2, duration = \"3s\" }\n\
                    connection.timeouts.request = \"5s\"\n\
                    thresholds.\"message_time.p99\" = \"<= 900ms\"\n[request.websocket]\n\
                    message = \"x\"\nevery = \"50ms\"\nhold = \"1h\"\n";
    let Some(result) = run("/stops", sections, 1) else {
        return;
    };
    assert_eq!(result["errors"], json!({"websocket.unanswered": 2}));
    assert_eq!(result["answered"], 6);
    // One for each 50 ms that were left, of both sockets.
    assert!(result["missed"].as_u64().unwrap() >= 20, "{result}");
}

#[test]
fn sockets_are_steps_of_journeys() {
    let sections = "load = { connections = 2, journeys = 6 }\n\
                    journey = [{ steps = [\"room\", \"room\"] }]\n\
                    request.name = \"room\"\n[request.websocket]\n\
                    message = \"x\"\ncount = 2\n";
    let Some(result) = run("/echo", sections, 0) else {
        return;
    };
    assert_eq!(
        (&result["ok"], &result["answered"]),
        (&json!(12), &json!(24))
    );
}

/// What the chat of the example has counted.
fn chat_counts(server: &PythonServer) -> Value {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream
        .write_all(b"GET /counts HTTP/1.1\r\nhost: a\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

#[test]
fn example_runs_against_its_server() {
    let Some(server) = PythonServer::chat(IpAddr::V4(Ipv4Addr::LOCALHOST)) else {
        return;
    };
    let example = include_str!("../../../../examples/chat.toml");
    // A busy machine may be late, which is not what is tested.
    let (plan, _) = example.split_once("[thresholds]").unwrap();
    let plan = plan
        .replace("http://127.0.0.1:8091/", &server.url())
        .replace("every = \"1s\"", "every = \"100ms\"")
        .replace("duration = \"20s\"", "duration = \"3s\"");
    assert!(plan.contains(&server.url()) && plan.contains("\"3s\"") && plan.contains("100ms"));
    let document = CoordinatorCommand::local(2, &plan)
        .run()
        .expect(0)
        .document();
    let sockets = &document.websockets[0];
    assert_eq!(sockets.sent, sockets.answered);
    let rows = document.series.rows.iter().map(|row| row.messages);
    assert_eq!(rows.sum::<u64>(), sockets.answered);
    assert!(
        sockets.opened > 100 && sockets.received > 5 * sockets.sent,
        "{sockets:?}"
    );
    // What others say while a socket closes is sent and not read.
    let seen = chat_counts(&server);
    assert_eq!(
        (&seen["sockets"], &seen["received"]),
        (&sockets.opened.into(), &sockets.sent.into())
    );
    assert!(seen["sent"].as_u64().unwrap() >= sockets.received, "{seen}");
}
