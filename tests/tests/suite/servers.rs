//! Runs of the real programs against real servers: the result has exactly what the server counted.
#![expect(
    clippy::unwrap_used,
    reason = "the suite is test code throughout, helpers too"
)]

mod addresses;
mod auth;
mod bodies;
mod body_transfer;
mod cheap;
mod checks;
mod connections;
mod controls;
mod data_files;
mod data_losses;
mod early_data;
mod go_server;
mod grpc;
mod haproxy;
mod http2;
mod identities;
mod imports;
mod journeys;
mod key_log;
mod local_ports;
mod made_values;
mod names;
mod nginx;
mod odd;
mod openssl_server;
mod others;
mod proxy_protocol;
mod quick;
mod redirect_origins;
mod redirects;
mod replay;
mod replay_connections;
mod replay_handshakes;
mod signatures;
mod signed;
mod stored_files;
mod streams;
mod tokens;
mod unsent_data;
mod variables;
mod websockets;

use analysis::{Document, Figures};
use interop::{BODY_BYTES, CoordinatorCommand};

/// Virtual users of every plan here, over all of its agents.
const USERS: u64 = 4;

/// Requests of every plan here.
const REQUESTS: u64 = 60;

/// Runs a plan with two local agents to its end; it must be a valid measurement without errors.
fn run(plan: &str) -> Document {
    run_by(2, plan)
}

/// The same with one agent, which takes half of the time: for what an agent does alone.
fn run_alone(plan: &str) -> Document {
    run_by(1, plan)
}

fn run_by(agents: u32, plan: &str) -> Document {
    let load = format!("load = {{ connections = {USERS}, requests = {REQUESTS} }}\n");
    let finished = CoordinatorCommand::local(agents, &format!("{load}{plan}"))
        .run()
        .expect(0);
    let document = finished.whole_document(agents as usize);
    assert!(
        document.measured.errors.is_empty(),
        "{:?}",
        document.measured.errors
    );
    document
}

/// Asserts that every request succeeded with the fixtures' body and status 200.
fn assert_all_ok(figures: &Figures) {
    let operations = &figures.operations;
    assert_eq!(
        (operations.started, operations.ended, operations.ok),
        (REQUESTS, REQUESTS, REQUESTS),
        "{operations:?}"
    );
    assert_eq!(
        figures.statuses.clone().into_iter().collect::<Vec<_>>(),
        [(200, REQUESTS)]
    );
    assert_eq!(figures.bytes.payload_bytes, REQUESTS * BODY_BYTES as u64);
    assert_eq!(figures.times["response_time"].count, REQUESTS);
}

/// The number of resumed handshakes for `tls.resumption` and a server that can or cannot resume, if
/// each request has a connection of its own: each user's first handshake is full.
fn resumed_of(resumption: &str, server_resumes: bool) -> u64 {
    if resumption == "always" && server_resumes {
        REQUESTS - USERS
    } else {
        0
    }
}

/// Asserts that the figures of handshakes and sessions add up, with this many of them resumed.
fn assert_resumed(figures: &Figures, resumption: &str, server_resumes: bool) {
    let (counted, resumed) = (&figures.resumption, resumed_of(resumption, server_resumes));
    assert_eq!(
        (counted.handshakes, counted.resumed, counted.full),
        (REQUESTS, resumed, REQUESTS - resumed),
        "{counted:?}"
    );
    assert_eq!(
        (
            counted.accepted,
            counted.accepted + counted.refused,
            counted.retried
        ),
        (resumed, counted.offered, 0),
        "{counted:?}"
    );
    // A server that resumes nothing may still issue sessions, as nginx does over TLS 1.3, and
    // forget them at once.
    let offered = if resumption == "always" && counted.received > 0 {
        REQUESTS - USERS
    } else {
        0
    };
    let none_at_hand = if resumption == "always" {
        REQUESTS - offered
    } else {
        0
    };
    assert_eq!(
        (counted.offered, counted.none_at_hand),
        (offered, none_at_hand),
        "{counted:?}"
    );
    let times = |metric: &str| figures.times.get(metric).map_or(0, |figure| figure.count);
    assert_eq!(
        (times("handshake_full"), times("handshake_resumed")),
        (REQUESTS - resumed, resumed)
    );
}
