//! Large request bodies, sent to a server that reads slowly.

use crate::support::{Named, run};
use measure::Counters;
use plan::Plan;
use rustix::net::sockopt::set_socket_recv_buffer_size;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

/// Reads one request on each connection, `step` bytes at a time, and answers with a status derived
/// from the sum of its body's bytes.
fn reading_slowly(step: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    set_socket_recv_buffer_size(&listener, 8 * 1024).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::with_capacity(step, &stream);
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).unwrap() > 2 {
                length = line
                    .strip_prefix("Content-Length: ")
                    .map_or(length, |length| length.trim().parse().unwrap());
                line.clear();
            }
            let (mut sum, mut piece) = (0_u64, vec![0; step]);
            while length > 0 {
                let bytes = reader.read(&mut piece[..step.min(length)]).unwrap();
                assert!(bytes > 0, "the body is cut");
                sum = piece[..bytes].iter().fold(sum, |sum, &byte| {
                    sum.wrapping_mul(31).wrapping_add(byte.into())
                });
                length -= bytes;
                std::thread::sleep(Duration::from_micros(50));
            }
            write!(
                &stream,
                "HTTP/1.1 {} OK\r\nContent-Length: 0\r\n\r\n",
                200 + sum % 100
            )
            .unwrap();
        }
    });
    address
}

fn post(address: SocketAddr, body: &[u8]) -> (Counters, Duration) {
    let text = format!(
        "name = \"t\"\ntarget.url = \"http://{address}/\"\nrequest = {{ method = \"POST\", \
         body_file = \"body\" }}\nload = {{ connections = 1, requests = 1 }}\nconnection = {{ \
         requests = 1, timeouts.request = \"60s\" }}\n"
    );
    let outcome =
        run(Plan::parse(&text, &mut Named(vec![("body".to_owned(), body.to_vec())])).unwrap());
    let cpu = Duration::from_nanos(
        outcome
            .workers
            .iter()
            .map(|worker| worker.whole.cpu_ns)
            .sum(),
    );
    (outcome.measured(), cpu)
}

#[test]
fn upload_to_a_slow_reader_costs_what_its_bytes_cost() {
    let mut costs = Vec::new();
    for megabytes in [3, 30] {
        let body: Vec<u8> = (0..megabytes << 20_usize)
            .map(|place| (place * 7 % 251) as u8)
            .collect();
        let sum = body.iter().fold(0_u64, |sum, &byte| {
            sum.wrapping_mul(31).wrapping_add(byte.into())
        });
        // This is CPU time of one thread, but a busy machine makes its caches cold: the best of
        // three counts.
        let cost = (0..3).map(|_| {
            let (counters, cpu) = post(reading_slowly(64 * 1024), &body);
            assert_eq!(
                counters.statuses.keys().collect::<Vec<_>>(),
                [&(200 + (sum % 100) as u16)],
                "{counters:?}"
            );
            cpu
        });
        costs.push(cost.min().unwrap());
    }
    let [small, large] = costs[..] else {
        unreachable!()
    };
    assert!(
        large < small * 16,
        "10 times the bytes: {small:?}, then {large:?}"
    );
}
