//! A server with two certificates chooses by the signature schemes that are offered.

use crate::servers::{REQUESTS, USERS, assert_all_ok, run_alone};
use interop::{CoordinatorCommand, Nginx, NginxOptions, NginxServer, Pki, plan};

/// Schemes offered, versions, and the scheme with which nginx signs.
const CASES: [(&str, &str, &str); 6] = [
    (
        "\"ecdsa_secp256r1_sha256\"",
        "1.3",
        "ecdsa_secp256r1_sha256",
    ),
    ("\"rsa_pss_rsae_sha384\"", "1.3", "rsa_pss_rsae_sha384"),
    (
        "\"rsa_pss_rsae_sha512\", \"rsa_pss_rsae_sha256\"",
        "1.3",
        "rsa_pss_rsae_sha512",
    ),
    (
        "\"mldsa65\", \"rsa_pss_rsae_sha256\"",
        "1.3",
        "rsa_pss_rsae_sha256",
    ),
    ("\"rsa_pkcs1_sha256\"", "1.2", "rsa_pkcs1_sha256"),
    (
        "\"ecdsa_secp256r1_sha256\"",
        "1.2",
        "ecdsa_secp256r1_sha256",
    ),
];

#[test]
fn server_signs_with_a_scheme_that_the_plan_offers() {
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    for (schemes, version, scheme) in CASES {
        let more = format!(
            "connection.requests = 1\ntls.versions = [\"{version}\"]\n\
             tls.signatures = [{schemes}]\n"
        );
        let document = run_alone(&plan(&nginx.url(NginxServer::AnyTls, "/"), &pki, &more));
        assert_all_ok(&document.measured);
        let [negotiated] = document.measured.negotiated.as_slice() else {
            panic!("{schemes}: {:?}", document.measured.negotiated);
        };
        assert_eq!(negotiated.signature_scheme, scheme);
        assert_eq!(negotiated.count, REQUESTS);
    }
}

#[test]
fn server_without_a_key_for_any_scheme_refuses_the_handshake() {
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let more = format!(
        "load = {{ connections = {USERS}, requests = 8 }}\ntls.signatures = [\"ed25519\"]\n"
    );
    let plan = plan(&nginx.url(NginxServer::AnyTls, "/"), &pki, &more);
    let finished = CoordinatorCommand::local(1, &plan).run();
    let document = finished.document();
    assert_eq!(document.measured.operations.ok, 0, "{finished}");
    let kinds: Vec<&str> = document
        .measured
        .errors
        .iter()
        .map(|error| error.name.as_str())
        .collect();
    assert_eq!(
        kinds,
        ["tls.alert_received.handshake_failure"],
        "{finished}"
    );
}
