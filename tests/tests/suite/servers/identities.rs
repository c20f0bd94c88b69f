//! Many client identities: each virtual user presents its own, in full and in resumed handshakes,
//! as nginx logs it.

use crate::servers::{REQUESTS, USERS, assert_all_ok, assert_resumed, run};
use interop::{KeyKind, Nginx, NginxOptions, NginxRequest, NginxServer, Pki, plan, require};
use std::path::Path;
use std::process::Command;

/// Each request names its user.
const REQUEST: &str = "request.path = \"/?{user}\"\nconnection.requests = 1\n";

/// Runs users against nginx, which requires certificates, and returns the users and subjects in its
/// log.
fn subjects_of(
    nginx: &Nginx,
    pki: &Pki,
    server: NginxServer,
    sections: &str,
    resumption: &str,
) -> Vec<(u64, NginxRequest)> {
    let before = nginx.requests().len();
    let sections = format!("{sections}tls.resumption = {resumption:?}\n{REQUEST}");
    let measured = run(&plan(&nginx.url(server, "/"), pki, &sections)).measured;
    assert_all_ok(&measured);
    assert_resumed(&measured, resumption, true);
    let rows = nginx
        .wait_for_requests(before + REQUESTS as usize)
        .split_off(before);
    assert!(rows.iter().all(|row| row.client_verify == "SUCCESS"));
    let user = |row: &NginxRequest| row.path.strip_prefix("/?").unwrap().parse().unwrap();
    rows.into_iter().map(|row| (user(&row), row)).collect()
}

#[test]
fn minted_identity_is_its_users_in_full_and_in_resumed_handshakes() {
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    // In TLS 1.2 OpenSSL checks a certificate's curve against the server's groups, and these nginx
    // only have X25519.
    for (kind, mint) in [(KeyKind::P256, 100), (KeyKind::Rsa2048, 3)] {
        let ca = pki.authority_files(kind);
        let sections = format!(
            "tls.versions = [\"1.3\"]\ntls.client_certificates = {{ mint = {mint}, ca = {:?}, \
             ca_key = {:?}, subject = \"CN=user-{{user}},O=Example\" }}\n",
            ca.cert, ca.key
        );
        let rows = subjects_of(
            &nginx,
            &pki,
            NginxServer::ClientCertificateTickets,
            &sections,
            "always",
        );
        let resumed = rows.iter().filter(|(_, row)| row.resumed).count() as u64;
        assert_eq!(resumed, REQUESTS - USERS);
        for (user, row) in rows {
            assert_eq!(
                row.client_subject,
                format!("CN=user-{},O=Example", user % mint),
                "{row:?}"
            );
        }
    }
}

/// Makes a CA with OpenSSL; `key` is what follows `-newkey`.
fn make_ca(openssl: &Path, folder: &Path, key: &str, subject: &str) -> [String; 2] {
    let [certificate, private] = ["pem", "key"].map(|extension| {
        let path = folder.join(format!("issuing.{extension}"));
        path.to_str().unwrap().to_owned()
    });
    let output = Command::new(openssl)
        .args(["req", "-x509", "-nodes", "-days", "2", "-newkey"])
        .args(key.split(' '))
        .args(["-subj", subject, "-out", &certificate, "-keyout", &private])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    [certificate, private]
}

/// Failed with: nginx verified none, since they named only one `DC` and one `OU`; and with
/// `OU=b+CN=issuing`: the file holds no usable certificate.
#[test]
fn minted_certificates_are_trusted_whatever_key_and_name_the_ca_has() {
    let Some(openssl) = require("openssl") else {
        return;
    };
    let subject = "/DC=com/DC=example/OU=a/OU=b+CN=issuing/emailAddress=ca@example.com";
    for key in [
        "rsa:2048",
        "ec -pkeyopt ec_paramgen_curve:P-384",
        "ec -pkeyopt ec_paramgen_curve:P-521",
        "ed25519",
    ] {
        let pki = Pki::new();
        let [ca, ca_key] = make_ca(&openssl, pki.folder(), key, subject);
        let trusted =
            [pki.ca(), ca.clone().into()].map(|path| std::fs::read_to_string(path).unwrap());
        std::fs::write(pki.ca(), trusted.concat()).unwrap();
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let sections = format!(
            "tls.versions = [\"1.3\"]\ntls.client_certificates = {{ mint = 2, ca = {ca:?}, \
             ca_key = {ca_key:?}, subject = \"CN=user-{{user}},C=de\" }}\n"
        );
        let server = NginxServer::ClientCertificateTickets;
        for (user, row) in subjects_of(&nginx, &pki, server, &sections, "never") {
            let subject = format!("CN=user-{},C=de", user % 2);
            assert_eq!(row.client_subject, subject, "{key}");
        }
    }
}

#[test]
fn folder_gives_its_pairs_by_name() {
    let pki = Pki::new();
    let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for name in ["b", "c", "a"] {
        let files = pki.client(KeyKind::Rsa2048, name);
        std::fs::copy(files.cert, folder.path().join(format!("{name}.crt"))).unwrap();
        std::fs::copy(files.key, folder.path().join(format!("{name}.key"))).unwrap();
    }
    std::fs::copy(pki.ca(), folder.path().join("ca.pem")).unwrap();
    for version in ["1.2", "1.3"] {
        let sections = format!(
            "tls.versions = [{version:?}]\ntls.client_certificates = {:?}\n",
            folder.path()
        );
        for (user, row) in subjects_of(
            &nginx,
            &pki,
            NginxServer::ClientCertificateTickets,
            &sections,
            "always",
        ) {
            assert_eq!(
                row.client_subject,
                format!("CN={}", ["a", "b", "c"][user as usize % 3]),
                "{row:?}"
            );
        }
    }
}
