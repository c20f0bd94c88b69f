//! Certificate chains seen by a worker: each is hashed and described once, then known by comparison.

use super::der::element;
use measure::Chain;
use rustls::pki_types::CertificateDer;
use rustls::server::ParsedCertificate;

/// Most different chains known at once; what comes beyond is described each time.
const KNOWN: usize = 32;

#[derive(Debug, Default)]
pub(crate) struct Chains {
    known: Vec<(Vec<CertificateDer<'static>>, Chain)>,
}

impl Chains {
    /// Description of `chain`, leaf first.
    pub(crate) fn describe(&mut self, chain: &[CertificateDer<'static>]) -> Chain {
        if let Some((_, known)) = self.known.iter().find(|(certificates, _)| certificates == chain) {
            return known.clone();
        }
        let description = describe(chain);
        if self.known.len() < KNOWN {
            self.known.push((chain.to_vec(), description.clone()));
        }
        description
    }
}

fn describe(chain: &[CertificateDer<'static>]) -> Chain {
    let all: Vec<u8> = chain.iter().flat_map(|certificate| certificate.iter().copied()).collect();
    Chain {
        sha256: plan::Sha256::of(&all).0,
        key: chain.first().map_or_else(String::new, key),
        certificates: u8::try_from(chain.len()).unwrap_or(u8::MAX),
        bytes: u32::try_from(all.len()).unwrap_or(u32::MAX),
    }
}

/// Key of a certificate, such as `ECDSA P-256` or `RSA 2048`.
fn key(leaf: &CertificateDer<'static>) -> String {
    let Ok(parsed) = ParsedCertificate::try_from(leaf) else { return "unknown".into() };
    let spki = parsed.subject_public_key_info();
    key_of_spki(&spki).unwrap_or_else(|| "unknown".into())
}

/// Object identifiers as DER contents (RFC 3279, RFC 5480, RFC 8410).
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const CURVES: [(&[u8], &str); 3] = [
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07], "ECDSA P-256"),
    (&[0x2b, 0x81, 0x04, 0x00, 0x22], "ECDSA P-384"),
    (&[0x2b, 0x81, 0x04, 0x00, 0x23], "ECDSA P-521"),
];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];

fn key_of_spki(spki: &[u8]) -> Option<String> {
    let mut info = element(&mut &*spki, 0x30)?;
    let mut algorithm = element(&mut info, 0x30)?;
    match element(&mut algorithm, 0x06)? {
        RSA => {
            let bits = element(&mut info, 0x03)?;
            let mut key = element(&mut bits.get(1..)?, 0x30)?;
            let modulus = element(&mut key, 0x02)?;
            let significant = modulus.iter().skip_while(|&&byte| byte == 0).count();
            Some(format!("RSA {}", significant * 8))
        }
        EC => {
            let curve = element(&mut algorithm, 0x06)?;
            CURVES.iter().find(|(oid, _)| *oid == curve).map(|(_, name)| (*name).to_owned())
        }
        ED25519 => Some("Ed25519".into()),
        _ => None,
    }
}
