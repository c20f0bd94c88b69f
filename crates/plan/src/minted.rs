//! Minted client identities on their way to an agent: one file with everything that its virtual
//! users need.

use secret::Secret;
use std::collections::BTreeMap;

/// First bytes of the file: its kind and the version of its format.
const MAGIC: &[u8; 8] = b"minted\0\x01";

/// Minted client identities, all in DER.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Minted {
    /// The certificates that follow each leaf.
    pub chain: Vec<Vec<u8>>,
    /// The identities by place, from 0.
    pub identities: BTreeMap<u32, MintedIdentity>,
}

/// A minted client identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MintedIdentity {
    /// The client's own certificate, DER.
    pub certificate: Vec<u8>,
    /// Its key, PKCS#8.
    pub key: Secret<Vec<u8>>,
}

/// The bytes do not hold minted identities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the minted client certificates that came with the plan cannot be read; run the coordinator's \
     version here"
)]
pub struct MintedError;

impl Minted {
    /// Encodes everything as one file; counts, numbers and lengths have 32 bits, big-endian.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        number(&mut bytes, self.chain.len());
        self.chain
            .iter()
            .for_each(|certificate| block(&mut bytes, certificate));
        number(&mut bytes, self.identities.len());
        for (place, identity) in &self.identities {
            number(&mut bytes, *place as usize);
            block(&mut bytes, &identity.certificate);
            block(&mut bytes, identity.key.reveal());
        }
        bytes
    }

    /// The inverse of [`Minted::encode`].
    ///
    /// # Errors
    /// Fails if the bytes are anything else.
    pub fn decode(bytes: &[u8]) -> Result<Minted, MintedError> {
        let mut rest = Rest(bytes.strip_prefix(MAGIC).ok_or(MintedError)?);
        let mut minted = Minted::default();
        for _ in 0..rest.number()? {
            minted.chain.push(rest.block()?);
        }
        for _ in 0..rest.number()? {
            let place = rest.number()?;
            let identity = MintedIdentity {
                certificate: rest.block()?,
                key: rest.block()?.into(),
            };
            minted.identities.insert(place, identity);
        }
        if rest.0.is_empty() {
            Ok(minted)
        } else {
            Err(MintedError)
        }
    }
}

fn number(bytes: &mut Vec<u8>, number: usize) {
    bytes.extend(
        u32::try_from(number)
            .expect("there are fewer than 2^32 of anything here")
            .to_be_bytes(),
    );
}

fn block(bytes: &mut Vec<u8>, block: &[u8]) {
    number(bytes, block.len());
    bytes.extend(block);
}

/// The bytes that are still to be read.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn number(&mut self) -> Result<u32, MintedError> {
        let (number, rest) = self.0.split_first_chunk().ok_or(MintedError)?;
        self.0 = rest;
        Ok(u32::from_be_bytes(*number))
    }

    fn block(&mut self) -> Result<Vec<u8>, MintedError> {
        let length = self.number()?;
        let (block, rest) = self
            .0
            .split_at_checked(length as usize)
            .ok_or(MintedError)?;
        self.0 = rest;
        Ok(block.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Minted {
        let identity = |place: u32| MintedIdentity {
            certificate: vec![place as u8; 3],
            key: vec![9; 2].into(),
        };
        Minted {
            chain: vec![vec![1, 2]],
            identities: [(7, identity(7)), (300, identity(44))].into(),
        }
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        for minted in [Minted::default(), some()] {
            assert_eq!(Minted::decode(&minted.encode()).as_ref(), Ok(&minted));
        }
        let head = [
            &MAGIC[..],
            &[
                0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0, 3, 7, 7, 7, 0, 0, 0,
                2, 9, 9,
            ],
        ];
        assert!(
            some().encode().starts_with(&head.concat()),
            "the form of version 1"
        );
    }

    #[test]
    fn what_is_cut_or_longer_is_refused() {
        let whole = some().encode();
        for length in 0..whole.len() {
            assert_eq!(
                Minted::decode(&whole[..length]),
                Err(MintedError),
                "{length}"
            );
        }
        assert_eq!(
            Minted::decode(&[&whole[..], b"x"].concat()),
            Err(MintedError)
        );
    }
}
