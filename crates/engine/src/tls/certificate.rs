//! Names the reason why a server's certificate was refused, in terms that its owner can act on. For
//! several common mistakes rustls only reports that something is wrong, or blames a signature.

use super::der::{any, element};
use measure::CertificateFault;
use rustls::pki_types::CertificateDer;
use rustls::{CertificateError, RootCertStore};

const BOOLEAN: u8 = 0x01;
const BITS: u8 = 0x03;
const OCTETS: u8 = 0x04;
const OID: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
/// `[0]`, constructed: the version, which is omitted if it is 1 (RFC 5280 §4.1).
const VERSION: u8 = 0xa0;
/// `[3]`, constructed.
const EXTENSIONS: u8 = 0xa3;

/// Object identifiers as DER contents.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];
/// Signatures that can be forged (RFC 6151, RFC 9155): RSA and ECDSA with SHA-1, RSA with MD5.
const FORGEABLE: [&[u8]; 3] = [
    &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x05],
    &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01],
    &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x04],
];
/// AWS-LC refuses shorter RSA keys in TLS.
const RSA_BITS_MIN: usize = 2048;

/// A refused certificate chain, and the roots that it was checked against.
pub(super) struct Refused<'a> {
    pub(super) leaf: &'a CertificateDer<'a>,
    /// The certificates that the server sent after it.
    pub(super) rest: &'a [CertificateDer<'a>],
    pub(super) roots: &'a RootCertStore,
}

/// The fields of a certificate by which the faults are distinguished.
struct CertificateFields<'a> {
    is_version_1: bool,
    issuer: &'a [u8],
    subject: &'a [u8],
    /// The content of the SubjectPublicKeyInfo.
    key: &'a [u8],
    is_ca: bool,
}

impl Refused<'_> {
    /// Names the fault for which rustls refused the certificate.
    pub(super) fn fault(&self, error: &CertificateError) -> CertificateFault {
        use CertificateError as E;
        match error {
            E::Expired | E::ExpiredContext { .. } => CertificateFault::Expired,
            E::NotValidYet | E::NotValidYetContext { .. } => CertificateFault::NotYetValid,
            E::NotValidForNameContext { presented, .. } if presented.is_empty() => {
                CertificateFault::NoSubjectAltName
            }
            E::NotValidForName | E::NotValidForNameContext { .. } => CertificateFault::WrongName,
            E::UnknownIssuer if self.is_self_signed() => CertificateFault::SelfSigned,
            E::UnknownIssuer => CertificateFault::UnknownIssuer,
            E::BadSignature if self.has_weak_key() => CertificateFault::WeakKey,
            E::BadSignature => CertificateFault::BadSignature,
            E::UnsupportedSignatureAlgorithmContext {
                signature_algorithm_id,
                ..
            } if is_forgeable(signature_algorithm_id) => CertificateFault::WeakSignature,
            E::Revoked => CertificateFault::Revoked,
            E::InvalidPurpose | E::InvalidPurposeContext { .. } => CertificateFault::WrongPurpose,
            E::BadEncoding => CertificateFault::Malformed,
            _ => self.name_fault(),
        }
    }

    /// Names faults that rustls has no error for.
    fn name_fault(&self) -> CertificateFault {
        match fields(self.leaf) {
            Some(leaf) if leaf.is_version_1 => CertificateFault::NoSubjectAltName,
            Some(leaf) if leaf.is_ca && leaf.issuer == leaf.subject => CertificateFault::SelfSigned,
            Some(leaf) if leaf.is_ca => CertificateFault::CaAsServer,
            _ => CertificateFault::Other,
        }
    }

    fn is_self_signed(&self) -> bool {
        fields(self.leaf).is_some_and(|leaf| leaf.issuer == leaf.subject)
    }

    /// Whether a key in the chain is too short, or that of a root that may have signed part of it.
    fn has_weak_key(&self) -> bool {
        let chain: Vec<CertificateFields<'_>> = std::iter::once(self.leaf)
            .chain(self.rest)
            .filter_map(|der| fields(der))
            .collect();
        let has_issued = |subject: &[u8]| {
            chain
                .iter()
                .any(|certificate| certificate.issuer == subject)
        };
        let roots = self
            .roots
            .roots
            .iter()
            .filter(|root| has_issued(&root.subject));
        let keys = chain
            .iter()
            .map(|certificate| certificate.key)
            .chain(roots.map(|root| &*root.subject_public_key_info));
        keys.filter_map(rsa_bits).any(|bits| bits < RSA_BITS_MIN)
    }
}

/// Reads the fields of a certificate (RFC 5280 §4.1).
fn fields(certificate: &[u8]) -> Option<CertificateFields<'_>> {
    let mut signed = element(&mut element(&mut &*certificate, SEQUENCE)?, SEQUENCE)?;
    let version = element(&mut signed, VERSION);
    let _serial_number = any(&mut signed)?;
    let _signature = any(&mut signed)?;
    let issuer = element(&mut signed, SEQUENCE)?;
    let _validity = any(&mut signed)?;
    let subject = element(&mut signed, SEQUENCE)?;
    let key = element(&mut signed, SEQUENCE)?;
    let is_ca = is_ca(signed).unwrap_or(false);
    Some(CertificateFields {
        is_version_1: version.is_none(),
        issuer,
        subject,
        key,
        is_ca,
    })
}

/// Whether the certificate is a CA by its basic constraints (RFC 5280 §4.2.1.9); `rest` is what
/// follows the key.
fn is_ca(mut rest: &[u8]) -> Option<bool> {
    while let Some((tag, mut content)) = any(&mut rest) {
        if tag != EXTENSIONS {
            continue;
        }
        let mut extensions = element(&mut content, SEQUENCE)?;
        while let Some(mut extension) = element(&mut extensions, SEQUENCE) {
            if element(&mut extension, OID)? == BASIC_CONSTRAINTS {
                let _critical = element(&mut extension, BOOLEAN);
                let mut constraints = element(&mut element(&mut extension, OCTETS)?, SEQUENCE)?;
                return Some(element(&mut constraints, BOOLEAN).is_some_and(|value| value != [0]));
            }
        }
    }
    None
}

/// The number of bits in an RSA key's modulus; `info` is the content of a SubjectPublicKeyInfo.
pub(super) fn rsa_bits(mut info: &[u8]) -> Option<usize> {
    let mut algorithm = element(&mut info, SEQUENCE)?;
    if element(&mut algorithm, OID)? != RSA {
        return None;
    }
    // A bit string starts with the number of its unused bits: none here.
    let bits = element(&mut info, BITS)?;
    let mut key = element(&mut bits.get(1..)?, SEQUENCE)?;
    let modulus = element(&mut key, 0x02)?;
    // A modulus whose first bit is set has a zero byte in front.
    let significant = modulus.iter().skip_while(|&&byte| byte == 0).count();
    Some(significant * 8)
}

/// Whether signatures of `algorithm`, the content of an AlgorithmIdentifier, can be forged.
fn is_forgeable(mut algorithm: &[u8]) -> bool {
    element(&mut algorithm, OID).is_some_and(|oid| FORGEABLE.contains(&oid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

    fn certificate(is_ca: IsCa) -> CertificateDer<'static> {
        let mut params = CertificateParams::new(["localhost".to_owned()]).expect("is a name");
        params.is_ca = is_ca;
        let key = KeyPair::generate().expect("makes a key");
        params
            .self_signed(&key)
            .expect("signs itself")
            .der()
            .clone()
    }

    #[test]
    fn mark_of_a_ca_is_found_and_garbage_is_none() {
        for (is_ca, expected) in [
            (IsCa::NoCa, false),
            (IsCa::ExplicitNoCa, false),
            (IsCa::Ca(BasicConstraints::Unconstrained), true),
            (IsCa::Ca(BasicConstraints::Constrained(1)), true),
        ] {
            let der = certificate(is_ca);
            let fields = fields(&der).expect("is a certificate");
            assert_eq!(
                (
                    fields.is_ca,
                    fields.is_version_1,
                    fields.issuer == fields.subject
                ),
                (expected, false, true),
                "{is_ca:?}"
            );
            for end in 0..der.len() {
                assert!(super::fields(&der[..end]).is_none(), "cut at {end}");
            }
        }
    }

    #[test]
    fn forgeable_signatures_are_told_from_sound_ones() {
        // sha1WithRSAEncryption with its NULL, and sha256WithRSAEncryption.
        let sha1 = [
            0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x05, 0x05, 0x00,
        ];
        let sha256 = [
            0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b, 0x05, 0x00,
        ];
        assert_eq!(
            [&sha1[..], &sha256[..], &[]].map(is_forgeable),
            [true, false, false]
        );
    }
}
