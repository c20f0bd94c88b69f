//! The position of a parser within a response.

use super::chunk::Chunk;

/// The part of the response that the next bytes belong to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseState {
    #[default]
    Head,
    /// This many bytes of the body are still to come.
    Length(u64),
    Chunked(Chunk),
    /// The end of the connection ends the body.
    UntilEof,
    Whole,
}
