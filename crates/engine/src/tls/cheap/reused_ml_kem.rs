//! ML-KEM (FIPS 203) with a single key pair: key generation is saved, decapsulation is not.

use aws_lc_rs::kem::{Algorithm, AlgorithmId, DecapsulationKey, ML_KEM_768, ML_KEM_1024};
use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, PeerMisbehaved, ProtocolVersion};
use std::fmt;

/// A single key pair for the life of the process.
#[derive(Clone, Copy)]
pub(super) struct ReusedMlKem(&'static MlKemKeyPair);

struct MlKemKeyPair {
    name: NamedGroup,
    private: DecapsulationKey<AlgorithmId>,
    public: Vec<u8>,
}

impl ReusedMlKem {
    pub(super) fn new_768() -> Result<ReusedMlKem, Error> {
        ReusedMlKem::new(NamedGroup::MLKEM768, &ML_KEM_768)
    }

    pub(super) fn new_1024() -> Result<ReusedMlKem, Error> {
        ReusedMlKem::new(NamedGroup::MLKEM1024, &ML_KEM_1024)
    }

    fn new(
        name: NamedGroup,
        algorithm: &'static Algorithm<AlgorithmId>,
    ) -> Result<ReusedMlKem, Error> {
        let failed = |_| Error::General("cannot make an ML-KEM key pair".into());
        let private = DecapsulationKey::generate(algorithm).map_err(failed)?;
        let public = private
            .encapsulation_key()
            .and_then(|key| key.key_bytes())
            .map_err(failed)?
            .as_ref()
            .to_vec();
        Ok(ReusedMlKem(Box::leak(Box::new(MlKemKeyPair {
            name,
            private,
            public,
        }))))
    }
}

impl SupportedKxGroup for ReusedMlKem {
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

impl ActiveKeyExchange for ReusedMlKem {
    /// The server's share is a ciphertext.
    fn complete(self: Box<Self>, ciphertext: &[u8]) -> Result<SharedSecret, Error> {
        let secret = self
            .0
            .private
            .decapsulate(ciphertext.into())
            .map_err(|_| PeerMisbehaved::InvalidKeyShare)?;
        Ok(SharedSecret::from(secret.as_ref()))
    }

    fn pub_key(&self) -> &[u8] {
        &self.0.public
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn group(&self) -> NamedGroup {
        self.0.name
    }
}

impl fmt::Debug for ReusedMlKem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReusedMlKem({:?})", self.0.name)
    }
}
