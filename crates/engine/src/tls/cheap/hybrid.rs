//! A classical group and ML-KEM side by side (draft-ietf-tls-ecdhe-mlkem §4), both cheap. As with
//! rustls's own hybrids, a server without ML-KEM can use the classical share alone.

use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, PeerMisbehaved, ProtocolVersion};

/// Bytes of an ML-KEM-768 ciphertext, which is a server's share (FIPS 203 §8).
const CIPHERTEXT: usize = 1088;

/// The order of the two parts, in shares and in secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// X25519MLKEM768.
    KemFirst,
    /// SecP256r1MLKEM768.
    KemLast,
}

/// Two cheap groups combined, for the life of the process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hybrid(&'static HybridParts);

#[derive(Debug)]
struct HybridParts {
    name: NamedGroup,
    layout: Layout,
    /// Both parts reuse one key pair for ever, so their exchanges start only when they are
    /// completed.
    classical: &'static dyn SupportedKxGroup,
    kem: &'static dyn SupportedKxGroup,
    classical_share: Vec<u8>,
    share: Vec<u8>,
}

impl Hybrid {
    pub(super) fn new(
        name: NamedGroup,
        layout: Layout,
        classical: &'static dyn SupportedKxGroup,
        kem: &'static dyn SupportedKxGroup,
    ) -> Result<Hybrid, Error> {
        let classical_share = classical.start()?.pub_key().to_vec();
        let share = layout.join(&classical_share, kem.start()?.pub_key());
        Ok(Hybrid(Box::leak(Box::new(HybridParts {
            name,
            layout,
            classical,
            kem,
            classical_share,
            share,
        }))))
    }
}

impl SupportedKxGroup for Hybrid {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(*self))
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        self.0.name
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == ProtocolVersion::TLSv1_3
    }
}

impl ActiveKeyExchange for Hybrid {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let (classical, ciphertext) = self
            .0
            .layout
            .split(peer)
            .ok_or(PeerMisbehaved::InvalidKeyShare)?;
        let classical = self.0.classical.start()?.complete(classical)?;
        let kem = self.0.kem.start()?.complete(ciphertext)?;
        Ok(SharedSecret::from(
            self.0
                .layout
                .join(classical.secret_bytes(), kem.secret_bytes()),
        ))
    }

    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        Some((self.0.classical.name(), &self.0.classical_share))
    }

    fn complete_hybrid_component(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        self.0.classical.start()?.complete(peer)
    }

    fn pub_key(&self) -> &[u8] {
        &self.0.share
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn group(&self) -> NamedGroup {
        self.0.name
    }
}

impl Layout {
    fn join(self, classical: &[u8], kem: &[u8]) -> Vec<u8> {
        match self {
            Layout::KemFirst => [kem, classical].concat(),
            Layout::KemLast => [classical, kem].concat(),
        }
    }

    /// Splits a server's share into classical share and ciphertext.
    fn split(self, share: &[u8]) -> Option<(&[u8], &[u8])> {
        match self {
            Layout::KemFirst => share
                .split_at_checked(CIPHERTEXT)
                .map(|(kem, classical)| (classical, kem)),
            Layout::KemLast => share.split_at_checked(share.len().checked_sub(CIPHERTEXT)?),
        }
    }
}
