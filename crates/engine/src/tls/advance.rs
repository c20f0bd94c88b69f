//! The outcome of processing a connection's TLS input.

use measure::Kind;

/// How far the input was processed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Advance {
    /// Bytes of the input that are finished with; the rest must be passed again, followed by more.
    pub(crate) consumed: usize,
    /// The peer has sent close_notify.
    pub(crate) closed: bool,
}

/// TLS cannot continue; an alert may be waiting in the output.
#[derive(Debug)]
pub(crate) struct Broken(pub(crate) Kind);
