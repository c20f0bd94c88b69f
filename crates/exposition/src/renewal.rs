//! Something that is made again and again from what changes, such as a saved result.

use std::time::{Duration, Instant};

/// When something was made last, and whether it is up to date.
#[derive(Debug)]
pub struct Renewal {
    made: Instant,
    took: Duration,
    is_current: bool,
}

impl Renewal {
    /// Not made yet.
    #[must_use]
    pub fn outstanding() -> Renewal {
        Renewal {
            made: Instant::now(),
            took: Duration::ZERO,
            is_current: false,
        }
    }

    /// Notes that it was made just now; making it began at `begun`.
    pub fn renew(&mut self, begun: Instant) {
        let made = Instant::now();
        *self = Renewal {
            made,
            took: made.saturating_duration_since(begun),
            is_current: true,
        };
    }

    /// Notes that it is no longer up to date.
    pub fn outdate(&mut self) {
        self.is_current = false;
    }

    /// When it was made last.
    #[must_use]
    pub fn made(&self) -> Instant {
        self.made
    }

    /// How long it took to make.
    #[must_use]
    pub fn took(&self) -> Duration {
        self.took
    }

    /// When to make it again: `pause` after the last time; `None` if it is up to date.
    #[must_use]
    pub fn due_after(&self, pause: Duration) -> Option<Instant> {
        (!self.is_current).then(|| self.made + pause)
    }
}
