//! Limits the frames without content that a peer may send (RFC 9113 §10.5).

/// Such frames per second, beyond those that accompany answers and bodies. Reading them takes about
/// a millisecond.
const MOST: u32 = 10_000;
/// Such frames that may accompany an answer, or a frame of a body in either direction: two windows
/// are renewed, a ping measures how fast it came.
const EARNED: u32 = 8;
const SECOND: u64 = 1_000_000_000;

/// How much of its budget a peer has used.
#[derive(Debug, Default)]
pub(super) struct FrameBudget {
    spent: u32,
    /// When the second began.
    since: u64,
}

impl FrameBudget {
    /// Notes that something arrived at `at`, in nanoseconds.
    #[inline]
    pub(super) fn note_time(&mut self, at: u64) {
        if self.spent > 0 && at.saturating_sub(self.since) >= SECOND {
            self.spent = 0;
        }
        if self.spent == 0 {
            self.since = at;
        }
    }

    /// Notes that an answer or a body has made progress.
    #[inline]
    pub(super) fn earn(&mut self) {
        self.spent = self.spent.saturating_sub(EARNED);
    }

    /// Counts `frames` frames without content. Returns whether that is too much.
    pub(super) fn spend(&mut self, frames: u32) -> bool {
        self.spent = self.spent.saturating_add(frames);
        self.spent > MOST
    }
}
