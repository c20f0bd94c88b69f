//! A rustls configuration with only AES-256-GCM and X25519, which verifies no certificate chain.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WantsClientCert};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CipherSuite, ClientConfig, ConfigBuilder, DigitallySignedStruct, Error, NamedGroup,
    SignatureScheme, SupportedProtocolVersion,
};
use std::sync::Arc;

pub(crate) struct Tls {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) name: ServerName<'static>,
}

/// What is verified of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// The handshake's signature, as most load generators do.
    Signature,
    /// Nothing at all.
    Nothing,
}

/// What the command line says about TLS.
pub(crate) struct Wanted<'a> {
    pub(crate) check: Check,
    /// Offers only TLS 1.2; otherwise a key share for 1.3 would be computed in vain.
    pub(crate) only_tls12: bool,
    /// The files of certificate and key.
    pub(crate) identity: Option<(&'a str, &'a str)>,
    pub(crate) resumes: bool,
}

const SUITES: [CipherSuite; 3] = [
    CipherSuite::TLS13_AES_256_GCM_SHA384,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
];

impl Tls {
    pub(crate) fn new(wanted: Wanted<'_>) -> Result<Tls, String> {
        let mut provider = aws_lc_rs::default_provider();
        provider
            .cipher_suites
            .retain(|suite| SUITES.contains(&suite.suite()));
        provider
            .kx_groups
            .retain(|group| group.name() == NamedGroup::X25519);
        let provider = Arc::new(provider);
        let versions: &[&SupportedProtocolVersion] = if wanted.only_tls12 {
            &[&rustls::version::TLS12]
        } else {
            rustls::ALL_VERSIONS
        };
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions);
        let verifier = Arc::new(Unchecked {
            provider,
            check: wanted.check,
        });
        let builder = builder
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut config = with_identity(builder, wanted.identity)?;
        config.resumption = if wanted.resumes {
            Resumption::in_memory_sessions(256)
        } else {
            Resumption::disabled()
        };
        let name = ServerName::try_from("localhost").expect("localhost is a name");
        Ok(Tls {
            config: Arc::new(config),
            name,
        })
    }
}

fn with_identity(
    builder: ConfigBuilder<ClientConfig, WantsClientCert>,
    files: Option<(&str, &str)>,
) -> Result<ClientConfig, String> {
    let Some((cert, key)) = files else {
        return Ok(builder.with_no_client_auth());
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(cert).and_then(Iterator::collect);
    let chain = chain.map_err(|error| format!("{cert}: {error}"))?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|error| format!("{key}: {error}"))?;
    builder
        .with_client_auth_cert(chain, key)
        .map_err(|error| error.to_string())
}

#[derive(Debug)]
struct Unchecked {
    provider: Arc<CryptoProvider>,
    check: Check,
}

impl ServerCertVerifier for Unchecked {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self.check {
            Check::Nothing => Ok(HandshakeSignatureValid::assertion()),
            Check::Signature => verify_tls12_signature(
                message,
                cert,
                signed,
                &self.provider.signature_verification_algorithms,
            ),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self.check {
            Check::Nothing => Ok(HandshakeSignatureValid::assertion()),
            Check::Signature => verify_tls13_signature(
                message,
                cert,
                signed,
                &self.provider.signature_verification_algorithms,
            ),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
