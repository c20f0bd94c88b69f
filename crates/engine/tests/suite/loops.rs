//! Open and closed loop against the built-in target: the report equals what the server counted.

use crate::support::{FiringAgent, parse, run, run_share};
use engine::{Cut, FiringLease, Placement, Policy, boot_time_ns, monotonic_ns};
use measure::Period;
use std::time::Duration;
use target::{Config, Counts, RunningTarget, ServerTls, ServerTlsVersion};

fn server(config: Config) -> RunningTarget {
    RunningTarget::new(config).unwrap()
}

/// Runs `load` against a server with this configuration, on one agent with one worker.
fn against(config: Config, sections: &str) -> (crate::support::Outcome, Counts) {
    let server = server(config);
    let text = format!(
        "name = \"t\"\ntarget.url = \"{}\"\n{sections}\n",
        server.url("/")
    );
    let ca = server.ca_pem().map(str::to_owned);
    let outcome = run(parse(&text, ca.as_deref()));
    (outcome, server.stop())
}

fn tls() -> Config {
    Config::default()
}

const CA: &str = "tls.ca = \"ca.pem\"\n";

#[test]
fn closed_loop_counts_what_the_server_counted() {
    for (name, config, sections, connections) in [
        (
            "keep-alive",
            Config::plain(),
            "load = { connections = 7, requests = 500 }",
            7,
        ),
        (
            "one each",
            Config::plain(),
            "connection.requests = 1\nload = { connections = 7, requests = 300 }",
            300,
        ),
        (
            "three each",
            Config::plain(),
            "connection.requests = 3\nload = { connections = 5, requests = 300 }",
            0,
        ),
        (
            "server closes",
            Config::plain(),
            "connection = { requests = 2, close = \"server\" }\nload = { connections = 4, \
             requests = 100 }",
            0,
        ),
        (
            "reset",
            Config::plain(),
            "connection = { requests = 1, close = \"rst\" }\nload = { connections = 4, requests = \
             100 }",
            100,
        ),
        (
            "TLS keep-alive",
            tls(),
            "tls.ca = \"ca.pem\"\nload = { connections = 7, requests = 500 }",
            7,
        ),
        (
            "TLS one each",
            tls(),
            "tls.ca = \"ca.pem\"\nconnection.requests = 1\nload = { connections = 7, requests = \
             60 }",
            60,
        ),
    ] {
        let (outcome, counts) = against(config, sections);
        let measured = outcome.measured();
        assert_eq!(measured.failures, [].into(), "{name}");
        assert_eq!(
            (measured.started, measured.ok),
            (counts.requests, counts.requests),
            "{name}"
        );
        assert_eq!(measured.connections.opened, counts.connections, "{name}");
        if connections > 0 {
            assert_eq!(counts.connections, connections, "{name}");
        }
        assert_eq!(
            measured.payload_bytes, counts.response_payload_bytes,
            "{name}"
        );
    }
}

#[test]
fn handshake_only_ends_with_the_servers_confirmation() {
    for confirm in [true, false] {
        let sections = format!(
            "{CA}connection = {{ requests = 0, confirm = {confirm} }}\nload = {{ connections = 3, \
             requests = 50 }}"
        );
        let (outcome, counts) = against(tls(), &sections);
        let measured = outcome.measured();
        assert_eq!(
            (measured.ok, measured.failures.len()),
            (50, 0),
            "confirm {confirm}: {measured:?}"
        );
        assert_eq!(measured.unconfirmed, if confirm { 0 } else { 50 });
        assert_eq!(counts.connections, 50);
        assert!(!confirm || counts.handshakes_full == 50, "{counts:?}");
    }
}

#[test]
fn open_loop_sends_every_arrival_of_its_schedule() {
    for arrivals in ["even", "poisson"] {
        let sections =
            format!("load = {{ rate = \"400/s\", arrivals = \"{arrivals}\", requests = 400 }}");
        let (outcome, counts) = against(Config::plain(), &sections);
        let measured = outcome.measured();
        assert_eq!(
            (measured.ok, counts.requests),
            (400, 400),
            "{arrivals}: {:?}",
            measured.failures
        );
    }
}

#[test]
fn warm_up_has_totals_of_its_own() {
    let (outcome, counts) = against(
        Config::plain(),
        "load = { rate = \"200/s\", requests = 100, warm_up = \"500ms\" }",
    );
    let (warm_up, measured) = (outcome.counters(Period::WarmUp), outcome.measured());
    assert_eq!((warm_up.ok, measured.ok), (100, 100));
    assert_eq!(counts.requests, 200);
}

#[test]
fn intervals_sum_to_the_totals_and_are_consecutive() {
    let (outcome, _) = against(
        Config::plain(),
        "load = { connections = 2, duration = \"2200ms\", think_time = \"5ms\" }",
    );
    let numbers: Vec<u32> = outcome
        .intervals
        .iter()
        .map(|interval| interval.0)
        .collect();
    assert_eq!(numbers, (0..numbers.len() as u32).collect::<Vec<_>>());
    assert!(numbers.len() >= 3, "{numbers:?}");
    let mut totals = measure::Totals::default();
    outcome
        .intervals
        .iter()
        .for_each(|(_, snapshot)| totals.add(snapshot));
    assert_eq!(totals, outcome.totals);
}

#[test]
fn shares_of_agents_and_workers_sum_to_the_plan() {
    let server = server(Config::plain());
    let text = format!(
        "name = \"t\"\ntarget.url = \"{}\"\nload = {{ connections = 7, requests = 101 }}\n",
        server.url("/")
    );
    let ok: Vec<u64> = (0..3)
        .map(|agent| {
            run_share(parse(&text, None), agent, 3, 2, FiringLease::unlimited())
                .measured()
                .ok
        })
        .collect();
    // By user: 2, 2 and 3 of them, with 14 or 15 operations each.
    assert_eq!(ok, [28, 29, 44]);
    assert_eq!(server.stop().requests, 101);
}

#[test]
fn workers_without_users_leave_their_part_to_those_with() {
    let server = server(Config::plain());
    let text = format!(
        "name = \"t\"\ntarget.url = \"{}\"\nload = {{ connections = 2, requests = 50 }}\n",
        server.url("/")
    );
    let outcome = run_share(parse(&text, None), 0, 1, 5, FiringLease::unlimited());
    assert_eq!((outcome.measured().ok, server.stop().requests), (50, 50));
}

/// Failed with: fired until 250,1… ms, and the last operation ended after 2 ms.
#[test]
fn worker_without_users_makes_the_measured_part_no_longer() {
    let server = server(Config::plain());
    for load in [
        "connections = 1, requests = 20",
        "connections = 4, requests = 1",
    ] {
        let text = format!(
            "name = \"t\"\ntarget.url = \"{}\"\nload = {{ {load} }}\n",
            server.url("/")
        );
        let outcome = run_share(parse(&text, None), 0, 1, 4, FiringLease::unlimited());
        let (fired_until, last) = (
            outcome.sum.client.fired_until_ns,
            outcome.measured().last_done_at_ns,
        );
        assert!(
            fired_until <= last,
            "{load}: {fired_until} ns, the last ended after {last}"
        );
    }
}

/// Operations that began before the last one, and ended after it, are measured like any other.
#[test]
fn every_operation_of_a_number_is_measured_whichever_worker_is_done_first() {
    let mut config = Config::plain();
    config.answer.delay = Duration::from_millis(20);
    let server = server(config);
    let text = format!(
        "name = \"t\"\ntarget.url = \"{}\"\nload = {{ connections = 5, requests = 33 }}\n",
        server.url("/")
    );
    let outcome = run_share(parse(&text, None), 0, 1, 3, FiringLease::unlimited());
    let within = outcome.measured().within;
    assert_eq!((within.ended, within.ok, within.ended_parts), (33, 33, 0));
}

#[test]
fn expired_lease_ends_the_load() {
    let server = server(Config::plain());
    let text = format!(
        "name = \"t\"\ntarget.url = \"{}\"\nload = {{ connections = 3, duration = \"30s\" }}\n",
        server.url("/")
    );
    let lease = FiringLease::until(boot_time_ns() + 3_000_000_000);
    let outcome = run_share(parse(&text, None), 0, 1, 1, lease);
    assert_eq!(outcome.workers[0].cut, Some(Cut::LeaseExpired));
    assert!(
        outcome.workers[0].whole.wall_ns < 15_000_000_000,
        "{:?}",
        outcome.workers
    );
    assert!(outcome.measured().ok > 0);
    drop(server);
}

#[test]
fn arrivals_that_are_first_seen_after_the_lease_are_not_sent_for_want_of_it() {
    let server = server(Config::plain());
    let text = format!(
        "name = \"t\"\ntarget.url = \"{}\"\nload = {{ rate = \"100/s\", duration = \"1h\" }}\n",
        server.url("/")
    );
    // As if the process had been stopped for ten seconds.
    let placement = Placement {
        agent: 0,
        agents: 1,
        cpus: vec![None],
    };
    let start_at = monotonic_ns() - 10_000_000_000;
    let lease = FiringLease::until(boot_time_ns() - 5_000_000_000);
    let plan = parse(&text, None);
    let agent = FiringAgent::start(plan, placement, Policy::default(), start_at, lease);
    let outcome = agent.outcome();
    assert_eq!(outcome.workers[0].cut, Some(Cut::LeaseExpired));
    let measured = outcome.measured();
    let failures: Vec<_> = measured.failures.iter().collect();
    let [(failure, number)] = failures[..] else {
        panic!("{failures:?}")
    };
    assert_eq!(failure.to_string(), "load.no_lease");
    assert!(*number >= 1000, "{number}");
    assert_eq!((measured.ok, server.stop().requests), (0, 0));
}

#[test]
fn resumption_is_a_decision() {
    let load = "connection.requests = 1\nload = { connections = 2, requests = 40 }\n";
    for (choice, offered) in [
        ("\"never\"", 0),
        ("\"always\"", 38),
        ("{ share = 0.5 }", 19),
    ] {
        let tickets = Config {
            tls: Some(ServerTls {
                tickets: true,
                ..ServerTls::default()
            }),
            ..Config::default()
        };
        let (outcome, counts) = against(tickets, &format!("{CA}{load}tls.resumption = {choice}"));
        let resumption = outcome.measured().resumption;
        assert_eq!(
            (resumption.offered, resumption.accepted),
            (offered, offered),
            "{choice}: {resumption:?}"
        );
        assert_eq!(
            (counts.handshakes_resumed, counts.handshakes_full),
            (offered, 40 - offered),
            "{choice}"
        );
    }
}

#[test]
fn session_of_tls12_by_id_is_offered_also_where_tls13_could_be_spoken() {
    let tls = ServerTls {
        versions: vec![ServerTlsVersion::V12],
        session_cache: true,
        ..ServerTls::default()
    };
    let (outcome, counts) = against(
        Config {
            tls: Some(tls),
            ..Config::default()
        },
        &format!(
            "{CA}connection.requests = 1\nload = {{ connections = 2, requests = 40 \
             }}\ntls.resumption = \"always\""
        ),
    );
    let resumption = outcome.measured().resumption;
    assert_eq!(counts.handshakes_resumed, 38);
    assert_eq!(
        (
            resumption.offered,
            resumption.accepted,
            resumption.none_at_hand
        ),
        (38, 38, 2),
        "{resumption:?}"
    );
}

#[test]
fn signature_belongs_to_its_own_handshake_however_many_are_under_way() {
    for version in [ServerTlsVersion::V12, ServerTlsVersion::V13] {
        let tls = ServerTls {
            versions: vec![version],
            ..ServerTls::default()
        };
        let (outcome, _) = against(
            Config {
                tls: Some(tls),
                ..Config::default()
            },
            &format!("{CA}connection.requests = 1\nload = {{ connections = 20, requests = 200 }}"),
        );
        let schemes: Vec<_> = outcome
            .measured()
            .negotiated
            .iter()
            .map(|(agreed, &count)| (agreed.signature_scheme, count))
            .collect();
        assert_eq!(
            schemes,
            [(0x0403, 200)],
            "{version:?}: all are ecdsa_secp256r1_sha256"
        );
    }
}
