//! Where the load goes: URL, fixed addresses, name resolution, and the built-in target.

use crate::words::words;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

/// Where the load goes.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The URL; its path is what a request without a path of its own asks for.
    pub url: Url,
    /// Connect to these, in turn, instead of resolving the name. Empty means DNS. Results are kept
    /// per address.
    pub addresses: Vec<Address>,
    /// When the name is resolved; without meaning where `addresses` are given or the host is an IP
    /// address.
    pub dns: Dns,
    /// The built-in target that starts and stops with the run; its URL and CA are filled in when it
    /// listens.
    pub builtin: Option<Builtin>,
}

impl Target {
    /// Ports that connections are made to.
    #[must_use]
    pub fn ports(&self) -> Vec<u16> {
        if self.addresses.is_empty() {
            return vec![self.url.port];
        }
        let addresses = self.addresses.iter();
        addresses
            .map(|address| address.port.unwrap_or(self.url.port))
            .collect()
    }

    /// Whether each machine finds it on itself alone.
    #[must_use]
    pub fn is_on_loopback(&self) -> bool {
        if !self.addresses.is_empty() {
            return self
                .addresses
                .iter()
                .all(|it| it.ip.to_canonical().is_loopback());
        }
        match &self.url.host {
            Host::Name(name) => name == "localhost",
            Host::Ip(ip) => ip.to_canonical().is_loopback(),
        }
    }
}

/// A parsed `http://` or `https://` URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// `http` or `https`.
    pub scheme: Scheme,
    /// Name or address.
    pub host: Host,
    /// Port; 80 or 443 where the URL has none.
    pub port: u16,
    /// Path with query, beginning with `/`.
    pub path: String,
}

/// The scheme of a URL: what the connection speaks below HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// HTTP over plain TCP.
    Http,
    /// HTTP over TLS.
    Https,
}

words!(Scheme { Http => "http", Https => "https" });

/// The host part of a URL.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// A DNS name, in lower case.
    Name(String),
    /// An IPv4 or IPv6 address.
    Ip(IpAddr),
}

/// An address to connect to; without a port it is the URL's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Address {
    /// IPv4 or IPv6.
    pub ip: IpAddr,
    /// Port where it differs from the URL's.
    pub port: Option<u16>,
}

/// When the target's name is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dns {
    /// Once, before the run; all addresses found are used in turn. The default.
    Once,
    /// For every connection; the time is the phase `dns` of the operation that opens it.
    EveryConnection,
    /// Again after so long.
    Every(Duration),
}

impl Dns {
    /// The word for [`Dns::Once`].
    pub(crate) const ONCE_WORD: &str = "once";
    /// The word for [`Dns::EveryConnection`].
    pub(crate) const EVERY_CONNECTION_WORD: &str = "connection";
}

/// The built-in target: an HTTPS server with known behaviour, for a first run and for tests.
#[derive(Debug, Clone, PartialEq)]
pub struct Builtin {
    /// TLS, or plain HTTP.
    pub tls: bool,
    /// Kind of the server's key.
    pub key: BuiltinKey,
    /// Bytes of the response body.
    pub body_bytes: u64,
    /// Fixed delay before each response.
    pub delay: Duration,
    /// What comes after the delay.
    pub pace: BuiltinPace,
}

impl Builtin {
    /// Whether an answer can come later than as soon as possible.
    pub(crate) fn waits(&self) -> bool {
        !self.delay.is_zero() || self.pace != BuiltinPace::AtOnce
    }
}

/// When the built-in target answers, where it is not as soon as it can; counted after its delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltinPace {
    /// Each request when it comes.
    AtOnce,
    /// Nothing is answered for a while, again and again; what comes meanwhile is answered at the
    /// end.
    Stall {
        /// From the beginning of a stall to the beginning of the next; more than `lasts`.
        every: Duration,
        /// How long each lasts.
        lasts: Duration,
        /// When the first begins, counted from the first request.
        first: Duration,
    },
    /// So many servers take a request each, in the order in which they come: the capacity is `count
    /// / service_time`.
    Servers {
        /// Requests served at a time.
        count: NonZeroU32,
        /// Time for each, more than zero.
        service_time: Duration,
    },
}

/// Kind of the built-in target's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltinKey {
    /// ECDSA over P-256.
    P256,
    /// RSA with 2048 bits.
    Rsa2048,
}

words!(BuiltinKey { P256 => "p256", Rsa2048 => "rsa2048" });
