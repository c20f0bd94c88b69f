//! HTTP/2 against nginx, HAProxy and Go: every request is answered once, over as many connections
//! as the plan has.

use crate::servers::{REQUESTS, USERS, assert_all_ok, run, run_alone};
use analysis::Figures;
use interop::{
    BIG_BYTES, CoordinatorCommand, GoOptions, GoServer, Haproxy, HaproxyFrontend, HaproxyOptions,
    Nghttpd, Nginx, NginxOptions, NginxServer, Pki, plan,
};
use std::collections::BTreeMap;

fn http2(streams: u64) -> String {
    format!("connection.http = \"2\"\nconnection.streams = {streams}\n")
}

/// Asserts that every handshake negotiated HTTP/2.
fn assert_h2(figures: &Figures) {
    assert!(
        figures.negotiated.iter().all(|agreed| agreed.alpn == "h2"),
        "{:?}",
        figures.negotiated
    );
    assert!(!figures.negotiated.is_empty());
}

#[test]
fn streams_share_the_connections_of_the_plan() {
    let pki = Pki::new();
    for server in [NginxServer::Http2, NginxServer::Http2Plain] {
        for streams in [1, 5] {
            let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
                return;
            };
            let document = run_alone(&plan(&nginx.url(server, "/"), &pki, &http2(streams)));
            assert_all_ok(&document.measured);
            let rows = nginx.wait_for_requests(REQUESTS as usize);
            assert_eq!(
                (rows.len() as u64, nginx.status().accepted),
                (REQUESTS, USERS),
                "{server:?} {streams}"
            );
            let reported = &document.measured.connections;
            assert_eq!(
                (reported.opened, reported.reused),
                (USERS, REQUESTS - USERS),
                "{server:?} {streams}"
            );
            if server.is_tls() {
                assert_h2(&document.measured);
            }
        }
    }
}

#[test]
fn limits_of_the_server_cost_no_request() {
    let pki = Pki::new();
    let options = NginxOptions {
        keepalive_requests: 7,
        http2_streams: 3,
        ..NginxOptions::default()
    };
    let Some(nginx) = Nginx::start(&pki, &options) else {
        return;
    };
    let sections = format!("{}request.path = \"/?{{seq}}\"\n", http2(8));
    let document = run(&plan(
        &nginx.url(NginxServer::Http2Limited, "/"),
        &pki,
        &sections,
    ));
    assert_all_ok(&document.measured);
    let (figures, counted) = (&document.measured, &document.measured.http2);
    let mut answered: BTreeMap<String, u64> = BTreeMap::new();
    nginx
        .wait_for_requests(REQUESTS as usize)
        .into_iter()
        .for_each(|row| *answered.entry(row.path).or_default() += 1);
    assert_eq!(
        (answered.len() as u64, answered.values().max()),
        (REQUESTS, Some(&1)),
        "{answered:?}"
    );
    assert_eq!(figures.connections.opened, nginx.status().accepted);
    assert!(counted.go_aways >= 1, "{counted:?}");
    assert_eq!(
        (counted.limited_connections, counted.fewest_streams),
        (figures.connections.opened, 3),
        "{counted:?}"
    );
    assert!(
        document
            .notes
            .iter()
            .any(|note| note.contains("the server allows 3")),
        "{:?}",
        document.notes
    );
}

#[test]
fn tables_and_windows_of_nghttp2_cost_no_request() {
    let pki = Pki::new();
    let body = "x".repeat(300_000);
    for options in [
        &["--header-table-size=0"][..],
        &["--header-table-size=1024"],
        &["--encoder-header-table-size=4096"],
        &["-w", "14"],
    ] {
        let Some(server) = Nghttpd::start(options) else {
            return;
        };
        let request = format!(
            "request = {{ method = \"POST\", body = \"{body}\", expect.bytes = {} }}\n",
            body.len()
        );
        let document = run_alone(&plan(
            &server.url("/"),
            &pki,
            &format!("{}{request}", http2(3)),
        ));
        let figures = &document.measured;
        assert_eq!(
            (figures.operations.ok, figures.http2.go_aways),
            (REQUESTS, 0),
            "{options:?}: {:?}",
            figures.operations
        );
    }
}

#[test]
fn requests_per_connection_hold_with_many_streams() {
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let sections = format!("{}connection.requests = 4\n", http2(3));
    let document = run(&plan(&nginx.url(NginxServer::Http2, "/"), &pki, &sections));
    assert_all_ok(&document.measured);
    let mut by_connection: BTreeMap<u64, u64> = BTreeMap::new();
    let rows = nginx.wait_for_requests(REQUESTS as usize);
    rows.iter()
        .for_each(|row| *by_connection.entry(row.connection).or_default() += 1);
    assert_eq!(
        by_connection.len() as u64,
        document.measured.connections.opened
    );
    assert!(
        by_connection.values().all(|&requests| requests <= 4),
        "{by_connection:?}"
    );
}

#[test]
fn bodies_of_every_kind_arrive_whole() {
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let cases = [
        ("/big", "GET", 200, BIG_BYTES as u64),
        ("/chunked", "GET", 200, 356),
        ("/204", "GET", 204, 0),
        ("/big", "HEAD", 200, 0),
    ];
    for (path, method, status, bytes) in cases {
        let sections = format!(
            "{}request = {{ method = {method:?}, expect = {{ status = [{status}] }} }}\n",
            http2(3)
        );
        let document = run_alone(&plan(&nginx.url(NginxServer::Http2, path), &pki, &sections));
        assert_eq!(document.measured.operations.ok, REQUESTS, "{method} {path}");
        assert_eq!(
            document.measured.bytes.payload_bytes,
            REQUESTS * bytes,
            "{method} {path}"
        );
    }
}

#[test]
fn request_bodies_keep_to_the_windows_of_the_server() {
    let pki = Pki::new();
    let Some(server) = GoServer::start(
        &pki,
        GoOptions {
            http2: true,
            ..GoOptions::default()
        },
    ) else {
        return;
    };
    let body = "b".repeat(200_000);
    let sections = format!(
        "{}request = {{ method = \"POST\", body = {body:?} }}\n",
        http2(5)
    );
    let document = run(&plan(&server.url("/length"), &pki, &sections));
    assert_eq!(document.measured.operations.ok, REQUESTS);
    // The answers are "200000": the server received what was sent.
    assert_eq!(document.measured.bytes.payload_bytes, REQUESTS * 6);
    assert_eq!(
        (server.counts().requests, server.counts().connections),
        (REQUESTS, USERS)
    );
}

#[test]
fn go_and_haproxy_count_what_is_reported() {
    let pki = Pki::new();
    if let Some(server) = GoServer::start(
        &pki,
        GoOptions {
            http2: true,
            ..GoOptions::default()
        },
    ) {
        let document = run_alone(&plan(&server.url("/"), &pki, &http2(5)));
        assert_all_ok(&document.measured);
        assert_h2(&document.measured);
        assert_eq!(
            (server.counts().requests, server.counts().connections),
            (REQUESTS, USERS)
        );
    }
    let Some(haproxy) = Haproxy::start(&pki, HaproxyOptions::default()) else {
        return;
    };
    let document = run(&plan(
        &haproxy.url(HaproxyFrontend::Http2, "/"),
        &pki,
        &http2(5),
    ));
    assert_all_ok(&document.measured);
    assert_h2(&document.measured);
    let counts = haproxy.wait_for_requests(HaproxyFrontend::Http2, REQUESTS);
    assert_eq!((counts.requests, counts.connections), (REQUESTS, USERS));
}

#[test]
fn server_without_http2_is_said_to_have_none() {
    let pki = Pki::new();
    let Some(haproxy) = Haproxy::start(&pki, HaproxyOptions::default()) else {
        return;
    };
    let text = plan(&haproxy.url(HaproxyFrontend::Tls13, "/"), &pki, &http2(5));
    let load = "load = { connections = 1, requests = 2 }\n";
    let document = CoordinatorCommand::local(1, &format!("{load}{text}"))
        .run()
        .expect(1)
        .document();
    let errors: Vec<_> = document
        .measured
        .errors
        .iter()
        .map(|error| (error.name.as_str(), error.count))
        .collect();
    assert_eq!(errors, [("tls.no_http2", 2)]);
}
