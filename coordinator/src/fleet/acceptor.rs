//! Takes connections and encrypts them; a peer that is slow at it holds nobody up. Who may stay is
//! the lobby's matter.

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

/// AcceptedConnections that wait for the server to take them; it does at once.
const WAITING_MAX: usize = 16;

/// When accepting fails for want of files, trying at once again would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How often strangers whose time is over are sent away.
const SWEEP: Duration = Duration::from_millis(250);

/// Encrypted connections as they come, and the task that makes them.
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
                    // Those who are in get on before the next one, who may push them out.
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

/// A peer that does not finish is its own problem: it gets an alert, or the end of its connection.
async fn encrypt(
    tls: Arc<ServerConfig>,
    tcp: TcpStream,
    mut visit: Visit,
    ready: mpsc::Sender<io::Result<AgentIo>>,
) {
    // Grants are small and must not wait for more.
    let _ = tcp.set_nodelay(true);
    let pass = visit.pass();
    let accepted = tokio::select! {
        accepted = accept_tls(tcp, tls, &pass) => accepted,
        _ = visit.cut() => return,
    };
    if let Ok(tls) = accepted {
        pass.reach(JoinStep::Encrypted);
        // A server that has ended takes no more.
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

/// An encrypted connection, which breaks when it must go, and gives its place free when it ends.
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

    /// The error that a connection gets that must go, whatever it waits for.
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
        // A peer that reads nothing could hold a last alert up for ever.
        self.check_stay(context)?;
        Pin::new(&mut self.tls).poll_shutdown(context)
    }
}
