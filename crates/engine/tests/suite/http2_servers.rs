//! Hand-written HTTP/2 servers: they go away, allow no more streams, or answer one request late.

use crate::support::{Outcome, parse, run};
use measure::Metric;
use std::io::{BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const DATA: u8 = 0;
pub const SETTINGS: u8 = 4;
const HEADERS: u8 = 1;
pub const GO_AWAY: u8 = 7;

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, l0, l1, l2] = (payload.len() as u32).to_be_bytes();
    [
        &[l0, l1, l2, kind, flags],
        &stream.to_be_bytes()[..],
        payload,
    ]
    .concat()
}

fn max_streams(number: u32) -> Vec<u8> {
    frame(
        SETTINGS,
        0,
        0,
        &[&[0, 3], &number.to_be_bytes()[..]].concat(),
    )
}

/// An empty 200.
pub fn answer(stream: u32) -> Vec<u8> {
    frame(HEADERS, 0x05, stream, &[0x88])
}

/// Passes each connection's number and each request's stream to `serve`, and writes the bytes that
/// it returns.
pub fn serving(
    first: Vec<u8>,
    serve: impl Fn(u64, u32, &TcpStream) -> Vec<u8> + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (serve, first) = (Arc::new(serve), Arc::new(first));
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let (serve, first) = (Arc::clone(&serve), Arc::clone(&first));
            std::thread::spawn(move || -> std::io::Result<()> {
                let (mut reader, mut writer) = (BufReader::new(&stream), &stream);
                writer.write_all(&first)?;
                reader.read_exact(&mut [0; 24])?;
                loop {
                    let mut head = [0; 9];
                    reader.read_exact(&mut head)?;
                    let [l0, l1, l2, kind, _, i0, i1, i2, i3] = head;
                    reader
                        .read_exact(&mut vec![0; u32::from_be_bytes([0, l0, l1, l2]) as usize])?;
                    if kind == HEADERS {
                        let said =
                            serve(number as u64, u32::from_be_bytes([i0, i1, i2, i3]), &stream);
                        writer.write_all(&said)?;
                    }
                }
            });
        }
    });
    address
}

/// Answers stream 1 of the first connection after `late`, everything else at once. The first
/// connection goes away after its third stream. `before` counts the answers before the late one.
fn going_away(late: Duration, before: Arc<AtomicU64>) -> SocketAddr {
    let is_over = Arc::new(AtomicU64::new(0));
    serving(
        frame(SETTINGS, 0, 0, &[]),
        move |connection, id, stream| match (connection, id) {
            (0, 1) => {
                let (stream, is_over) = (stream.try_clone().unwrap(), Arc::clone(&is_over));
                std::thread::spawn(move || {
                    std::thread::sleep(late);
                    is_over.store(1, Ordering::SeqCst);
                    let _ = (&stream).write_all(&answer(1));
                });
                vec![]
            }
            (0, 5) => [answer(5), frame(GO_AWAY, 0, 0, &[0, 0, 0, 5, 0, 0, 0, 0])].concat(),
            _ => {
                before.fetch_add(1 - is_over.load(Ordering::SeqCst), Ordering::SeqCst);
                answer(id)
            }
        },
    )
}

fn running(address: SocketAddr, sections: &str) -> Outcome {
    run(parse(
        &format!("name = \"t\"\ntarget.url = \"http://{address}/\"\n{sections}\n"),
        None,
    ))
}

fn failures(outcome: &Outcome) -> Vec<(String, u64)> {
    outcome
        .measured()
        .failures
        .iter()
        .map(|(failure, number)| (failure.to_string(), *number))
        .collect()
}

#[test]
fn next_connection_is_opened_while_one_drains() {
    for load in ["connections = 1", "rate = \"300/s\", max_connections = 1"] {
        let before = Arc::new(AtomicU64::new(0));
        let server = going_away(Duration::from_secs(2), Arc::clone(&before));
        let sections = format!(
            "connection = {{ http = \"2\", streams = 3 }}\nload = {{ {load}, requests = 300 }}"
        );
        let outcome = running(server, &sections);
        let counters = outcome.measured();
        assert_eq!((counters.ok, failures(&outcome)), (300, vec![]), "{load}");
        assert_eq!(
            (counters.connections.opened, counters.http2.go_aways),
            (2, 1),
            "{load}"
        );
        assert_eq!(counters.http2.draining_connections, 1, "{load}");
        let before = before.load(Ordering::SeqCst);
        assert!(
            before > 250,
            "{load}: {before} of 300 are answered while one is under way"
        );
        let late = outcome
            .sum
            .cells
            .values()
            .filter_map(|cell| cell.times.get(&(measure::Outcome::Ok, Metric::Lateness)));
        assert!(
            late.map(|times| times.max).max().unwrap_or(0) < 1_000_000_000,
            "{load}: nothing waits for the drain"
        );
    }
}

#[test]
fn bytes_of_a_body_count_in_the_second_in_which_they_come() {
    const PAUSE: Duration = Duration::from_millis(1_300);
    const HALF: [u8; 9_000] = [b'x'; 9_000];
    let two = serving(frame(SETTINGS, 0, 0, &[]), |_, id, mut stream| {
        stream
            .write_all(&[frame(HEADERS, 0x04, id, &[0x88]), frame(DATA, 0, id, &HALF)].concat())
            .unwrap();
        std::thread::sleep(PAUSE);
        frame(DATA, 1, id, &HALF)
    });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 512]).unwrap();
        stream
            .write_all(
                &[
                    &b"HTTP/1.1 200 OK\r\nContent-Length: 18000\r\n\r\n"[..],
                    &HALF,
                ]
                .concat(),
            )
            .unwrap();
        std::thread::sleep(PAUSE);
        stream.write_all(&HALF).unwrap();
        let _ = stream.read(&mut [0; 512]);
    });
    for (version, server) in [("1.1", one), ("2", two)] {
        let outcome = running(
            server,
            &format!("connection.http = \"{version}\"\nload = {{ connections = 1, requests = 1 }}"),
        );
        let payload = |cells: &measure::Snapshot| {
            cells
                .cells
                .values()
                .map(|cell| cell.counters.payload_bytes)
                .sum::<u64>()
        };
        let seconds: Vec<u64> = outcome
            .intervals
            .iter()
            .map(|(_, interval)| payload(interval))
            .filter(|&bytes| bytes > 0)
            .collect();
        assert_eq!(
            (outcome.measured().ok, seconds),
            (1, vec![9_000, 9_000]),
            "HTTP/{version}"
        );
    }
}

#[test]
fn operation_on_a_draining_connection_is_sent_again_from_its_user() {
    for load in ["connections = 2", "rate = \"100/s\", max_connections = 2"] {
        // The second GOAWAY reports that the late request was not processed after all.
        let server = serving(
            frame(SETTINGS, 0, 0, &[]),
            move |connection, id, stream| match (connection, id) {
                (0 | 1, 1) => {
                    let stream = stream.try_clone().unwrap();
                    std::thread::spawn(move || {
                        std::thread::sleep(Duration::from_millis(300));
                        let _ = (&stream).write_all(&frame(GO_AWAY, 0, 0, &[0; 8]));
                    });
                    vec![]
                }
                (0 | 1, 3) => [answer(3), frame(GO_AWAY, 0, 0, &[0, 0, 0, 3, 0, 0, 0, 0])].concat(),
                _ => answer(id),
            },
        );
        let sections = format!(
            "connection = {{ http = \"2\", streams = 2 }}\nload = {{ {load}, requests = 100 }}"
        );
        let outcome = running(server, &sections);
        let counters = outcome.measured();
        assert_eq!(
            (counters.started, counters.ok, failures(&outcome)),
            (100, 100, vec![]),
            "{load}"
        );
        assert_eq!(
            (
                counters.http2.draining_connections > 0,
                counters.http2.sent_again
            ),
            (true, 2),
            "{load}: {:?}",
            counters.http2
        );
    }
}

#[test]
fn operation_that_waits_for_a_stream_times_out_under_its_own_name() {
    for load in [
        "connections = 1, requests = 30",
        "rate = \"100/s\", max_connections = 1, requests = 30",
    ] {
        // The first connection allows no more streams after its third request.
        let server = serving(max_streams(10), |connection, id, _| {
            match (connection, id) {
                (0, 5) => [max_streams(0), answer(5)].concat(),
                _ => answer(id),
            }
        });
        let sections = format!(
            "connection = {{ http = \"2\", streams = 2, timeouts = {{ request = \"300ms\" }} \
             }}\nload = {{ {load} }}"
        );
        let began = Instant::now();
        let outcome = running(server, &sections);
        let counters = outcome.measured();
        let names: Vec<String> = failures(&outcome)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(
            (counters.operations_ended(), counters.failed),
            (30, 0),
            "{load}: {names:?}"
        );
        assert_eq!(names, ["stream.time_out"], "{load}");
        assert!(began.elapsed() < Duration::from_secs(10), "{load}");
    }
}

#[test]
fn malformed_answers_fail_their_own_operations_alone() {
    // Two statuses in every tenth answer.
    let asked = AtomicU64::new(0);
    let server = serving(frame(SETTINGS, 0, 0, &[]), move |_, id, _| {
        match asked.fetch_add(1, Ordering::SeqCst) % 10 {
            3 => frame(HEADERS, 0x05, id, &[0x88, 0x88]),
            _ => answer(id),
        }
    });
    let outcome = running(
        server,
        "connection = { http = \"2\", streams = 10 }\nload = { connections = 2, requests = 200 }",
    );
    let counters = outcome.measured();
    assert_eq!(
        failures(&outcome),
        [("http.violation.status".to_owned(), 20)]
    );
    assert_eq!((counters.ok, counters.connections.opened), (180, 2));
}

#[test]
fn streams_that_a_server_allows_no_more_are_told() {
    // 20 at first; after each connection's third request 2, then 4.
    let server = serving(max_streams(20), |_, id, _| match id {
        5 => [max_streams(2), max_streams(4), answer(5)].concat(),
        _ => answer(id),
    });
    // Long enough for each connection to have its third request.
    let outcome = running(
        server,
        "connection = { http = \"2\", streams = 8 }\n\
         load = { connections = 3, duration = \"3s\", think_time = \"20ms\" }",
    );
    let counters = outcome.measured();
    assert_eq!(
        (counters.ok, failures(&outcome)),
        (counters.started, vec![])
    );
    assert_eq!(
        (
            counters.http2.limited_connections,
            counters.http2.fewest_streams
        ),
        (3, 2)
    );
}

#[test]
fn floods_end_their_connection_under_a_name() {
    const PING: u8 = 6;
    const CONTINUATION: u8 = 9;
    let cases: [(Vec<u8>, Vec<u8>, &str); 4] = [
        (vec![], frame(PING, 0, 0, &[0; 8]), "ping_flood"),
        (vec![], frame(SETTINGS, 0, 0, &[]), "settings_flood"),
        (
            frame(HEADERS, 0, 1, &[0x88]),
            frame(CONTINUATION, 0, 1, &[]),
            "empty_frames",
        ),
        (
            frame(HEADERS, 0x04, 1, &[0x88]),
            frame(DATA, 0, 1, &[]),
            "empty_frames",
        ),
    ];
    for (first, one, name) in cases {
        let flood = one.repeat(1_000);
        let server = serving(frame(SETTINGS, 0, 0, &[]), move |_, _, mut stream| {
            let _ = stream.write_all(&first);
            while stream.write_all(&flood).is_ok() {}
            vec![]
        });
        let outcome = running(
            server,
            "connection = { http = \"2\", streams = 2 }\nload = { connections = 1, requests = 2 }",
        );
        assert_eq!(
            failures(&outcome),
            [(format!("http.violation.{name}"), 2)],
            "{name}"
        );
    }
}

#[test]
fn sockets_that_end_with_their_connection_each_have_their_code() {
    // It opens sockets (RFC 8441 §3).
    let server = serving(frame(SETTINGS, 0, 0, &[0, 8, 0, 0, 0, 1]), |_, id, _| {
        if id == 1 {
            return vec![];
        }
        let open = |id| frame(HEADERS, 0x04, id, &[0x88]);
        let close = |id| frame(DATA, 0, id, &[0x88, 2, 0x03, 0xe9]);
        let away = frame(GO_AWAY, 0, 0, &[0, 0, 0, 3, 0, 0, 0, 0]);
        [open(1), open(3), away, close(1), close(3)].concat()
    });
    let sections = "connection = { http = \"2\", streams = 2, timeouts.request = \"2s\" }\n\
                    request.websocket = { hold = \"1m\" }\n\
                    load = { connections = 1, requests = 2 }";
    let outcome = running(server, sections);
    assert_eq!(failures(&outcome), [("websocket.close.1001".to_owned(), 2)]);
}
