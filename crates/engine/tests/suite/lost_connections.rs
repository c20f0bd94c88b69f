//! Connections that end under a request, after an answer, or before they have served.

use crate::hand_written::{exchange, failures, listen, measured};
use crate::http2_servers::{GO_AWAY, SETTINGS, answer, frame, serving};
use crate::support::side_by_side;
use rustix::net::{AddressFamily, SocketType, bind, ipproto, socket};
use std::io::{Read as _, Write as _, copy};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use target::{Config, RunningTarget};

#[test]
fn request_that_the_server_worked_on_is_not_sent_again() {
    const WORK: Duration = Duration::from_millis(150);
    let asked = Arc::new(AtomicU64::new(0));
    let counting = Arc::clone(&asked);
    let one = listen(move |mut client| {
        for nth in 0..2 {
            if client.read(&mut [0; 512]).unwrap_or(0) == 0 {
                return;
            }
            counting.fetch_add(1, Ordering::SeqCst);
            if nth == 0 {
                let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            } else {
                std::thread::sleep(WORK);
            }
        }
    });
    let counting = Arc::clone(&asked);
    let two = serving(frame(SETTINGS, 0, 0, &[]), move |_, id, stream| {
        counting.fetch_add(1, Ordering::SeqCst);
        if id == 1 {
            return answer(id);
        }
        std::thread::sleep(WORK);
        let _ = stream.shutdown(Shutdown::Both);
        vec![]
    });
    for (http, server) in [("1.1", one), ("2", two)] {
        asked.store(0, Ordering::SeqCst);
        let sections =
            format!("connection.http = \"{http}\"\nload = {{ connections = 2, requests = 20 }}");
        let counters = measured(&format!("http://{server}/"), &sections, None);
        assert_eq!(
            (counters.operations_ended(), asked.load(Ordering::SeqCst)),
            (20, 20),
            "HTTP/{http}: {:?}",
            failures(&counters)
        );
        assert_eq!(
            (counters.ok, counters.connections.reused_closed),
            (10, 0),
            "HTTP/{http}"
        );
        assert_eq!(failures(&counters), [("http.eof".to_owned(), 10)]);
    }
}

#[test]
fn what_comes_behind_an_answer_over_tls_does_not_change_it() {
    // A record that cannot be decrypted; and bytes that are not TLS at all.
    for behind in [
        &b"\x17\x03\x03\0\x20no record that anybody can open.."[..],
        b"garbage!",
    ] {
        let server = RunningTarget::new(Config::default()).unwrap();
        let address = server.address();
        let proxy = listen(move |mut client| {
            let server = TcpStream::connect(address).unwrap();
            let _ = client.write_all(&exchange(&client, &server));
            let said = [&exchange(&client, &server)[..], behind].concat();
            let _ = client.write_all(&said);
            let _ = copy(&mut client, &mut std::io::sink());
        });
        for requests in ["1", "\"unlimited\""] {
            let sections = format!(
                "tls.ca = \"ca.pem\"\nconnection.requests = {requests}\nload = {{ connections = \
                 2, requests = 12 }}"
            );
            let counters = measured(&format!("https://{proxy}/"), &sections, server.ca_pem());
            assert_eq!((counters.ok, failures(&counters)), (12, vec![]));
            assert_eq!(counters.connections.opened, 12);
        }
    }
}

#[test]
fn users_of_a_server_that_goes_away_at_once_back_off() {
    let go_away = |last: u32| {
        let payload = [&last.to_be_bytes()[..], &[0; 4]].concat();
        [frame(SETTINGS, 0, 0, &[]), frame(GO_AWAY, 0, 0, &payload)].concat()
    };
    let servers = [
        ("nothing processed", go_away(0), false),
        ("nothing processed, and closes", go_away(0), true),
        (
            "all may be processed, and closes",
            go_away(u32::MAX >> 1),
            true,
        ),
        ("closes after a request", frame(SETTINGS, 0, 0, &[]), true),
    ];
    let cases: Vec<_> = servers
        .iter()
        .flat_map(|server| [(server, 1), (server, 3)])
        .collect();
    side_by_side(
        &cases,
        |((what, ..), streams)| format!("{what}, {streams}"),
        |((_, first, closes), streams)| check_back_off(first, *closes, *streams),
    );
}

/// Runs users against a server that sends `first` on each connection and, if `closes`, closes it
/// after a request.
fn check_back_off(first: &[u8], closes: bool, streams: u64) {
    let accepted = Arc::new(AtomicU64::new(0));
    let (counting, first) = (Arc::clone(&accepted), first.to_vec());
    let server = listen(move |mut client| {
        counting.fetch_add(1, Ordering::SeqCst);
        let _ = client.write_all(&first);
        // Reads the preface and a request; further requests get no answer.
        let mut bytes = [0; 4096];
        let said = client.read(&mut bytes).unwrap_or(0);
        while !closes && said > 0 && matches!(client.read(&mut bytes), Ok(1..)) {}
    });
    let measured = |users: &str, load: &str| {
        let sections =
            format!("connection = {{ http = \"2\", streams = {streams} }}\n{users}, {load} }}");
        measured(&format!("http://{server}/"), &sections, None)
    };
    let run = |load: &str| measured("load = { connections = 2", load);
    // Each of these has one operation at a time, and all share a connection.
    let sharing = format!(
        "request = [{{ name = \"a\" }}]\njourney = {{ steps = [\"a\"], connection = \"shared\" \
         }}\nload = {{ users = {}, max_connections = 1",
        2 * streams
    );
    let counters = measured(&sharing, "duration = \"2s\"");
    let connections = accepted.swap(0, Ordering::SeqCst);
    assert!(
        (2..40 * streams).contains(&connections),
        "shared: {connections} connections"
    );
    assert!(counters.connections.back_offs > 0, "shared");
    assert_eq!(counters.started, counters.operations_ended(), "shared");
    let counters = run("duration = \"2s\"");
    let connections = accepted.load(Ordering::SeqCst);
    assert!((2..40).contains(&connections), "{connections} connections");
    assert!(counters.connections.back_offs > 0);
    assert_eq!(counters.started, counters.operations_ended());
    let counters = run("requests = 12");
    assert_eq!(
        (counters.started, counters.operations_ended(), counters.ok),
        (12, 12, 0)
    );
}

#[test]
fn operation_that_waits_in_a_back_off_ends_after_the_load() {
    // Each user's first connection goes away; its request is sent again after the load has ended.
    let server = serving(
        frame(SETTINGS, 0, 0, &[]),
        move |connection, id, _| match connection {
            0 => frame(GO_AWAY, 0, 0, &[0; 8]),
            _ => answer(id),
        },
    );
    let sections = "connection.http = \"2\"\nload = { connections = 1, requests = 1 }";
    let began = Instant::now();
    let counters = measured(&format!("http://{server}/"), sections, None);
    assert_eq!((counters.ok, counters.http2.sent_again), (1, 1));
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn connect_after_a_failure_has_its_own_time_out() {
    let listener = socket(AddressFamily::INET, SocketType::STREAM, Some(ipproto::TCP)).unwrap();
    bind(&listener, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let listener = TcpListener::from(listener);
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let silent = listener.accept();
        // The queue holds one or two; the kernel drops all others.
        let fill = || TcpStream::connect_timeout(&address, Duration::from_millis(300)).ok();
        let held: Vec<TcpStream> = std::iter::from_fn(fill).take(8).collect();
        std::thread::sleep(Duration::from_secs(60));
        drop((silent, held));
    });
    let sections = "connection.timeouts = { connect = \"300ms\", request = \"6s\" }\n\
                    load = { connections = 1, requests = 2 }";
    let began = Instant::now();
    let counters = measured(&format!("http://{address}/"), sections, None);
    let took = began.elapsed();
    let names = ["connect.time_out", "http.time_out"].map(|name| (name.to_owned(), 1));
    assert_eq!(failures(&counters), names);
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn users_who_think_back_off_from_another_origin() {
    // No program listens there; a port that was closed here may be another test's by now.
    let gone = "127.0.0.1:9";
    let found =
        format!("HTTP/1.1 302 Found\r\nLocation: http://{gone}/\r\nContent-Length: 0\r\n\r\n");
    let server = listen(move |mut client| {
        while let Ok(1..) = client.read(&mut [0; 512]) {
            let _ = client.write_all(found.as_bytes());
        }
    });
    let sections = format!(
        "target.redirects_to = [\"http://{gone}\"]\nrequest.redirects = 1\n\
         load = {{ connections = 1, duration = \"2s\", think_time = \"1ms\" }}"
    );
    let counters = measured(&format!("http://{server}/"), &sections, None);
    assert!((2..40).contains(&counters.failed), "{counters:?}");
}

#[test]
fn failures_with_answers_in_between_are_not_in_a_row() {
    let server = serving(frame(SETTINGS, 0, 0, &[]), |connection, id, stream| {
        // The settings come before.
        std::thread::sleep(Duration::from_millis(20));
        if connection % 2 == 0 {
            return answer(id);
        }
        let _ = stream.shutdown(Shutdown::Both);
        vec![]
    });
    let sections = "connection = { http = \"2\", requests = 1 }\n\
                    load = { connections = 1, requests = 20 }";
    let counters = measured(&format!("http://{server}/"), sections, None);
    let connections = &counters.connections;
    assert_eq!(counters.ok, 10, "{:?}", failures(&counters));
    assert!(connections.back_offs > 0);
    assert!(
        connections.back_off_ns <= connections.back_offs * 10_000_000,
        "{connections:?}"
    );
}

#[test]
fn user_thinks_after_an_answer_of_a_connection_that_goes_away_first() {
    let server = serving(frame(SETTINGS, 0, 0, &[]), |_, id, mut stream| {
        let away = frame(GO_AWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]);
        let _ = stream.write_all(&away);
        // Within the back-off of a connection that has not served.
        std::thread::sleep(Duration::from_millis(2));
        answer(id)
    });
    for streams in [1, 2] {
        let sections = format!(
            "connection = {{ http = \"2\", streams = {streams} }}\n\
             load = {{ connections = 1, duration = \"2s\", think_time = \"9s\" }}"
        );
        let counters = measured(&format!("http://{server}/"), &sections, None);
        // The second stream does not wait for the thinking of the first. Its connection goes away
        // too, and the seat's first user opens the next: that one's thinking ends then.
        assert!(
            (streams..=2 * streams).contains(&counters.ok),
            "{counters:?}"
        );
    }
}
