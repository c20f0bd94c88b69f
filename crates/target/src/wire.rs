//! A connection as the HTTP side sees it, TLS or not, and the ways to end one.

use crate::ConnectionEnd;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// How long an ended connection waits for the client's end. Closing at once while the client still
/// sends would turn the FIN into a RST, which can take the last answer, or a TLS alert, with it
/// (RFC 9112 §9.6).
const LINGER: Duration = Duration::from_secs(2);

/// A byte stream over TCP.
pub(crate) trait Wire: AsyncRead + AsyncWrite + Unpin {
    /// The socket below.
    fn tcp(&self) -> &TcpStream;
}

impl Wire for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl Wire for TlsStream<TcpStream> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}

/// Ends a connection. Errors are ignored: the client may have gone first.
pub(crate) async fn end<W: Wire>(mut wire: W, ending: ConnectionEnd) {
    match ending {
        ConnectionEnd::Orderly => {
            let _ = wire.shutdown().await;
            linger(wire.tcp()).await;
        }
        ConnectionEnd::Truncate => {
            let _ = rustix::net::shutdown(wire.tcp(), rustix::net::Shutdown::Write);
            linger(wire.tcp()).await;
        }
        ConnectionEnd::Reset => {
            let _ = wire.tcp().set_zero_linger();
        }
        ConnectionEnd::Hang => discard(wire.tcp()).await,
    }
}

async fn linger(tcp: &TcpStream) {
    let _ = tokio::time::timeout(LINGER, discard(tcp)).await;
}

/// Reads and discards until the client ends its side.
async fn discard(tcp: &TcpStream) {
    let mut scratch = [0; 4096];
    while tcp.readable().await.is_ok() {
        match tcp.try_read(&mut scratch) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}
