//! The client's identities, for servers that ask: certificates given as files, or minted for the
//! run.

use crate::{Minted, PrivateFile, Subject};
use std::sync::Arc;
use std::time::Duration;

/// `tls.client_certificates`. With n identities, virtual user u (open loop: connection u) has
/// identity u modulo n.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientCertificates {
    /// Pairs of files, in this order; if empty, no certificate is presented.
    Files(Vec<ClientCertificate>),
    /// Minted before the run.
    Mint(Box<Minting>),
}

/// A client identity in files, whose content is only on agents that have one of its virtual users.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientCertificate {
    /// PEM chain, leaf first.
    pub cert: PrivateFile,
    /// PEM private key (PKCS#8, PKCS#1 or SEC1).
    pub key: PrivateFile,
}

/// Client identities that the coordinator mints before the run: P-256 keys with certificates of one
/// CA.
#[derive(Debug, Clone, PartialEq)]
pub struct Minting {
    /// How many identities are minted.
    pub number: u32,
    /// PEM certificate of the CA, followed by those above it, if any. Only the coordinator has it.
    pub ca: PrivateFile,
    /// PEM private key of the CA. Only the coordinator has it.
    pub ca_key: PrivateFile,
    /// Subject of each certificate.
    pub subject: Subject,
    /// How long each is valid, from the beginning of the run.
    pub validity: Duration,
    /// The identities of an agent's own virtual users, once minted; not part of the text.
    pub minted: Arc<Minted>,
}

impl ClientCertificates {
    /// The number of identities.
    #[must_use]
    pub fn number(&self) -> usize {
        match self {
            ClientCertificates::Files(pairs) => pairs.len(),
            ClientCertificates::Mint(minting) => minting.number as usize,
        }
    }

    /// The identities that are in files.
    #[must_use]
    pub fn files(&self) -> &[ClientCertificate] {
        match self {
            ClientCertificates::Files(pairs) => pairs,
            ClientCertificates::Mint(_) => &[],
        }
    }

    /// All their private files, including the CA's.
    pub(crate) fn private(&self) -> impl Iterator<Item = &PrivateFile> {
        let of_pairs = self.files().iter().flat_map(|pair| [&pair.cert, &pair.key]);
        of_pairs.chain(
            self.minting()
                .into_iter()
                .flat_map(|minting| [&minting.ca, &minting.ca_key]),
        )
    }

    /// How identities are minted; `None` if they are in files.
    #[must_use]
    pub fn minting(&self) -> Option<&Minting> {
        match self {
            ClientCertificates::Files(_) => None,
            ClientCertificates::Mint(minting) => Some(minting),
        }
    }
}
