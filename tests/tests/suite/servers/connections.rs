//! How many requests a connection carries, and which side ends it, as nginx counts it.

use crate::servers::{REQUESTS, USERS, assert_all_ok, run, run_alone};
use interop::{BIG_BYTES, Nginx, NginxOptions, NginxServer, Pki, plan};
use std::collections::BTreeMap;

#[test]
fn connections_carry_as_many_requests_as_the_plan_says() {
    let pki = Pki::new();
    // (connection.requests, most requests on one connection, whether the number of connections
    // follows from that)
    for (requests, most, connections) in [
        ("\"unlimited\"", REQUESTS, Some(USERS)),
        ("1", 1, Some(REQUESTS)),
        ("5", 5, None),
        ("7", 7, None),
    ] {
        for server in [NginxServer::Plain, NginxServer::Tls13] {
            let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
                return;
            };
            let document = run_alone(&plan(
                &nginx.url(server, "/"),
                &pki,
                &format!("connection.requests = {requests}\n"),
            ));
            assert_all_ok(&document.measured);
            let rows = nginx.wait_for_requests(REQUESTS as usize);
            let (status, reported) = (nginx.status(), &document.measured.connections);
            assert_eq!((rows.len() as u64, status.requests), (REQUESTS, REQUESTS));
            assert_eq!(
                (reported.opened, reported.attempted),
                (status.accepted, status.accepted),
                "{requests}"
            );
            assert_eq!(
                (reported.reused, reported.reused_closed),
                (REQUESTS - status.accepted, 0),
                "{requests}"
            );
            assert!(
                connections.is_none_or(|connections| status.accepted == connections),
                "{requests}: {status:?}"
            );
            let mut by_connection: BTreeMap<u64, u64> = BTreeMap::new();
            rows.iter()
                .for_each(|row| *by_connection.entry(row.connection).or_default() += 1);
            assert_eq!(by_connection.len() as u64, status.accepted);
            assert!(
                by_connection.values().all(|&requests| requests <= most),
                "{by_connection:?}"
            );
            // All connections of a user except its last one are used up.
            let unused = by_connection
                .values()
                .filter(|&&requests| requests < most)
                .count() as u64;
            assert!(unused <= USERS, "{by_connection:?}");
        }
    }
}

#[test]
fn every_way_to_close_is_counted_alike() {
    let pki = Pki::new();
    for close in ["fin", "server", "rst"] {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let sections = format!("connection = {{ requests = 2, close = {close:?} }}\n");
        let document = run_alone(&plan(&nginx.url(NginxServer::Tls13, "/"), &pki, &sections));
        assert_all_ok(&document.measured);
        let rows = nginx.wait_for_requests(REQUESTS as usize);
        assert_eq!(
            (rows.len() as u64, nginx.status().accepted),
            (REQUESTS, document.measured.connections.opened),
            "{close}"
        );
    }
}

#[test]
fn server_that_ends_connections_costs_no_request() {
    let pki = Pki::new();
    let options = NginxOptions {
        keepalive_requests: 4,
        ..NginxOptions::default()
    };
    for (server, pause) in [
        (NginxServer::KeepAliveLimited, ""),
        (NginxServer::KeepAliveIdle, "load.think_time = \"220ms\"\n"),
    ] {
        let Some(nginx) = Nginx::start(&pki, &options) else {
            return;
        };
        let text = plan(&nginx.url(server, "/"), &pki, "");
        let (users, requests) = if pause.is_empty() {
            (USERS, REQUESTS)
        } else {
            (USERS, USERS * 3)
        };
        let load = format!("load.connections = {users}\nload.requests = {requests}\n{pause}");
        let finished = interop::CoordinatorCommand::local(2, &(load + &text))
            .run()
            .expect(0);
        let measured = finished.clean().document().measured;
        assert_eq!(
            (measured.operations.ok, measured.errors.len()),
            (requests, 0),
            "{server:?}: {finished}"
        );
        let rows = nginx.wait_for_requests(requests as usize);
        assert_eq!(
            (rows.len() as u64, nginx.status().accepted),
            (requests, measured.connections.opened),
            "{server:?}"
        );
    }
}

#[test]
fn bodies_of_every_kind_arrive_whole() {
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    // (path, method, status, bytes of a body)
    let cases = [
        ("/big", "GET", 200, BIG_BYTES as u64),
        ("/chunked", "GET", 200, 356),
        ("/204", "GET", 204, 0),
        ("/big", "HEAD", 200, 0),
        ("/none", "GET", 404, 146),
    ];
    for (path, method, status, bytes) in cases {
        let before = nginx.requests().len();
        let sections =
            format!("request = {{ method = {method:?}, expect = {{ status = [{status}] }} }}\n");
        let document = run_alone(&plan(&nginx.url(NginxServer::Tls13, path), &pki, &sections));
        assert_eq!(
            document.measured.bytes.payload_bytes,
            REQUESTS * bytes,
            "{method} {path}"
        );
        assert_eq!(
            document
                .measured
                .statuses
                .clone()
                .into_iter()
                .collect::<Vec<_>>(),
            [(status, REQUESTS)],
            "{method} {path}"
        );
        let rows = nginx.wait_for_requests(before + REQUESTS as usize);
        assert_eq!(rows.len() - before, REQUESTS as usize);
        assert!(
            rows[before..]
                .iter()
                .all(|row| row.status == status && row.method == method && row.path == path)
        );
    }
}

#[test]
fn requests_are_mixed_by_weight_and_told_apart() {
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let sections = "[[request]]\nname = \"page\"\nweight = 3\n\n[[request]]\nname = \
                    \"form\"\nmethod = \"POST\"\npath = \"/length?{seq}\"\nbody = \"twelve \
                    bytes\"\n";
    let document = run(&plan(&nginx.url(NginxServer::Tls13, "/"), &pki, sections));
    let rows = nginx.wait_for_requests(REQUESTS as usize);
    let forms: Vec<_> = rows.iter().filter(|row| row.method == "POST").collect();
    let numbers: std::collections::BTreeSet<&str> = forms
        .iter()
        .map(|row| row.path.split_once('?').unwrap().1)
        .collect();
    assert_eq!(
        numbers.len(),
        forms.len(),
        "each operation has a number of its own over both agents"
    );
    let groups: Vec<_> = document
        .by_request
        .iter()
        .map(|group| (group.name.as_str(), group.figures.operations.ok))
        .collect();
    assert_eq!(
        groups,
        [
            ("page", REQUESTS - forms.len() as u64),
            ("form", forms.len() as u64)
        ]
    );
    assert!(
        (forms.len() as u64).abs_diff(REQUESTS / 4) <= USERS,
        "{} of {REQUESTS}",
        forms.len()
    );
}
