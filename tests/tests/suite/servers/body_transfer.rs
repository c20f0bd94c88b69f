//! Bodies in chunks, and bodies that wait for `100 Continue`: servers receive what the plan says.

use analysis::Document;
use interop::{CoordinatorCommand, GoOptions, GoServer, Nginx, NginxOptions, NginxServer};
use interop::{OtherKind, OtherOptions, OtherServer, Pki, plan};
use target::ServerTlsVersion;

const USERS: u64 = 3;
const REQUESTS: u64 = 24;

/// Runs a plan with two agents, whose exit code must be this. Returns the result.
fn run_to(code: i32, sections: &str) -> Document {
    let load = format!("load = {{ connections = {USERS}, requests = {REQUESTS} }}\n");
    let plan = format!("{load}{sections}");
    let finished = CoordinatorCommand::local(2, &plan).run().expect(code);
    finished.clean().document()
}

/// Bytes that do not repeat themselves.
fn content(bytes: u32) -> Vec<u8> {
    (0..bytes).map(|n| (n.wrapping_mul(n) >> 3) as u8).collect()
}

#[test]
fn go_receives_the_body_however_it_is_sent() {
    let pki = Pki::new();
    let folder = tempfile::tempdir().unwrap();
    let transfers = [
        ("chunk_bytes = 1000", true, ""),
        ("chunk_bytes = 100000", true, ""),
        ("expect_continue = \"20s\"", false, "100-continue"),
        (
            "expect_continue = \"20s\", chunk_bytes = 65536",
            true,
            "100-continue",
        ),
    ];
    let connections = [
        ("http = \"1.1\"", ServerTlsVersion::V12),
        ("requests = 1", ServerTlsVersion::V13),
        ("http = \"2\", streams = 2", ServerTlsVersion::V13),
    ];
    for (connection, version) in connections {
        for (transfer, is_chunked, expectation) in transfers {
            let http2 = connection.contains("\"2\"");
            let options = GoOptions {
                version,
                http2,
                ..GoOptions::default()
            };
            let Some(server) = GoServer::start(&pki, options) else {
                return;
            };
            let bytes = [1, 1000, 2500, 300_000];
            // Go takes the field out of requests of HTTP/2.
            let expectation = if http2 { "" } else { expectation };
            let requests: String = bytes
                .iter()
                .map(|&bytes| {
                    let (path, body) = (folder.path().join(bytes.to_string()), content(bytes));
                    std::fs::write(&path, &body).unwrap();
                    let framing = if is_chunked && !http2 {
                        "[chunked]"
                    } else {
                        "[]"
                    };
                    let said = if is_chunked { -1 } else { i64::from(bytes) };
                    let expected = format!(
                        "{bytes} bytes, said {said}, {framing}, \"{expectation}\", {}",
                        ::plan::Sha256::hash(&body)
                    );
                    format!(
                        "{{ name = \"{bytes}\", method = \"POST\", path = \"/received\", \
                         body_file = {path:?}, {transfer}, expect.contains = {expected:?} }},\n"
                    )
                })
                .collect();
            let more = format!("connection = {{ {connection} }}\nrequest = [\n{requests}]\n");
            let document = run_to(0, &plan(&server.url("/"), &pki, &more));
            assert_eq!(
                document.measured.operations.ok, REQUESTS,
                "{connection}, {transfer}"
            );
            assert_eq!(server.counts().requests, REQUESTS);
        }
    }
}

/// A server that answers at once does not get the body, and its connection is used again only in
/// HTTP/2.
#[test]
fn body_that_is_not_wanted_is_not_sent() {
    let pki = Pki::new();
    let more = "request = { method = \"POST\", path = \"/refused\", expect.status = [417],\n\
                expect_continue = \"20s\", body = \"";
    for (http, connections) in [("1.1", REQUESTS), ("2", USERS)] {
        let options = GoOptions {
            http2: http == "2",
            ..GoOptions::default()
        };
        let Some(server) = GoServer::start(&pki, options) else {
            return;
        };
        let body = "x".repeat(50_000);
        let more = format!("connection.http = {http:?}\n{more}{body}\" }}\n");
        let document = run_to(0, &plan(&server.url("/"), &pki, &more));
        assert_eq!(document.measured.operations.ok, REQUESTS);
        let withheld: Vec<_> = document
            .withheld_bodies
            .iter()
            .map(|each| each.bodies)
            .collect();
        assert_eq!(withheld, [REQUESTS], "HTTP/{http}");
        let counts = server.counts();
        assert_eq!(
            (counts.requests, counts.connections),
            (REQUESTS, connections)
        );
        let sent = document.measured.bytes.wire_sent_bytes;
        assert!(sent < REQUESTS * 2_000, "{sent} bytes");
    }
}

#[test]
fn redirected_body_is_sent_in_the_same_way() {
    let pki = Pki::new();
    for http in ["1.1", "2"] {
        for transfer in ["chunk_bytes = 7", "expect_continue = \"20s\""] {
            let options = GoOptions {
                http2: http == "2",
                ..GoOptions::default()
            };
            let Some(server) = GoServer::start(&pki, options) else {
                return;
            };
            let more = format!(
                "connection.http = {http:?}\nrequest = {{ method = \"PUT\", path = \"/onwards\", \
                 body = \"row {{seq}}\", {transfer}, redirects = 2, \
                 expect.matches = \"^[56] bytes\" }}\n"
            );
            let document = run_to(0, &plan(&server.url("/"), &pki, &more));
            assert_eq!(
                document.measured.operations.ok, REQUESTS,
                "{http}, {transfer}"
            );
            assert_eq!(server.counts().requests, 2 * REQUESTS);
        }
    }
}

/// nginx gives leave in HTTP/1.1 only: in HTTP/2 the body goes when its wait is over.
#[test]
fn other_servers_answer_what_waits() {
    let pki = Pki::new();
    let request = "request = { method = \"POST\", path = \"PATH\", body_file = \"FILE\",\n\
                   expect_continue = \"50ms\", chunk_bytes = 5000 }\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("body");
    std::fs::write(&file, content(100_000)).unwrap();
    let request = request.replace("FILE", &file.display().to_string());
    if let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) {
        let servers = [
            (NginxServer::Plain, "1.1"),
            (NginxServer::Tls12Rsa, "1.1"),
            (NginxServer::Http2, "2"),
            (NginxServer::Http2Plain, "2"),
            (NginxServer::KeepAliveLimited, "1.1"),
        ];
        for (server, http) in servers {
            let before = nginx.requests().len();
            let request = request.replace("PATH", "/");
            let more = format!("connection.http = {http:?}\n{request}");
            let document = run_to(0, &plan(&nginx.url(server, "/"), &pki, &more));
            assert_eq!(document.measured.operations.ok, REQUESTS, "{server:?}");
            let seen = nginx.wait_for_requests(before + REQUESTS as usize);
            assert_eq!(seen.len() - before, REQUESTS as usize, "{server:?}");
        }
    }
    for (kind, http) in [(OtherKind::Apache, "1.1"), (OtherKind::Apache, "2")] {
        if let Some(other) = OtherServer::start(kind, &pki, OtherOptions::default()) {
            let request = request.replace("PATH", "/");
            let more = format!("connection.http = {http:?}\n{request}");
            let document = run_to(0, &plan(&other.url("/"), &pki, &more));
            assert_eq!(
                document.measured.operations.ok, REQUESTS,
                "{kind:?}, {http}"
            );
        }
    }
}
