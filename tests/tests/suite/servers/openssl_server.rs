//! The status page of `openssl s_server` has the same handshakes and resumptions.

use crate::servers::{REQUESTS, assert_resumed, resumed_of, run};
use interop::{KeyKind, OpensslOptions, OpensslServer, Pki, ServerTlsVersion, plan};

#[test]
fn handshakes_are_those_of_its_status_page() {
    let pki = Pki::new();
    // (version, key, tickets, cache, resumption, whether it resumes)
    let cases = [
        (
            ServerTlsVersion::V12,
            KeyKind::Rsa2048,
            false,
            false,
            "always",
            false,
        ),
        (
            ServerTlsVersion::V12,
            KeyKind::Rsa2048,
            true,
            false,
            "always",
            true,
        ),
        (
            ServerTlsVersion::V12,
            KeyKind::P256,
            false,
            true,
            "always",
            true,
        ),
        (
            ServerTlsVersion::V13,
            KeyKind::P256,
            false,
            false,
            "never",
            false,
        ),
        (
            ServerTlsVersion::V13,
            KeyKind::P256,
            true,
            false,
            "never",
            true,
        ),
        (
            ServerTlsVersion::V13,
            KeyKind::Rsa2048,
            true,
            false,
            "always",
            true,
        ),
    ];
    for (version, key, tickets, session_cache, resumption, resumes) in cases {
        let options = OpensslOptions {
            key,
            version,
            tickets,
            session_cache,
            ..OpensslOptions::default()
        };
        let Some(server) = OpensslServer::start(&pki, options) else {
            return;
        };
        let sections = format!("tls.resumption = {resumption:?}\nconnection.requests = 1\n");
        let document = run(&plan(&server.url("/"), &pki, &sections));
        assert_eq!(
            (
                document.measured.operations.ok,
                document.measured.connections.opened
            ),
            (REQUESTS, REQUESTS)
        );
        assert_resumed(&document.measured, resumption, resumes);
        let Some(counts) = server.counts() else {
            return;
        };
        assert_eq!(
            (counts.handshakes, counts.handshakes_resumed),
            (REQUESTS, resumed_of(resumption, resumes)),
            "{options:?}"
        );
    }
}
