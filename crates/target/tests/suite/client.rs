//! A blocking client over std and rustls, as small as can be: it sends bytes and shows what comes
//! back.

use rustls::pki_types::ServerName;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, ClientConnection, HandshakeKind, RootCertStore, StreamOwned};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;
use target::RunningTarget;

/// Longer than any answer here takes, and short enough for a hanging test to be noticed.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// A request that keeps the connection.
pub const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// The default answer of a target, whole.
pub fn sound() -> String {
    let head = "HTTP/1.1 200 OK\r\nserver: cannonade-target\r\ncontent-type: \
                text/plain\r\ncontent-length: 356\r\n\r\n";
    format!("{head}{}", "x".repeat(356))
}

/// A connection, TLS or not.
pub enum Client {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Client {
    /// Connects without TLS.
    pub fn plain(target: &RunningTarget) -> Client {
        Client::Plain(connect(target))
    }

    /// Connects and completes the handshake.
    pub fn tls(target: &RunningTarget, config: &Arc<ClientConfig>) -> io::Result<Client> {
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = StreamOwned::new(
            ClientConnection::new(config.clone(), name).unwrap(),
            connect(target),
        );
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(Client::Tls(Box::new(stream)))
    }

    /// Sends bytes.
    pub fn send(&mut self, bytes: &[u8]) {
        match self {
            Client::Plain(stream) => stream.write_all(bytes).unwrap(),
            Client::Tls(stream) => stream.write_all(bytes).unwrap(),
        }
    }

    /// Reads exactly this number of bytes.
    pub fn receive(&mut self, bytes: usize) -> String {
        let mut buffer = vec![0; bytes];
        self.reader().read_exact(&mut buffer).unwrap();
        String::from_utf8(buffer).unwrap()
    }

    /// Reads to the end, and says how the end came.
    pub fn receive_all(&mut self) -> (Vec<u8>, io::Result<()>) {
        let mut buffer = Vec::new();
        let end = self.reader().read_to_end(&mut buffer);
        (buffer, end.map(|_| ()))
    }

    /// Which kind of handshake it was.
    pub fn handshake(&self) -> HandshakeKind {
        let Client::Tls(stream) = self else {
            panic!("has no handshake")
        };
        stream.conn.handshake_kind().unwrap()
    }

    /// The rustls side.
    pub fn session(&self) -> &ClientConnection {
        let Client::Tls(stream) = self else {
            panic!("has no session")
        };
        &stream.conn
    }

    fn reader(&mut self) -> &mut dyn Read {
        match self {
            Client::Plain(stream) => stream,
            Client::Tls(stream) => stream,
        }
    }
}

/// A client configuration that trusts the target's CA and speaks these versions.
pub fn trusting(
    target: &RunningTarget,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> Arc<ClientConfig> {
    let builder = ClientConfig::builder_with_protocol_versions(versions);
    Arc::new(
        builder
            .with_root_certificates(roots(target))
            .with_no_client_auth(),
    )
}

/// The roots a client of this target needs.
pub fn roots(target: &RunningTarget) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let pem = target.ca_pem().unwrap();
    roots
        .add(rustls::pki_types::CertificateDer::from_pem_slice(pem.as_bytes()).unwrap())
        .unwrap();
    roots
}

fn connect(target: &RunningTarget) -> TcpStream {
    let stream = TcpStream::connect_timeout(&target.address(), DEADLINE).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.set_write_timeout(Some(DEADLINE)).unwrap();
    stream
}
