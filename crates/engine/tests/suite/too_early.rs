//! A server that accepts early data and answers it with 425 (Too Early).

use crate::support::{parse, run};
use measure::Counters;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection};
use std::io::{Error, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const TOO_EARLY: &[u8] = b"HTTP/1.1 425 Too Early\r\nContent-Length: 5\r\n\r\nlater";
const TOO_EARLY_AND_CLOSED: &[u8] =
    b"HTTP/1.1 425 Too Early\r\nContent-Length: 5\r\nConnection: close\r\n\r\nlater";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Requests that arrived as early data, and after the handshake.
#[derive(Default)]
struct Came {
    early: AtomicU64,
    late: AtomicU64,
}

/// Listens for as long as the test lives; a request that arrives early is answered with `early`.
fn listen(early: &'static [u8]) -> (SocketAddr, Arc<Came>) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    config.max_early_data_size = 16 * 1024;
    let (config, came) = (Arc::new(config), Arc::new(Came::default()));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, counting) = (listener.local_addr().unwrap(), Arc::clone(&came));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (config, came) = (Arc::clone(&config), Arc::clone(&counting));
            std::thread::spawn(move || serve(stream, config, early, &came));
        }
    });
    (address, came)
}

fn serve(
    mut stream: TcpStream,
    config: Arc<ServerConfig>,
    early: &[u8],
    came: &Came,
) -> Result<(), Error> {
    let mut tls = ServerConnection::new(config).map_err(Error::other)?;
    let (mut before, mut bytes) = (0, [0; 4096]);
    loop {
        while tls.wants_write() {
            tls.write_tls(&mut stream)?;
        }
        before += tls
            .early_data()
            .map_or(0, |mut data| data.read(&mut bytes).unwrap_or(0));
        if before > 0 && !tls.is_handshaking() {
            before = 0;
            came.early.fetch_add(1, Ordering::SeqCst);
            tls.writer().write_all(early)?;
            if early == TOO_EARLY_AND_CLOSED {
                tls.send_close_notify();
            }
        } else if tls.reader().read(&mut bytes).is_ok_and(|came| came > 0) {
            came.late.fetch_add(1, Ordering::SeqCst);
            tls.writer().write_all(OK)?;
        } else if tls.read_tls(&mut stream)? == 0 {
            return Ok(());
        } else {
            tls.process_new_packets().map_err(Error::other)?;
        }
    }
}

/// Makes six requests of one user, two on each connection.
fn measured(server: SocketAddr, more: &str) -> Counters {
    let text = format!(
        "name = \"t\"\ntarget.url = \"https://{server}/\"\ntls = {{ verify = \"none\", resumption \
         = \"always\", early_data = true }}\nconnection.requests = 2\nload = {{ connections = 1, \
         requests = 6 }}\n{more}\n"
    );
    run(parse(&text, None)).measured()
}

#[test]
fn request_that_was_too_early_is_sent_again_after_the_handshake() {
    // The first connection has no session to offer.
    for (answer, more, opened, again) in [
        (TOO_EARLY, "", 3, 2),
        (TOO_EARLY_AND_CLOSED, "", 5, 2),
        (TOO_EARLY, "request.expect.status = [200, 425]", 3, 0),
    ] {
        let (server, came) = listen(answer);
        let counters = measured(server, more);
        let case = format!("{} {more}: {counters:?}", String::from_utf8_lossy(answer));
        assert_eq!(
            (counters.started, counters.ok, counters.failures.len()),
            (6, 6, 0),
            "{case}"
        );
        let early = &counters.early_data;
        assert_eq!(
            (early.accepted, early.rejected, early.too_early),
            (2, 0, again),
            "{case}"
        );
        assert_eq!(counters.connections.opened, opened, "{case}");
        // Two bytes of each answer that counts, and five of each 425.
        let bodies = if again == 0 { 4 * 2 } else { 6 * 2 } + 2 * 5;
        assert_eq!(counters.payload_bytes, bodies, "{case}");
        let came = [&came.early, &came.late].map(|came| came.load(Ordering::SeqCst));
        assert_eq!(came, [2, 4 + again], "{case}");
    }
}

#[test]
fn handshake_with_early_data_has_no_longer_than_any_other() {
    let (server, _) = listen(OK);
    // It passes the first connection on, and never answers another.
    let relay = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = relay.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut here, _) = relay.accept().unwrap();
        let mut there = TcpStream::connect(server).unwrap();
        let (mut back, mut forth) = (there.try_clone().unwrap(), here.try_clone().unwrap());
        std::thread::spawn(move || std::io::copy(&mut back, &mut forth));
        let _ = std::io::copy(&mut here, &mut there);
        let _silent: Vec<TcpStream> = relay.incoming().flatten().collect();
    });
    let text = format!(
        "target.url = \"https://{address}/\"\ntls = {{ verify = \"none\", resumption = \"always\", \
         early_data = true }}\nload = {{ connections = 1, requests = 2 }}\n[connection]\nrequests \
         = 1\ntimeouts = {{ handshake = \"4s\", request = \"60s\" }}\n"
    );
    let begun = Instant::now();
    let counters = run(parse(&text, None)).measured();
    assert_eq!((counters.ok, counters.timed_out), (1, 1), "{counters:?}");
    // The request would have had its own time, 60 s.
    assert!(begun.elapsed() < Duration::from_secs(50));
}
