//! Who the client says it is, where a server asks: certificates given as files, or minted for the
//! run.

use crate::{Minted, PrivateFile, Subject};
use std::sync::Arc;
use std::time::Duration;

/// `tls.client_certificates`. Virtual user u (open loop: connection u) has identity u modulo how
/// many there are.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientCertificates {
    /// Pairs of files, in this order; without any no certificate is shown.
    Files(Vec<ClientCertificate>),
    /// Made before the run.
    Mint(Box<Minting>),
}

/// A client identity in files, which are at hand where one of its virtual users is.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientCertificate {
    /// PEM chain, leaf first.
    pub cert: PrivateFile,
    /// PEM private key (PKCS#8, PKCS#1 or SEC1).
    pub key: PrivateFile,
}

/// Client identities that the coordinator makes before the run: P-256 keys with certificates of one
/// CA.
#[derive(Debug, Clone, PartialEq)]
pub struct Minting {
    /// How many identities are minted.
    pub number: u32,
    /// PEM certificate of the CA, and behind it those above it, if any. At hand at the coordinator
    /// only.
    pub ca: PrivateFile,
    /// PEM private key of the CA. At hand at the coordinator only.
    pub ca_key: PrivateFile,
    /// Subject of each.
    pub subject: Subject,
    /// Each is valid for so long from the beginning of the run.
    pub validity: Duration,
    /// Those of an agent's own virtual users, where they have been made; no part of the text.
    pub minted: Arc<Minted>,
}

impl ClientCertificates {
    /// How many identities there are.
    #[must_use]
    pub fn number(&self) -> usize {
        match self {
            ClientCertificates::Files(pairs) => pairs.len(),
            ClientCertificates::Mint(minting) => minting.number as usize,
        }
    }

    /// Those in files.
    #[must_use]
    pub fn files(&self) -> &[ClientCertificate] {
        match self {
            ClientCertificates::Files(pairs) => pairs,
            ClientCertificates::Mint(_) => &[],
        }
    }

    /// Every file of theirs, the CA's with them: none is for everybody.
    pub(crate) fn private(&self) -> impl Iterator<Item = &PrivateFile> {
        let of_pairs = self.files().iter().flat_map(|pair| [&pair.cert, &pair.key]);
        of_pairs.chain(
            self.minting()
                .into_iter()
                .flat_map(|minting| [&minting.ca, &minting.ca_key]),
        )
    }

    /// How those are made that are not in files.
    #[must_use]
    pub fn minting(&self) -> Option<&Minting> {
        match self {
            ClientCertificates::Files(_) => None,
            ClientCertificates::Mint(minting) => Some(minting),
        }
    }
}
