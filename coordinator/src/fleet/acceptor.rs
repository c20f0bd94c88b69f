//! Takes connections and encrypts them; a peer that is slow at it holds nobody up.

use super::quitting::quit;
use rustls::ServerConfig;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

/// Agents at once, handshakes included; more wait in the listener's queue.
const CONNECTIONS_MAX: usize = 1024;

/// AcceptedConnections that wait for the server to take them; it does at once.
const WAITING_MAX: usize = 16;

/// A handshake is done by then; a third of a second is usual even around the world.
const HANDSHAKE_MAX: Duration = Duration::from_secs(5);

/// When accepting fails for want of files, trying at once again would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Encrypted connections as they come, and the task that makes them.
pub(super) struct AcceptedConnections {
    pub(super) io: mpsc::Receiver<io::Result<AgentIo>>,
    pub(super) task: JoinHandle<()>,
}

/// Accepts until `quitting`.
pub(super) fn accept(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    quitting: watch::Receiver<bool>,
) -> AcceptedConnections {
    let (ready, io) = mpsc::channel(WAITING_MAX);
    let task = tokio::spawn(accept_until(
        listener,
        TlsAcceptor::from(tls),
        ready,
        quitting,
    ));
    AcceptedConnections { io, task }
}

async fn accept_until(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    ready: mpsc::Sender<io::Result<AgentIo>>,
    mut quitting: watch::Receiver<bool>,
) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut handshakes = JoinSet::new();
    loop {
        tokio::select! {
            () = quit(&mut quitting) => break,
            Some(_) = handshakes.join_next() => {}
            accepted = accept_one(&listener, &room) => match accepted {
                Ok((tcp, permit)) => {
                    handshakes.spawn(encrypt(acceptor.clone(), tcp, permit, ready.clone()));
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
    handshakes.shutdown().await;
}

async fn accept_one(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let permit = Arc::clone(room)
        .acquire_owned()
        .await
        .expect("the semaphore is never closed");
    let (tcp, _) = listener.accept().await?;
    Ok((tcp, permit))
}

/// A peer that does not finish is its own problem: it gets an alert, or the end of its connection.
async fn encrypt(
    acceptor: TlsAcceptor,
    tcp: TcpStream,
    permit: OwnedSemaphorePermit,
    ready: mpsc::Sender<io::Result<AgentIo>>,
) {
    // Grants are small and must not wait for more.
    let _ = tcp.set_nodelay(true);
    if let Ok(Ok(tls)) = tokio::time::timeout(HANDSHAKE_MAX, acceptor.accept(tcp)).await {
        // A server that has ended takes no more.
        let _ = ready
            .send(Ok(AgentIo {
                tls,
                _permit: permit,
            }))
            .await;
    }
}

/// An encrypted connection, which gives its place free when it ends.
pub(super) struct AgentIo {
    tls: TlsStream<TcpStream>,
    _permit: OwnedSemaphorePermit,
}

impl Connected for AgentIo {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for AgentIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tls).poll_read(context, buffer)
    }
}

impl AsyncWrite for AgentIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tls).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tls).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tls).poll_shutdown(context)
    }
}
