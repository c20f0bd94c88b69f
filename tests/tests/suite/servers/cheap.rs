//! `key_exchange = "cheap"`: real servers complete every handshake, on the expected group, and
//! count as many as are reported.

use crate::servers::{REQUESTS, assert_all_ok, run_alone};
use analysis::Document;
use interop::{
    GoOptions, GoServer, Haproxy, HaproxyFrontend, HaproxyOptions, KeyKind, Nginx, NginxOptions,
    NginxServer,
};
use interop::{OpensslOptions, OpensslServer, Pki, ServerTlsVersion, plan};

/// A handshake of a cheap client.
struct Case {
    version: ServerTlsVersion,
    /// Groups of the plan.
    offered: &'static str,
    /// The group that a server with ML-KEM chooses.
    agreed: &'static str,
    /// The group that a server without ML-KEM chooses.
    without_ml_kem: &'static str,
}

const fn case(
    version: ServerTlsVersion,
    offered: &'static str,
    agreed: &'static str,
    without_ml_kem: &'static str,
) -> Case {
    Case {
        version,
        offered,
        agreed,
        without_ml_kem,
    }
}

/// A server without ML-KEM uses the classical part of a hybrid that is offered beside it, without
/// asking for a second hello.
const CASES: [Case; 8] = [
    case(ServerTlsVersion::V12, "secp256r1", "secp256r1", "secp256r1"),
    case(ServerTlsVersion::V12, "secp384r1", "secp384r1", "secp384r1"),
    case(ServerTlsVersion::V12, "X25519", "X25519", "X25519"),
    case(ServerTlsVersion::V13, "secp256r1", "secp256r1", "secp256r1"),
    case(ServerTlsVersion::V13, "secp384r1", "secp384r1", "secp384r1"),
    case(ServerTlsVersion::V13, "X25519", "X25519", "X25519"),
    case(
        ServerTlsVersion::V13,
        "X25519MLKEM768\", \"X25519",
        "X25519MLKEM768",
        "X25519",
    ),
    case(
        ServerTlsVersion::V13,
        "SecP256r1MLKEM768\", \"secp256r1",
        "SecP256r1MLKEM768",
        "secp256r1",
    ),
];

impl Case {
    /// Runs it against a server; all handshakes must be full, without a retry, and on `group`.
    fn run(&self, url: &str, pki: &Pki, group: &str) -> Document {
        let document = run_alone(&plan(url, pki, &self.sections()));
        let (counted, negotiated) = (&document.measured.resumption, &document.measured.negotiated);
        assert_eq!(
            (counted.full, counted.retried),
            (REQUESTS, 0),
            "{url}, {}: {counted:?}",
            self.offered
        );
        let agreed: Vec<_> = negotiated
            .iter()
            .map(|agreed| (agreed.version.as_str(), agreed.group.as_str()))
            .collect();
        assert_eq!(agreed, [(self.version(), group)], "{url}, {}", self.offered);
        assert!(
            document
                .notes
                .iter()
                .any(|note| note.starts_with("cheap client")),
            "{:?}",
            document.notes
        );
        document
    }

    fn sections(&self) -> String {
        let version = self.version().trim_start_matches("TLS ");
        let tls = format!(
            "versions = [\"{version}\"]\ngroups = [\"{}\"]\nkey_exchange = \"cheap\"\n",
            self.offered
        );
        let tls = tls
            .lines()
            .map(|line| format!("tls.{line}\n"))
            .collect::<String>();
        format!("{tls}connection.requests = 1\n")
    }

    /// In TLS 1.2 OpenSSL checks its certificate's curve against the client's groups.
    fn key(&self) -> KeyKind {
        if self.version == ServerTlsVersion::V12 {
            KeyKind::Rsa2048
        } else {
            KeyKind::P256
        }
    }

    fn version(&self) -> &'static str {
        match self.version {
            ServerTlsVersion::V12 => "TLS 1.2",
            ServerTlsVersion::V13 => "TLS 1.3",
        }
    }
}

#[test]
fn nginx_completes_cheap_handshakes() {
    let pki = Pki::new();
    for case in CASES {
        let options = NginxOptions {
            groups: "X25519:prime256v1:secp384r1",
            ..NginxOptions::default()
        };
        let Some(nginx) = Nginx::start(&pki, &options) else {
            return;
        };
        let server = if case.version == ServerTlsVersion::V12 {
            NginxServer::Tls12Rsa
        } else {
            NginxServer::Tls13
        };
        assert_all_ok(
            &case
                .run(&nginx.url(server, "/"), &pki, case.without_ml_kem)
                .measured,
        );
        let rows = nginx.wait_for_requests(REQUESTS as usize);
        assert_eq!(
            (rows.len() as u64, nginx.status().accepted),
            (REQUESTS, REQUESTS)
        );
        let group = if case.without_ml_kem == "secp256r1" {
            "prime256v1"
        } else {
            case.without_ml_kem
        };
        let same = rows.iter().all(|row| {
            row.curve == group && !row.resumed && row.protocol == case.version().replace(' ', "v")
        });
        assert!(same, "{}: {:?}", case.offered, rows[0]);
    }
}

#[test]
fn haproxy_completes_cheap_handshakes() {
    let pki = Pki::new();
    for case in CASES {
        let Some(haproxy) = Haproxy::start(&pki, HaproxyOptions::default()) else {
            return;
        };
        let frontend = if case.version == ServerTlsVersion::V12 {
            HaproxyFrontend::Tls12Rsa
        } else {
            HaproxyFrontend::Tls13
        };
        assert_all_ok(
            &case
                .run(&haproxy.url(frontend, "/"), &pki, case.without_ml_kem)
                .measured,
        );
        let counts = haproxy.wait_for_requests(frontend, REQUESTS);
        assert_eq!(
            (
                counts.handshakes_full,
                counts.handshakes_resumed,
                counts.handshakes_failed
            ),
            (REQUESTS, 0, 0)
        );
    }
}

#[test]
fn openssl_completes_cheap_handshakes() {
    let pki = Pki::new();
    for case in CASES {
        let options = OpensslOptions {
            version: case.version,
            key: case.key(),
            ..OpensslOptions::default()
        };
        let Some(server) = OpensslServer::start(&pki, options) else {
            return;
        };
        let document = case.run(&server.url("/"), &pki, case.without_ml_kem);
        assert_eq!(document.measured.operations.ok, REQUESTS);
        let Some(counts) = server.counts() else {
            return;
        };
        assert_eq!(
            (counts.handshakes, counts.handshakes_resumed),
            (REQUESTS, 0),
            "{}",
            case.offered
        );
    }
}

/// Among these servers only Go supports ML-KEM, since version 1.24; the others are limited to what
/// every OpenSSL has.
#[test]
fn go_completes_cheap_handshakes_with_ml_kem_too() {
    let pki = Pki::new();
    for case in CASES {
        let options = GoOptions {
            version: case.version,
            key: case.key(),
            ..GoOptions::default()
        };
        let Some(server) = GoServer::start(&pki, options) else {
            return;
        };
        assert_all_ok(
            &case
                .run(
                    &server.url("/"),
                    &pki,
                    server.agrees_on(case.agreed, case.without_ml_kem),
                )
                .measured,
        );
        let counts = server.counts();
        assert_eq!(
            (
                counts.handshakes_full,
                counts.handshakes_resumed,
                counts.handshakes_failed
            ),
            (REQUESTS, 0, 0)
        );
    }
}
