//! Templates of requests: pieces of fixed bytes and placeholders. Knows nothing of HTTP, nor of
//! where the text of a placeholder comes from.

use crate::values::{ColumnSource, Placeholder, Values};
use plan::{Piece, RowSources, Template};
use std::sync::Arc;

/// A piece of a request.
#[derive(Debug, Clone)]
pub(crate) enum Fill {
    Bytes(Vec<u8>),
    /// A file of the plan, shared by all workers.
    Shared(Arc<[u8]>),
    Value(Placeholder),
}

impl Fill {
    /// The piece, if it is the same for every operation.
    fn constant(&self) -> Option<&[u8]> {
        match self {
            Fill::Bytes(bytes) => Some(bytes),
            Fill::Shared(bytes) => Some(bytes),
            Fill::Value(_) => None,
        }
    }

    pub(crate) fn fill(&self, values: &Values, out: &mut Vec<u8>) {
        match self {
            Fill::Bytes(bytes) => out.extend_from_slice(bytes),
            Fill::Shared(bytes) => out.extend_from_slice(bytes),
            Fill::Value(placeholder) => placeholder.put(values, out),
        }
    }

    /// Appends at most `most` bytes of the piece, starting at its byte `from`, to `out`.
    pub(crate) fn fill_part(&self, values: &Values, from: usize, most: usize, out: &mut Vec<u8>) {
        let part = |bytes: &[u8], out: &mut Vec<u8>| {
            out.extend_from_slice(&bytes[from..bytes.len().min(from.saturating_add(most))])
        };
        match self {
            Fill::Bytes(bytes) => part(bytes, out),
            Fill::Shared(bytes) => part(bytes, out),
            Fill::Value(placeholder) => placeholder.put_part(values, from, most, out),
        }
    }

    pub(crate) fn length(&self, values: &Values) -> usize {
        match self {
            Fill::Bytes(bytes) => bytes.len(),
            Fill::Shared(bytes) => bytes.len(),
            Fill::Value(placeholder) => placeholder.length(values),
        }
    }
}

/// Returns the pieces' bytes, if they are the same for every operation and `most` at most.
pub(crate) fn constant(pieces: &[Fill], most: usize) -> Option<Vec<u8>> {
    let constants: Option<Vec<&[u8]>> = pieces.iter().map(Fill::constant).collect();
    let constants = constants?;
    let length: usize = constants.iter().map(|bytes| bytes.len()).sum();
    (length <= most).then(|| constants.concat())
}

pub(crate) fn literal(pieces: &mut Vec<Fill>, bytes: &[u8]) {
    match pieces.last_mut() {
        Some(Fill::Bytes(before)) => before.extend_from_slice(bytes),
        _ => pieces.push(Fill::Bytes(bytes.to_vec())),
    }
}

/// Appends `template`; `rows` has a source for each data file of its plan.
pub(crate) fn template(pieces: &mut Vec<Fill>, template: &Template, rows: &RowSources) {
    for piece in &template.pieces {
        match piece {
            Piece::Literal(text) => literal(pieces, text.as_bytes()),
            Piece::User => pieces.push(Fill::Value(Placeholder::User)),
            Piece::Seq => pieces.push(Fill::Value(Placeholder::Seq)),
            Piece::Random => pieces.push(Fill::Value(Placeholder::Random)),
            Piece::Column(column) => {
                let source = ColumnSource::new(column, rows);
                pieces.push(Fill::Value(Placeholder::Column(Arc::new(source))));
            }
            Piece::Secret { value, escape, .. } => {
                let mut text = Vec::new();
                escape.put(value.reveal().as_bytes(), &mut text);
                literal(pieces, &text);
            }
        }
    }
}
