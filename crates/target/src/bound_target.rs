//! A target whose listeners are bound.

use crate::accept_loop::accept;
use crate::acceptor::server_config;
use crate::alarm::{Alarm, monotonic_ns};
use crate::counts::TargetTally;
use crate::prepared_answer::PreparedAnswer;
use crate::service::Service;
use crate::timetable::nanoseconds;
use crate::{BindError, Config, Counts};
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, ipproto, listen, socket_with, sockopt,
};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// Connections that may wait to be accepted: a whole closed loop may connect at once. The kernel
/// caps it at `net.core.somaxconn`, 4,096 by default.
const BACKLOG: i32 = 4096;

/// A target that listens, and does not yet serve.
pub struct BoundTarget {
    /// One per thread, all on the same address.
    listeners: Vec<TcpListener>,
    address: SocketAddr,
    ca_pem: Option<String>,
    shared: Arc<Service>,
}

impl BoundTarget {
    /// Binds the address; from here on connections wait to be accepted.
    ///
    /// # Errors
    /// Where the address cannot be listened on, or the configuration cannot be.
    pub fn bind(config: Config) -> Result<BoundTarget, BindError> {
        let (acceptor, ca_pem) = match config.tls.as_ref().map(server_config).transpose()? {
            Some((tls, ca_pem)) => (Some(TlsAcceptor::from(tls)), Some(ca_pem)),
            None => (None, None),
        };
        let paced_from = config.paced_from.map(on_monotonic_clock);
        // The answer for all other paths is the first; the others are in the order of `paths`.
        let all =
            std::iter::once(&config.answer).chain(config.paths.iter().map(|(_, answer)| answer));
        let shared = Service {
            acceptor,
            answers: all
                .map(|answer| PreparedAnswer::new(answer, paced_from))
                .collect::<Result<_, _>>()?,
            paths: config.paths.iter().map(|(path, _)| path.clone()).collect(),
            keep_alive: config.keep_alive,
            connection_fault: config.connection_fault,
            tally: Arc::new(TargetTally::new()),
        };
        let refused = |source| BindError::Listen {
            address: config.address,
            source,
        };
        let listeners = listeners(config.address, config.threads.get()).map_err(refused)?;
        // All of them share one port, which the kernel chose if the configuration asked for port 0.
        let address = listeners[0].local_addr().map_err(refused)?;
        Ok(BoundTarget {
            listeners,
            address,
            ca_pem,
            shared: Arc::new(shared),
        })
    }

    /// Where the target listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path, which begins with `/`.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        let scheme = if self.ca_pem.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}{path}", self.address)
    }

    /// PEM of the CA that a client has to trust; none over plain HTTP.
    #[must_use]
    pub fn ca_pem(&self) -> Option<&str> {
        self.ca_pem.as_deref()
    }

    /// The counters, to be read also while and after the target serves.
    #[must_use]
    pub fn tally(&self) -> Arc<TargetTally> {
        self.shared.tally.clone()
    }

    /// What the target has seen so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.tally.counts()
    }

    /// Serves on the caller's runtime until `shutdown` is done; connections still open are then
    /// cut.
    ///
    /// # Errors
    /// Where the runtime does not take a listener.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        let mut loops = JoinSet::new();
        for listener in self.listeners {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            loops.spawn(accept(
                listener,
                Alarm::new()?,
                self.shared.clone(),
                std::future::pending(),
            ));
        }
        shutdown.await;
        loops.shutdown().await;
        Ok(())
    }

    pub(crate) fn into_parts(self) -> (Vec<TcpListener>, Arc<Service>) {
        (self.listeners, self.shared)
    }
}

/// Nanoseconds of the clock that [`Instant`] hides.
fn on_monotonic_clock(instant: Instant) -> u64 {
    let now = Instant::now();
    let now_ns = monotonic_ns();
    // One of the two is 0.
    let until = nanoseconds(instant.saturating_duration_since(now));
    let since = nanoseconds(now.saturating_duration_since(instant));
    now_ns.saturating_add(until).saturating_sub(since)
}

fn listeners(address: SocketAddr, threads: usize) -> io::Result<Vec<TcpListener>> {
    let first = listener(address, threads > 1)?;
    let address = first.local_addr()?;
    let mut all = vec![first];
    // Port 0 has become a port by now: the others listen on the same one.
    for _ in 1..threads {
        all.push(listener(address, true)?);
    }
    Ok(all)
}

fn listener(address: SocketAddr, shared_port: bool) -> io::Result<TcpListener> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_socket_reuseport(&socket, shared_port)?;
    bind(&socket, &address)?;
    listen(&socket, BACKLOG)?;
    Ok(TcpListener::from(socket))
}
