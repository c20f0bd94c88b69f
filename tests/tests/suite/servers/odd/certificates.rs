//! Certificates so large that they need several TLS records.

use crate::servers::{REQUESTS, run};
use interop::{
    CoordinatorCommand, KeyKind, OpensslOptions, OpensslServer, Pki, ServerTlsVersion, curl, plan,
};

#[test]
fn certificates_of_20_and_60_kilobytes_are_verified() {
    let pki = Pki::new();
    for (names, bytes) in [(1_000, 20_000..30_000), (2_700, 55_000..64_000)] {
        for (version, key) in [
            (ServerTlsVersion::V12, KeyKind::Rsa2048),
            (ServerTlsVersion::V13, KeyKind::P256),
        ] {
            let files = pki.server_of_names(key, names);
            let options = OpensslOptions {
                version,
                key,
                ..OpensslOptions::default()
            };
            let Some(server) = OpensslServer::with_certificate(&pki, options, &files) else {
                return;
            };
            let document = run(&plan(&server.url("/"), &pki, "connection.requests = 1\n"));
            assert_eq!(
                (
                    document.measured.operations.ok,
                    document.measured.resumption.full
                ),
                (REQUESTS, REQUESTS)
            );
            let received = document.measured.bytes.wire_received_bytes / REQUESTS;
            println!("{version:?}, {names} names: {received} bytes received for each connection");
            assert!(
                received > bytes.start,
                "{received} bytes for each connection hold no such certificate"
            );
            let Some(counts) = server.counts() else {
                return;
            };
            assert_eq!(counts.handshakes, REQUESTS);
        }
    }
}

/// curl accepts one of 77 KB; our TLS library accepts handshake messages of up to 64 KiB, and says
/// so at once.
#[test]
fn certificate_above_64_kibibytes_fails_each_operation_at_once() {
    let pki = Pki::new();
    for (version, key) in [
        (ServerTlsVersion::V12, KeyKind::Rsa2048),
        (ServerTlsVersion::V13, KeyKind::P256),
    ] {
        let options = OpensslOptions {
            version,
            key,
            ..OpensslOptions::default()
        };
        let Some(server) =
            OpensslServer::with_certificate(&pki, options, &pki.server_of_names(key, 3_500))
        else {
            return;
        };
        let Some(told) = curl(&[
            "--cacert",
            pki.ca().to_str().unwrap(),
            "-o",
            "/dev/null",
            &server.url("/"),
        ]) else {
            return;
        };
        assert_eq!(told.code, 0, "{}", told.error);
        let text = plan(&server.url("/"), &pki, "connection.requests = 1\n");
        let finished = CoordinatorCommand::local(
            1,
            &format!("load = {{ connections = 2, requests = 6 }}\n{text}"),
        )
        .run();
        let measured = finished.clean().document().measured;
        let errors: Vec<_> = measured
            .errors
            .iter()
            .map(|error| (error.name.as_str(), error.count))
            .collect();
        assert_eq!(
            (measured.operations.ended, errors),
            (6, vec![("tls.bad_tls", 6)]),
            "{finished}"
        );
    }
}
