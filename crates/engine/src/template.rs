//! Templates of requests: pieces of bytes and placeholders, and the values that an operation fills
//! in. Knows nothing of HTTP.

use plan::{Piece, Template};
use std::sync::Arc;

/// A piece of a request.
#[derive(Debug, Clone)]
pub(crate) enum Fill {
    Bytes(Vec<u8>),
    /// A file of the plan, shared by all workers.
    Shared(Arc<[u8]>),
    User,
    Seq,
    Random,
}

/// The values of placeholders in one operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Values {
    pub(crate) user: u64,
    pub(crate) seq: u64,
    pub(crate) random: u64,
}

impl Fill {
    /// Whether the piece is the same for every operation.
    pub(crate) fn is_fixed(&self) -> bool {
        matches!(self, Fill::Bytes(_) | Fill::Shared(_))
    }

    pub(crate) fn fill(&self, values: Values, out: &mut Vec<u8>) {
        use std::io::Write as _;
        let _ = match self {
            Fill::Bytes(bytes) => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            Fill::Shared(bytes) => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            Fill::User => write!(out, "{}", values.user),
            Fill::Seq => write!(out, "{}", values.seq),
            Fill::Random => write!(out, "{:016x}", values.random),
        };
    }

    /// Appends at most `most` bytes of the piece, starting at its byte `from`, to `out`.
    pub(crate) fn fill_part(&self, values: Values, from: usize, most: usize, out: &mut Vec<u8>) {
        let part = |bytes: &[u8], out: &mut Vec<u8>| {
            out.extend_from_slice(&bytes[from..bytes.len().min(from.saturating_add(most))])
        };
        match self {
            Fill::Bytes(bytes) => part(bytes, out),
            Fill::Shared(bytes) => part(bytes, out),
            Fill::User | Fill::Seq | Fill::Random => {
                // Written whole and then cut: 20 bytes at most.
                let before = out.len();
                self.fill(values, out);
                out.truncate(before + from.saturating_add(most));
                out.drain(before..out.len().min(before + from));
            }
        }
    }

    pub(crate) fn length(&self, values: Values) -> usize {
        match self {
            Fill::Bytes(bytes) => bytes.len(),
            Fill::Shared(bytes) => bytes.len(),
            Fill::User => digits(values.user),
            Fill::Seq => digits(values.seq),
            Fill::Random => 16,
        }
    }
}

pub(crate) fn digits(number: u64) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

pub(crate) fn literal(pieces: &mut Vec<Fill>, bytes: &[u8]) {
    match pieces.last_mut() {
        Some(Fill::Bytes(before)) => before.extend_from_slice(bytes),
        _ => pieces.push(Fill::Bytes(bytes.to_vec())),
    }
}

pub(crate) fn template(pieces: &mut Vec<Fill>, template: &Template) {
    for piece in &template.pieces {
        match piece {
            Piece::Literal(text) => literal(pieces, text.as_bytes()),
            Piece::User => pieces.push(Fill::User),
            Piece::Seq => pieces.push(Fill::Seq),
            Piece::Random => pieces.push(Fill::Random),
            Piece::Secret { value, .. } => literal(pieces, value.reveal().as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_counts_decimal_places() {
        assert_eq!(
            [0, 9, 10, 99, 100, u64::MAX].map(digits),
            [1, 1, 2, 2, 3, 20]
        );
    }
}
