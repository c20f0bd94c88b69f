//! HAProxy's statistics have the same requests, connections and handshakes.

use crate::servers::{REQUESTS, assert_all_ok, assert_resumed, resumed_of, run};
use interop::{Haproxy, HaproxyFrontend, HaproxyOptions, KeyKind, Pki, plan};

#[test]
fn handshakes_and_requests_are_those_of_its_statistics() {
    use HaproxyFrontend as F;
    let pki = Pki::new();
    // (session cache, frontend, resumption, whether it resumes)
    let cases = [
        (false, F::Tls12Rsa, "always", false),
        (true, F::Tls12Rsa, "always", true),
        (false, F::Tls12Tickets, "never", true),
        (false, F::Tls12Tickets, "always", true),
        (false, F::Tls13, "never", false),
        (false, F::Tls13Tickets, "never", true),
        (false, F::Tls13Tickets, "always", true),
    ];
    for (session_cache, frontend, resumption, resumes) in cases {
        let Some(haproxy) = Haproxy::start(&pki, HaproxyOptions::caching(session_cache)) else {
            return;
        };
        let sections = format!("tls.resumption = {resumption:?}\nconnection.requests = 1\n");
        let document = run(&plan(&haproxy.url(frontend, "/"), &pki, &sections));
        assert_all_ok(&document.measured);
        assert_resumed(&document.measured, resumption, resumes);
        let counts = haproxy.wait_for_requests(frontend, REQUESTS);
        let resumed = resumed_of(resumption, resumes);
        assert_eq!(
            (counts.requests, counts.connections, counts.answers_2xx),
            (REQUESTS, REQUESTS, REQUESTS),
            "{frontend:?}"
        );
        assert_eq!(
            (counts.handshakes_resumed, counts.handshakes_failed),
            (resumed, 0),
            "{frontend:?} {resumption}"
        );
        assert_eq!(document.measured.connections.opened, counts.connections);
    }
}

#[test]
fn keep_alive_opens_one_connection_for_each_user() {
    let pki = Pki::new();
    for frontend in [HaproxyFrontend::Plain, HaproxyFrontend::Tls13] {
        let Some(haproxy) = Haproxy::start(&pki, HaproxyOptions::default()) else {
            return;
        };
        let document = run(&plan(&haproxy.url(frontend, "/"), &pki, ""));
        assert_all_ok(&document.measured);
        let counts = haproxy.wait_for_requests(frontend, REQUESTS);
        assert_eq!(
            (counts.requests, counts.connections),
            (REQUESTS, crate::servers::USERS)
        );
        assert_eq!(document.measured.connections.opened, counts.connections);
    }
}

#[test]
fn client_certificate_is_required_in_the_handshake() {
    let pki = Pki::new();
    let Some(haproxy) = Haproxy::start(&pki, HaproxyOptions::default()) else {
        return;
    };
    let files = pki.client(KeyKind::Rsa2048, "alice");
    let identity = format!(
        "tls.client_certificates = [{{ cert = {:?}, key = {:?} }}]\n",
        files.cert, files.key
    );
    let frontend = HaproxyFrontend::ClientCertificate;
    let document = run(&plan(
        &haproxy.url(frontend, "/"),
        &pki,
        &format!("{identity}connection.requests = 1\n"),
    ));
    assert_all_ok(&document.measured);
    let counts = haproxy.wait_for_requests(frontend, REQUESTS);
    assert_eq!(
        (
            counts.requests,
            counts.connections,
            counts.handshakes_failed
        ),
        (REQUESTS, REQUESTS, 0)
    );
}
