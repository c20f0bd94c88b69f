//! The target of the load: URL, fixed addresses, name resolution, and the built-in target.

use crate::words::words;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

/// The target of the load.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The URL; its path is used by requests without a path of their own.
    pub url: Url,
    /// Addresses to connect to in turn, instead of resolving the name; empty means DNS. Results are
    /// kept per address.
    pub addresses: Vec<Address>,
    /// When the name is resolved; unused if `addresses` are given or the host is an IP address.
    pub dns: Dns,
    /// The built-in target, which starts and stops with the run; URL and CA are filled in once it
    /// listens.
    pub builtin: Option<Builtin>,
    /// Other origins that redirects may lead to.
    pub redirects_to: Vec<RedirectOrigin>,
}

/// Another origin that redirects may lead to.
#[derive(Debug, Clone, PartialEq)]
pub struct RedirectOrigin {
    /// Its URL, whose path is `/`.
    pub url: Url,
    /// Addresses to connect to in turn, instead of resolving the name; empty means DNS.
    pub addresses: Vec<Address>,
}

/// Where connections go: the target's own origin, or another one that redirects may lead to.
#[derive(Debug, Clone, Copy)]
pub struct Destination<'a> {
    /// URL of the origin; its path is of no meaning here.
    pub url: &'a Url,
    /// Addresses to connect to in turn; empty means that the name is resolved.
    pub addresses: &'a [Address],
    /// When the name is resolved.
    pub dns: Dns,
}

impl Target {
    /// Where connections go: its own origin, then the others in the plan's order.
    pub fn destinations(&self) -> impl Iterator<Item = Destination<'_>> {
        let own = (&self.url, &*self.addresses);
        let others = self.redirects_to.iter();
        let others = others.map(|origin| (&origin.url, &*origin.addresses));
        let all = std::iter::once(own).chain(others);
        all.map(|(url, addresses)| Destination {
            url,
            addresses,
            dns: self.dns,
        })
    }

    /// Whether any connection is encrypted.
    #[must_use]
    pub fn has_tls(&self) -> bool {
        self.destinations()
            .any(|destination| destination.url.scheme == Scheme::Https)
    }

    /// The ports to which connections are made.
    #[must_use]
    pub fn ports(&self) -> Vec<u16> {
        self.destinations().flat_map(Destination::ports).collect()
    }

    /// Whether every machine would only reach itself.
    #[must_use]
    pub fn is_on_loopback(&self) -> bool {
        self.destinations().all(Destination::is_on_loopback)
    }
}

impl Destination<'_> {
    fn ports(self) -> Vec<u16> {
        if self.addresses.is_empty() {
            return vec![self.url.port];
        }
        let addresses = self.addresses.iter();
        addresses
            .map(|address| address.port.unwrap_or(self.url.port))
            .collect()
    }

    fn is_on_loopback(self) -> bool {
        if !self.addresses.is_empty() {
            return self
                .addresses
                .iter()
                .all(|it| it.ip.to_canonical().is_loopback());
        }
        self.url.is_on_loopback()
    }
}

/// A parsed `http://` or `https://` URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// `http` or `https`.
    pub scheme: Scheme,
    /// Name or address.
    pub host: Host,
    /// Port; 80 or 443 if the URL has none.
    pub port: u16,
    /// Path with query, beginning with `/`.
    pub path: String,
}

impl Url {
    /// Scheme, host and port, without a path (RFC 6454 §6.2).
    #[must_use]
    pub fn origin(&self) -> String {
        format!("{}://{}", self.scheme, self.authority())
    }

    /// Whether scheme, host and port are the same.
    #[must_use]
    pub fn has_origin_of(&self, other: &Url) -> bool {
        (self.scheme, &self.host, self.port) == (other.scheme, &other.host, other.port)
    }

    /// Whether its host is the machine that asks.
    pub(crate) fn is_on_loopback(&self) -> bool {
        match &self.host {
            Host::Name(name) => name == "localhost",
            Host::Ip(ip) => ip.to_canonical().is_loopback(),
        }
    }
}

/// The scheme of a URL: the protocol below HTTP.
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

/// An address to connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Address {
    /// IPv4 or IPv6.
    pub ip: IpAddr,
    /// Port, if it differs from the URL's.
    pub port: Option<u16>,
}

/// When the target's name is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dns {
    /// Once, before the run; all addresses found are used in turn. The default.
    Once,
    /// For every connection; the time counts as the phase `dns` of the operation that opens it.
    EveryConnection,
    /// Again after this time.
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
    /// Whether it uses TLS rather than plain HTTP.
    pub tls: bool,
    /// Kind of the server's key.
    pub key: BuiltinKey,
    /// Length of the response body in bytes.
    pub body_bytes: u64,
    /// Fixed delay before each response.
    pub delay: Duration,
    /// How it answers after the delay.
    pub pace: BuiltinPace,
}

impl Builtin {
    /// Whether answers can be delayed deliberately.
    pub(crate) fn waits(&self) -> bool {
        !self.delay.is_zero() || self.pace != BuiltinPace::AtOnce
    }
}

/// When the built-in target answers, counted after its delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltinPace {
    /// Each request as it arrives.
    AtOnce,
    /// Repeatedly answers nothing for a while; requests that arrive meanwhile are answered at the
    /// end.
    Stall {
        /// From the beginning of one stall to that of the next; more than `lasts`.
        every: Duration,
        /// Length of each stall.
        lasts: Duration,
        /// When the first one begins, counted from the first request.
        first: Duration,
    },
    /// Several servers take one request each, in order of arrival: the capacity is
    /// `count / service_time`.
    Servers {
        /// Requests served at a time.
        count: NonZeroU32,
        /// Time per request, more than zero.
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
