//! Why a response cannot be read.

use Unreadable::{BadFraming, InterimFlood, TooLarge};
use measure::{HttpViolation, Kind};

/// Why a response cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// The head or the framing breaks RFC 9112.
    BadFraming,
    /// It may be valid, but exceeds one of our limits on the head, its fields, or a line between
    /// chunks.
    TooLarge,
    /// Interim answers without end.
    InterimFlood,
}

impl Unreadable {
    pub(crate) fn kind(self) -> Kind {
        match self {
            BadFraming => Kind::BadFraming,
            TooLarge => Kind::HeadTooLarge,
            InterimFlood => Kind::Violation(HttpViolation::InterimFlood),
        }
    }
}
