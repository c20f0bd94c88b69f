//! Client identities, handed out over virtual users.

use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::sign::CertifiedKey;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The plan's client identities; rustls is given that of the worker's current user.
pub(crate) struct Identities {
    keys: Vec<Arc<CertifiedKey>>,
    current: AtomicUsize,
}

impl Identities {
    pub(crate) fn new(keys: Vec<Arc<CertifiedKey>>) -> Identities {
        Identities { keys, current: AtomicUsize::new(0) }
    }

    /// From now on the identity of the cluster's virtual user `user` is used.
    pub(crate) fn select(&self, user: u64) {
        if self.keys.len() > 1 {
            self.current.store((user % self.keys.len() as u64) as usize, Ordering::Relaxed);
        }
    }
}

impl ResolvesClientCert for Identities {
    fn resolve(&self, _: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let key = self.keys.get(self.current.load(Ordering::Relaxed))?;
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
