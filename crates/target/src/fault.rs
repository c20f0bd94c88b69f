//! What can be made to go wrong, and how a connection then ends.

use crate::BadFraming;

/// What goes wrong with a connection before any request is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConnectionFault {
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
pub enum Fault {
    /// The answer stops before its end.
    Stop {
        /// Where it stops.
        at: Place,
        /// How the connection ends there.
        then: Ending,
    },
    /// Head or framing breaks RFC 9112; the connection then stays open, until the client gives up.
    BadFraming(BadFraming),
    /// These bytes in place of an answer.
    Raw {
        /// Sent as they are.
        bytes: Vec<u8>,
        /// How the connection ends after them.
        then: Ending,
    },
}

impl Fault {
    /// The request is read, and never answered.
    #[must_use]
    pub fn never_answers() -> Fault {
        Fault::Stop {
            at: Place::BeforeHead,
            then: Ending::Hang,
        }
    }
}

/// A place in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Before its first byte.
    BeforeHead,
    /// Half way through the head.
    InHead,
    /// Half way through the body.
    InBody,
}

/// How the target ends a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// close_notify where there is TLS, then FIN.
    Orderly,
    /// FIN without close_notify: over TLS a truncation (RFC 8446 §6.1). The same as `Orderly`
    /// without TLS.
    Truncate,
    /// RST.
    Reset,
    /// Not at all: open and silent until the client gives up.
    Hang,
}
