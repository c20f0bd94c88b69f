//! A certificate authority of its own for each target: makes server and client certificates, sound
//! and unsound.

use crate::{CertificateDefect, KeyKind};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, RsaKeySize, date_time_ymd,
};

/// A certificate authority. Its key lives in memory only and goes with it.
pub struct TestAuthority {
    issuer: Issuer<'static, KeyPair>,
    kind: KeyKind,
    pem: String,
}

/// A certificate with its key.
#[derive(Clone)]
pub struct TestIdentity {
    /// PEM of the leaf.
    pub cert_pem: String,
    /// PEM of the private key (PKCS#8).
    pub key_pem: String,
}

/// A server certificate to be made.
#[derive(Debug, Clone, Copy)]
pub struct Leaf<'a> {
    /// DNS names and IP addresses.
    pub names: &'a [&'a str],
    /// What is wrong with it.
    pub fault: Option<CertificateDefect>,
}

impl TestAuthority {
    /// A new authority, whose key and whose leafs' keys are of this kind.
    ///
    /// # Errors
    /// Where no key can be made.
    pub fn new(kind: KeyKind) -> Result<TestAuthority, rcgen::Error> {
        let key = key_pair(kind)?;
        let mut params = params("cannonade test CA", &[])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let pem = params.self_signed(&key)?.pem();
        Ok(TestAuthority {
            issuer: Issuer::new(params, key),
            kind,
            pem,
        })
    }

    /// PEM of the authority's certificate.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// PEM of the authority's key (PKCS#8), for tests of those who issue certificates themselves.
    #[must_use]
    pub fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// Makes a server certificate.
    ///
    /// # Errors
    /// Where a name is neither a DNS name nor an IP address.
    pub fn server(&self, leaf: Leaf<'_>) -> Result<TestIdentity, rcgen::Error> {
        let names = if leaf.fault == Some(CertificateDefect::WrongName) {
            &["wrong.test"]
        } else {
            leaf.names
        };
        let mut params = params("cannonade test server", names)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        match leaf.fault {
            Some(CertificateDefect::Expired) => params.not_after = date_time_ymd(2021, 1, 1),
            Some(CertificateDefect::NotYetValid) => params.not_before = date_time_ymd(2049, 1, 1),
            Some(CertificateDefect::SelfSigned) => return self_signed(&params, self.kind),
            Some(CertificateDefect::WrongName) | None => {}
        }
        self.sign(&params)
    }

    /// Makes a client certificate with this common name.
    ///
    /// # Errors
    /// Where no key can be made.
    pub fn client(&self, common_name: &str) -> Result<TestIdentity, rcgen::Error> {
        let mut params = params(common_name, &[])?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> Result<TestIdentity, rcgen::Error> {
        let key = key_pair(self.kind)?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(TestIdentity {
            cert_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
        })
    }
}

fn self_signed(params: &CertificateParams, kind: KeyKind) -> Result<TestIdentity, rcgen::Error> {
    let key = key_pair(kind)?;
    Ok(TestIdentity {
        cert_pem: params.self_signed(&key)?.pem(),
        key_pem: key.serialize_pem(),
    })
}

fn key_pair(kind: KeyKind) -> Result<KeyPair, rcgen::Error> {
    match kind {
        KeyKind::P256 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256),
        KeyKind::Rsa2048 => KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, RsaKeySize::_2048),
    }
}

/// Valid 2020 to 2049: UTCTime ends in 2049, and some clients read nothing else (RFC 5280
/// §4.1.2.5).
fn params(common_name: &str, names: &[&str]) -> Result<CertificateParams, rcgen::Error> {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names)?;
    // Without rcgen's own common name.
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2049, 12, 31);
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}
