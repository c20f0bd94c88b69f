//! The coordinator's own CA, and the server certificate it issues at each start.

use control::COORDINATOR_NAME;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{RootCertStore, ServerConfig};
use secret::NoRandomness;
use std::sync::Arc;

/// A CA for one fleet. Its key never leaves the coordinator.
pub(super) struct FleetAuthority {
    certificate: CertificateDer<'static>,
    key: KeyPair,
}

/// Why there is no CA, or no certificate from it.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// There is no randomness to make a secret from.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    /// Key or certificate could not be made.
    #[error("{0}")]
    Make(#[from] rcgen::Error),
    /// Not PEM, or not a CA's.
    #[error("the CA's certificate cannot be read")]
    Certificate,
    /// Not PEM, or not a key.
    #[error("the CA's key cannot be read: {0}")]
    Key(rcgen::Error),
    /// They are not of one pair.
    #[error("the CA's certificate and key do not belong together")]
    Pair,
    /// The secret is not 32 bytes.
    #[error("the secret is not 32 bytes in base64url")]
    Secret,
    /// rustls refuses them.
    #[error("{0}")]
    Tls(#[from] rustls::Error),
}

impl FleetAuthority {
    pub(super) fn new() -> Result<FleetAuthority, AuthorityError> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let certificate = authority_params().self_signed(&key)?.der().clone();
        Ok(FleetAuthority { certificate, key })
    }

    pub(super) fn from_pem(certificate: &str, key: &str) -> Result<FleetAuthority, AuthorityError> {
        let certificate = CertificateDer::from_pem_slice(certificate.as_bytes())
            .map_err(|_| AuthorityError::Certificate)?;
        let key = KeyPair::from_pem(key).map_err(AuthorityError::Key)?;
        Ok(FleetAuthority { certificate, key })
    }

    /// Certificate and key.
    pub(super) fn to_pem(&self) -> (String, String) {
        (
            pem("CERTIFICATE", &self.certificate),
            self.key.serialize_pem(),
        )
    }

    /// The CA itself, in DER.
    pub(super) fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// Configures TLS 1.3 only, with a fresh certificate and the CA beside it, and HTTP/2.
    pub(super) fn server_config(self) -> Result<ServerConfig, AuthorityError> {
        let (leaf, leaf_key) = self.issue()?;
        self.check(&leaf)?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            // Agents know the CA only by its hash, so it is sent too.
            .with_single_cert(vec![leaf, self.certificate], leaf_key.into())?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(config)
    }

    fn issue(
        &self,
    ) -> Result<(CertificateDer<'static>, PrivatePkcs8KeyDer<'static>), AuthorityError> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let mut params = CertificateParams::new(vec![COORDINATOR_NAME.to_owned()])?;
        params
            .distinguished_name
            .push(DnType::CommonName, COORDINATOR_NAME);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let issuer_params = authority_params();
        let leaf = params.signed_by(&key, &Issuer::from_params(&issuer_params, &self.key))?;
        Ok((
            leaf.der().clone(),
            PrivatePkcs8KeyDer::from(key.serialize_der()),
        ))
    }

    /// Checks what agents will check: it finds a CA that is not one, and a key of another pair.
    fn check(&self, leaf: &CertificateDer<'_>) -> Result<(), AuthorityError> {
        let mut roots = RootCertStore::empty();
        roots
            .add(self.certificate.clone())
            .map_err(|_| AuthorityError::Certificate)?;
        let verifier = WebPkiServerVerifier::builder_with_provider(
            Arc::new(roots),
            Arc::new(default_provider()),
        )
        .build()
        .map_err(|_| AuthorityError::Certificate)?;
        let name = ServerName::try_from(COORDINATOR_NAME).expect("a constant name");
        let checked = verifier.verify_server_cert(leaf, &[], &name, &[], UnixTime::now());
        checked.map(|_| ()).map_err(|_| AuthorityError::Pair)
    }
}

/// The CA's name never changes, so that an issuer can be made from its key alone.
fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params
        .distinguished_name
        .push(DnType::CommonName, "Cannonade fleet");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params
}

/// PEM as RFC 7468 writes it.
fn pem(label: &str, der: &[u8]) -> String {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<&str> = text
        .as_bytes()
        .chunks(64)
        .map(|line| std::str::from_utf8(line).expect("base64 is ASCII"))
        .collect();
    format!(
        "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
        lines.join("\n")
    )
}
