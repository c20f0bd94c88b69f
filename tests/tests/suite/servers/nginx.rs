//! nginx over TLS: its log has the same requests, connections, resumptions, versions, suites and
//! groups.

use crate::servers::{REQUESTS, USERS, assert_all_ok, assert_resumed, resumed_of, run};
use analysis::{Document, NegotiatedFigure};
use interop::{KeyKind, Nginx, NginxOptions, NginxRequest, NginxServer, Pki, plan};

/// The expected outcome of a run against one of nginx's servers.
struct Case {
    server: NginxServer,
    resumption: &'static str,
    server_resumes: bool,
    key: &'static str,
    signature: &'static str,
}

const RSA: (&str, &str) = ("RSA 2048", "rsa_");
const P256: (&str, &str) = ("ECDSA P-256", "ecdsa_secp256r1_sha256");

const fn case(
    server: NginxServer,
    resumption: &'static str,
    server_resumes: bool,
    (key, signature): (&'static str, &'static str),
) -> Case {
    Case {
        server,
        resumption,
        server_resumes,
        key,
        signature,
    }
}

#[test]
fn one_handshake_for_each_request_is_full_or_resumed_as_the_plan_and_the_server_say() {
    use NginxServer as S;
    let pki = Pki::new();
    let cases = [
        case(S::Tls12Rsa, "always", false, RSA),
        case(S::Tls12Tickets, "never", true, RSA),
        case(S::Tls12Tickets, "always", true, RSA),
        case(S::Tls12Cache, "always", true, RSA),
        case(S::Tls13, "always", false, P256),
        case(S::Tls13Tickets, "never", true, P256),
        case(S::Tls13Tickets, "always", true, P256),
        case(S::Tls13Cache, "always", true, P256),
    ];
    for case in cases {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let sections = format!(
            "tls.resumption = {:?}\nconnection.requests = 1\n",
            case.resumption
        );
        let document = run(&plan(&nginx.url(case.server, "/"), &pki, &sections));
        assert_all_ok(&document.measured);
        assert_resumed(&document.measured, case.resumption, case.server_resumes);
        check_against(&nginx, &case, &document);
    }
}

fn check_against(nginx: &Nginx, case: &Case, document: &Document) {
    let rows = nginx.wait_for_requests(REQUESTS as usize);
    assert_eq!(
        (rows.len() as u64, nginx.status().accepted),
        (REQUESTS, REQUESTS),
        "{:?}",
        case.server
    );
    assert_eq!(
        document.measured.connections.opened,
        nginx.status().accepted
    );
    assert!(
        rows.iter()
            .all(|row| row.server == case.server && row.nth == 1)
    );
    let resumed = rows.iter().filter(|row| row.resumed).count() as u64;
    assert_eq!(
        resumed,
        resumed_of(case.resumption, case.server_resumes),
        "{:?}",
        case.server
    );
    for (resumed, handshake) in [(false, "full"), (true, "resumed")] {
        let rows: Vec<_> = rows.iter().filter(|row| row.resumed == resumed).collect();
        let agreed: Vec<_> = document
            .measured
            .negotiated
            .iter()
            .filter(|agreed| agreed.handshake == handshake)
            .collect();
        assert_eq!(
            agreed.iter().map(|agreed| agreed.count).sum::<u64>(),
            rows.len() as u64
        );
        rows.iter()
            .for_each(|row| agreed.iter().for_each(|agreed| assert_agreed(row, agreed)));
    }
    let chains: Vec<_> = document
        .measured
        .chains
        .iter()
        .map(|chain| (chain.key.as_str(), chain.certificates))
        .collect();
    assert_eq!(chains, [(case.key, 1)]);
    let full = document
        .measured
        .negotiated
        .iter()
        .find(|agreed| agreed.handshake == "full")
        .unwrap();
    assert!(
        full.signature_scheme.starts_with(case.signature),
        "{full:?}"
    );
}

/// nginx logs OpenSSL's names.
fn assert_agreed(row: &NginxRequest, agreed: &NegotiatedFigure) {
    assert_eq!(row.protocol, agreed.version.replace("TLS ", "TLSv"));
    let iana = match row.cipher.as_str() {
        "ECDHE-RSA-AES256-GCM-SHA384" => "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        "ECDHE-ECDSA-AES256-GCM-SHA384" => "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        same => same,
    };
    assert_eq!(iana, agreed.suite);
    // A resumed TLS 1.2 handshake exchanges no keys; OpenSSL then reports what the session used
    // before.
    let exchanges_keys = !(row.resumed && row.protocol == "TLSv1.2");
    assert_eq!(
        agreed.group,
        if exchanges_keys {
            row.curve.as_str()
        } else {
            ""
        },
        "{row:?}"
    );
}

#[test]
fn half_of_the_connections_resume_where_the_plan_says_half() {
    let pki = Pki::new();
    for server in [NginxServer::Tls12Tickets, NginxServer::Tls13Tickets] {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let document = run(&plan(
            &nginx.url(server, "/"),
            &pki,
            "tls.resumption = { share = 0.5 }\nconnection.requests = 1\n",
        ));
        let resumed = nginx
            .wait_for_requests(REQUESTS as usize)
            .iter()
            .filter(|row| row.resumed)
            .count() as u64;
        assert_eq!(document.measured.resumption.resumed, resumed, "{server:?}");
        // Every second one of each user, plus or minus one.
        assert!(
            resumed.abs_diff(REQUESTS / 2) <= USERS * 2,
            "{server:?}: {resumed} of {REQUESTS}"
        );
    }
}

#[test]
fn session_ids_alone_are_offered_where_the_plan_wants_no_tickets() {
    let pki = Pki::new();
    let by_id = "tls.versions = [\"1.2\"]\ntls.resumption = { share = 1, kind = \"session-id\" \
                 }\nconnection.requests = 1\n";
    // nginx with tickets and without a cache issues session ids that it forgets at once.
    for (server, accepted) in [
        (NginxServer::Tls12Cache, REQUESTS - USERS),
        (NginxServer::Tls12Tickets, 0),
    ] {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let counted = run(&plan(&nginx.url(server, "/"), &pki, by_id))
            .measured
            .resumption;
        let resumed = nginx
            .wait_for_requests(REQUESTS as usize)
            .iter()
            .filter(|row| row.resumed)
            .count() as u64;
        assert_eq!(
            (resumed, counted.resumed, counted.accepted),
            (accepted, accepted, accepted),
            "{server:?}"
        );
        assert_eq!(
            (counted.offered, counted.refused),
            (REQUESTS - USERS, REQUESTS - USERS - accepted),
            "{counted:?}"
        );
    }
}

#[test]
fn handshakes_without_requests_are_those_of_the_log() {
    use NginxServer as S;
    let pki = Pki::new();
    let cases = [
        (S::StreamTls12Rsa, "never", false),
        (S::StreamTls12Tickets, "always", true),
        (S::StreamTls12Cache, "always", true),
        (S::StreamTls13, "always", false),
        (S::StreamTls13Tickets, "never", true),
        (S::StreamTls13Tickets, "always", true),
    ];
    for (server, resumption, server_resumes) in cases {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let sections = format!("tls.resumption = {resumption:?}\nconnection.requests = 0\n");
        let document = run(&plan(&nginx.url(server, "/"), &pki, &sections));
        let rows = nginx.wait_for_connections(REQUESTS as usize);
        let seen = (
            rows.len() as u64,
            rows.iter().filter(|row| row.resumed).count() as u64,
        );
        assert_eq!(
            seen,
            (REQUESTS, resumed_of(resumption, server_resumes)),
            "{server:?}"
        );
        assert!(
            rows.iter()
                .all(|row| row.status == 200 && row.server == server)
        );
        assert_resumed(&document.measured, resumption, server_resumes);
        let operations = &document.measured.operations;
        assert_eq!(
            (
                operations.ok,
                operations.unconfirmed,
                document.measured.connections.opened
            ),
            (REQUESTS, 0, REQUESTS)
        );
    }
}

#[test]
fn client_certificates_are_shown_and_verified() {
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let identity = |name, kind| {
        let files = pki.client(kind, name);
        format!("{{ cert = {:?}, key = {:?} }}", files.cert, files.key)
    };
    // In TLS 1.2 OpenSSL checks a certificate's curve against the server's groups, and these nginx
    // only have X25519.
    for (version, second) in [("1.2", KeyKind::Rsa2048), ("1.3", KeyKind::P256)] {
        let before = nginx.requests().len();
        let identities = [identity("alice", KeyKind::Rsa2048), identity("bob", second)].join(", ");
        let sections = format!(
            "tls.versions = [{version:?}]\ntls.client_certificates = \
             [{identities}]\nconnection.requests = 1\n"
        );
        let document = run(&plan(
            &nginx.url(NginxServer::ClientCertificate, "/"),
            &pki,
            &sections,
        ));
        assert_all_ok(&document.measured);
        let rows = nginx.wait_for_requests(before + REQUESTS as usize);
        assert_eq!(rows.len() - before, REQUESTS as usize);
        assert!(
            rows[before..]
                .iter()
                .all(|row| row.client_verify == "SUCCESS"
                    && row.protocol == format!("TLSv{version}"))
        );
    }
}

#[test]
fn server_that_dislikes_the_first_group_asks_again_each_time_unless_it_is_remembered() {
    let pki = Pki::new();
    // Each user may send its first hello before any answer has arrived; what is remembered helps
    // even without resumption.
    for (key_share, fewest, most) in [("first", REQUESTS, REQUESTS), ("remembered", 1, USERS)] {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let tls =
            format!("tls.groups = [\"secp256r1\", \"X25519\"]\ntls.key_share = {key_share:?}\n");
        let document = run(&plan(
            &nginx.url(NginxServer::Tls13, "/"),
            &pki,
            &format!("{tls}connection.requests = 1\n"),
        ));
        let measured = &document.measured;
        assert_all_ok(measured);
        assert!(
            measured
                .negotiated
                .iter()
                .all(|agreed| agreed.group == "X25519"),
            "{:?}",
            measured.negotiated
        );
        let retried = measured.resumption.retried;
        assert!(
            (fewest..=most).contains(&retried),
            "{key_share}: {:?}",
            measured.resumption
        );
        assert_eq!(measured.times["handshake_full_retried"].count, retried);
        assert_eq!(
            document.plan.tls.as_ref().map(|tls| tls.key_share.as_str()),
            Some(key_share)
        );
        assert!(
            document
                .notes
                .iter()
                .any(|note| note.contains("HelloRetryRequest") && note.contains("tls.key_share"))
        );
        assert_eq!(
            nginx.wait_for_requests(REQUESTS as usize).len() as u64,
            nginx.status().accepted
        );
    }
}
