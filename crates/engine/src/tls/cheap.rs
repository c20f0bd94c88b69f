//! `key_exchange = "cheap"`: the server does all of its work, the client next to none of it.
//!
//! The secrecy of a load test's own connection is given up, knowingly. Never for real data; results made with it say so.

use aws_lc_rs::agreement::{self, PrivateKey, UnparsedPublicKey, X25519};
use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, PeerMisbehaved};
use std::sync::Arc;

/// P-256's generator as an uncompressed point (SEC 2 §2.4.2): the public key of the private scalar 1.
const GENERATOR: [u8; 65] = [
    0x04, 0x6b, 0x17, 0xd1, 0xf2, 0xe1, 0x2c, 0x42, 0x47, 0xf8, 0xbc, 0xe6, 0xe5, 0x63, 0xa4, 0x40, 0xf2, 0x77, 0x03, 0x7d, 0x81,
    0x2d, 0xeb, 0x33, 0xa0, 0xf4, 0xa1, 0x39, 0x45, 0xd8, 0x98, 0xc2, 0x96, 0x4f, 0xe3, 0x42, 0xe2, 0xfe, 0x1a, 0x7f, 0x9b, 0x8e,
    0xe7, 0xeb, 0x4a, 0x7c, 0x0f, 0x9e, 0x16, 0x2b, 0xce, 0x33, 0x57, 0x6b, 0x31, 0x5e, 0xce, 0xcb, 0xb6, 0x40, 0x68, 0x37, 0xbf,
    0x51, 0xf5,
];

/// P-256 with the private scalar 1: one times the server's point is the server's point, so its x is the shared secret.
#[derive(Debug)]
pub(crate) struct UnitP256;

/// X25519 with one key pair for the life of a worker: the generation is saved, the agreement is done.
#[derive(Debug)]
pub(crate) struct ReusedX25519(Arc<Pair>);

#[derive(Debug)]
struct Pair {
    private: PrivateKey,
    public: [u8; 32],
}

#[derive(Debug)]
struct UnitExchange;

struct ReusedExchange(Arc<Pair>);

impl ReusedX25519 {
    /// Makes the worker's key pair. It lives as long as the process: rustls wants groups that are `'static`.
    pub(crate) fn leak() -> Result<&'static ReusedX25519, Error> {
        let failed = |_| Error::General("cannot make an X25519 key pair".into());
        let private = PrivateKey::generate(&X25519).map_err(failed)?;
        let public = private.compute_public_key().map_err(failed)?;
        let public = public.as_ref().try_into().map_err(|_| Error::General("an X25519 public key is not 32 bytes".into()))?;
        Ok(Box::leak(Box::new(ReusedX25519(Arc::new(Pair { private, public })))))
    }
}

impl SupportedKxGroup for UnitP256 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(UnitExchange))
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::secp256r1
    }
}

impl ActiveKeyExchange for UnitExchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        match peer {
            [0x04, coordinates @ ..] if coordinates.len() == 64 => Ok(SharedSecret::from(&coordinates[..32])),
            _ => Err(PeerMisbehaved::InvalidKeyShare.into()),
        }
    }

    fn pub_key(&self) -> &[u8] {
        &GENERATOR
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::secp256r1
    }
}

impl SupportedKxGroup for ReusedX25519 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(ReusedExchange(Arc::clone(&self.0))))
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

impl ActiveKeyExchange for ReusedExchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let peer = UnparsedPublicKey::new(&X25519, peer);
        let refused: Error = PeerMisbehaved::InvalidKeyShare.into();
        agreement::agree(&self.0.private, peer, refused, |secret| Ok(SharedSecret::from(secret)))
    }

    fn pub_key(&self) -> &[u8] {
        &self.0.public
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}
