//! A TLS 1.2 server that requests a renegotiation during a request: it is refused, and OpenSSL's
//! server gives up at once.

use interop::{
    CoordinatorCommand, KeyKind, OpensslAnswers, OpensslOptions, OpensslServer, Pki,
    ServerTlsVersion, plan, wait_until,
};
use std::time::Duration;

/// The request's time-out, which must not be reached.
const TIME_OUT: Duration = Duration::from_secs(40);

#[test]
fn server_that_wishes_to_renegotiate_hears_no_at_once() {
    let pki = Pki::new();
    // With one request rustls keeps the connection to its end, with more our own record layer takes
    // over.
    for requests in [1, 5] {
        let (version, answers) = (ServerTlsVersion::V12, OpensslAnswers::Typed);
        let options = OpensslOptions {
            version,
            answers,
            key: KeyKind::Rsa2048,
            ..OpensslOptions::default()
        };
        let Some(mut server) = OpensslServer::start(&pki, options) else {
            return;
        };
        let connection = format!(
            "connection = {{ requests = {requests}, timeouts.request = \"{}s\" }}\n",
            TIME_OUT.as_secs()
        );
        let load = "load = { connections = 1, requests = 1 }\n";
        let running = CoordinatorCommand::local(
            1,
            &plan(&server.url("/"), &pki, &format!("{connection}{load}")),
        )
        .spawn();
        wait_until("the request at the server", || {
            server.output().contains("GET /").then_some(())
        });
        server.type_in("R");
        let finished = running.wait().expect(1);
        let errors = finished.clean().document().measured.errors;
        let found: Vec<_> = errors
            .iter()
            .map(|error| (error.name.as_str(), error.count))
            .collect();
        assert_eq!(
            found,
            [("tls.alert_received.handshake_failure", 1)],
            "{requests}: {finished}"
        );
        assert!(finished.took < TIME_OUT, "{finished}");
        assert!(
            server.output().contains("no renegotiation"),
            "{}",
            server.output()
        );
    }
}
