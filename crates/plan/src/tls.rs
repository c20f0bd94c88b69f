//! What TLS the client offers, how much of it it checks, and when it resumes.

use crate::Words as _;
use crate::words::words;
use std::fmt;

/// TLS of a plan whose target is `https`.
#[derive(Debug, Clone, PartialEq)]
pub struct Tls {
    /// Versions offered, ascending.
    pub versions: Vec<TlsVersion>,
    /// Cipher suites offered, in order of preference; TLS 1.3 and 1.2 together.
    pub cipher_suites: Vec<CipherSuite>,
    /// Key exchange groups offered, in order.
    pub groups: Vec<Group>,
    /// The group that a key share is sent for.
    pub key_share: KeyShare,
    /// When a session is offered.
    pub resumption: Resumption,
    /// Requests go out with the ClientHello where a session allows it (0-RTT, RFC 8446 §2.3).
    pub early_data: bool,
    /// What is checked of the server.
    pub verify: Verify,
    /// Fresh keys for every handshake, or cheap ones.
    pub key_exchange: KeyExchange,
    /// Roots; the platform's where absent.
    pub ca: Option<crate::File>,
    /// Client identities, handed out over virtual users in turn.
    pub client_certificates: crate::ClientCertificates,
    /// SNI and the name that is verified; the URL's host where absent.
    pub server_name: Option<String>,
    /// ALPN protocols offered; empty offers none.
    pub alpn: Vec<String>,
    /// Whose secrets are written down.
    pub key_log: crate::KeyLog,
}

/// A TLS version that can be offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TlsVersion {
    /// TLS 1.2 (RFC 5246).
    V12,
    /// TLS 1.3 (RFC 8446).
    V13,
}

words!(TlsVersion { V12 => "1.2", V13 => "1.3" });

impl fmt::Display for TlsVersion {
    /// As the plan writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A cipher suite that rustls with aws-lc-rs offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CipherSuite {
    /// IANA code point.
    pub code: u16,
    /// IANA name, such as `TLS_AES_128_GCM_SHA256`.
    pub name: &'static str,
}

/// A key exchange group that rustls with aws-lc-rs offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Group {
    /// IANA code point.
    pub code: u16,
    /// IANA name, such as `X25519` or `secp256r1`.
    pub name: &'static str,
}

/// How many connections offer a session: `tls.resumption`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Resumption {
    /// No connection offers a session.
    Never,
    /// So many of the new connections (0 to 1) offer one, where one is at hand; `"always"` is 1.
    Share {
        /// Share of new connections, above 0, at most 1.
        share: f64,
        /// Which kind of session.
        kind: ResumptionKind,
    },
}

impl Resumption {
    /// The word for [`Resumption::Never`].
    pub(crate) const NEVER_WORD: &str = "never";
}

/// Which kind of session is resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumptionKind {
    /// TLS 1.3 PSK; TLS 1.2 by ticket or session id as the server gives them.
    Any,
    /// TLS 1.2 by session id only (RFC 5246 §7.4.1.2).
    SessionId,
}

words!(ResumptionKind { Any => "any", SessionId => "session-id" });

/// What is checked of the server's certificate: `tls.verify`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// Chain and handshake signature, every time.
    Full,
    /// A chain already accepted for this name in this run is not verified again; the signature
    /// always is.
    Once,
    /// Neither chain nor signature.
    None,
}

words!(Verify { Full => "full", Once => "once", None => "none" });

/// `tls.key_share`: which of the groups a TLS 1.3 ClientHello has a share for (RFC 8446 §4.2.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyShare {
    /// The first, as of a visitor who comes for the first time.
    First,
    /// The one that the address took last, from the same worker; the first until then.
    Remembered,
}

words!(KeyShare { First => "first", Remembered => "remembered" });

/// How keys for the key exchange are made: `tls.key_exchange`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyExchange {
    /// A new key pair for every handshake.
    Fresh,
    /// P-256 and P-384 with the scalar −1, X25519 and ML-KEM with one key pair per worker. Never
    /// with real data.
    Cheap,
}

words!(KeyExchange { Fresh => "fresh", Cheap => "cheap" });
