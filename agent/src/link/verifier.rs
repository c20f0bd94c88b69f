//! Accepts only the coordinator whose certificate comes from the CA that the token names.

use control::{COORDINATOR_NAME, Digest, Token};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, PeerIncompatible, RootCertStore,
    SignatureScheme,
};
use std::sync::Arc;

/// Only TLS 1.3, only HTTP/2, and no other coordinator than the token's.
pub(super) fn client_config(token: &Token) -> Result<ClientConfig, Error> {
    let provider = Arc::new(default_provider());
    let verifier = TokenVerifier {
        ca_sha256: Digest(token.ca_sha256()),
        provider: Arc::clone(&provider),
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(config)
}

/// The name in every coordinator's certificate.
pub(super) fn server_name() -> ServerName<'static> {
    ServerName::try_from(COORDINATOR_NAME).expect("a constant name")
}

#[derive(Debug)]
struct TokenVerifier {
    ca_sha256: Digest,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for TokenVerifier {
    /// The CA must be among the certificates that were sent; then the leaf is checked against it as
    /// usual.
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let unknown = || Error::from(CertificateError::UnknownIssuer);
        let ca = others
            .iter()
            .find(|certificate| Digest::from_content(certificate) == self.ca_sha256)
            .ok_or_else(unknown)?;
        let mut roots = RootCertStore::empty();
        roots.add(ca.clone().into_owned())?;
        let verifier = WebPkiServerVerifier::builder_with_provider(
            Arc::new(roots),
            Arc::clone(&self.provider),
        );
        verifier
            .build()
            .map_err(|_| unknown())?
            .verify_server_cert(leaf, &[], name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            leaf,
            signed,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
