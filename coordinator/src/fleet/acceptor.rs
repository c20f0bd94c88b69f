//! Accepts connections and encrypts them; a slow peer holds up no other. The lobby decides who may
//! stay.

use super::lobby::{JoinStep, Lobby, Pass, Visit};
use super::quitting::quit;
use rustls::ServerConfig;
use rustls::server::Acceptor;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

/// Room for connections that wait for the server, which takes them at once.
const WAITING_MAX: usize = 16;

/// If accepting fails for want of file descriptors, trying again at once would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How often strangers whose time is over are sent away.
const SWEEP: Duration = Duration::from_millis(250);

/// Encrypted connections as they come in, and the task that makes them.
pub(super) struct AcceptedConnections {
    pub(super) io: mpsc::Receiver<io::Result<AgentIo>>,
    pub(super) task: JoinHandle<()>,
}

/// Accepts until `quitting`.
pub(super) fn accept(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    lobby: Lobby,
    quitting: watch::Receiver<bool>,
) -> AcceptedConnections {
    let (ready, io) = mpsc::channel(WAITING_MAX);
    let task = tokio::spawn(accept_until(listener, tls, lobby, ready, quitting));
    AcceptedConnections { io, task }
}

async fn accept_until(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    lobby: Lobby,
    ready: mpsc::Sender<io::Result<AgentIo>>,
    mut quitting: watch::Receiver<bool>,
) {
    let mut handshakes = JoinSet::new();
    let mut sweeps = interval(SWEEP);
    sweeps.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = quit(&mut quitting) => break,
            Some(_) = handshakes.join_next() => {}
            _ = sweeps.tick() => lobby.sweep(Instant::now()),
            accepted = listener.accept() => match accepted {
                Ok((tcp, peer)) => {
                    let visit = lobby.enter(peer.ip());
                    handshakes.spawn(encrypt(Arc::clone(&tls), tcp, visit, ready.clone()));
                    // Let those who are in get on before the next one, which could push them out.
                    tokio::task::yield_now().await;
                }
                Err(_) => {
                    lobby.drop_oldest();
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    handshakes.shutdown().await;
}

/// Encrypts a connection. A peer that does not finish gets an alert, or the end of its connection.
async fn encrypt(
    tls: Arc<ServerConfig>,
    tcp: TcpStream,
    mut visit: Visit,
    ready: mpsc::Sender<io::Result<AgentIo>>,
) {
    // Grants are small and must not wait for more data.
    let _ = tcp.set_nodelay(true);
    let pass = visit.pass();
    let accepted = tokio::select! {
        accepted = accept_tls(tcp, tls, &pass) => accepted,
        _ = visit.cut() => return,
    };
    if let Ok(tls) = accepted {
        pass.reach(JoinStep::Encrypted);
        // A server that has ended takes no more connections.
        let _ = ready.send(Ok(AgentIo::new(tls, visit))).await;
    }
}

async fn accept_tls(
    tcp: TcpStream,
    tls: Arc<ServerConfig>,
    pass: &Pass,
) -> io::Result<TlsStream<TcpStream>> {
    let hello = LazyConfigAcceptor::new(Acceptor::default(), tcp).await?;
    pass.reach(JoinStep::Hello);
    hello.into_stream(tls).await
}

/// An encrypted connection. It fails once it must go, and frees its place when it ends.
pub(super) struct AgentIo {
    tls: TlsStream<TcpStream>,
    visit: Visit,
    is_cut: bool,
}

impl AgentIo {
    fn new(tls: TlsStream<TcpStream>, visit: Visit) -> AgentIo {
        AgentIo {
            tls,
            visit,
            is_cut: false,
        }
    }

    /// Fails once the connection must go, whatever it is waiting for.
    fn check_stay(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        self.is_cut = self.is_cut || Pin::new(self.visit.cut()).poll(context).is_ready();
        if self.is_cut {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    }
}

impl Connected for AgentIo {
    type ConnectInfo = Pass;

    fn connect_info(&self) -> Pass {
        self.visit.pass()
    }
}

impl AsyncRead for AgentIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check_stay(context)?;
        Pin::new(&mut self.tls).poll_read(context, buffer)
    }
}

impl AsyncWrite for AgentIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check_stay(context)?;
        Pin::new(&mut self.tls).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check_stay(context)?;
        Pin::new(&mut self.tls).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A peer that reads nothing could hold up a last alert for ever.
        self.check_stay(context)?;
        Pin::new(&mut self.tls).poll_shutdown(context)
    }
}
