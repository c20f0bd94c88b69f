//! A server whose connections are reset after some number of its bytes: at once, in the handshake,
//! in the head, or in the body.

use super::relay::{hear, listen, pass_on, say};
use interop::{CoordinatorCommand, Nginx, NginxOptions, NginxServer, Pki, plan};
use rustix::net::sockopt::set_socket_linger;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Connections of a run, and how many more bytes each of them lets through than the one before.
const CONNECTIONS: u64 = 60;
const STEP_BYTES: usize = 37;

/// Several users, because a user waits after a connection has failed.
const USERS: u64 = 12;

/// How much of the server's bytes were sent.
enum Said {
    /// All of them.
    All,
    /// Up to the limit.
    Cut,
}

/// Forwards at most `left` bytes of the server to the client.
fn say_so_much(client: &TcpStream, server: TcpStream, mut left: usize) -> Said {
    if left == 0 {
        return Said::Cut;
    }
    let passing = pass_on(client, &server);
    hear(&server, |bytes| {
        let through = bytes.len().min(left);
        left -= through;
        say(client, &bytes[..through]) && left > 0
    });
    // Ends the other thread, which holds the connection too.
    let _ = client.shutdown(Shutdown::Read);
    passing.join().unwrap();
    if left == 0 { Said::Cut } else { Said::All }
}

/// A relay that resets connection `n` after `n` times [`STEP_BYTES`] bytes of the server, and how
/// many it has reset.
fn resetting(server: SocketAddr) -> (SocketAddr, Arc<AtomicU64>) {
    let count = Arc::new(AtomicU64::new(0));
    let resets = Arc::clone(&count);
    let address = listen(move |number, client| {
        let server = TcpStream::connect(server).unwrap();
        if let Said::Cut = say_so_much(&client, server, number as usize * STEP_BYTES) {
            resets.fetch_add(1, Ordering::SeqCst);
            set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
        }
    });
    (address, count)
}

#[test]
fn resets_after_any_number_of_bytes_are_each_one_failed_operation() {
    let pki = Pki::new();
    for (server, sections) in [
        (NginxServer::Plain, "connection.requests = 1\n"),
        (NginxServer::Tls12Rsa, "connection.requests = 1\n"),
        (NginxServer::Tls13, "connection.requests = 1\n"),
        (
            NginxServer::Http2,
            "connection = { http = \"2\", requests = 1 }\n",
        ),
    ] {
        let Some(nginx) = Nginx::start(&pki, &NginxOptions::default()) else {
            return;
        };
        let (relay, resets) = resetting(nginx.address(server));
        let scheme = if server.is_tls() { "https" } else { "http" };
        let text = plan(&format!("{scheme}://{relay}/"), &pki, sections);
        let load = format!("load = {{ connections = {USERS}, requests = {CONNECTIONS} }}\n");
        let finished = CoordinatorCommand::local(1, &format!("{load}{text}")).run();
        let measured = finished.clean().document().measured;
        let (operations, resets) = (&measured.operations, resets.load(Ordering::SeqCst));
        let errors: u64 = measured.errors.iter().map(|error| error.count).sum();
        println!(
            "{server:?}: {resets} reset, {operations:?}, {:?}",
            measured.errors
        );
        assert_eq!(
            (operations.ended, operations.ok + errors),
            (CONNECTIONS, CONNECTIONS),
            "{server:?}: {finished}"
        );
        assert_eq!(errors, resets, "{server:?}: {finished}");
        assert!(
            measured
                .errors
                .iter()
                .all(|error| error.name.ends_with("reset")),
            "{server:?}: {:?}",
            measured.errors
        );
    }
}
