//! Several servers behind one plan: which key-exchange group each is offered, and whose sessions.

use crate::support::{Outcome, parse, run, side_by_side};
use measure::{Counters, HandshakeKind};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use target::{Config, RunningTarget, ServerTls, ServerTlsVersion};

/// IANA code points (RFC 8446 §4.2.7).
const X25519: u16 = 0x001d;
const SECP384R1: u16 = 0x0018;

fn server(tls: ServerTls) -> RunningTarget {
    RunningTarget::new(Config {
        tls: Some(tls),
        ..Config::default()
    })
    .unwrap()
}

/// Runs `sections` against all servers, whose certificates are not verified.
fn over(servers: &[RunningTarget], sections: &str) -> Outcome {
    let addresses: Vec<String> = servers
        .iter()
        .map(|server| server.address().to_string())
        .collect();
    let target =
        format!("target = {{ url = \"https://localhost/\", addresses = {addresses:?} }}\n");
    run(parse(
        &format!("{target}tls.verify = \"none\"\nconnection.requests = 1\n{sections}\n"),
        None,
    ))
}

fn counters_of(outcome: &Outcome, server: &RunningTarget) -> Counters {
    let mut sum = Counters::default();
    let cells = outcome
        .sum
        .cells
        .iter()
        .filter(|(key, _)| key.address == Some(server.address()));
    cells.for_each(|(_, cell)| sum.merge(&cell.counters));
    sum
}

/// How many handshakes agreed on each group, and how many needed a HelloRetryRequest.
fn agreed(counters: &Counters) -> (BTreeMap<u16, u64>, u64) {
    let (mut groups, mut retried) = (BTreeMap::new(), 0);
    for (negotiated, &count) in &counters.negotiated {
        *groups.entry(negotiated.group).or_default() += count;
        retried += if negotiated.kind == HandshakeKind::FullRetried {
            count
        } else {
            0
        };
    }
    (groups, retried)
}

#[test]
fn each_address_has_a_key_share_of_its_own_and_only_the_plan_remembers() {
    for (key_share, retried) in [("first", 20), ("remembered", 1)] {
        let servers = [
            server(ServerTls {
                versions: vec![ServerTlsVersion::V13],
                groups: Some(vec![SECP384R1]),
                ..ServerTls::default()
            }),
            server(ServerTls {
                versions: vec![ServerTlsVersion::V13],
                groups: Some(vec![SECP384R1, X25519]),
                ..ServerTls::default()
            }),
            server(ServerTls {
                versions: vec![ServerTlsVersion::V13],
                groups: Some(vec![X25519]),
                ..ServerTls::default()
            }),
        ];
        let tls =
            format!("tls.groups = [\"X25519\", \"secp384r1\"]\ntls.key_share = \"{key_share}\"\n");
        let outcome = over(
            &servers,
            &format!("{tls}load = {{ connections = 1, requests = 60 }}"),
        );
        let expected = [(SECP384R1, retried), (X25519, 0), (X25519, 0)];
        for (server, (group, retried)) in servers.iter().zip(expected) {
            assert_eq!(
                agreed(&counters_of(&outcome, server)),
                ([(group, 20)].into(), retried),
                "{key_share}: {group:#06x}"
            );
        }
    }
}

/// Counts offered sessions by their issuer and the server that they were offered to.
fn pairs(outcome: &Outcome, servers: &[RunningTarget]) -> BTreeMap<(SocketAddr, SocketAddr), u64> {
    let mut pairs = BTreeMap::new();
    for server in servers {
        for (offer, count) in counters_of(outcome, server).session_offers {
            *pairs
                .entry((offer.issuer.unwrap(), server.address()))
                .or_default() += count;
        }
    }
    pairs
}

#[test]
fn every_address_is_offered_the_sessions_of_every_other_one_alike() {
    let loads = [
        "load = { rate = \"400/s\", requests = 180, max_connections = 1 }",
        "load = { rate = \"400/s\", requests = 180, max_connections = 40 }",
        "load = { connections = 1, requests = 180 }",
        "load = { connections = 6, requests = 180 }",
    ];
    let cases: Vec<(usize, &str, &str)> = [2, 3]
        .into_iter()
        .flat_map(|number| loads.map(|load| (number, load)))
        .flat_map(|(number, load)| {
            ["\"always\"", "{ share = 0.5 }"].map(|resumption| (number, load, resumption))
        })
        .collect();
    side_by_side(
        &cases,
        |(number, load, resumption)| format!("{number} addresses, {load}, {resumption}"),
        |(number, load, resumption)| check_sessions(*number, load, resumption),
    );
}

/// Checks that this many servers are offered the sessions of each of them about equally often, and
/// get equal shares of the operations.
fn check_sessions(number: usize, load: &str, resumption: &str) {
    let tickets = || {
        server(ServerTls {
            versions: vec![ServerTlsVersion::V13],
            tickets: true,
            ..ServerTls::default()
        })
    };
    let servers: Vec<RunningTarget> = std::iter::repeat_with(tickets).take(number).collect();
    let outcome = over(&servers, &format!("tls.resumption = {resumption}\n{load}"));
    let pairs = pairs(&outcome, &servers);
    let offered: u64 = pairs.values().sum();
    assert_eq!(pairs.len(), number * number, "{offered} offered: {pairs:?}");
    let share = offered as f64 / pairs.len() as f64;
    let (least, most) = (pairs.values().min().unwrap(), pairs.values().max().unwrap());
    assert!(
        *least as f64 > 0.5 * share && (*most as f64) < 1.7 * share,
        "{share:.1} each: {pairs:?}"
    );
    for server in &servers {
        let begun = counters_of(&outcome, server).started as f64 / 180.0 * number as f64;
        assert!(
            (0.8..1.2).contains(&begun),
            "{begun:.2} of its share of the operations"
        );
    }
}
