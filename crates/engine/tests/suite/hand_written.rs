//! Hand-written servers and proxies for what the `target` crate does not do: closing at the worst
//! moment, answering early.

use crate::http2_servers::{GO_AWAY, SETTINGS, answer, frame, serving};
use crate::support::{Named, Outcome, parse, run, run_share};
use engine::{Event, FiringLease, Placement, Policy, StopMode};
use measure::{Counters, Metric};
use plan::Plan;
use rustix::net::sockopt::set_socket_linger;
use std::io::{Read as _, Write as _, copy};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use target::{
    BodyFraming, Config, ConnectionEnd, RunningTarget, ServerTls, TargetAnswer, TargetFault,
};

/// Passes every connection to `serve`, on its own thread, for as long as the test lives.
pub fn listen(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = Arc::clone(&serve);
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

fn reset(stream: TcpStream) {
    set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
    drop(stream);
}

pub fn failures(counters: &Counters) -> Vec<(String, u64)> {
    counters
        .failures
        .iter()
        .map(|(failure, number)| (failure.to_string(), *number))
        .collect()
}

pub fn measured(url: &str, sections: &str, ca: Option<&str>) -> Counters {
    run(parse(
        &format!("name = \"t\"\ntarget.url = \"{url}\"\n{sections}\n"),
        ca,
    ))
    .measured()
}

/// Passes one message of the client to the server. Returns everything that the server sends until
/// it is quiet.
pub fn exchange(mut client: &TcpStream, mut server: &TcpStream) -> Vec<u8> {
    let mut bytes = [0; 16 * 1024];
    let said = client.read(&mut bytes).unwrap_or(0);
    let _ = server.write_all(&bytes[..said]);
    // Before its first byte it may have a whole handshake to compute.
    let (mut answer, mut patience) = (Vec::new(), Duration::from_secs(20));
    loop {
        server.set_read_timeout(Some(patience)).unwrap();
        let Ok(more @ 1..) = server.read(&mut bytes) else {
            return answer;
        };
        answer.extend_from_slice(&bytes[..more]);
        patience = Duration::from_millis(50);
    }
}

/// Passes the server's whole first flight to the client, and resets the connection before the
/// client's Finished can arrive.
fn reset_after_the_servers_flight(mut client: TcpStream, server: SocketAddr) {
    let flight = exchange(&client, &TcpStream::connect(server).unwrap());
    let _ = client.write_all(&flight);
    reset(client);
}

#[test]
fn handshake_that_is_reset_as_it_ends_is_never_ok() {
    for confirm in [true, false] {
        let server = RunningTarget::new(Config::default()).unwrap();
        let address = server.address();
        let proxy = listen(move |client| reset_after_the_servers_flight(client, address));
        let sections = format!(
            "tls.ca = \"ca.pem\"\nconnection = {{ requests = 0, confirm = {confirm} }}\nload = {{ \
             connections = 1, requests = 6 }}"
        );
        let counters = measured(&format!("https://{proxy}/"), &sections, server.ca_pem());
        let handshakes: u64 = counters.negotiated.values().sum();
        assert_eq!(
            (counters.started, counters.connections.attempted, handshakes),
            (6, 6, 6),
            "confirm {confirm}: {counters:?}"
        );
        // Unconfirmed, an operation is ok if the reset only comes after our Finished.
        let resets = 6 - counters.unconfirmed;
        assert_eq!(
            (counters.ok, confirm && resets < 6),
            (counters.unconfirmed, false),
            "{:?}",
            failures(&counters)
        );
        assert!(
            resets == 0 || failures(&counters) == [("tls.reset".to_owned(), resets)],
            "{:?}",
            failures(&counters)
        );
    }
}

#[test]
fn body_that_ends_with_the_connection_leaves_no_end_to_wait_for() {
    for tls in [None, Some(ServerTls::default())] {
        let answer = TargetAnswer {
            framing: BodyFraming::EofDelimited,
            ..TargetAnswer::default()
        };
        let server = RunningTarget::new(Config {
            answer,
            tls,
            ..Config::default()
        })
        .unwrap();
        let ca = if server.ca_pem().is_some() {
            "tls.ca = \"ca.pem\"\n"
        } else {
            ""
        };
        let sections = format!(
            "{ca}connection = {{ requests = 1, close = \"server\" }}\nload = {{ connections = 1, \
             requests = 4 }}"
        );
        let began = Instant::now();
        let counters = measured(&server.url("/"), &sections, server.ca_pem());
        assert_eq!(
            (counters.ok, failures(&counters).len()),
            (4, 0),
            "{counters:?}"
        );
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "it took {:?}",
            began.elapsed()
        );
    }
}

#[test]
fn waits_for_an_end_that_does_not_come_are_counted() {
    // It answers, and never closes.
    let server = listen(|mut client| {
        while let Ok(1..) = client.read(&mut [0; 512]) {
            let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    let sections = "connection = { requests = 1, close = \"server\", timeouts.request = \"2s\" }\n\
                    load = { connections = 1, requests = 3 }";
    let counters = measured(&format!("http://{server}/"), sections, None);
    let connections = &counters.connections;
    assert_eq!((counters.ok, connections.opened), (3, 3));
    // The end of the last one is not awaited.
    assert_eq!(connections.left_open, 2, "{connections:?}");
    assert!(
        (4_000_000_000..).contains(&connections.end_wait_ns),
        "{connections:?}"
    );
}

#[test]
fn users_of_a_server_that_breaks_every_connection_back_off() {
    let cases: [(&str, SocketAddr); 3] = [
        (
            "closes",
            listen(|mut client| _ = client.read(&mut [0; 512])),
        ),
        ("resets", listen(reset)),
        (
            "speaks something else",
            listen(|mut client| _ = client.write_all(b"220 mail.example ESMTP\r\n")),
        ),
    ];
    for (what, server) in cases {
        for http in ["1.1", "2"] {
            let sections = format!(
                "connection.http = \"{http}\"\nload = {{ connections = 2, duration = \"2s\" }}"
            );
            let counters = measured(&format!("http://{server}/"), &sections, None);
            assert!(
                (1..40).contains(&counters.failed),
                "{what}, HTTP/{http}: {:?}",
                failures(&counters)
            );
            assert!(counters.connections.back_offs > 0, "{what}, HTTP/{http}");
        }
    }
}

#[test]
fn kept_connections_are_told_that_the_run_ends() {
    let server = RunningTarget::new(Config::default()).unwrap();
    let address = server.address();
    let (send, said) = channel();
    let proxy = listen(move |mut client| {
        let server = TcpStream::connect(address).unwrap();
        for _ in ["hello", "request"] {
            let _ = client.write_all(&exchange(&client, &server));
        }
        let mut last = Vec::new();
        let _ = client.read_to_end(&mut last);
        send.send(last.len()).unwrap();
    });
    let sections = "tls.ca = \"ca.pem\"\nload = { connections = 1, requests = 1 }";
    let counters = measured(&format!("https://{proxy}/"), sections, server.ca_pem());
    assert_eq!(counters.ok, 1);
    assert_eq!(
        said.recv_timeout(Duration::from_secs(5)),
        Ok(24),
        "a close_notify is one record of 24 bytes"
    );
}

/// Passes on the server's answers without their last record, a close_notify.
fn without_close_notify(mut client: TcpStream, server: SocketAddr) {
    let server = TcpStream::connect(server).unwrap();
    for _ in ["hello", "request"] {
        let said = exchange(&client, &server);
        let (mut rest, mut last) = (said.as_slice(), 0);
        while let [_, _, _, high, low, ..] = *rest {
            last = rest.len();
            rest = &rest[5 + usize::from(u16::from_be_bytes([high, low]))..];
        }
        // A close_notify is the only record of 24 bytes: header, level and code, type, tag.
        let end = if last == 24 {
            said.len() - last
        } else {
            said.len()
        };
        let _ = client.write_all(&said[..end]);
    }
}

#[test]
fn body_that_only_tcp_ends_may_have_been_cut() {
    let (to_the_end, with_length) = (BodyFraming::EofDelimited, BodyFraming::ContentLength);
    for (framing, names) in [
        (to_the_end, vec![("http.short_body".to_owned(), 3)]),
        (with_length, vec![]),
    ] {
        let answer = TargetAnswer {
            framing,
            ..TargetAnswer::default()
        };
        let server = RunningTarget::new(Config {
            answer,
            ..Config::default()
        })
        .unwrap();
        let address = server.address();
        let proxy = listen(move |client| without_close_notify(client, address));
        let sections = "tls.ca = \"ca.pem\"\nconnection.requests = 1\nload = { connections = 1, \
                        requests = 3 }";
        let counters = measured(&format!("https://{proxy}/"), sections, server.ca_pem());
        assert_eq!(failures(&counters), names, "{framing:?}");
    }
}

#[test]
fn workers_without_connections_leave_their_arrivals_to_those_with() {
    let server = RunningTarget::new(Config::plain()).unwrap();
    let load =
        "load = { rate = \"400/s\", requests = 40, max_connections = 2, warm_up = \"100ms\" }";
    let plan = parse(
        &format!(
            "name = \"t\"\ntarget.url = \"{}\"\n{load}\n",
            server.url("/")
        ),
        None,
    );
    let Outcome { sum, .. } = run_share(
        plan,
        0,
        1,
        5,
        FiringLease::until(engine::boot_time_ns() + 5_000_000_000),
    );
    let ok: u64 = sum.cells.values().map(|cell| cell.counters.ok).sum();
    assert_eq!((ok, server.stop().requests), (80, 80));
}

#[test]
fn addresses_of_the_plan_are_not_allowed_by_the_name_of_its_host() {
    let mut policy = Policy::default();
    policy.allow("edge.example").unwrap();
    let text = "name = \"t\"\ntarget = { url = \"http://edge.example/\", addresses = \
                [\"192.0.2.1\"] }\nload = { connections = 1, requests = 1 }\n";
    let placement = Placement {
        agent: 0,
        agents: 1,
        cpus: vec![None],
    };
    let refused = engine::prepare(parse(text, None).into(), placement, policy)
        .err()
        .unwrap()
        .to_string();
    assert!(refused.contains("--allow 192.0.2.1"), "{refused}");
}

/// Answers before it has read the request, and closes with the rest of it unread, which resets the
/// connection.
fn answer_early(mut client: TcpStream) {
    let mut head = [0; 512];
    let _ = client.read(&mut head);
    let _ = client.write_all(
        b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    );
}

#[test]
fn early_answer_to_a_large_body_is_read_before_the_reset() {
    let url = format!("http://{}/", listen(answer_early));
    let text = format!(
        "name = \"t\"\ntarget.url = \"{url}\"\nrequest = {{ method = \"POST\", body_file = \
         \"body\" }}\nload = {{ connections = 1, requests = 20 }}\n"
    );
    let mut files = Named(vec![("body".to_owned(), vec![b'x'; 8 << 20])]);
    let counters = run(Plan::parse(&text, &mut files).unwrap()).measured();
    assert_eq!(failures(&counters), [("http.status.413".to_owned(), 20)]);
}

#[test]
fn connection_ended_by_close_notify_is_not_used_again() {
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec();
    let answer = TargetAnswer::faulty(TargetFault::Raw {
        bytes,
        then: ConnectionEnd::Orderly,
    });
    let server = RunningTarget::new(Config {
        answer,
        ..Config::default()
    })
    .unwrap();
    let address = server.address();
    let proxy = listen(move |mut client| {
        let server = TcpStream::connect(address).unwrap();
        let _ = client.write_all(&exchange(&client, &server));
        // On a busy machine the close_notify can come long after the answer.
        let mut said = exchange(&client, &server);
        server.set_read_timeout(None).unwrap();
        let _ = (&server).read_to_end(&mut said);
        let _ = client.write_all(&said);
        // Only TLS has ended: TCP waits for the client.
        let _ = client.read(&mut [0; 512]);
    });
    let sections =
        "tls.ca = \"ca.pem\"\nrequest.method = \"POST\"\nload = { connections = 2, requests = 6 }";
    let counters = measured(&format!("https://{proxy}/"), sections, server.ca_pem());
    assert_eq!((counters.ok, failures(&counters)), (6, vec![]));
    assert_eq!(
        (counters.connections.reused, counters.connections.opened),
        (0, 6)
    );
}

#[test]
fn connection_that_is_reset_as_soon_as_it_stands_was_opened() {
    let accepted = Arc::new(AtomicU64::new(0));
    let counting = Arc::clone(&accepted);
    let proxy = listen(move |client| {
        counting.fetch_add(1, Ordering::SeqCst);
        reset(client);
    });
    let counters = measured(
        &format!("http://{proxy}/"),
        "load = { connections = 20, requests = 60 }",
        None,
    );
    assert_eq!(failures(&counters), [("http.reset".to_owned(), 60)]);
    assert_eq!(
        (counters.connections.opened, accepted.load(Ordering::SeqCst)),
        (60, 60)
    );
}

#[test]
fn wire_bytes_are_what_crossed_the_wire() {
    for (name, sections) in [
        ("one each", "connection.requests = 1"),
        ("handshake only", "connection.requests = 0"),
        (
            "unconfirmed",
            "connection = { requests = 0, confirm = false }",
        ),
        (
            "server closes",
            "connection = { requests = 2, close = \"server\" }",
        ),
    ] {
        let server = RunningTarget::new(Config::default()).unwrap();
        let (address, crossed) = (server.address(), Arc::new(AtomicU64::new(0)));
        let counting = Arc::clone(&crossed);
        let proxy = listen(move |client| {
            let server = TcpStream::connect(address).unwrap();
            let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            let back = std::thread::spawn(move || {
                let _ = copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Write);
            });
            let (mut bytes, mut client, mut server) = ([0; 4096], &client, &server);
            while let Ok(up @ 1..) = client.read(&mut bytes) {
                counting.fetch_add(up as u64, Ordering::SeqCst);
                let _ = server.write_all(&bytes[..up]);
            }
            let _ = server.shutdown(Shutdown::Write);
            back.join().unwrap();
        });
        let sections =
            format!("tls.ca = \"ca.pem\"\n{sections}\nload = {{ connections = 2, requests = 20 }}");
        let counters = measured(&format!("https://{proxy}/"), &sections, server.ca_pem());
        assert_eq!((counters.ok, failures(&counters)), (20, vec![]), "{name}");
        let until = Instant::now() + Duration::from_secs(5);
        while crossed.load(Ordering::SeqCst) < counters.wire_bytes_sent && Instant::now() < until {
            std::thread::yield_now();
        }
        assert_eq!(
            counters.wire_bytes_sent,
            crossed.load(Ordering::SeqCst),
            "{name}"
        );
    }
}

#[test]
fn lookup_that_finds_no_room_is_no_time_out() {
    let server = RunningTarget::new(Config::plain()).unwrap();
    let text = format!(
        "name = \"t\"\ntarget = {{ url = \"http://localhost:{}/\", dns = \"connection\" }}\nload \
         = {{ connections = 4000, duration = \"300ms\" }}\n",
        server.address().port()
    );
    let counters = run(parse(&text, None)).measured();
    assert_eq!(counters.timed_out, 0, "{:?}", failures(&counters));
}

#[test]
fn run_that_is_stopped_before_its_start_has_begun_nothing() {
    for load in [
        "load = { rate = \"100/s\", requests = 10 }",
        "load = { connections = 2, requests = 10 }",
    ] {
        let plan = parse(
            &format!("name = \"t\"\ntarget.url = \"http://127.0.0.1:1/\"\n{load}\n"),
            None,
        );
        let placement = Placement {
            agent: 0,
            agents: 1,
            cpus: vec![None],
        };
        let prepared = engine::prepare(plan.into(), placement, Policy::default()).unwrap();
        let (send, receive) = channel();
        let start_at = engine::monotonic_ns() + 60_000_000_000;
        let running = prepared
            .start(start_at, FiringLease::unlimited(), move |event| {
                send.send(event).unwrap()
            })
            .unwrap();
        running.stop(StopMode::Drain);
        running.join();
        let totals = receive.into_iter().find_map(|event| match event {
            Event::Ended { totals, .. } => Some(totals),
            _ => None,
        });
        assert_eq!(totals.unwrap(), measure::Totals::default(), "{load}");
    }
}

/// Answers one request, and closes the connection when the next one comes.
fn close_under_the_second_request(mut client: TcpStream) {
    let _ = client.read(&mut [0; 512]);
    let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let _ = client.read(&mut [0; 512]);
}

#[test]
fn operation_sent_again_to_another_address_has_begun_there() {
    let closing = listen(close_under_the_second_request);
    let sound = RunningTarget::new(Config::plain()).unwrap();
    let addresses = [closing, sound.address()].map(|address| address.to_string());
    let text = format!(
        "name = \"t\"\ntarget = {{ url = \"http://edge.test/\", addresses = {addresses:?} \
         }}\nload = {{ connections = 3, requests = 30 }}\n"
    );
    let moved = || {
        let outcome = run(parse(&text, None));
        let (mut started, mut moved) = (0, 0);
        for (key, cell) in &outcome.sum.cells {
            let counters = &cell.counters;
            assert_eq!(
                counters.operations_begun(),
                counters.operations_ended(),
                "{key:?}: {counters:?}"
            );
            (started, moved) = (
                started + counters.started,
                moved + counters.moved.unsigned_abs(),
            );
        }
        assert_eq!(started, 30);
        moved
    };
    // On a busy machine the sound address can serve everything before the other one answers.
    assert!(
        (0..5).any(|_| moved() > 0),
        "some are sent again to the other address"
    );
}

#[test]
fn phases_of_an_operation_sent_again_are_those_of_its_last_attempt() {
    const PAUSE: Duration = Duration::from_secs(3);
    // After the pause the first connection goes away, without its second request.
    let server = serving(frame(SETTINGS, 0, 0, &[]), |connection, id, _| {
        if (connection, id) != (0, 3) {
            return answer(id);
        }
        std::thread::sleep(PAUSE);
        frame(GO_AWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0])
    });
    let text = format!(
        "name = \"t\"\ntarget = {{ url = \"http://localhost:{}/\", dns = \"connection\" \
         }}\nconnection.http = \"2\"\nload = {{ connections = 1, requests = 2 }}\n",
        server.port()
    );
    let outcome = run(parse(&text, None));
    assert_eq!(
        (outcome.measured().ok, outcome.measured().http2.sent_again),
        (2, 1)
    );
    let longest = |metric| {
        let times = outcome
            .sum
            .cells
            .values()
            .filter_map(|cell| cell.times.get(&(measure::Outcome::Ok, metric)));
        Duration::from_nanos(times.map(|times| times.max).max().unwrap())
    };
    let parts = [Metric::Opening, Metric::Processing].map(longest);
    assert!(
        parts
            .into_iter()
            .chain([longest(Metric::Dns)])
            .all(|part| part < PAUSE),
        "{parts:?}, {:?}",
        longest(Metric::Dns)
    );
    assert!(
        longest(Metric::ServiceTime) >= PAUSE,
        "{:?}",
        longest(Metric::ServiceTime)
    );
}

#[test]
fn connection_that_is_given_up_is_reset_where_the_plan_says_so() {
    const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let cases: [(&str, &'static [u8], &[&str]); 3] = [
        ("times out", b"", &["http.time_out"]),
        ("fails", b"no HTTP at all\r\n\r\n", &["http.bad_framing"]),
        ("is idle as the run ends", OK, &[]),
    ];
    for (what, answer, names) in cases {
        for (close, is_reset) in [("rst", true), ("fin", false)] {
            let (send, ends) = channel();
            let server = listen(move |mut client| {
                let _ = client.read(&mut [0; 512]);
                let _ = client.write_all(answer);
                send.send(client.read(&mut [0; 512]).is_err()).unwrap();
            });
            let timeout = if answer.is_empty() { "100ms" } else { "20s" };
            let sections = format!(
                "connection = {{ close = \"{close}\", timeouts.request = \"{timeout}\" }}\n\
                 load = {{ connections = 1, requests = 1 }}"
            );
            let counters = measured(&format!("http://{server}/"), &sections, None);
            assert_eq!(
                failures(&counters)
                    .iter()
                    .map(|(name, _)| name.as_str())
                    .collect::<Vec<_>>(),
                names,
                "{what}"
            );
            let found = ends.recv_timeout(Duration::from_secs(5)).unwrap();
            assert_eq!(
                found, is_reset,
                "a connection that {what}, closed by {close}"
            );
        }
    }
}

/// Answers with chunks of one byte each, faster than they can be read, for as long as the client
/// takes them.
fn answer_without_end(mut client: TcpStream) {
    let mut head = [0; 512];
    let _ = client.read(&mut head);
    let _ = client.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    let chunks = b"1\r\nx\r\n".repeat(100_000);
    let until = Instant::now() + Duration::from_secs(20);
    while client.write_all(&chunks).is_ok() && Instant::now() < until {}
}

#[test]
fn answer_without_end_keeps_nothing_else_waiting() {
    let url = format!("http://{}/", listen(answer_without_end));
    let began = Instant::now();
    let counters = measured(
        &url,
        "connection.timeouts.request = \"400ms\"\nload = { connections = 2, requests = 2 }",
        None,
    );
    assert_eq!(failures(&counters), [("http.time_out".to_owned(), 2)]);
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "it took {:?}",
        began.elapsed()
    );
}

/// A server that sends `words` to every client, then nothing, and keeps reading.
fn saying(words: &'static [u8]) -> SocketAddr {
    listen(move |mut stream| {
        let _ = stream.write_all(words);
        let _ = copy(&mut stream, &mut std::io::sink());
    })
}

#[test]
fn odd_http2_servers_fail_every_operation_and_hold_nobody_up() {
    const SETTINGS: &[u8] = b"\0\0\0\x04\0\0\0\0\0";
    const NO_STREAMS: &[u8] = b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\0";
    const GO_AWAY: &[u8] = b"\0\0\0\x04\0\0\0\0\0\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x02";
    let cases: [(&str, SocketAddr, &[&str]); 6] = [
        ("says nothing", saying(b""), &["http.time_out"]),
        (
            "says its settings and nothing more",
            saying(SETTINGS),
            &["http.time_out"],
        ),
        ("allows no streams", saying(NO_STREAMS), &["http.time_out"]),
        (
            "speaks HTTP/1.1",
            saying(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
            &["http.bad_framing"],
        ),
        (
            "goes away at once",
            saying(GO_AWAY),
            &["http.go_away.internal_error"],
        ),
        (
            "closes at once",
            listen(drop),
            &["http.eof", "http.reset", "connect.reset"],
        ),
    ];
    for (what, server, names) in cases {
        for load in ["connections = 2", "rate = \"20/s\", max_connections = 2"] {
            let timeout = match names.contains(&"http.time_out") {
                true => "100ms",
                false => "20s",
            };
            let sections = format!(
                "connection = {{ http = \"2\", streams = 3, timeouts.request = \"{timeout}\" \
                 }}\nload = {{ {load}, requests = 12 }}"
            );
            let began = Instant::now();
            let counters = measured(&format!("http://{server}/"), &sections, None);
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "{what}, {load}: {:?}",
                began.elapsed()
            );
            assert_eq!(
                (counters.started, counters.operations_ended(), counters.ok),
                (12, 12, 0),
                "{what}, {load}"
            );
            let known = |name: &str| names.contains(&name) || name == "load.not_sent";
            assert!(
                failures(&counters).iter().all(|(name, _)| known(name)),
                "{what}, {load}: {:?}",
                failures(&counters)
            );
        }
    }
}

/// An HTTP/2 server that allows one stream at a time and answers each with an empty 200.
fn one_stream_at_a_time() -> SocketAddr {
    const ONE_STREAM: &[u8] = b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x01";
    const HEADERS: u8 = 1;
    let answer_all = |stream: &TcpStream| -> std::io::Result<()> {
        let (mut reader, mut writer) = (std::io::BufReader::new(stream), stream);
        writer.write_all(ONE_STREAM)?;
        reader.read_exact(&mut [0; 24])?;
        loop {
            let mut head = [0; 9];
            reader.read_exact(&mut head)?;
            let [l0, l1, l2, kind, _, id @ ..] = head;
            copy(
                &mut reader
                    .by_ref()
                    .take(u32::from_be_bytes([0, l0, l1, l2]).into()),
                &mut std::io::sink(),
            )?;
            if kind == HEADERS {
                let [i0, i1, i2, i3] = id;
                writer.write_all(&[0, 0, 1, HEADERS, 0x05, i0, i1, i2, i3, 0x88])?;
            }
        }
    };
    listen(move |stream| _ = answer_all(&stream))
}

#[test]
fn slots_that_wait_for_a_stream_have_it_while_another_pauses() {
    let sections = "connection = { http = \"2\", streams = 3 }\nload = { connections = 2, \
                    requests = 6, think_time = \"5s\" }";
    let began = Instant::now();
    let counters = measured(
        &format!("http://{}/", one_stream_at_a_time()),
        sections,
        None,
    );
    assert_eq!((counters.ok, failures(&counters)), (6, vec![]));
    assert_eq!(
        (
            counters.connections.opened,
            counters.http2.limited_connections
        ),
        (2, 2)
    );
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "every slot has a turn without a pause: {:?}",
        began.elapsed()
    );
}

#[test]
fn http2_users_whose_connections_fail_at_once_wait_and_end() {
    // No TCP connection to the broadcast address is possible: connect itself fails at once.
    let text = "name = \"t\"\ntarget.url = \"http://127.255.255.255:9/\"\nconnection = { http = \
                \"2\", streams = 4 }\nload = { connections = 3, requests = 30 }\n";
    let counters = run(parse(text, None)).measured();
    assert_eq!(
        (counters.started, counters.operations_ended(), counters.ok),
        (30, 30, 0)
    );
    assert!(counters.connections.back_offs > 0);
}

#[test]
fn waits_for_an_end_are_in_no_time_of_the_next_step() {
    let server = listen(|mut client| {
        let _ = client.read(&mut [0; 512]);
        let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        std::thread::sleep(Duration::from_millis(1_500));
    });
    for load in ["connections = 1", "rate = \"2/s\", max_connections = 9"] {
        let plan = format!(
            "name = \"t\"\ntarget.url = \"http://{server}/\"\nrequest = [{{ name = \"a\" }}]\n\
             journey = {{ steps = [\"a\", \"a\", \"a\"] }}\n\
             connection = {{ requests = 1, close = \"server\" }}\n\
             load = {{ {load}, journeys = 2 }}\n"
        );
        let outcome = run(parse(&plan, None));
        let waited_ns = outcome.measured().connections.end_wait_ns;
        assert!(waited_ns > 3_000_000_000, "{load}: {waited_ns}");
        let cells = outcome.sum.cells.values();
        let times = cells.flat_map(|cell| cell.response_times.values());
        let worst = times.map(|times| times.max).max();
        assert!(
            worst.is_some_and(|worst| worst < 1_400_000_000),
            "{load}: {worst:?}"
        );
    }
}
