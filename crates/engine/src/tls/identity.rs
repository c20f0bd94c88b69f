//! Client identities of virtual users: parsed once per agent, turned into keys once per worker.

use super::pem::{certificates, in_words};
use super::tls_error::TlsError;
use plan::{ClientCertificate, ClientCertificates, Minting, Owner, Plan, PrivateFile};
use rustls::client::ResolvesClientCert;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, SignatureScheme};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A chain, leaf first, and its key.
type ChainAndKey = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// The identities of this agent's virtual users. Those of other agents are not here: no key goes
/// where it is not used.
pub(crate) struct Credentials {
    /// How many the plan has, here or on other agents.
    total: usize,
    own: BTreeMap<usize, ChainAndKey>,
}

/// A worker's client identities; rustls gets that of the worker's current user.
pub(crate) struct Identities {
    /// By place in the plan; `None` if none of the worker's users has it.
    keys: Vec<Option<Arc<CertifiedKey>>>,
    current: AtomicUsize,
}

impl Credentials {
    /// Parses what the virtual users of agent `agent` of `agents` need.
    pub(crate) fn new(
        plan: &Plan,
        agent: u32,
        agents: u32,
        provider: &CryptoProvider,
    ) -> Result<Credentials, TlsError> {
        let Some(tls) = plan.tls() else {
            return Ok(Credentials {
                total: 0,
                own: BTreeMap::new(),
            });
        };
        let places = plan.identities(Owner {
            agent,
            agents,
            ..Owner::ALONE
        });
        let parsed = |place: usize| {
            let pair = match &tls.client_certificates {
                ClientCertificates::Files(pairs) => pair(&pairs[place], provider)?,
                ClientCertificates::Mint(minting) => mint(minting, place)?,
            };
            Ok((place, pair))
        };
        let own = places
            .into_iter()
            .map(parsed)
            .collect::<Result<_, TlsError>>()?;
        Ok(Credentials {
            total: tls.client_certificates.number(),
            own,
        })
    }

    /// Creates the keys of a worker whose users have the identities at `places`.
    pub(crate) fn identities(
        &self,
        places: &BTreeSet<usize>,
        provider: &CryptoProvider,
    ) -> Result<Identities, TlsError> {
        let mut keys = vec![None; self.total];
        for (&place, (chain, key)) in self.own.iter().filter(|(place, _)| places.contains(place)) {
            let key = provider.key_provider.load_private_key(key.clone_key())?;
            keys[place] = Some(Arc::new(CertifiedKey::new(chain.clone(), key)));
        }
        Ok(Identities {
            keys,
            current: AtomicUsize::new(0),
        })
    }
}

/// Reads a chain and its key, and checks that they belong together.
pub(super) fn pair(
    files: &ClientCertificate,
    provider: &CryptoProvider,
) -> Result<ChainAndKey, TlsError> {
    let cert = &files.cert;
    let key = &files.key;
    let bad_chain = |reason| TlsError::Certificates {
        field: "tls.client_certificates",
        file: cert.name.clone(),
        reason,
    };
    let chain = certificates(content(cert)?).map_err(bad_chain)?;
    let (leaf, issuers) = chain.split_at(1);
    let is_leaf = |der| ParsedCertificate::try_from(der).is_ok();
    // The server may understand more of the others than we do: extensions, or none at all in
    // version 1.
    let is_issuer = |der: &CertificateDer<'_>| RootCertStore::empty().add(der.clone()).is_ok();
    if !(leaf.iter().all(is_leaf) && issuers.iter().all(is_issuer)) {
        return Err(bad_chain("what is in it cannot be parsed".to_owned()));
    }
    let bad_key = |reason: String| TlsError::Key {
        file: key.name.clone(),
        reason,
    };
    let der =
        PrivateKeyDer::from_pem_slice(content(key)?).map_err(|error| bad_key(in_words(&error)))?;
    let signing = provider.key_provider.load_private_key(der.clone_key());
    let signing = signing.map_err(|_| bad_key("it is no RSA, ECDSA or Ed25519 key".to_owned()))?;
    let certified = CertifiedKey::new(chain.clone(), signing);
    match certified.keys_match() {
        // A key that does not contain its public half can still be the right one.
        Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => {
            Ok((chain, der))
        }
        Err(_) => Err(TlsError::Mismatch {
            cert: cert.name.clone(),
            key: key.name.clone(),
        }),
    }
}

/// Certificate and key were created together, so they are not checked.
fn mint(minting: &Minting, place: usize) -> Result<ChainAndKey, TlsError> {
    let identity = u32::try_from(place)
        .ok()
        .and_then(|place| minting.minted.identities.get(&place));
    let identity = identity.ok_or_else(|| TlsError::NotHere {
        file: format!("minted certificate {place}"),
    })?;
    let chain = std::iter::once(&identity.certificate).chain(&minting.minted.chain);
    let key = PrivatePkcs8KeyDer::from(identity.key.reveal().clone()).into();
    Ok((
        chain.map(|der| CertificateDer::from(der.clone())).collect(),
        key,
    ))
}

fn content(file: &PrivateFile) -> Result<&[u8], TlsError> {
    file.bytes().ok_or_else(|| TlsError::NotHere {
        file: file.name.clone(),
    })
}

impl Identities {
    /// No identity, whichever the user.
    pub(super) fn none() -> Identities {
        Identities {
            keys: Vec::new(),
            current: AtomicUsize::new(0),
        }
    }

    /// Uses the identity of the cluster's virtual user `user` from now on.
    pub(crate) fn select(&self, user: u64) {
        // With one identity, or none, there is nothing to select.
        if self.keys.len() > 1 {
            self.current
                .store((user % self.keys.len() as u64) as usize, Ordering::Relaxed);
        }
    }
}

impl ResolvesClientCert for Identities {
    fn resolve(&self, _: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let current = self.current.load(Ordering::Relaxed);
        let key = self.keys.get(current)?.as_ref()?;
        // A certificate is not presented if the server accepts no signature of its key.
        key.key.choose_scheme(schemes).map(|_| Arc::clone(key))
    }

    fn has_certs(&self) -> bool {
        !self.keys.is_empty()
    }
}

impl fmt::Debug for Identities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identities({})", self.keys.len())
    }
}
