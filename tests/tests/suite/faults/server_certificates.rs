//! Server certificates as people make them by hand, each with something that rustls rejects: the
//! message names it, with a cure.

use interop::{
    CertificateFiles, CoordinatorCommand, Finished, OpensslOptions, OpensslServer, Pki,
    ServerTlsVersion, require,
};
use std::path::{Path, PathBuf};
use std::process::Command;

const REQUESTS: u64 = 3;

/// A subjectAltName for the cases that are not about it.
const NAMES: &str = "subjectAltName=DNS:localhost,IP:127.0.0.1";

/// Makes certificates with OpenSSL's command line.
struct Workshop {
    folder: tempfile::TempDir,
    openssl: PathBuf,
}

impl Workshop {
    fn new() -> Option<Workshop> {
        Some(Workshop {
            folder: tempfile::tempdir().unwrap(),
            openssl: require("openssl")?,
        })
    }

    fn files(&self, name: &str) -> CertificateFiles {
        let path = |ending: &str| self.folder.path().join(format!("{name}{ending}"));
        CertificateFiles {
            cert: path(".pem"),
            key: path(".key"),
            both: path("-both.pem"),
        }
    }

    fn openssl(&self, words: &str) {
        let output = Command::new(&self.openssl)
            .args(words.split_whitespace())
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "openssl {words}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// A self-signed certificate.
    fn self_signed(&self, name: &str, words: &str) -> CertificateFiles {
        let names = format!("-nodes -days 30 -subj /CN={name} -keyout {name}.key -out {name}.pem");
        self.openssl(&format!("req -x509 -new {names} {words}"));
        self.files(name)
    }

    /// A certificate issued by `ca` with these extensions, or of version 1 if there are none.
    fn issued(
        &self,
        name: &str,
        ca: &str,
        key: &str,
        extensions: &[&str],
        words: &str,
    ) -> CertificateFiles {
        self.openssl(&format!(
            "req -new -nodes -newkey {key} -subj /CN=localhost -keyout {name}.key -out {name}.csr"
        ));
        std::fs::write(self.folder.path().join("extensions"), extensions.join("\n")).unwrap();
        let file = if extensions.is_empty() {
            ""
        } else {
            "-extfile extensions"
        };
        let by = format!("-CA {ca}.pem -CAkey {ca}.key -CAcreateserial -days 30");
        self.openssl(&format!(
            "x509 -req -in {name}.csr -out {name}.pem {by} {file} {words}"
        ));
        self.files(name)
    }
}

/// A run against `s_server` with this certificate, by a client that trusts `ca`.
fn run(files: &CertificateFiles, ca: &Path, version: ServerTlsVersion) -> Option<Finished> {
    let server = OpensslServer::with_certificate(
        &Pki::new(),
        OpensslOptions {
            version,
            ..OpensslOptions::default()
        },
        files,
    )?;
    let target = format!(
        "target.url = {:?}\ntls.ca = {ca:?}\nconnection.requests = 1\n",
        server.url("/")
    );
    Some(
        CoordinatorCommand::local(
            1,
            &format!("{target}load = {{ connections = 1, requests = {REQUESTS} }}\n"),
        )
        .run(),
    )
}

#[test]
fn what_is_wrong_with_a_certificate_is_told_with_a_cure() {
    let Some(shop) = Workshop::new() else { return };
    let rsa = |bits: u32| format!("rsa:{bits}");
    let names = ["basicConstraints=CA:FALSE", NAMES];
    let ca = shop.self_signed("ca", "-newkey rsa:2048");
    let weak_ca = shop.self_signed("weak-ca", "-newkey rsa:1024");
    let as_ca = shop.self_signed("self-as-ca", &format!("-newkey rsa:2048 -addext {NAMES}"));
    let as_server = shop.self_signed(
        "self-as-server",
        &format!("-newkey rsa:2048 -addext {NAMES} -addext basicConstraints=critical,CA:FALSE"),
    );
    // (certificate, what the client trusts, name, a word of the cure)
    let cases = [
        (&as_ca, &ca, "self_signed", "have a CA issue it"),
        (&as_ca, &as_ca, "self_signed", "have a CA issue it"),
        (&as_server, &ca, "self_signed", "tls.ca"),
        (
            &shop.issued(
                "no-names",
                "ca",
                &rsa(2048),
                &["basicConstraints=CA:FALSE"],
                "",
            ),
            &ca,
            "no_subject_alt_name",
            "subjectAltName",
        ),
        (
            &shop.issued("version-1", "ca", &rsa(2048), &[], ""),
            &ca,
            "no_subject_alt_name",
            "subjectAltName",
        ),
        (
            &shop.issued("sha1", "ca", &rsa(2048), &names, "-sha1"),
            &ca,
            "weak_signature",
            "SHA-256",
        ),
        (
            &shop.issued("short-key", "ca", &rsa(1024), &names, ""),
            &ca,
            "weak_key",
            "2048",
        ),
        (
            &shop.issued("of-short-key", "weak-ca", &rsa(2048), &names, ""),
            &weak_ca,
            "weak_key",
            "2048",
        ),
        (
            &shop.issued(
                "as-ca",
                "ca",
                &rsa(2048),
                &["basicConstraints=CA:TRUE", NAMES],
                "",
            ),
            &ca,
            "ca_as_server",
            "CA:TRUE",
        ),
    ];
    for version in [ServerTlsVersion::V12, ServerTlsVersion::V13] {
        for (files, trusted, name, cure) in &cases {
            let Some(finished) = run(files, &trusted.cert, version) else {
                return;
            };
            let finished = finished.expect(1);
            let errors = finished.clean().document().measured.errors;
            let found: Vec<_> = errors
                .iter()
                .map(|error| (error.name.clone(), error.count))
                .collect();
            let what = format!("{}, {version:?}: {finished}", files.cert.display());
            assert_eq!(
                found,
                [(format!("tls.certificate.{name}"), REQUESTS)],
                "{what}"
            );
            assert!(
                finished.stdout.contains(cure),
                "{cure:?} is not in the output; {what}"
            );
        }
        // Follows the cure.
        let Some(finished) = run(&as_server, &as_server.cert, version) else {
            return;
        };
        assert_eq!(
            finished.expect(0).clean().document().measured.operations.ok,
            REQUESTS
        );
    }
}
