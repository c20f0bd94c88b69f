//! What handshakes agreed on, by IANA's names.

use crate::figures::share;
use measure::{Chain, Counters, HandshakeKind, Negotiated};
use serde::{Deserialize, Serialize};

/// Handshakes that agreed on the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NegotiatedFigure {
    /// Such as `TLS 1.3`.
    pub version: String,
    /// IANA name.
    pub suite: String,
    /// IANA name; empty where no key exchange group was used.
    pub group: String,
    /// Scheme of the server's handshake signature, IANA name; empty in a resumed handshake.
    pub signature_scheme: String,
    /// Empty where none was agreed on.
    pub alpn: String,
    /// `full`, `full_retried`, `resumed` or `resumed_retried` (after a HelloRetryRequest).
    pub handshake: String,
    /// An OCSP response was stapled.
    pub ocsp_staple: bool,
    /// Handshakes.
    pub count: u64,
    /// Of all completed handshakes.
    pub share: f64,
}

/// Full handshakes in which the server sent the same chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChainFigure {
    /// Of the DER certificates, one after another, in hexadecimal digits.
    pub sha256: String,
    /// Kind of the leaf's key, such as `ECDSA P-256`.
    pub key: String,
    /// Certificates in it.
    pub certificates: u8,
    /// DER bytes.
    pub chain_bytes: u32,
    /// Handshakes.
    pub count: u64,
    /// Of all handshakes with a chain.
    pub share: f64,
}

impl NegotiatedFigure {
    /// Most frequent first.
    pub(crate) fn of(counters: &Counters) -> Vec<NegotiatedFigure> {
        let all: u64 = counters.negotiated.values().sum();
        let mut figures: Vec<_> = counters.negotiated.iter().map(|(agreed, &count)| Self::one(agreed, count, all)).collect();
        figures.sort_by_key(|figure| std::cmp::Reverse(figure.count));
        figures
    }

    fn one(agreed: &Negotiated, count: u64, all: u64) -> NegotiatedFigure {
        let handshake = match agreed.kind {
            HandshakeKind::Full => "full",
            HandshakeKind::FullRetried => "full_retried",
            HandshakeKind::Resumed => "resumed",
            HandshakeKind::ResumedRetried => "resumed_retried",
        };
        NegotiatedFigure {
            version: version(agreed.version),
            suite: suite(agreed.suite),
            group: group(agreed.group),
            signature_scheme: signature_scheme(agreed.signature_scheme),
            alpn: agreed.alpn.clone(),
            handshake: handshake.to_owned(),
            ocsp_staple: agreed.ocsp_staple,
            count,
            share: share(count, all).unwrap_or(0.0),
        }
    }
}

impl ChainFigure {
    /// Most frequent first.
    pub(crate) fn of(counters: &Counters) -> Vec<ChainFigure> {
        let all: u64 = counters.chains.values().sum();
        let figure = |(chain, &count): (&Chain, &u64)| ChainFigure {
            sha256: chain.sha256.iter().map(|byte| format!("{byte:02x}")).collect(),
            key: chain.key.clone(),
            certificates: chain.certificates,
            chain_bytes: chain.bytes,
            count,
            share: share(count, all).unwrap_or(0.0),
        };
        let mut figures: Vec<ChainFigure> = counters.chains.iter().map(figure).collect();
        figures.sort_by_key(|figure| std::cmp::Reverse(figure.count));
        figures
    }
}

fn version(code: u16) -> String {
    named(
        code,
        match code {
            0x0303 => "TLS 1.2",
            0x0304 => "TLS 1.3",
            _ => "",
        },
    )
}

/// IANA "TLS Cipher Suites", those that rustls with aws-lc-rs offers.
fn suite(code: u16) -> String {
    named(
        code,
        match code {
            0x1301 => "TLS_AES_128_GCM_SHA256",
            0x1302 => "TLS_AES_256_GCM_SHA384",
            0x1303 => "TLS_CHACHA20_POLY1305_SHA256",
            0xc02b => "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
            0xc02c => "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
            0xc02f => "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
            0xc030 => "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
            0xcca8 => "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
            0xcca9 => "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
            _ => "",
        },
    )
}

/// IANA "TLS Supported Groups".
fn group(code: u16) -> String {
    named(
        code,
        match code {
            0x0017 => "secp256r1",
            0x0018 => "secp384r1",
            0x0019 => "secp521r1",
            0x001d => "X25519",
            0x001e => "X448",
            0x0200 => "MLKEM512",
            0x0201 => "MLKEM768",
            0x0202 => "MLKEM1024",
            0x11eb => "SecP256r1MLKEM768",
            0x11ec => "X25519MLKEM768",
            0x11ed => "SecP384r1MLKEM1024",
            _ => "",
        },
    )
}

/// IANA "TLS SignatureScheme".
fn signature_scheme(code: u16) -> String {
    named(
        code,
        match code {
            0x0201 => "rsa_pkcs1_sha1",
            0x0203 => "ecdsa_sha1",
            0x0401 => "rsa_pkcs1_sha256",
            0x0403 => "ecdsa_secp256r1_sha256",
            0x0501 => "rsa_pkcs1_sha384",
            0x0503 => "ecdsa_secp384r1_sha384",
            0x0601 => "rsa_pkcs1_sha512",
            0x0603 => "ecdsa_secp521r1_sha512",
            0x0804 => "rsa_pss_rsae_sha256",
            0x0805 => "rsa_pss_rsae_sha384",
            0x0806 => "rsa_pss_rsae_sha512",
            0x0807 => "ed25519",
            0x0808 => "ed448",
            0x0809 => "rsa_pss_pss_sha256",
            0x080a => "rsa_pss_pss_sha384",
            0x080b => "rsa_pss_pss_sha512",
            0x0904 => "mldsa44",
            0x0905 => "mldsa65",
            0x0906 => "mldsa87",
            _ => "",
        },
    )
}

/// A code point without a name stands as its number; 0 is "none".
fn named(code: u16, name: &str) -> String {
    match (code, name) {
        (0, _) => String::new(),
        (_, "") => format!("0x{code:04x}"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_have_their_iana_names_and_unknown_ones_their_number() {
        let agreed = Negotiated {
            version: 0x0304,
            suite: 0x1302,
            group: 0x11ec,
            signature_scheme: 0,
            alpn: "http/1.1".into(),
            kind: HandshakeKind::Resumed,
            ocsp_staple: false,
        };
        let mut counters = Counters::default();
        counters.negotiated.insert(Negotiated { suite: 0xfafa, kind: HandshakeKind::FullRetried, ..agreed.clone() }, 1);
        counters.negotiated.insert(agreed, 3);
        let figures = NegotiatedFigure::of(&counters);
        let first = &figures[0];
        assert_eq!([&first.version, &first.suite, &first.group], ["TLS 1.3", "TLS_AES_256_GCM_SHA384", "X25519MLKEM768"]);
        assert_eq!((first.signature_scheme.as_str(), first.handshake.as_str(), first.share), ("", "resumed", 0.75));
        assert_eq!((figures[1].suite.as_str(), figures[1].handshake.as_str()), ("0xfafa", "full_retried"));
    }
}
