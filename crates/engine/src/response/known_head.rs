//! The latest head on a connection, recognised without parsing it.

use super::state::ResponseState;

/// Largest head that is kept, which bounds the memory per connection.
const MAX_KNOWN: usize = 2048;

/// A head that was parsed before, and its meaning: servers send the same head to every request,
/// except for the date, which changes once a second.
///
/// Without it an HTTP keep-alive request costs 1.40 times the instructions, an HTTPS one 1.20 times
/// (`benches/README.md`).
#[derive(Debug, Default)]
pub(super) struct KnownHead {
    /// Empty before the second response on a connection, since the first may be its last.
    pub(super) bytes: Vec<u8>,
    /// Whether it answers a HEAD request, so that no body follows.
    head_only: bool,
    meaning: HeadMeaning,
    /// Whether a response has come before.
    has_come: bool,
}

/// The meaning of a head for its response and the connection.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct HeadMeaning {
    pub(super) status: Option<u16>,
    pub(super) keep_alive: bool,
    pub(super) state: ResponseState,
}

impl KnownHead {
    /// The meaning of `bytes` if they begin with exactly this head.
    pub(super) fn recognise(&self, bytes: &[u8], head_only: bool) -> Option<HeadMeaning> {
        let is_known =
            !self.bytes.is_empty() && self.head_only == head_only && bytes.starts_with(&self.bytes);
        is_known.then_some(self.meaning)
    }

    /// Keeps a parsed head, from the second one of a connection on.
    pub(super) fn remember(&mut self, head: &[u8], head_only: bool, meaning: HeadMeaning) {
        // An interim head; its final answer follows.
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
