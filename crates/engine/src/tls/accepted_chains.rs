//! Certificate chains that were accepted already, for `verify = "once"`.

use plan::Sha256;
use rustls::pki_types::{CertificateDer, DnsName, ServerName};
use std::collections::HashSet;

/// Most chains remembered of one name. A service has a few; attackers are not a concern here.
const OF_ONE_NAME: usize = 64;
/// Most pairs of a name and a chain; each takes some 150 bytes.
const OF_ALL_NAMES: usize = 65_536;

/// What a worker has accepted.
#[derive(Debug)]
pub(crate) enum AcceptedChains {
    /// All connections have the same name. The oldest chain goes; a service with more than that is
    /// verified again.
    OneName(Vec<Vec<CertificateDer<'static>>>),
    /// Connections have different names: each with the hash of a chain. The first ones stay.
    ByName(HashSet<(DnsName<'static>, [u8; 32])>),
}

impl Default for AcceptedChains {
    fn default() -> AcceptedChains {
        AcceptedChains::OneName(Vec::new())
    }
}

impl AcceptedChains {
    pub(super) fn new(names_differ: bool) -> AcceptedChains {
        if names_differ {
            AcceptedChains::ByName(HashSet::new())
        } else {
            AcceptedChains::default()
        }
    }

    /// Whether the chain was accepted for `name`.
    pub(super) fn has(
        &self,
        name: &ServerName<'_>,
        leaf: &CertificateDer<'_>,
        rest: &[CertificateDer<'_>],
    ) -> bool {
        match (self, name) {
            (AcceptedChains::OneName(chains), _) => chains.iter().any(|chain| {
                chain
                    .split_first()
                    .is_some_and(|(first, others)| first == leaf && others == rest)
            }),
            (AcceptedChains::ByName(pairs), ServerName::DnsName(name)) => {
                pairs.contains(&(name.borrow(), hash(leaf, rest)))
            }
            (AcceptedChains::ByName(_), _) => false, // names that differ are DNS names
        }
    }

    /// Notes that the chain was accepted for `name`.
    pub(super) fn add(
        &mut self,
        name: &ServerName<'_>,
        leaf: &CertificateDer<'_>,
        rest: &[CertificateDer<'_>],
    ) {
        match (self, name) {
            (AcceptedChains::OneName(chains), _) => {
                if chains.len() == OF_ONE_NAME {
                    chains.remove(0);
                }
                let chain = std::iter::once(leaf).chain(rest);
                chains.push(chain.map(|der| der.clone().into_owned()).collect());
            }
            (AcceptedChains::ByName(pairs), ServerName::DnsName(name))
                if pairs.len() < OF_ALL_NAMES =>
            {
                pairs.insert((name.to_owned(), hash(leaf, rest)));
            }
            (AcceptedChains::ByName(_), _) => {}
        }
    }
}

fn hash(leaf: &CertificateDer<'_>, rest: &[CertificateDer<'_>]) -> [u8; 32] {
    let chain = std::iter::once(leaf).chain(rest);
    let bytes: Vec<u8> = chain.flat_map(|der| der.iter().copied()).collect();
    Sha256::hash(&bytes).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chain_is_accepted_for_the_name_it_was_verified_for() {
        let [a, b] = ["a.test", "b.test"].map(|name| ServerName::try_from(name).expect("a name"));
        let [leaf, issuer] = [vec![1], vec![2, 3]].map(CertificateDer::from);
        let rest = [issuer];
        let mut accepted = AcceptedChains::new(true);
        accepted.add(&a, &leaf, &rest);
        assert!(accepted.has(&a, &leaf, &rest));
        assert!(!accepted.has(&b, &leaf, &rest));
        assert!(!accepted.has(&a, &leaf, &[]));
        accepted.add(&b, &leaf, &rest);
        assert!(accepted.has(&b, &leaf, &rest));
    }
}
