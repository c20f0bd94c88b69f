//! What can be made to go wrong, and how a connection then ends.

use crate::BadFraming;

/// What goes wrong with a connection before any request is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpeningFault {
    /// A reset once the client's first bytes (its ClientHello) are here.
    Reset,
    /// An orderly end once the client's first bytes are here.
    Close,
    /// Bytes that are neither TLS nor HTTP in answer to the client's first, then an orderly end.
    Garbage,
    /// Nothing, until the client gives up.
    Silence,
}

/// What is wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetFault {
    /// The answer stops before its end.
    Stop {
        /// Where it stops.
        at: FaultPlace,
        /// How the connection ends there.
        then: ConnectionEnd,
    },
    /// Head or framing breaks RFC 9112; the connection then stays open, until the client gives up.
    BadFraming(BadFraming),
    /// These bytes in place of an answer.
    Raw {
        /// Sent as they are.
        bytes: Vec<u8>,
        /// How the connection ends after them.
        then: ConnectionEnd,
    },
}

impl TargetFault {
    /// The request is read, and never answered.
    #[must_use]
    pub fn never_answers() -> TargetFault {
        TargetFault::Stop {
            at: FaultPlace::BeforeHead,
            then: ConnectionEnd::Hang,
        }
    }
}

/// A place in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultPlace {
    /// Before its first byte.
    BeforeHead,
    /// Half way through the head.
    InHead,
    /// Half way through the body.
    InBody,
}

/// How the target ends a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConnectionEnd {
    /// close_notify where there is TLS, then FIN.
    Orderly,
    /// FIN without close_notify: over TLS a truncation (RFC 8446 §6.1). The same as `Orderly`
    /// without TLS.
    Truncate,
    /// By a reset (RST), which drops what is on its way.
    Reset,
    /// Not at all: open and silent until the client gives up.
    Hang,
}
