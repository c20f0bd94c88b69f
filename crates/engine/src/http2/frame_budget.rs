//! How many frames that carry no answer on a peer may send (RFC 9113 §10.5).

/// Such frames in a second, beyond those that go with answers and bodies. Reading them takes about
/// a millisecond.
const MOST: u32 = 10_000;
/// Such frames that go with an answer, or a frame of a body in either direction: two windows are
/// opened again, a ping measures how fast it came.
const EARNED: u32 = 8;
const SECOND: u64 = 1_000_000_000;

/// What a peer has left of them.
#[derive(Debug, Default)]
pub(super) struct FrameBudget {
    spent: u32,
    /// When the second began.
    since: u64,
}

impl FrameBudget {
    /// Something came at `at`, nanoseconds.
    #[inline]
    pub(super) fn note_time(&mut self, at: u64) {
        if self.spent > 0 && at.saturating_sub(self.since) >= SECOND {
            self.spent = 0;
        }
        if self.spent == 0 {
            self.since = at;
        }
    }

    /// An answer or a body goes on.
    #[inline]
    pub(super) fn earn(&mut self) {
        self.spent = self.spent.saturating_sub(EARNED);
    }

    /// So many frames came that carry nothing on; whether that is too much.
    pub(super) fn spend(&mut self, frames: u32) -> bool {
        self.spent = self.spent.saturating_add(frames);
        self.spent > MOST
    }
}
