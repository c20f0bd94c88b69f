//! The parameters that handshakes agreed on, by their IANA names.

use crate::counts::{share, sum};
use measure::tls::{group_name, signature_scheme_name, suite_name, version_name};
use measure::{Chain, Counters, HandshakeKind, Negotiated};
use serde::{Deserialize, Serialize};

/// Handshakes that agreed on the same parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NegotiatedFigure {
    /// TLS version, such as `TLS 1.3`.
    pub version: String,
    /// IANA name of the cipher suite.
    pub suite: String,
    /// IANA name of the key exchange group; empty if none was used.
    pub group: String,
    /// IANA name of the server's signature scheme; empty in a resumed handshake.
    pub signature_scheme: String,
    /// Protocol agreed on by ALPN; empty if there was none.
    pub alpn: String,
    /// `full`, `full_retried`, `resumed` or `resumed_retried` (after a HelloRetryRequest).
    pub handshake: String,
    /// Whether an OCSP response was stapled.
    pub ocsp_staple: bool,
    /// Number of these handshakes.
    pub count: u64,
    /// Share of all completed handshakes.
    pub share: f64,
}

/// Full handshakes in which the server sent the same chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChainFigure {
    /// Hash over the DER certificates, one after another, hexadecimal.
    pub sha256: String,
    /// Type of the leaf's key, such as `ECDSA P-256`.
    pub key: String,
    /// Number of certificates.
    pub certificates: u8,
    /// Total size of the certificates in DER.
    pub chain_bytes: u32,
    /// Number of these handshakes.
    pub count: u64,
    /// Share of all handshakes with a chain.
    pub share: f64,
}

impl NegotiatedFigure {
    /// Lists the parameters, most frequent first.
    pub(crate) fn from_counters(counters: &Counters) -> Vec<NegotiatedFigure> {
        let all: u64 = sum(counters.negotiated.values());
        let mut figures: Vec<NegotiatedFigure> = Vec::new();
        // Staples that differ only in their times count as the same here. They are adjacent in the
        // map.
        for (agreed, &count) in &counters.negotiated {
            let figure = Self::one(agreed, count, all);
            match figures.last_mut().filter(|last| last.is_like(&figure)) {
                Some(last) => {
                    last.count = last.count.saturating_add(count);
                    last.share += figure.share;
                }
                None => figures.push(figure),
            }
        }
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
            version: version_name(agreed.version).into_owned(),
            suite: suite_name(agreed.suite).into_owned(),
            group: group_name(agreed.group).into_owned(),
            signature_scheme: signature_scheme_name(agreed.signature_scheme).into_owned(),
            alpn: agreed.alpn.clone(),
            handshake: handshake.to_owned(),
            ocsp_staple: agreed.ocsp_staple.is_some(),
            count,
            share: share(count, all).unwrap_or(0.0),
        }
    }

    fn is_like(&self, other: &NegotiatedFigure) -> bool {
        *other
            == NegotiatedFigure {
                count: other.count,
                share: other.share,
                ..self.clone()
            }
    }
}

impl ChainFigure {
    /// Lists the chains, most frequent first.
    pub(crate) fn from_counters(counters: &Counters) -> Vec<ChainFigure> {
        let all: u64 = sum(counters.chains.values());
        let mut figures: Vec<ChainFigure> = counters
            .chains
            .iter()
            .map(|(chain, &count)| ChainFigure::one(chain, count, all))
            .collect();
        figures.sort_by_key(|figure| std::cmp::Reverse(figure.count));
        figures
    }

    fn one(chain: &Chain, count: u64, all: u64) -> ChainFigure {
        let hex = chain.sha256.iter().map(|byte| format!("{byte:02x}"));
        ChainFigure {
            sha256: hex.collect(),
            key: chain.key.clone(),
            certificates: chain.certificates,
            chain_bytes: chain.bytes,
            count,
            share: share(count, all).unwrap_or(0.0),
        }
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
            ocsp_staple: None,
        };
        let mut counters = Counters::default();
        counters.negotiated.insert(
            Negotiated {
                suite: 0xfafa,
                kind: HandshakeKind::FullRetried,
                ..agreed.clone()
            },
            1,
        );
        counters.negotiated.insert(agreed, 3);
        let figures = NegotiatedFigure::from_counters(&counters);
        let first = &figures[0];
        assert_eq!(
            [&first.version, &first.suite, &first.group],
            ["TLS 1.3", "TLS_AES_256_GCM_SHA384", "X25519MLKEM768"]
        );
        assert_eq!(
            (
                first.signature_scheme.as_str(),
                first.handshake.as_str(),
                first.share
            ),
            ("", "resumed", 0.75)
        );
        assert_eq!(
            (figures[1].suite.as_str(), figures[1].handshake.as_str()),
            ("0xfafa", "full_retried")
        );
    }

    #[test]
    fn staples_of_other_times_are_one_line() {
        let agreed = |this_update: Option<i64>| Negotiated {
            version: 0x0304,
            suite: 0x1302,
            group: 0x001d,
            signature_scheme: 0x0403,
            alpn: String::new(),
            kind: HandshakeKind::Full,
            ocsp_staple: this_update.map(|this_update| measure::Staple {
                this_update,
                ..measure::Staple::default()
            }),
        };
        let counters = Counters {
            negotiated: [
                (agreed(None), 1),
                (agreed(Some(5)), 2),
                (agreed(Some(6)), 1),
            ]
            .into_iter()
            .collect(),
            ..Counters::default()
        };
        let figures: Vec<_> = NegotiatedFigure::from_counters(&counters)
            .iter()
            .map(|it| (it.ocsp_staple, it.count, it.share))
            .collect();
        assert_eq!(figures, [(true, 3, 0.75), (false, 1, 0.25)]);
    }
}
