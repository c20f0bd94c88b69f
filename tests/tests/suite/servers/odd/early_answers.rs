//! Answers that arrive before their requests.

use super::relay::{listen, pass_on, say};
use crate::servers::{REQUESTS, assert_all_ok, run};
use interop::{CoordinatorCommand, OtherKind, OtherOptions, OtherServer, Pki, plan};
use std::io::Read as _;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Passes the server's bytes to the client only once all of them have been sent, so that its
/// Finished and what follows arrive together.
fn gathering(server: SocketAddr) -> SocketAddr {
    listen(move |_, client| {
        let mut server = TcpStream::connect(server).unwrap();
        let _ = pass_on(&client, &server);
        server
            .set_read_timeout(Some(Duration::from_millis(20)))
            .unwrap();
        let (mut said, mut bytes) = (Vec::new(), [0; 4096]);
        loop {
            match server.read(&mut bytes) {
                Ok(0) => return,
                Ok(length) => said.extend_from_slice(&bytes[..length]),
                Err(_) if say(&client, &said) => said.clear(),
                Err(_) => return,
            }
        }
    })
}

/// Failed with: it hangs; 7 of 60 done in 33s, errors 4 (57.1 %). curl and ab accept each as the
/// answer.
#[test]
fn answer_before_the_request_is_the_answer_to_it() {
    let pki = Pki::new();
    let options = OtherOptions {
        answers_first: true,
        ..OtherOptions::default()
    };
    let Some(server) = OtherServer::start(OtherKind::Python, &pki, options) else {
        return;
    };
    for version in ["1.2", "1.3"] {
        for address in [server.address(), gathering(server.address())] {
            let before = server.requests().len();
            for requests in ["1", "\"unlimited\""] {
                let sections =
                    format!("tls.versions = [\"{version}\"]\nconnection.requests = {requests}\n");
                let document = run(&plan(&format!("https://{address}/"), &pki, &sections));
                assert_all_ok(&document.measured);
            }
            let rows = server.wait_for_requests(before + 2 * REQUESTS as usize);
            assert_eq!((rows.len() - before) as u64, 2 * REQUESTS, "TLS {version}");
        }
    }
}

#[test]
fn answer_at_once_over_plain_tcp_is_the_answer_to_the_request() {
    let body = "x".repeat(interop::BODY_BYTES);
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let server = listen(move |_, mut client| {
        say(&client, answer.as_bytes());
        while let Ok(1..) = client.read(&mut [0; 4096]) {}
    });
    let document = run(&plan(
        &format!("http://{server}/"),
        &Pki::new(),
        "connection.requests = 1\n",
    ));
    assert_all_ok(&document.measured);
}

/// An endless series of interim answers is not an answer.
#[test]
fn interim_answers_without_end_are_given_up() {
    let server = listen(|_, mut client| {
        let _ = client.read(&mut [0; 4096]);
        let interim = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n".repeat(20);
        while say(&client, &interim) {}
    });
    let text = plan(&format!("http://{server}/"), &Pki::new(), "");
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
        (6, vec![("http.violation.interim_flood", 6)]),
        "{finished}"
    );
}
