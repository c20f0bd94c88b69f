//! How far a connection's TLS has come with its input, or why it cannot go on.

use measure::Kind;

/// How far what came was processed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Advance {
    /// Bytes of the input that are done with; the rest must come again, first, with more behind it.
    pub(crate) consumed: usize,
    /// The peer has sent close_notify.
    pub(crate) closed: bool,
}

/// TLS cannot go on; an alert may wait in the output.
#[derive(Debug)]
pub(crate) struct Broken(pub(crate) Kind);
