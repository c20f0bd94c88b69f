//! One accepted connection, from its first byte to its end: connection faults, handshake, then
//! requests.

use crate::alarm::Alarm;
use crate::counts::TargetTally;
use crate::exchange::Exchange;
use crate::service::Service;
use crate::wire::{Wire, end};
use crate::{ConnectionEnd, OpeningFault};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Longest wait for a client's handshake.
const HANDSHAKE_DEADLINE: Duration = Duration::from_secs(30);

/// Counts a connection as open while it lives, even if its task is aborted.
struct Open(Arc<Service>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.tally.connection_ended();
    }
}

/// Serves a connection to its end.
pub(crate) async fn serve(tcp: TcpStream, shared: Arc<Service>, alarm: Arc<Alarm>) {
    shared.tally.connection_opened();
    let open = Open(shared);
    let shared = &*open.0;
    // Fails only if the client has gone already.
    let _ = tcp.set_nodelay(true);
    match (shared.connection_fault, &shared.acceptor) {
        (Some(fault), _) => fail(tcp, fault).await,
        (None, None) => converse(tcp, shared, &alarm).await,
        (None, Some(acceptor)) => {
            if let Some(tls) = handshake(tcp, acceptor, &shared.tally).await {
                converse(tls, shared, &alarm).await;
            }
        }
    }
}

async fn converse<W: Wire>(wire: W, shared: &Service, alarm: &Alarm) {
    let mut exchange = Exchange::new(wire, shared, alarm);
    // On an error the client has gone or broken TLS; all that is left is to drop the socket.
    if let Ok(ending) = exchange.run().await {
        end(exchange.into_wire(), ending).await;
    }
}

async fn handshake(
    tcp: TcpStream,
    acceptor: &TlsAcceptor,
    tally: &TargetTally,
) -> Option<TlsStream<TcpStream>> {
    let accept = acceptor.accept(tcp).into_fallible();
    match tokio::time::timeout(HANDSHAKE_DEADLINE, accept).await {
        Ok(Ok(tls)) => {
            let session = tls.get_ref().1;
            if let Some(kind) = session.handshake_kind() {
                tally.handshake(kind, session.peer_certificates().is_some());
            }
            Some(tls)
        }
        Ok(Err((_, tcp))) => {
            tally.handshake_failed();
            // rustls has written its alert.
            end(tcp, ConnectionEnd::Orderly).await;
            None
        }
        Err(_) => {
            tally.handshake_failed();
            None
        }
    }
}

async fn fail(mut tcp: TcpStream, fault: OpeningFault) {
    if first_bytes(&tcp).await.is_err() {
        return;
    }
    let ending = match fault {
        OpeningFault::Reset => ConnectionEnd::Reset,
        OpeningFault::Close => ConnectionEnd::Orderly,
        OpeningFault::Silence => ConnectionEnd::Hang,
        OpeningFault::Garbage => {
            let _ = tcp
                .write_all(b"\x00\x01\x02 neither TLS nor HTTP\r\n\r\n")
                .await;
            ConnectionEnd::Orderly
        }
    };
    end(tcp, ending).await;
}

async fn first_bytes(tcp: &TcpStream) -> io::Result<usize> {
    let mut scratch = [0; 4096];
    loop {
        tcp.readable().await?;
        match tcp.try_read(&mut scratch) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            result => return result,
        }
    }
}
