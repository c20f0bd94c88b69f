//! Turns the options of [`ServerTls`] into a rustls server configuration with a certificate made
//! for it.

use crate::{BindError, Leaf, ServerTls, ServerTlsVersion, TestAuthority, TestIdentity};
use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, ServerSessionMemoryCache, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, SupportedCipherSuite, SupportedProtocolVersion};
use std::sync::Arc;

/// Sessions kept where there is a cache: more than any test has connections, about 10 MB when full.
const CACHED_SESSIONS: usize = 16_384;

/// A server configuration, and the PEM of what a client has to trust.
pub(crate) fn server_config(tls: &ServerTls) -> Result<(Arc<ServerConfig>, String), BindError> {
    let authority = TestAuthority::new(tls.key)?;
    let identity = identity(&authority, tls)?;
    let provider = Arc::new(provider(tls)?);
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&versions(tls))?;
    let builder = match &tls.client_ca_pem {
        None => builder.with_no_client_auth(),
        Some(pem) => builder.with_client_cert_verifier(client_verifier(pem, provider)?),
    };
    let (chain, key) = parse(&identity);
    // An empty list is not sent.
    let staple = tls.ocsp_staple.clone().unwrap_or_default();
    let mut config = builder.with_single_cert_with_ocsp(chain, key, staple)?;
    config.alpn_protocols = tls
        .alpn
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect();
    resumption(&mut config, tls)?;
    Ok((Arc::new(config), authority.pem().to_owned()))
}

fn identity(authority: &TestAuthority, tls: &ServerTls) -> Result<TestIdentity, BindError> {
    let names: Vec<&str> = ["localhost", "127.0.0.1", "::1"]
        .into_iter()
        .chain(tls.names.iter().map(String::as_str))
        .collect();
    Ok(authority.server(Leaf {
        names: &names,
        fault: tls.certificate_fault,
    })?)
}

fn parse(identity: &TestIdentity) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let cert_pem = identity.cert_pem.as_bytes();
    let key_pem = identity.key_pem.as_bytes();
    let certificate = CertificateDer::from_pem_slice(cert_pem).expect("rcgen writes PEM");
    let key = PrivateKeyDer::from_pem_slice(key_pem).expect("rcgen writes PEM");
    // The leaf alone: its issuer is the root that clients trust.
    (vec![certificate], key)
}

fn provider(tls: &ServerTls) -> Result<CryptoProvider, BindError> {
    let mut provider = aws_lc_rs::default_provider();
    if let Some(codes) = &tls.cipher_suites {
        provider.cipher_suites = codes
            .iter()
            .map(|&code| suite(code))
            .collect::<Result<_, _>>()?;
    }
    if let Some(codes) = &tls.groups {
        provider.kx_groups = codes
            .iter()
            .map(|&code| group(code))
            .collect::<Result<_, _>>()?;
    }
    Ok(provider)
}

fn suite(code: u16) -> Result<SupportedCipherSuite, BindError> {
    let known = aws_lc_rs::ALL_CIPHER_SUITES
        .iter()
        .find(|suite| u16::from(suite.suite()) == code);
    known.copied().ok_or(BindError::UnknownSuite(code))
}

fn group(code: u16) -> Result<&'static dyn SupportedKxGroup, BindError> {
    let known = aws_lc_rs::ALL_KX_GROUPS
        .iter()
        .find(|group| u16::from(group.name()) == code);
    known.copied().ok_or(BindError::UnknownGroup(code))
}

fn versions(tls: &ServerTls) -> Vec<&'static SupportedProtocolVersion> {
    let version = |version: &ServerTlsVersion| match version {
        ServerTlsVersion::V12 => &rustls::version::TLS12,
        ServerTlsVersion::V13 => &rustls::version::TLS13,
    };
    tls.versions.iter().map(version).collect()
}

fn client_verifier(
    pem: &str,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, BindError> {
    let refused = |error: &dyn std::fmt::Display| BindError::ClientCa(error.to_string());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        roots
            .add(certificate.map_err(|error| refused(&error))?)
            .map_err(|error| refused(&error))?;
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| refused(&error))
}

/// rustls sends TLS 1.3 tickets for its session cache too, so there are none only if both are
/// off.
fn resumption(config: &mut ServerConfig, tls: &ServerTls) -> Result<(), BindError> {
    config.session_storage = if tls.session_cache {
        ServerSessionMemoryCache::new(CACHED_SESSIONS)
    } else {
        Arc::new(NoServerSessionStorage {})
    };
    if tls.tickets {
        config.ticketer = aws_lc_rs::Ticketer::new()?;
    }
    if !tls.tickets && !tls.session_cache {
        config.send_tls13_tickets = 0;
    }
    Ok(())
}
