//! Go's net/http and crypto/tls count the same requests, connections and handshakes.

use crate::servers::{REQUESTS, USERS, assert_all_ok, assert_resumed, resumed_of, run};
use interop::{GoOptions, GoServer, KeyKind, Pki, ServerTlsVersion, plan};

#[test]
fn handshakes_and_requests_are_those_it_counts() {
    let pki = Pki::new();
    // (version, key, tickets, resumption)
    let cases = [
        (ServerTlsVersion::V12, KeyKind::Rsa2048, false, "always"),
        (ServerTlsVersion::V12, KeyKind::P256, true, "always"),
        (ServerTlsVersion::V13, KeyKind::P256, false, "never"),
        (ServerTlsVersion::V13, KeyKind::P256, true, "never"),
        (ServerTlsVersion::V13, KeyKind::Rsa2048, true, "always"),
    ];
    for (version, key, tickets, resumption) in cases {
        let options = GoOptions {
            key,
            version,
            tickets,
            ..GoOptions::default()
        };
        let Some(server) = GoServer::start(&pki, options) else {
            return;
        };
        let sections = format!("tls.resumption = {resumption:?}\nconnection.requests = 1\n");
        let document = run(&plan(&server.url("/"), &pki, &sections));
        assert_all_ok(&document.measured);
        assert_resumed(&document.measured, resumption, tickets);
        let (counts, resumed) = (server.counts(), resumed_of(resumption, tickets));
        assert_eq!(
            (
                counts.requests,
                counts.connections,
                counts.handshakes_failed
            ),
            (REQUESTS, REQUESTS, 0),
            "{options:?}"
        );
        assert_eq!(
            (counts.handshakes_full, counts.handshakes_resumed),
            (REQUESTS - resumed, resumed),
            "{options:?}"
        );
    }
}

#[test]
fn keep_alive_opens_one_connection_for_each_user_and_every_framing_is_read() {
    let pki = Pki::new();
    for (path, bytes) in [
        ("/", 356),
        ("/chunked", 356),
        ("/big", 1_900_000),
        ("/204", 0),
    ] {
        let Some(server) = GoServer::start(&pki, GoOptions::default()) else {
            return;
        };
        let document = run(&plan(&server.url(path), &pki, ""));
        assert_eq!(
            document.measured.bytes.payload_bytes,
            REQUESTS * bytes,
            "{path}"
        );
        let counts = server.counts();
        assert_eq!(
            (counts.requests, counts.connections, counts.handshakes_full),
            (REQUESTS, USERS, USERS),
            "{path}"
        );
    }
}

#[test]
fn client_certificates_reach_it() {
    let pki = Pki::new();
    let Some(server) = GoServer::start(
        &pki,
        GoOptions {
            client_certificate: true,
            ..GoOptions::default()
        },
    ) else {
        return;
    };
    let files = pki.client(KeyKind::P256, "alice");
    let identity = format!(
        "tls.client_certificates = [{{ cert = {:?}, key = {:?} }}]\n",
        files.cert, files.key
    );
    assert_all_ok(&run(&plan(&server.url("/"), &pki, &identity)).measured);
    let counts = server.counts();
    assert_eq!(
        (
            counts.requests,
            counts.client_certificates,
            counts.handshakes_failed
        ),
        (REQUESTS, USERS, 0)
    );
}
