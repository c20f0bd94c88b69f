//! Handshakes in memory, without sockets: what the client's half costs, and whether two workers
//! disturb each other.
//!
//! Each thread has a worker's TLS from the engine and a rustls server of its own, and is pinned to
//! its own CPU. Runs with one thread and with two take turns. A shared lock or counter would show
//! as a ratio below 2. The ratio by the threads' CPU time is what two idle CPUs would give; the
//! ratio by wall clock only is on a quiet machine. `--rounds N`; `--test` runs for a moment;
//! `--least R` fails if the ratio by CPU time is below R.

use benches::{flag, is_trial, median, parse};
use engine::{Rehearsal, allowed_cpus};
use measure::HandshakeKind;
use rustls::crypto::aws_lc_rs::Ticketer;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::{ServerConfig, ServerConnection};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};
use target::{KeyKind, Leaf, TestAuthority};

/// Name, key of the server, and `[tls]` without the CA.
const SCENARIOS: [(&str, KeyKind, &str); 5] = [
    (
        "TLS 1.3 P-256, full",
        KeyKind::P256,
        "verify = \"once\", versions = [\"1.3\"]",
    ),
    (
        "TLS 1.3 P-256, full, unchecked",
        KeyKind::P256,
        "verify = \"none\", versions = [\"1.3\"]",
    ),
    (
        "TLS 1.3 P-256, full, unchecked, cheap",
        KeyKind::P256,
        "verify = \"none\", versions = [\"1.3\"], key_exchange = \"cheap\", groups = \
         [\"secp256r1\"]",
    ),
    (
        "TLS 1.3, resumed",
        KeyKind::P256,
        "verify = \"once\", versions = [\"1.3\"], resumption = \"always\"",
    ),
    (
        "TLS 1.2, resumed",
        KeyKind::P256,
        "verify = \"once\", versions = [\"1.2\"], resumption = \"always\"",
    ),
];

/// The work of one thread.
#[derive(Clone, Copy)]
struct Done {
    per_second: f64,
    /// CPU time of client and server in microseconds.
    cpu_us: f64,
    /// Time in the client's half of a handshake, in microseconds.
    client_us: f64,
}

fn main() {
    let rounds = flag("--rounds")
        .and_then(|number| number.parse().ok())
        .unwrap_or(if is_trial() { 1 } else { 5 });
    let least: f64 = flag("--least")
        .and_then(|number| number.parse().ok())
        .unwrap_or(0.0);
    println!(
        "| handshakes in memory | client's half µs | 1 thread/s | 2 threads/s | ratio | by CPU \
         time |\n|---|---|---|---|---|---|"
    );
    for (name, key, tls) in SCENARIOS {
        let runs: Vec<_> = (0..rounds)
            .map(|_| (threads(1, key, tls), threads(2, key, tls)))
            .collect();
        let alone = |of: fn(&Done) -> f64| median(runs.iter().map(|(one, _)| of(&one[0])));
        let both = |of: fn(&[Done]) -> f64| median(runs.iter().map(|(_, two)| of(two)));
        let (client, one, two) = (
            alone(|done| done.client_us),
            alone(|done| done.per_second),
            both(per_second),
        );
        let by_cpu = 2.0 * alone(|done| done.cpu_us) / both(cpu_us);
        println!(
            "| {name} | {client:.1} | {one:.0} | {two:.0} | {:.2} | {by_cpu:.2} |",
            two / one
        );
        assert!(
            by_cpu >= least,
            "{name}: two threads do {by_cpu:.2} times as much as one, less than {least}"
        );
    }
}

/// Handshakes per second, of all threads together.
fn per_second(threads: &[Done]) -> f64 {
    threads.iter().map(|done| done.per_second).sum()
}

/// CPU time of a handshake, over all threads.
fn cpu_us(threads: &[Done]) -> f64 {
    let cpu: f64 = threads
        .iter()
        .map(|done| done.cpu_us * done.per_second)
        .sum();
    cpu / per_second(threads)
}

/// Runs `number` threads at once, each on its own CPU.
fn threads(number: usize, key: KeyKind, tls: &'static str) -> Vec<Done> {
    let start = Arc::new(Barrier::new(number));
    let cpus = allowed_cpus().into_iter().rev().cycle().take(number);
    let work = |cpu| {
        let start = Arc::clone(&start);
        thread::spawn(move || {
            let mut set = rustix::thread::CpuSet::new();
            set.set(cpu as usize);
            // If this fails, threads may share a CPU for a while, and the ratio is meaningless.
            let _ = rustix::thread::sched_setaffinity(None, &set);
            one_thread(key, tls, &start)
        })
    };
    let threads: Vec<_> = cpus.map(work).collect();
    threads
        .into_iter()
        .map(|thread| thread.join().expect("no thread panics"))
        .collect()
}

fn one_thread(key: KeyKind, tls: &str, start: &Barrier) -> Done {
    let (server, ca) = server(key, tls.contains("resumption"));
    let text = format!(
        "target.url = \"https://localhost/\"\ntls = {{ ca = \"bench-ca.pem\", {tls} }}\nload = {{ \
         connections = 1, duration = \"1s\" }}\n"
    );
    let rehearsal = Rehearsal::new(&parse(&text, Some(&ca))).expect("the plan's TLS can be set up");
    let mut rehearsal = rehearsal.expect("the target is HTTPS");
    let expected = if tls.contains("resumption") {
        HandshakeKind::Resumed
    } else {
        HandshakeKind::Full
    };
    // The first handshake creates the session that the others resume.
    for _ in 0..5 {
        handshake(&mut rehearsal, &server);
    }
    let duration = if is_trial() {
        Duration::from_millis(50)
    } else {
        Duration::from_millis(1500)
    };
    start.wait();
    let (began, cpu_began, mut number, mut in_server) =
        (Instant::now(), thread_cpu_us(), 0_u32, Duration::ZERO);
    while began.elapsed() < duration {
        let (kind, elsewhere) = handshake(&mut rehearsal, &server);
        assert_eq!(kind, expected);
        number += 1;
        in_server += elsewhere;
    }
    let (whole, cpu_us) = (began.elapsed(), thread_cpu_us() - cpu_began);
    let each = f64::from(number.max(1));
    let client_us = (whole - in_server).as_secs_f64() / each * 1e6;
    Done {
        per_second: each / whole.as_secs_f64(),
        cpu_us: cpu_us / each,
        client_us,
    }
}

fn thread_cpu_us() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// One handshake, and the server's part of its time.
fn handshake(rehearsal: &mut Rehearsal, config: &Arc<ServerConfig>) -> (HandshakeKind, Duration) {
    let began = Instant::now();
    let mut server = ServerConnection::new(Arc::clone(config)).expect("the configuration is sound");
    let mut in_server = began.elapsed();
    let kind = rehearsal.handshake(|mut said, answer| {
        let began = Instant::now();
        while !said.is_empty() {
            server.read_tls(&mut said).expect("a vector can be read");
            server
                .process_new_packets()
                .expect("the client says nothing wrong");
        }
        while server.wants_write() {
            server.write_tls(answer).expect("a vector takes everything");
        }
        in_server += began.elapsed();
    });
    let began = Instant::now();
    drop(server);
    (
        kind.expect("the server says nothing wrong"),
        in_server + began.elapsed(),
    )
}

/// A server for localhost that shares nothing with other threads.
fn server(key: KeyKind, tickets: bool) -> (Arc<ServerConfig>, String) {
    let authority = TestAuthority::new(key).expect("keys can be made");
    let identity = authority
        .server(Leaf {
            names: &["localhost"],
            fault: None,
        })
        .expect("certificates can be made");
    let chain =
        vec![CertificateDer::from_pem_slice(identity.cert_pem.as_bytes()).expect("it is PEM")];
    let key = PrivateKeyDer::from_pem_slice(identity.key_pem.as_bytes()).expect("it is PEM");
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("they are a pair");
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = usize::from(tickets);
    if tickets {
        config.ticketer = Ticketer::new().expect("the system has randomness");
    }
    (Arc::new(config), authority.pem().to_owned())
}
