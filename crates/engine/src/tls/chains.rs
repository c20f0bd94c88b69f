//! Certificate chains that a worker has seen. Each is hashed and described once, then recognised by
//! comparison.

use super::certificate::rsa_bits;
use super::der::element;
use measure::Chain;
use rustls::pki_types::CertificateDer;
use rustls::server::ParsedCertificate;
use std::collections::HashMap;

/// Most distinct chains of a worker's run. Further ones are counted as one, since a server could
/// show a new one in every handshake.
const KNOWN: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct Chains {
    known: HashMap<Vec<CertificateDer<'static>>, Chain>,
    /// The latest chain, which is usually the next one too.
    last: Option<(Vec<CertificateDer<'static>>, Chain)>,
}

impl Chains {
    /// Describes `chain`, leaf first.
    pub(crate) fn describe(&mut self, chain: &[CertificateDer<'static>]) -> Chain {
        if let Some((_, known)) = self.last.as_ref().filter(|(last, _)| last == chain) {
            return known.clone();
        }
        let description = match self.known.get(chain) {
            Some(known) => known.clone(),
            None if self.known.len() < KNOWN => {
                let description = describe(chain);
                self.known.insert(chain.to_vec(), description.clone());
                description
            }
            None => others(),
        };
        self.last = Some((chain.to_vec(), description.clone()));
        description
    }
}

/// The description of all chains beyond those that are kept.
fn others() -> Chain {
    Chain {
        sha256: [0; 32],
        key: "others".to_owned(),
        certificates: 0,
        bytes: 0,
    }
}

fn describe(chain: &[CertificateDer<'static>]) -> Chain {
    let all: Vec<u8> = chain
        .iter()
        .flat_map(|certificate| certificate.iter().copied())
        .collect();
    Chain {
        sha256: plan::Sha256::hash(&all).0,
        key: chain.first().map_or_else(String::new, key),
        certificates: u8::try_from(chain.len()).unwrap_or(u8::MAX),
        bytes: u32::try_from(all.len()).unwrap_or(u32::MAX),
    }
}

/// The key of a certificate, such as `ECDSA P-256` or `RSA 2048`.
fn key(leaf: &CertificateDer<'static>) -> String {
    let Ok(parsed) = ParsedCertificate::try_from(leaf) else {
        return "unknown".into();
    };
    // rustls returns it as DER with its tag.
    let spki = parsed.subject_public_key_info();
    key_of_spki(&spki).unwrap_or_else(|| "unknown".into())
}

/// Object identifiers as DER contents (RFC 3279, RFC 5480, RFC 8410).
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const CURVES: [(&[u8], &str); 3] = [
    (
        &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07],
        "ECDSA P-256",
    ),
    (&[0x2b, 0x81, 0x04, 0x00, 0x22], "ECDSA P-384"),
    (&[0x2b, 0x81, 0x04, 0x00, 0x23], "ECDSA P-521"),
];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];

fn key_of_spki(spki: &[u8]) -> Option<String> {
    let mut info = element(&mut &*spki, 0x30)?;
    if let Some(bits) = rsa_bits(info) {
        return Some(format!("RSA {bits}"));
    }
    let mut algorithm = element(&mut info, 0x30)?;
    match element(&mut algorithm, 0x06)? {
        EC => {
            let curve = element(&mut algorithm, 0x06)?;
            CURVES
                .iter()
                .find(|(oid, _)| *oid == curve)
                .map(|(_, name)| (*name).to_owned())
        }
        ED25519 => Some("Ed25519".into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_without_end_are_counted_as_one() {
        let mut chains = Chains::default();
        let chain = |number: u32| vec![CertificateDer::from(number.to_be_bytes().to_vec())];
        let first = chains.describe(&chain(0));
        let described: std::collections::BTreeSet<Chain> = (0..10_000)
            .map(|number| chains.describe(&chain(number)))
            .collect();
        assert_eq!(described.len(), KNOWN + 1);
        assert_eq!(chains.describe(&chain(0)), first);
        assert_eq!(chains.describe(&chain(9_999)).key, "others");
    }
}
