//! Four machines as far as the network is concerned: namespaces with addresses of their own, and
//! nginx and the coordinator outside.

use crate::fleet::shares;
use interop::{Invited, Namespaces, Nginx, NginxOptions, NginxServer, Pki, plan};
use std::net::{IpAddr, SocketAddr};
use target::{Config, RunningTarget};

const REQUESTS: u64 = 202;
const USERS: u64 = 8;
const AGENTS: u8 = 4;

#[test]
fn four_agents_in_namespaces_of_their_own_make_one_run() {
    let (pki, state) = (Pki::new(), tempfile::tempdir().unwrap());
    let Some(namespaces) = Namespaces::new(AGENTS) else {
        return;
    };
    let ip = IpAddr::V4(namespaces.bridge_address());
    let Some(nginx) = Nginx::start(
        &pki,
        &NginxOptions {
            ip,
            ..NginxOptions::default()
        },
    ) else {
        return;
    };
    let load = format!("load = {{ connections = {USERS}, requests = {REQUESTS} }}\n");
    let more = "connection.requests = 1\ntls.server_name = \"localhost\"\n";
    let text = load + &plan(&nginx.url(NginxServer::Tls13, "/"), &pki, more);

    let invited = Invited::start(
        u32::from(AGENTS),
        SocketAddr::new(ip, 0),
        state.path(),
        &text,
    );
    let agents: Vec<_> = (0..AGENTS)
        .map(|index| invited.agent_by(namespaces.command(index), &format!("load-{index}")))
        .collect();
    let finished = invited.coordinator.wait();
    for agent in &agents {
        println!("{}", agent.output());
    }
    let finished = finished.expect(0);

    let document = finished.clean().document();
    let rows = nginx.wait_for_requests(REQUESTS as usize);
    assert_eq!(
        (
            rows.len() as u64,
            nginx.status().accepted,
            document.measured.operations.ok
        ),
        (REQUESTS, REQUESTS, REQUESTS)
    );
    let shares = shares(REQUESTS, USERS, u64::from(AGENTS));
    for (share, group) in shares.into_iter().zip(&document.by_agent) {
        assert_eq!(group.figures.operations.ok, share);
        // The agent is named after its namespace: what it reports is what its address sent.
        let number: u8 = group.name.trim_start_matches("load-").parse().unwrap();
        let from = IpAddr::V4(namespaces.address(number));
        assert_eq!(
            rows.iter().filter(|row| row.client == from).count() as u64,
            group.figures.operations.ok,
            "{}",
            group.name
        );
    }
    let skew = document.skew.unwrap();
    println!(
        "four agents began {} µs ± {} µs apart",
        skew.skew_ns / 1000,
        skew.bound_ns / 1000
    );
}

#[test]
fn target_at_an_interface_of_an_agents_machine_is_told_for_that_agent() {
    let state = tempfile::tempdir().unwrap();
    let Some(namespaces) = Namespaces::new(1) else {
        return;
    };
    // The bridge is an interface of this machine, which the namespace reaches over the network.
    let listen = SocketAddr::new(IpAddr::V4(namespaces.bridge_address()), 0);
    let server = RunningTarget::new(Config {
        address: listen,
        ..Config::plain()
    })
    .unwrap();
    let text = format!(
        "target.url = {:?}\nload = {{ connections = 2, requests = 40 }}\nfleet.max_skew = \"1s\"\n",
        server.url("/")
    );
    let invited = Invited::start(2, listen, state.path(), &text);
    let agents = [
        invited.agent("near"),
        invited.agent_by(namespaces.command(0), "far"),
    ];
    let finished = invited.coordinator.wait();
    for agent in &agents {
        println!("{}", agent.output());
    }
    let finished = finished.expect(0);
    let document = finished.clean().document();
    for agent in &document.agents {
        assert_eq!(agent.target_is_local, agent.name == "near", "{agent:?}");
    }
    assert!(
        document
            .verdict
            .evidence
            .iter()
            .any(|line| line.contains("own machine")),
        "{:?}",
        document.verdict
    );
}

#[test]
fn target_without_a_route_is_a_counted_kind() {
    let state = tempfile::tempdir().unwrap();
    let Some(namespaces) = Namespaces::new(1) else {
        return;
    };
    // The namespace only has a route to its own network.
    let text = "target.url = \"http://10.1.2.3/\"\nload = { connections = 2, requests = 6 }\n";
    let listen = SocketAddr::new(IpAddr::V4(namespaces.bridge_address()), 0);
    let invited = Invited::start(1, listen, state.path(), text);
    let agent = invited.agent_by(namespaces.command(0), "lost");
    let finished = invited.coordinator.wait();
    let measured = finished.clean().document().measured;
    let errors: Vec<_> = measured
        .errors
        .iter()
        .map(|error| (error.name.as_str(), error.count))
        .collect();
    assert_eq!(
        errors,
        [("connect.unreachable", 6)],
        "{finished}\n{}",
        agent.output()
    );
}
