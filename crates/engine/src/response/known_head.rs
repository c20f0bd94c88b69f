//! The head that came last on a connection, recognised without being parsed.

use super::state::ResponseState;

/// Largest head that is kept: a connection holds as much of it.
const MAX_KNOWN: usize = 2048;

/// A head that was parsed before, and what it meant: a server says the same to every request, but
/// for the date once a second.
///
/// Without it an HTTP keep-alive request costs 1.40 times the instructions, an HTTPS one 1.20 times
/// (`benches/README.md`).
#[derive(Debug, Default)]
pub(super) struct KnownHead {
    /// Empty before the second response of a connection: the first one may be its last.
    pub(super) bytes: Vec<u8>,
    /// Of the answer to a HEAD request, which has no body.
    head_only: bool,
    meaning: HeadMeaning,
    /// A response has come before.
    has_come: bool,
}

/// What a head means for its response and the connection.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct HeadMeaning {
    pub(super) status: Option<u16>,
    pub(super) keep_alive: bool,
    pub(super) state: ResponseState,
}

impl KnownHead {
    /// What `bytes` mean, where they begin with this head, byte by byte.
    pub(super) fn recognise(&self, bytes: &[u8], head_only: bool) -> Option<HeadMeaning> {
        let is_known =
            !self.bytes.is_empty() && self.head_only == head_only && bytes.starts_with(&self.bytes);
        is_known.then_some(self.meaning)
    }

    /// Keeps a head that has been parsed, from a connection's second one on.
    pub(super) fn remember(&mut self, head: &[u8], head_only: bool, meaning: HeadMeaning) {
        // An interim head, whose answer follows.
        if meaning.status.is_none() {
            return;
        }
        let is_first = !std::mem::replace(&mut self.has_come, true);
        if is_first || head.len() > MAX_KNOWN {
            return;
        }
        self.bytes.clear();
        self.bytes.extend_from_slice(head);
        self.head_only = head_only;
        self.meaning = meaning;
    }
}
