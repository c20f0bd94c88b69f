//! What TLS agreed on, by IANA code points, tallied over all connections.

mod name;

pub use name::{
    alert_code, alert_name, group_name, signature_scheme_name, suite_name, version_name,
};

use crate::Metric;
use serde::{Deserialize, Serialize};

/// Full or resumed, each with or without a HelloRetryRequest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum HandshakeKind {
    /// With the server's certificate.
    Full,
    /// Full, after a HelloRetryRequest.
    FullRetried,
    /// Resumed from a session that the ClientHello carried.
    Resumed,
    /// Resumed, after a HelloRetryRequest.
    ResumedRetried,
}

impl HandshakeKind {
    /// Whether a session was resumed.
    #[must_use]
    pub fn is_resumed(self) -> bool {
        matches!(self, HandshakeKind::Resumed | HandshakeKind::ResumedRetried)
    }

    /// The metric that its duration in units of the TCP connect is kept under; a retry takes a
    /// round trip more, and is left out.
    #[must_use]
    pub fn in_connects(self) -> Option<Metric> {
        match self {
            HandshakeKind::Full => Some(Metric::HandshakeFullInConnects),
            HandshakeKind::Resumed => Some(Metric::HandshakeResumedInConnects),
            HandshakeKind::FullRetried | HandshakeKind::ResumedRetried => None,
        }
    }

    /// The metric its duration is kept under.
    #[must_use]
    pub fn metric(self) -> Metric {
        match self {
            HandshakeKind::Full => Metric::HandshakeFull,
            HandshakeKind::FullRetried => Metric::HandshakeFullRetried,
            HandshakeKind::Resumed => Metric::HandshakeResumed,
            HandshakeKind::ResumedRetried => Metric::HandshakeResumedRetried,
        }
    }
}

/// What one handshake agreed on. 0 means "none" or "not seen".
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Negotiated {
    /// `0x0303` or `0x0304`.
    pub version: u16,
    /// Cipher suite (IANA).
    pub suite: u16,
    /// Key exchange group; 0 where none was used.
    pub group: u16,
    /// Signature scheme of the server's handshake signature; 0 in a resumed handshake.
    pub signature_scheme: u16,
    /// ALPN protocol; empty where none.
    pub alpn: String,
    /// Full or resumed.
    pub kind: HandshakeKind,
    /// The OCSP response that was stapled.
    pub ocsp_staple: Option<Staple>,
}

/// A stapled OCSP response by the times it states (RFC 6960 §4.2.1), seconds since 1970. 0 means
/// "not stated", or that the response could not be read.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct Staple {
    /// When what it says was known to be right; its age counts from here.
    pub this_update: i64,
    /// When there is to be a newer one.
    pub next_update: i64,
    /// When it was signed.
    pub produced_at: i64,
}

/// A certificate chain as the server sent it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Chain {
    /// SHA-256 of the DER certificates, one after another.
    pub sha256: [u8; 32],
    /// Key of the leaf, such as `ECDSA P-256` or `RSA 2048`.
    pub key: String,
    /// Certificates in the chain.
    pub certificates: u8,
    /// DER bytes of the chain.
    pub bytes: u32,
}
