//! What the target does: where it listens, how it speaks TLS, what it answers, how long it keeps a
//! connection.

use crate::{OpeningFault, ServerTls, TargetAnswer};
use std::net::{Ipv4Addr, SocketAddr};
use std::num::{NonZeroU32, NonZeroUsize};
use std::time::{Duration, Instant};

/// What the target does. The default is HTTPS with a P-256 key on a free port of 127.0.0.1, one
/// thread, 356 bytes with status 200 at once, keep-alive without end, no fault.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen; port 0 takes a free one, see
    /// [`BoundTarget::address`](crate::BoundTarget::address).
    pub address: SocketAddr,
    /// Threads of [`RunningTarget`](crate::RunningTarget), each with a listener of its own
    /// (`SO_REUSEPORT`): the kernel spreads connections over them by a hash, so with few
    /// connections the shares are uneven.
    pub threads: NonZeroUsize,
    /// TLS, or plain HTTP where absent.
    pub tls: Option<ServerTls>,
    /// The answer to every request whose path is not in `paths`.
    pub answer: TargetAnswer,
    /// Answers of their own for paths, which are compared whole, query included. The first that
    /// fits counts.
    pub paths: Vec<(String, TargetAnswer)>,
    /// What the stalls of a [`Pace`](crate::Pace) are counted from; where absent, each answer's
    /// first request.
    pub paced_from: Option<Instant>,
    /// How long a connection is kept.
    pub keep_alive: KeepAlive,
    /// What goes wrong with every connection before any request is read.
    pub connection_fault: Option<OpeningFault>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            threads: NonZeroUsize::MIN,
            tls: Some(ServerTls::default()),
            answer: TargetAnswer::default(),
            paths: Vec::new(),
            paced_from: None,
            keep_alive: KeepAlive::default(),
            connection_fault: None,
        }
    }
}

impl Config {
    /// The default over plain HTTP.
    #[must_use]
    pub fn plain() -> Config {
        Config {
            tls: None,
            ..Config::default()
        }
    }
}

/// How long a connection is kept. The default is forever.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeepAlive {
    /// Requests answered on a connection before the target closes it.
    pub requests: Option<NonZeroU32>,
    /// Whether the last of them is announced.
    pub last: LastRequest,
    /// Closes a connection on which no request has begun for this long (±1 ms, never earlier).
    pub idle: Option<Duration>,
}

/// How the last answer of a connection says that it is the last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LastRequest {
    /// By `Connection: close` (RFC 9112 §9.6).
    #[default]
    Announced,
    /// Not at all: the close comes as a surprise, which RFC 9112 §9.3.1 lets a client meet by
    /// sending again.
    Silent,
}
