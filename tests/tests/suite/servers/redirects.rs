//! Redirects are followed as the plan says, and nginx logs every request that they lead to.

use crate::servers::{REQUESTS, USERS};
use analysis::Document;
use interop::{CoordinatorCommand, Nginx, NginxOptions, NginxRequest, NginxServer, Pki, plan};
use std::collections::BTreeMap;

const KEPT: &str = "connection.requests = \"unlimited\"\n";
const SHARED: &str = "connection = { http = \"2\", streams = 3 }\n";

/// Runs a plan with two agents, which must end with this code. Returns the result.
fn run_to(code: i32, load: &str, sections: &str) -> Document {
    let plan = format!("{load}{sections}");
    let finished = CoordinatorCommand::local(2, &plan).run().expect(code);
    finished.whole_document(2)
}

fn closed() -> String {
    format!("load = {{ connections = {USERS}, requests = {REQUESTS} }}\n")
}

/// Requests by method, path and status.
fn seen(requests: &[NginxRequest]) -> BTreeMap<(&str, &str, u16), u64> {
    let mut seen = BTreeMap::new();
    for request in requests {
        let key = (&*request.method, &*request.path, request.status);
        *seen.entry(key).or_default() += 1;
    }
    seen
}

/// Asserts that each operation ended with 200 after these redirects, and that no time was lost.
fn assert_followed(document: &Document, redirects: &[(u16, u64)], case: &str) {
    let measured = &document.measured;
    let operations = &measured.operations;
    let counts = (operations.started, operations.ended, operations.ok);
    assert_eq!(counts, (REQUESTS, REQUESTS, REQUESTS), "{case}");
    let statuses: Vec<_> = measured.statuses.clone().into_iter().collect();
    assert_eq!(statuses, [(200, REQUESTS)], "{case}");
    let [figures] = &*document.redirects else {
        panic!("{case}: {:?}", document.redirects);
    };
    let by_status: Vec<_> = figures.statuses.clone().into_iter().collect();
    assert_eq!(by_status, redirects, "{case}");
    let sum: u64 = redirects.iter().map(|(_, number)| number).sum();
    assert_eq!(figures.followed, sum, "{case}");
    for time in ["response_time", "service_time", "first_byte"] {
        assert_eq!(measured.times[time].count, REQUESTS, "{case}, {time}");
    }
    // Every connection that was opened has its times, also if a redirect led away from it.
    let opened = measured.connections.opened;
    assert_eq!(measured.times["connect"].count, opened, "{case}");
    let handshakes = measured.resumption.handshakes;
    let times = measured.times.get("handshake").map_or(0, |time| time.count);
    assert_eq!(times, handshakes, "{case}");
}

#[test]
fn every_hop_of_an_operation_is_in_the_log_of_nginx() {
    let pki = Pki::new();
    let open =
        format!("load = {{ rate = \"200/s\", max_connections = 2, requests = {REQUESTS} }}\n");
    let cases = [
        (NginxServer::Plain, KEPT, closed()),
        (NginxServer::Plain, "connection.requests = 1\n", closed()),
        (NginxServer::Plain, "connection.requests = 2\n", closed()),
        (
            NginxServer::Plain,
            "connection.close = \"rst\"\n",
            open.clone(),
        ),
        (NginxServer::KeepAliveLimited, KEPT, closed()),
        (NginxServer::Tls13, KEPT, closed()),
        (
            NginxServer::Tls12Rsa,
            "connection.requests = 1\ntls.resumption = \"always\"\n",
            closed(),
        ),
        (
            NginxServer::EarlyData,
            "connection.requests = 1\ntls.resumption = \"always\"\ntls.early_data = true\n",
            closed(),
        ),
        (NginxServer::Http2, SHARED, closed()),
        (NginxServer::Http2, SHARED, open),
        (NginxServer::Http2Plain, SHARED, closed()),
        (
            NginxServer::Http2,
            "connection = { http = \"2\", streams = 2, requests = 3 }\n",
            closed(),
        ),
        (NginxServer::Http2Limited, SHARED, closed()),
    ];
    for (server, connection, load) in cases {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let case = format!("{server:?}, {connection}, {load}");
        let sections = format!(
            "{connection}[request]\npath = \"/moved?row={{seq}}\"\nredirects = 2\n\
             expect.status = [200]\nexpect.bytes = 0\n"
        );
        let document = run_to(0, &load, &plan(&nginx.url(server, "/"), &pki, &sections));
        assert_followed(&document, &[(301, REQUESTS), (302, REQUESTS)], &case);
        let requests = nginx.wait_for_requests(3 * REQUESTS as usize);
        let seen = seen(&requests);
        assert_eq!(seen[&("GET", "/found?a=b", 302)], REQUESTS, "{case}");
        assert_eq!(seen[&("GET", "/length", 200)], REQUESTS, "{case}");
        // Each row once: a redirect begins no other operation.
        let rows = seen.iter().filter(|((_, _, status), _)| *status == 301);
        let rows: Vec<u64> = rows.map(|(_, number)| *number).collect();
        assert_eq!(rows, [1; REQUESTS as usize], "{case}");
        // Bodies of redirects were received, too.
        let bodies: u64 = requests.iter().map(|request| request.body_bytes).sum();
        assert_eq!(document.measured.bytes.payload_bytes, bodies, "{case}");
    }
}

#[test]
fn method_and_body_follow_the_status() {
    let pki = Pki::new();
    let body_bytes = 70_000; // more than a window
    for (path, status, method, length) in [
        ("/moved", 301, "GET", ""),
        ("/other", 303, "GET", ""),
        ("/again", 307, "POST", "70000"),
        ("/still", 308, "POST", "70000"),
    ] {
        for (server, connection) in [
            (NginxServer::Plain, KEPT),
            (NginxServer::Tls13, "connection.requests = 1\n"),
            (NginxServer::Http2, SHARED),
        ] {
            let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
                return;
            };
            let case = format!("{status}, {server:?}");
            let length = match path {
                "/other" => String::new(), // its body is the fixtures'
                _ => format!("expect = {{ bytes = {} }}\n", length.len()),
            };
            let sections = format!(
                "{connection}[request]\nmethod = \"POST\"\npath = \"{path}\"\nredirects = 5\n\
                 body = \"{}\"\n{length}",
                "x".repeat(body_bytes)
            );
            let plan = plan(&nginx.url(server, "/"), &pki, &sections);
            let document = run_to(0, &closed(), &plan);
            let mut redirects = vec![(status, REQUESTS)];
            if path == "/moved" {
                redirects.push((302, REQUESTS));
            }
            assert_followed(&document, &redirects, &case);
            let hops = redirects.len() as u64 + 1;
            let requests = nginx.wait_for_requests((hops * REQUESTS) as usize);
            let seen = seen(&requests);
            assert_eq!(seen[&("POST", path, status)], REQUESTS, "{case}");
            let last = if path == "/other" { "/" } else { "/length" };
            assert_eq!(seen[&(method, last, 200)], REQUESTS, "{case}");
        }
    }
}

#[test]
fn redirects_that_are_not_followed_say_why() {
    let pki = Pki::new();
    for (path, redirects, name, hops) in [
        ("/moved", 0, None, 0),
        ("/moved", 1, Some("http.redirect.too_many"), 1),
        ("/round", 20, Some("http.redirect.too_many"), 20),
        ("/away", 3, Some("http.redirect.other_origin"), 0),
    ] {
        for (server, connection) in [(NginxServer::Tls13, KEPT), (NginxServer::Http2, SHARED)] {
            let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
                return;
            };
            let case = format!("{path}, {redirects}, {server:?}");
            let sections = format!(
                "{connection}[request]\npath = \"{path}\"\nredirects = {redirects}\n\
                 [thresholds]\n\"errors.http.redirect.share\" = \"<= 100%\"\n"
            );
            let plan = plan(&nginx.url(server, "/"), &pki, &sections);
            // Without any success a run exits with 1, whatever its thresholds say.
            let code = i32::from(name.is_some());
            let document = run_to(code, &closed(), &plan);
            let errors = document.measured.errors.iter();
            let errors: Vec<_> = errors.map(|error| (&*error.name, error.count)).collect();
            let expected = name.map(|name| (name, REQUESTS));
            assert_eq!(errors, Vec::from_iter(expected), "{case}");
            let followed = document.redirects.iter().map(|each| each.followed);
            assert_eq!(followed.sum::<u64>(), hops * REQUESTS, "{case}");
            let _ = nginx.wait_for_requests(((hops + 1) * REQUESTS) as usize);
            // The whole connection is of use still, since the answer is whole.
            let opened = document.measured.connections.opened;
            assert!(opened <= USERS, "{case}: {opened}");
        }
    }
}
