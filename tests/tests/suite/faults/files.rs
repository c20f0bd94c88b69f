//! Files that a plan names, and that are missing or wrong.

use crate::faults::assert_refused;
use interop::{CoordinatorCommand, Finished, KeyKind, Pki};
use target::{Config, RunningTarget};

/// A run with this `[tls]` in a folder with the certificates of `pki`.
fn run(pki: &Pki, url: &str, tls: &str) -> Finished {
    let text =
        format!("target.url = {url:?}\nload = {{ connections = 1, requests = 2 }}\n[tls]\n{tls}\n");
    let mut command = CoordinatorCommand::local(1, &text)
        .file("empty.pem", b"")
        .file("noise.pem", b"-----BEGIN NOISE-----\n");
    for entry in std::fs::read_dir(pki.folder()).unwrap() {
        let path = entry.unwrap().path();
        command = command.file(
            path.file_name().unwrap().to_str().unwrap(),
            &std::fs::read(&path).unwrap(),
        );
    }
    command.run()
}

#[test]
fn files_that_are_missing_or_wrong_are_told_before_any_load() {
    let pki = Pki::new();
    let server = RunningTarget::new(Config::default()).unwrap();
    for name in ["alice", "bob"] {
        let _ = pki.client(KeyKind::P256, name);
    }
    let pair = |cert, key| {
        format!("ca = \"ca.pem\"\nclient_certificates = [{{ cert = {cert:?}, key = {key:?} }}]")
    };
    let (cert, key) = ("client-alice-P256.pem", "client-alice-P256.key");
    // (content of [tls], words of one line)
    let cases: Vec<(String, Vec<&str>)> = vec![
        (
            "ca = \"none.pem\"".to_owned(),
            vec!["tls.ca", "none.pem", "no such file"],
        ),
        ("ca = \"empty.pem\"".to_owned(), vec!["tls.ca", "empty.pem"]),
        ("ca = \"noise.pem\"".to_owned(), vec!["tls.ca", "noise.pem"]),
        (format!("ca = {key:?}"), vec!["tls.ca", key]),
        (
            pair("none.pem", key),
            vec!["tls.client_certificates", "none.pem", "no such file"],
        ),
        (
            pair(cert, "none.key"),
            vec!["tls.client_certificates", "none.key", "no such file"],
        ),
        (pair(cert, cert), vec!["tls.client_certificates", cert]),
        (
            pair(cert, "client-bob-P256.key"),
            vec![
                "tls.client_certificates",
                "client-bob-P256.key",
                cert,
                "does not belong",
            ],
        ),
        (
            "client_certificates = \"nowhere\"".to_owned(),
            vec!["tls.client_certificates", "nowhere"],
        ),
    ];
    for (tls, words) in cases {
        let finished = run(&pki, &server.url("/"), &tls);
        // A file that cannot be read is a wrong plan (2); wrong content may only show on the agents
        // (4).
        let code = if words.contains(&"no such file") || finished.code == 2 {
            2
        } else {
            4
        };
        assert_refused(&finished, code, &words);
    }
    assert_eq!(server.stop().connections, 0);
}
