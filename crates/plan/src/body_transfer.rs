//! How the body of a request goes out: in which frames, and whether it waits for leave.

use std::time::Duration;

/// How a request's body is sent; by default with its length, at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BodyTransfer {
    /// Bytes of content in each chunk (RFC 9112 §7.1); the last one may have fewer. `None` if the
    /// head says the length. HTTP/2 has no chunks, and sends such a body without its length.
    pub chunk_bytes: Option<u32>,
    /// How long it waits for the server's `100 Continue` (RFC 9110 §10.1.1); `None` if it does not.
    pub continue_within: Option<Duration>,
}
