//! Checks of a server's certificate, and what is seen during them.

use super::accepted_chains::AcceptedChains;
use super::certificate::Refused;
use super::staple::Staples;
use measure::{CertificateFault, Staple};
use plan::Verify;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, PeerMisbehaved, RootCertStore, SignatureScheme};
use std::sync::{Arc, Mutex, MutexGuard};

/// Checks as much as the plan asks for, and notes the signature scheme and OCSP staple of each
/// handshake.
#[derive(Debug)]
pub(crate) struct Verifier {
    full: Option<Arc<WebPkiServerVerifier>>,
    /// The roots that `full` trusts.
    roots: Arc<RootCertStore>,
    provider: Arc<CryptoProvider>,
    /// The schemes that the plan offers, in order of preference; `None` offers all.
    schemes: Option<Vec<SignatureScheme>>,
    mode: Verify,
    // Only one thread ever locks it; rustls wants Sync.
    state: Mutex<VerifierState>,
}

#[derive(Debug, Default)]
struct VerifierState {
    accepted: AcceptedChains,
    staples: Staples,
    seen: Seen,
}

/// Observations from the current handshake.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Seen {
    /// Scheme of the server's handshake signature; 0 before there was one.
    pub(crate) signature_scheme: u16,
    /// The times of the stapled OCSP response.
    pub(crate) ocsp_staple: Option<Staple>,
    /// Why the server's certificate was refused.
    pub(crate) fault: Option<CertificateFault>,
}

impl Seen {
    /// Adds what a later part of the same handshake has shown.
    pub(crate) fn add(&mut self, later: Seen) {
        if later.signature_scheme != 0 {
            self.signature_scheme = later.signature_scheme;
        }
        self.ocsp_staple = later.ocsp_staple.or(self.ocsp_staple);
        self.fault = later.fault.or(self.fault);
    }
}

impl Verifier {
    /// Creates a verifier that offers `schemes`, or all that it verifies. `full` is `None` only if
    /// nothing is verified; it trusts `roots`. `accepted` is for [`Verify::Once`].
    pub(crate) fn new(
        mode: Verify,
        accepted: AcceptedChains,
        schemes: Option<Vec<SignatureScheme>>,
        full: Option<Arc<WebPkiServerVerifier>>,
        roots: Arc<RootCertStore>,
        provider: Arc<CryptoProvider>,
    ) -> Verifier {
        Verifier {
            schemes,
            full,
            roots,
            provider,
            mode,
            state: Mutex::new(VerifierState {
                accepted,
                ..VerifierState::default()
            }),
        }
    }

    /// Takes what was seen since the last call.
    pub(crate) fn take_seen(&self) -> Seen {
        std::mem::take(&mut self.lock().seen)
    }

    fn lock(&self) -> MutexGuard<'_, VerifierState> {
        self.state
            .lock()
            .expect("no thread panics while it holds a worker's verifier")
    }

    fn check_signature(
        &self,
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
        check: impl FnOnce() -> Result<HandshakeSignatureValid, Error>,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.lock().seen.signature_scheme = signed.scheme.into();
        let chosen = self.schemes.as_ref();
        if chosen.is_some_and(|chosen| !chosen.contains(&signed.scheme)) {
            return Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into());
        }
        if self.mode == Verify::None {
            Ok(HandshakeSignatureValid::assertion())
        } else {
            check().inspect_err(|error| self.note_fault(&mut self.lock(), error, leaf, &[]))
        }
    }

    fn note_fault(
        &self,
        state: &mut VerifierState,
        error: &Error,
        leaf: &CertificateDer<'_>,
        rest: &[CertificateDer<'_>],
    ) {
        if let Error::InvalidCertificate(error) = error {
            state.seen.fault = Some(
                Refused {
                    leaf,
                    rest,
                    roots: &self.roots,
                }
                .fault(error),
            );
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        rest: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let mut state = self.lock();
        state.seen.ocsp_staple = state.staples.read(ocsp);
        let skip = self.mode == Verify::Once && state.accepted.has(name, leaf, rest);
        let Some(full) = self.full.as_ref().filter(|_| !skip) else {
            return Ok(ServerCertVerified::assertion());
        };
        let verified = full.verify_server_cert(leaf, rest, name, ocsp, now);
        let verified =
            verified.inspect_err(|error| self.note_fault(&mut state, error, leaf, rest))?;
        if self.mode == Verify::Once {
            state.accepted.add(name, leaf, rest);
        }
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        self.check_signature(cert, signed, || {
            verify_tls12_signature(message, cert, signed, algorithms)
        })
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        self.check_signature(cert, signed, || {
            verify_tls13_signature(message, cert, signed, algorithms)
        })
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        let all = || algorithms.supported_schemes();
        self.schemes.clone().unwrap_or_else(all)
    }
}
