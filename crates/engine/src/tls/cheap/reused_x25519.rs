//! X25519 with a single key pair: key generation is saved, the agreement is not.

use aws_lc_rs::agreement::{self, PrivateKey, UnparsedPublicKey, X25519};
use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, PeerMisbehaved};

/// A single key pair for the life of the process.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReusedX25519(&'static X25519KeyPair);

#[derive(Debug)]
struct X25519KeyPair {
    private: PrivateKey,
    public: [u8; 32],
}

impl ReusedX25519 {
    pub(super) fn new() -> Result<ReusedX25519, Error> {
        let failed = |_| Error::General("cannot make an X25519 key pair".into());
        let private = PrivateKey::generate(&X25519).map_err(failed)?;
        let public = private.compute_public_key().map_err(failed)?;
        let public = public
            .as_ref()
            .try_into()
            .map_err(|_| Error::General("an X25519 public key is not 32 bytes".into()))?;
        Ok(ReusedX25519(Box::leak(Box::new(X25519KeyPair {
            private,
            public,
        }))))
    }
}

impl SupportedKxGroup for ReusedX25519 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(*self))
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

impl ActiveKeyExchange for ReusedX25519 {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let peer = UnparsedPublicKey::new(&X25519, peer);
        let refused: Error = PeerMisbehaved::InvalidKeyShare.into();
        agreement::agree(&self.0.private, peer, refused, |secret| {
            Ok(SharedSecret::from(secret))
        })
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
