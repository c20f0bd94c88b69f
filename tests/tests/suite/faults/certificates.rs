//! Client certificates that a server requires and does not get: both sides count the same failures.

use interop::{
    CoordinatorCommand, GoOptions, GoServer, Haproxy, HaproxyFrontend, HaproxyOptions, Nginx,
    NginxOptions, NginxServer,
};
use interop::{KeyKind, Pki, plan, wait_until};

const REQUESTS: u64 = 12;

/// Alert 116, RFC 8446 §6.2.
const MISSING: &str = "tls.alert_received.certificate_required";

/// Alert 48: the server does not know the certificate's authority.
const UNKNOWN: &str = "tls.alert_received.unknown_ca";

/// The single kind that every operation failed with; `requests` is the number per connection, 0 for
/// handshakes alone.
fn kind_of(url: &str, pki: &Pki, requests: u32, identity: &str) -> String {
    let more = format!(
        "load = {{ connections = 3, requests = {REQUESTS} }}\nconnection.requests = \
         {requests}\n{identity}"
    );
    let finished = CoordinatorCommand::local(2, &plan(url, pki, &more))
        .run()
        .expect(1);
    let measured = finished.clean().document().measured;
    assert_eq!(
        (measured.operations.ended, measured.operations.errors),
        (REQUESTS, REQUESTS),
        "{finished}"
    );
    assert_eq!(
        measured
            .errors
            .iter()
            .map(|error| error.count)
            .collect::<Vec<_>>(),
        [REQUESTS],
        "{:?}",
        measured.errors
    );
    measured.errors[0].name.clone()
}

/// A certificate of an authority that neither side knows.
fn stranger(strangers: &Pki) -> String {
    let files = strangers.client(KeyKind::P256, "stranger");
    format!(
        "tls.client_certificates = [{{ cert = {:?}, key = {:?} }}]\n",
        files.cert, files.key
    )
}

#[test]
fn handshake_that_the_server_refuses_afterwards_is_not_ok() {
    let (pki, strangers) = (Pki::new(), Pki::new());
    let identity = stranger(&strangers);
    for (identity, kind) in [("", MISSING), (identity.as_str(), UNKNOWN)] {
        for requests in [0, 1] {
            let Some(haproxy) = Haproxy::start(&pki, HaproxyOptions::default()) else {
                return;
            };
            let frontend = HaproxyFrontend::ClientCertificate;
            assert_eq!(
                kind_of(&haproxy.url(frontend, "/"), &pki, requests, identity),
                kind,
                "HAProxy, {requests} requests"
            );
            let look = || {
                Some(haproxy.counts(frontend)).filter(|counts| counts.handshakes_failed == REQUESTS)
            };
            assert_eq!(
                wait_until("failed handshakes in haproxy's statistics", look).requests,
                0
            );
        }
    }
    let Some(go) = GoServer::start(
        &pki,
        GoOptions {
            client_certificate: true,
            ..GoOptions::default()
        },
    ) else {
        return;
    };
    assert_eq!(kind_of(&go.url("/"), &pki, 0, ""), MISSING, "Go");
    assert_eq!(
        (go.counts().handshakes_failed, go.counts().requests),
        (REQUESTS, 0)
    );
}

#[test]
fn server_that_asks_in_http_is_an_unexpected_status() {
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    assert_eq!(
        kind_of(&nginx.url(NginxServer::ClientCertificate, "/"), &pki, 1, ""),
        "http.status.400"
    );
    let rows = nginx.wait_for_requests(REQUESTS as usize);
    assert!(
        rows.len() as u64 == REQUESTS
            && rows
                .iter()
                .all(|row| row.status == 400 && row.client_verify == "NONE"),
        "{rows:?}"
    );
}
