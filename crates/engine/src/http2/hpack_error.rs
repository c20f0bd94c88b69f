//! Why a header block cannot be read.

/// The block breaks RFC 7541, or uses a larger dynamic table than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BadBlock;
