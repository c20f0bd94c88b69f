//! The TLS that the client offers, how much of it is checked, and when sessions are resumed.

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
    /// Key-exchange groups offered, in order.
    pub groups: Vec<Group>,
    /// The group for which a key share is sent.
    pub key_share: KeyShare,
    /// Signature schemes offered, in order of preference; `None` offers all that are verified.
    pub signatures: Option<Vec<SignatureScheme>>,
    /// When a session is offered.
    pub resumption: Resumption,
    /// Whether requests go out with the ClientHello if a session allows it (0-RTT, RFC 8446 §2.3).
    pub early_data: bool,
    /// The checks of the server.
    pub verify: Verify,
    /// Fresh keys for every handshake, or cheap ones.
    pub key_exchange: KeyExchange,
    /// Trusted roots; `None` uses the platform's.
    pub ca: Option<crate::File>,
    /// Client identities, assigned to virtual users in turn.
    pub client_certificates: crate::ClientCertificates,
    /// The name for SNI and verification.
    pub server_name: ServerNames,
    /// ALPN protocols offered; empty offers none.
    pub alpn: Vec<String>,
    /// Whose secrets are written down.
    pub key_log: crate::KeyLog,
}

/// The name that a connection is for: `tls.server_name`.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerNames {
    /// The URL's host.
    OfUrl,
    /// This DNS name or IP address.
    Given(String),
    /// The cell of the row that the operation has which opens the connection. Other operations on
    /// that connection, if it may have any, have the same row.
    Column(crate::DataColumn),
}

impl Tls {
    /// The column that names connections, if one does.
    #[must_use]
    pub fn name_column(&self) -> Option<&crate::DataColumn> {
        match &self.server_name {
            ServerNames::Column(column) => Some(column),
            ServerNames::OfUrl | ServerNames::Given(_) => None,
        }
    }
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
    /// The version as the plan writes it.
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

/// A key-exchange group that rustls with aws-lc-rs offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Group {
    /// IANA code point.
    pub code: u16,
    /// IANA name, such as `X25519` or `secp256r1`.
    pub name: &'static str,
}

/// A signature scheme that rustls with aws-lc-rs verifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SignatureScheme {
    /// IANA code point.
    pub code: u16,
    /// IANA name, such as `ecdsa_secp256r1_sha256`.
    pub name: &'static str,
}

/// How many connections offer a session: `tls.resumption`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Resumption {
    /// No connection offers a session.
    Never,
    /// This share of new connections offers a session, if one is available; `"always"` is 1.
    Share {
        /// The share of new connections, above 0, at most 1.
        share: f64,
        /// The kind of session.
        kind: ResumptionKind,
    },
    /// Those connections of a replay that resumed one in its log; not written, since
    /// `replay.handshakes` says it.
    Recorded,
}

impl Resumption {
    /// The word for [`Resumption::Never`].
    pub(crate) const NEVER_WORD: &str = "never";
}

/// The kind of session that is resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumptionKind {
    /// TLS 1.3 PSK; TLS 1.2 by ticket or session id, as the server provides.
    Any,
    /// TLS 1.2 by session id only (RFC 5246 §7.4.1.2).
    SessionId,
}

words!(ResumptionKind { Any => "any", SessionId => "session-id" });

/// The checks of the server's certificate: `tls.verify`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// Chain and handshake signature, every time.
    Full,
    /// A chain that was already accepted for this name in this run is not verified again; the
    /// signature always is.
    Once,
    /// Neither chain nor signature.
    None,
}

words!(Verify { Full => "full", Once => "once", None => "none" });

/// `tls.key_share`: the group for which a TLS 1.3 ClientHello has a share (RFC 8446 §4.2.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyShare {
    /// The first one, as for a first-time visitor.
    First,
    /// The one that the same worker last agreed on with the address; the first one until then.
    Remembered,
}

words!(KeyShare { First => "first", Remembered => "remembered" });

/// How keys for the key exchange are made: `tls.key_exchange`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyExchange {
    /// A new key pair for every handshake.
    Fresh,
    /// P-256 and P-384 with the scalar −1, X25519 and ML-KEM with one key pair per process. Never
    /// for real data.
    Cheap,
}

words!(KeyExchange { Fresh => "fresh", Cheap => "cheap" });
