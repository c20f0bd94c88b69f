//! Postcard from a stranger, read piece by piece, with an account of the memory that the pieces
//! take: a list of small things takes thirty times its bytes, and is refused before it has it all.

use serde::Deserialize;
use std::collections::BTreeMap;

/// Memory that what is read may take. As many cells as a run may have
/// ([`crate::Totals::CELLS_MAX`]) fit with 60 distributions each, more than any cell has.
const KEPT_MAX_BYTES: usize = 256 << 20;

/// Longest piece. A histogram with a count in every bucket has 300 kB.
const PIECE_MAX_BYTES: usize = 1 << 20;

/// Why there is no next piece.
#[derive(Debug)]
pub(crate) enum PieceError {
    Malformed(String),
    /// All pieces together take more bytes than they may: the first number, and its bound.
    TooLarge {
        found: usize,
        most: usize,
    },
}

/// What is left to be read.
pub(crate) struct Pieces<'a> {
    rest: &'a [u8],
    kept_bytes: usize,
}

impl<'a> Pieces<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Pieces<'a> {
        Pieces {
            rest: bytes,
            kept_bytes: 0,
        }
    }

    /// The next piece; of a list its length is one.
    pub(crate) fn take<T: Deserialize<'a>>(&mut self) -> Result<T, PieceError> {
        let most = self.rest.len().min(PIECE_MAX_BYTES);
        let (piece, after) = postcard::take_from_bytes(&self.rest[..most])
            .map_err(|error| PieceError::Malformed(error.to_string()))?;
        self.rest = &self.rest[most - after.len()..];
        Ok(piece)
    }

    /// Counts bytes that are kept of what was read.
    pub(crate) fn keep(&mut self, bytes: usize) -> Result<(), PieceError> {
        self.kept_bytes = self.kept_bytes.saturating_add(bytes);
        if self.kept_bytes > KEPT_MAX_BYTES {
            return Err(PieceError::TooLarge {
                found: self.kept_bytes,
                most: KEPT_MAX_BYTES,
            });
        }
        Ok(())
    }

    pub(crate) fn end(self) -> Result<(), PieceError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(PieceError::Malformed(
                "bytes follow after its end".to_owned(),
            ))
        }
    }
}

/// Bytes of an entry of a map: its nodes are at least half full.
pub(crate) const fn entry_bytes<K, V>() -> usize {
    2 * size_of::<(K, V)>()
}

/// Bytes of a map, without what its entries point to.
pub(crate) fn map_bytes<K, V>(map: &BTreeMap<K, V>) -> usize {
    map.len() * entry_bytes::<K, V>()
}
