//! How connections are used: requests per connection, who closes, HTTP version, source addresses,
//! time-outs.

use crate::Words;
use crate::proxy_protocol::ProxyProtocol;
use crate::words::words;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

/// How connections are used.
#[derive(Debug, Clone, PartialEq)]
pub struct Connection {
    /// Requests per connection.
    pub requests: RequestsPerConnection,
    /// Which side closes, and how.
    pub close: Close,
    /// Handshake only: wait for the server to close the connection, the only way to notice a
    /// refused client certificate.
    pub confirm: bool,
    /// The HTTP version, with its number of streams.
    pub http: HttpVersion,
    /// Local addresses to connect from, in turn; empty lets the kernel choose.
    pub source_addresses: Vec<IpAddr>,
    /// The header that each connection begins with, if any.
    pub proxy_protocol: Option<ProxyProtocol>,
    /// Time-outs per stage.
    pub timeouts: Timeouts,
}

/// How many requests a connection carries: `connection.requests`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestsPerConnection {
    /// `0`: an operation is a connection with its handshake and no request.
    HandshakeOnly,
    /// This many, then the connection is closed; 1 turns keep-alive off.
    Limited(NonZeroU32),
    /// `"unlimited"`: keep-alive for as long as the server agrees.
    Unlimited,
}

impl RequestsPerConnection {
    /// The word for [`RequestsPerConnection::Unlimited`]; the other values are numbers.
    pub(crate) const UNLIMITED_WORD: &str = "unlimited";
}

/// Which side closes a connection, and how: `connection.close`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// We close and do not wait; TIME_WAIT remains on our side.
    Fin,
    /// `Connection: close` in the request, then wait for the server's EOF; TIME_WAIT remains on its
    /// side.
    Server,
    /// `SO_LINGER` of zero: a reset, and no TIME_WAIT on either side.
    Rst,
}

words!(Close { Fin => "fin", Server => "server", Rst => "rst" });

/// The HTTP version of the requests: `connection.http`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.1: one operation at a time on a connection.
    Http11,
    /// HTTP/2: several operations at once; over TLS by ALPN, otherwise by prior knowledge.
    Http2 {
        /// Concurrent streams per connection, at least 1.
        streams: u32,
    },
}

impl Words for HttpVersion {
    /// HTTP/2 is listed with one stream: the number of streams is a field of its own.
    const ALL: &'static [HttpVersion] = &[HttpVersion::Http11, HttpVersion::Http2 { streams: 1 }];

    fn word(self) -> &'static str {
        match self {
            HttpVersion::Http11 => "1.1",
            HttpVersion::Http2 { .. } => "2",
        }
    }
}

impl HttpVersion {
    /// Concurrent operations on one connection.
    #[must_use]
    pub fn streams(self) -> u32 {
        match self {
            HttpVersion::Http11 => 1,
            HttpVersion::Http2 { streams } => streams,
        }
    }
}

/// Time-outs per stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Name resolution and TCP connect, each.
    pub connect: Duration,
    /// TLS handshake, without the TCP connect before it.
    pub handshake: Duration,
    /// From the first request byte to the last body byte; also the wait for a confirmed close.
    pub request: Duration,
}

impl Timeouts {
    /// The longest that an operation can take after it has begun.
    #[must_use]
    pub fn longest(&self) -> Duration {
        2 * self.connect + self.handshake + self.request
    }
}
