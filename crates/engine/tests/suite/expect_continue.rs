//! Bodies that wait for `100 Continue`, sent to servers that give it, refuse it, or say nothing.

use crate::hand_written::{listen, measured};
use measure::Counters;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const BODY: &str = "the body";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
const REFUSED: &[u8] = b"HTTP/1.1 417 No\r\nContent-Length: 2\r\n\r\nno";

/// Reads a head. Returns whether it expects a 100; `None` at the end of the connection.
fn read_head(reader: &mut BufReader<&TcpStream>) -> Option<bool> {
    let (mut line, mut expects) = (String::new(), false);
    while reader.read_line(&mut line).ok()? > 2 {
        expects |= line == "Expect: 100-continue\r\n";
        line.clear();
    }
    (!line.is_empty()).then_some(expects)
}

fn read_body(reader: &mut BufReader<&TcpStream>) -> bool {
    let mut body = [0; BODY.len()];
    reader.read_exact(&mut body).is_ok() && body == *BODY.as_bytes()
}

fn post(address: std::net::SocketAddr, more: &str) -> Counters {
    let sections = format!(
        "load = {{ connections = 1, requests = 3 }}\n\
         request = {{ method = \"POST\", body = {BODY:?}, expect.status = [200, 417], {more} }}"
    );
    measured(&format!("http://{address}/"), &sections, None)
}

#[test]
fn body_follows_the_leave() {
    let address = listen(|stream| {
        let mut reader = BufReader::new(&stream);
        while let Some(expects) = read_head(&mut reader) {
            assert!(expects);
            // Nothing comes before the leave, in however many pieces that is.
            stream
                .set_read_timeout(Some(Duration::from_millis(30)))
                .unwrap();
            assert!(reader.fill_buf().is_err());
            stream.set_read_timeout(None).unwrap();
            (&stream)
                .write_all(b"HTTP/1.1 103 Early Hints\r\n\r\n")
                .unwrap();
            (&stream).write_all(&CONTINUE[..9]).unwrap();
            std::thread::sleep(Duration::from_millis(10));
            (&stream).write_all(&CONTINUE[9..]).unwrap();
            assert!(read_body(&mut reader));
            (&stream).write_all(OK).unwrap();
        }
    });
    let counters = post(address, "expect_continue = \"1m\"");
    assert_eq!(
        (counters.ok, counters.connections.opened),
        (3, 1),
        "{counters:?}"
    );
}

#[test]
fn body_follows_the_wait_if_nothing_comes() {
    let address = listen(move |stream| {
        let mut reader = BufReader::new(&stream);
        while let Some(true) = read_head(&mut reader) {
            assert!(read_body(&mut reader));
            // The leave comes too late to matter.
            (&stream).write_all(&[CONTINUE, OK].concat()).unwrap();
        }
    });
    let begun_at = Instant::now();
    let counters = post(address, "expect_continue = \"100ms\"");
    assert_eq!(
        (counters.ok, counters.connections.opened),
        (3, 1),
        "{counters:?}"
    );
    assert!(begun_at.elapsed() >= Duration::from_millis(300));
}

#[test]
fn answer_in_place_of_the_leave_ends_the_connection_without_the_body() {
    for answer in [REFUSED.to_vec(), OK.to_vec(), [CONTINUE, OK].concat()] {
        let ends = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&ends);
        let address = listen(move |stream| {
            let mut reader = BufReader::new(&stream);
            if read_head(&mut reader) == Some(true) {
                (&stream).write_all(&answer).unwrap();
                // The end is all that follows.
                assert_eq!(reader.read(&mut [0; 9]).unwrap(), 0);
                seen.fetch_add(1, Ordering::Relaxed);
            }
        });
        let counters = post(address, "expect_continue = \"1m\"");
        assert_eq!(
            (counters.ok, counters.connections.opened),
            (3, 3),
            "{counters:?}"
        );
        let told = Instant::now();
        while ends.load(Ordering::Relaxed) < 3 && told.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(ends.load(Ordering::Relaxed), 3);
    }
}

/// The server waits for the body that was announced, and so does not close.
#[test]
fn connection_that_the_server_should_close_is_closed_without_it() {
    let address = listen(|stream| {
        let mut reader = BufReader::new(&stream);
        if read_head(&mut reader) == Some(true) {
            (&stream).write_all(REFUSED).unwrap();
            let _ = reader.read_to_end(&mut Vec::new());
        }
    });
    let more = "expect_continue = \"1m\" }\nconnection = { close = \"server\", requests = 1";
    let counters = post(address, more);
    let connections = &counters.connections;
    assert_eq!((counters.ok, connections.left_open), (3, 0), "{counters:?}");
}

#[test]
fn time_out_and_lost_connections_are_those_of_any_request() {
    let address = listen(|stream| {
        let mut reader = BufReader::new(&stream);
        read_head(&mut reader);
        let _ = reader.read_to_end(&mut Vec::new());
    });
    let within = "expect_continue = \"50ms\" }\nconnection.timeouts = { request = \"200ms\"";
    let counters = post(address, within);
    assert_eq!(counters.timed_out, 3, "{counters:?}");
    let before = "expect_continue = \"1m\" }\nconnection.timeouts = { request = \"200ms\"";
    let counters = post(address, before);
    assert_eq!(counters.timed_out, 3, "{counters:?}");
    let address = listen(|stream| {
        read_head(&mut BufReader::new(&stream));
        (&stream).write_all(CONTINUE).unwrap();
    });
    let counters = post(address, "expect_continue = \"1m\"");
    assert_eq!(counters.failed, 3, "{counters:?}");
}
