//! `import` of the descriptors of servers that describe themselves.

use super::greeter::{Greeter, Transport};
use super::{LONG, call, head, statuses};
use interop::{CoordinatorCommand, Finished, Pki, PythonServer};
use std::collections::BTreeMap;
use std::fs::File;
use std::net::Ipv4Addr;
use tempfile::TempDir;

/// Runs `import` of this server. Returns what it printed, and the descriptor set.
fn import(server: &str, more: &[&str], pki: &Pki) -> (Finished, Vec<u8>) {
    let folder = TempDir::new().unwrap();
    let set = folder.path().join("api.binpb");
    let output = File::create(&set).unwrap();
    let finished = CoordinatorCommand::new(&[&["import", server], more].concat())
        .with(|command| {
            command.stdout(output).env("SSL_CERT_FILE", pki.ca());
        })
        .run();
    (finished, std::fs::read(set).unwrap())
}

fn address(server: &Greeter) -> String {
    let url = server.url().replace("http", "grpc");
    url.trim_end_matches('/').to_owned()
}

#[test]
fn descriptors_of_a_server_are_those_that_its_calls_need() {
    let pki = Pki::new();
    for (transport, services) in [
        (Transport::Plain, &[][..]),
        (Transport::Tls, &["--services", "greet.Greeter"]),
    ] {
        let server = Greeter::start(transport, &pki, LONG);
        let (finished, set) = import(&address(&server), services, &pki);
        let finished = finished.expect(0);
        let said = finished.stderr.lines().collect::<Vec<_>>();
        assert!(said[0].contains(": 1 service, 1 file, "), "{said:?}");
        assert_eq!(said[1..], ["  greet.Greeter/SayHello, Repeat"]);
        let call = call("").replace("MESSAGE", "{ name = \"{seq}\" }");
        let head = head(&server, 1);
        let plan = format!("load = {{ connections = 2, requests = 20 }}\n{head}{call}");
        let document = CoordinatorCommand::local(1, &plan)
            .file("api.binpb", &set)
            .file("ca.pem", &std::fs::read(pki.ca()).unwrap())
            .run()
            .expect(0)
            .whole_document(1);
        assert_eq!(statuses(&document), BTreeMap::from([("ok".to_owned(), 20)]));
        assert_eq!(server.seen().by_status, BTreeMap::from([(0, 20)]));
    }
}

#[test]
fn servers_without_descriptors_are_refused_with_a_cure() {
    let pki = Pki::new();
    let plain = Greeter::start(Transport::Plain, &pki, LONG);
    let tls = Greeter::start(Transport::Tls, &pki, LONG);
    // A port that this test has closed may be another test's listener by now.
    let closed = "grpc://127.0.0.1:9".to_owned();
    for (server, services, why) in [
        (
            address(&plain),
            &["--services", "greet.Greter"][..],
            "'greet.Greter' not found (NotFound); without --services all are taken",
        ),
        (
            address(&plain).replace("grpc://", "grpcs://"),
            &[],
            "TLS failed; grpc:// is without TLS",
        ),
        (
            address(&tls).replace("grpcs://", "grpc://"),
            &[],
            "does its port have TLS? grpc:// is without, grpcs:// with",
        ),
        (closed, &[], "cannot connect; is the server up"),
        (
            plain.url(),
            &[],
            "a log is a file, and a gRPC server has another scheme; write such as grpc://",
        ),
        (
            address(&plain),
            &["--strict"],
            "--strict is for logs, and grpc://",
        ),
        (
            "access.log".to_owned(),
            &["--services", "a"],
            "--services are those of a gRPC server, and this is a log",
        ),
    ] {
        let (finished, set) = import(&server, services, &pki);
        let finished = finished.expect(2);
        assert!(finished.stderr.contains(why), "{why}: {finished}");
        assert!(set.is_empty());
    }
}

#[test]
fn server_of_something_else_is_refused() {
    let folder = TempDir::new().unwrap();
    let seen = folder.path().join("seen");
    let Some(server) = PythonServer::shop(Ipv4Addr::LOCALHOST.into(), &seen) else {
        return;
    };
    let address = format!("grpc://{}", server.address());
    let (finished, _) = import(&address, &[], &Pki::new());
    let said = finished.expect(2).stderr;
    assert!(said.contains("is this a gRPC server"), "{said}");
}
