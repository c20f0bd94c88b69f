//! Where in a response a parser is.

use super::chunk::Chunk;

/// What the next bytes belong to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseState {
    #[default]
    Head,
    /// So many bytes of the body are still to come.
    Length(u64),
    Chunked(Chunk),
    /// The end of the connection ends the body.
    UntilEof,
    Whole,
}
