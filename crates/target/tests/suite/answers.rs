//! Answers on the good path: framing, statuses, keep-alive, delays, and that the counts say what
//! happened.

use crate::client::{Client, DEADLINE, GET, sound};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};
use target::{BodyFraming, Config, KeepAlive, LastRequest, RunningTarget, TargetAnswer};

fn start(config: Config) -> RunningTarget {
    RunningTarget::new(config).unwrap()
}

#[test]
fn keep_alive_answers_request_after_request_and_counts_them() {
    let target = start(Config::plain());
    let mut client = Client::plain(&target);
    for _ in 0..3 {
        client.send(GET);
        assert_eq!(client.receive(sound().len()), sound());
    }
    drop(client);
    let counts = target.stop();
    assert_eq!(
        (counts.connections, counts.requests, counts.responses),
        (1, 3, 3)
    );
    assert_eq!(
        (counts.statuses[&200], counts.response_payload_bytes),
        (3, 3 * 356)
    );
    assert_eq!(counts.connections_open, 0);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let paths = vec![("/a".to_owned(), TargetAnswer::status(404))];
    let target = start(Config {
        paths,
        ..Config::plain()
    });
    let mut client = Client::plain(&target);
    client.send(
        b"GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    );
    let answers = String::from_utf8(client.receive_all().0).unwrap();
    let first = answers.find("HTTP/1.1 404 Not Found").unwrap();
    assert!(first < answers.find("HTTP/1.1 200 OK").unwrap());
}

#[test]
fn answers_are_framed_as_asked() {
    let body = "x".repeat(3);
    let cases = [
        (
            200,
            BodyFraming::ContentLength,
            format!("content-length: 3\r\nconnection: close\r\n\r\n{body}"),
        ),
        (
            200,
            BodyFraming::Chunked,
            format!(
                "transfer-encoding: chunked\r\nconnection: close\r\n\r\n3\r\n{body}\r\n0\r\n\r\n"
            ),
        ),
        (
            200,
            BodyFraming::EofDelimited,
            format!("text/plain\r\nconnection: close\r\n\r\n{body}"),
        ),
        (
            204,
            BodyFraming::ContentLength,
            "text/plain\r\nconnection: close\r\n\r\n".to_owned(),
        ),
        (
            304,
            BodyFraming::Chunked,
            "text/plain\r\nconnection: close\r\n\r\n".to_owned(),
        ),
    ];
    for (status, framing, tail) in cases {
        let answer = TargetAnswer {
            status,
            framing,
            body_bytes: 3,
            ..TargetAnswer::default()
        };
        let target = start(Config {
            answer,
            ..Config::plain()
        });
        let text = whole(
            &target,
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        );
        assert!(
            text.starts_with(&format!("HTTP/1.1 {status} ")) && text.ends_with(&tail),
            "{text}"
        );
    }
}

#[test]
fn head_gets_the_head_alone() {
    let target = start(Config::plain());
    let text = whole(
        &target,
        "HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    );
    assert!(
        text.ends_with("content-length: 356\r\nconnection: close\r\n\r\n"),
        "{text}"
    );
    assert_eq!(target.stop().response_payload_bytes, 0);
}

#[test]
fn request_bodies_are_read_and_counted() {
    let target = start(Config::plain());
    let mut client = Client::plain(&target);
    let body = vec![b'b'; 100_000];
    client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
    client.send(&body);
    assert_eq!(client.receive(sound().len()), sound());
    client.send(GET);
    assert_eq!(client.receive(sound().len()), sound());
    assert_eq!(target.stop().request_payload_bytes, 100_000);
}

#[test]
fn interim_answers_come_before_the_final_one() {
    for delay in [Duration::ZERO, Duration::from_millis(2)] {
        let answer = TargetAnswer {
            interim: vec![100, 103],
            delay,
            ..TargetAnswer::default()
        };
        let target = start(Config {
            answer,
            ..Config::plain()
        });
        let text = whole(
            &target,
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        );
        let order = [
            "HTTP/1.1 100 Continue\r\n\r\n",
            "HTTP/1.1 103 Early Hints\r\n",
            "HTTP/1.1 200 OK\r\n",
        ];
        let places: Vec<_> = order.iter().map(|part| text.find(part).unwrap()).collect();
        assert!(places.is_sorted() && places[0] == 0, "{text}");
    }
}

#[test]
fn a_delay_is_never_shorter_than_asked() {
    let delay = Duration::from_millis(20);
    let target = start(Config {
        answer: TargetAnswer {
            delay,
            ..TargetAnswer::default()
        },
        ..Config::plain()
    });
    let mut client = Client::plain(&target);
    let sent_at = Instant::now();
    client.send(GET);
    client.receive(1);
    assert!(sent_at.elapsed() >= delay);
}

#[test]
fn the_last_request_of_a_connection_is_announced_or_a_surprise() {
    for (last, announced) in [(LastRequest::Announced, true), (LastRequest::Silent, false)] {
        let keep_alive = KeepAlive {
            requests: NonZeroU32::new(2),
            last,
            idle: None,
        };
        let target = start(Config {
            keep_alive,
            ..Config::plain()
        });
        let mut client = Client::plain(&target);
        client.send(GET);
        assert_eq!(client.receive(sound().len()), sound());
        client.send(GET);
        let text = String::from_utf8(client.receive_all().0).unwrap();
        assert_eq!(text.contains("connection: close"), announced);
        assert!(text.ends_with("xxx"));
    }
}

#[test]
fn an_idle_connection_is_closed_after_its_time() {
    let idle = Duration::from_secs(2);
    let keep_alive = KeepAlive {
        idle: Some(idle),
        ..KeepAlive::default()
    };
    let target = start(Config {
        keep_alive,
        ..Config::plain()
    });
    let mut client = Client::plain(&target);
    let idle_since = Instant::now();
    client.send(GET);
    client.receive(sound().len());
    let (rest, end) = client.receive_all();
    assert!(rest.is_empty() && end.is_ok());
    assert!((idle..DEADLINE).contains(&idle_since.elapsed()));
}

#[test]
fn bad_requests_are_refused_and_counted() {
    let target = start(Config::plain());
    assert!(whole(&target, "nonsense\r\n\r\n").starts_with("HTTP/1.1 400 "));
    assert!(whole(&target, &"GET / HTTP/1.1\r\nHost: ".repeat(4000)).starts_with("HTTP/1.1 4"));
    assert_eq!(target.stop().requests_bad, 2);
}

#[test]
fn several_threads_share_one_address_and_one_count() {
    let threads = std::num::NonZeroUsize::new(3).unwrap();
    let target = start(Config {
        threads,
        ..Config::plain()
    });
    for _ in 0..12 {
        let mut client = Client::plain(&target);
        client.send(GET);
        client.receive(sound().len());
    }
    let counts = target.stop();
    assert_eq!((counts.connections, counts.requests), (12, 12));
}

#[test]
fn serve_runs_on_the_callers_runtime_until_told_to_stop() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let target = target::BoundTarget::bind(Config::plain()).unwrap();
    let (address, tally) = (target.address(), target.tally());
    let client = async {
        let answered = tokio::task::spawn_blocking(move || {
            use std::io::{Read as _, Write as _};
            let mut client = std::net::TcpStream::connect(address).unwrap();
            client.write_all(GET).unwrap();
            client.read_exact(&mut vec![0; sound().len()]).unwrap();
        });
        answered.await.unwrap();
    };
    runtime.block_on(target.serve(client)).unwrap();
    assert_eq!(tally.counts().responses, 1);
    // A process that another test starts just then has the listener until it executes its program.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while std::net::TcpStream::connect(address).is_ok() {
        assert!(std::time::Instant::now() < deadline, "it still listens");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

fn whole(target: &RunningTarget, request: &str) -> String {
    let mut client = Client::plain(target);
    client.send(request.as_bytes());
    let (bytes, end) = client.receive_all();
    end.unwrap();
    String::from_utf8(bytes).unwrap()
}
