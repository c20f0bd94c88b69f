//! The measured part on the run clock: what rates are counted between.

/// The measured part, nanoseconds of the run clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    from: u64,
    middle: u64,
    until: u64,
}

impl Window {
    /// The billionths of a whole operation.
    pub const WHOLE: u64 = 1_000_000_000;

    /// All time: of a run without a warm-up that has no end of its own.
    pub const ALWAYS: Window = Window {
        from: 0,
        middle: u64::MAX,
        until: u64::MAX,
    };

    /// From one instant until another. Where the end is not known before it comes (`u64::MAX`),
    /// there are no halves.
    #[must_use]
    pub fn new(from: u64, until: u64) -> Window {
        let until = until.max(from);
        let middle = if until == u64::MAX {
            u64::MAX
        } else {
            from + (until - from) / 2
        };
        Window {
            from,
            middle,
            until,
        }
    }

    /// The first instant of it.
    #[must_use]
    pub fn from(self) -> u64 {
        self.from
    }

    /// The last instant of it; `u64::MAX` where that is not known before it comes.
    #[must_use]
    pub fn until(self) -> u64 {
        self.until
    }

    /// Ends it at `at`. Returns whether it would have gone on.
    pub(crate) fn close(&mut self, at: u64) -> bool {
        let goes_on = at < self.until;
        self.until = self.until.min(at.max(self.from));
        goes_on
    }

    /// Whether `instant` lies in it. The end belongs to it: an answer may come at the very instant.
    #[inline]
    #[must_use]
    pub fn contains(self, instant: u64) -> bool {
        self.from <= instant && instant <= self.until
    }

    /// Whether some of the time from `begin` to `end` lies in it, an instant of it at least.
    #[inline]
    pub(crate) fn meets(self, begin: u64, end: u64) -> bool {
        begin <= self.until && self.from <= end
    }

    /// How much of the time from `begin` to `end` lies in it, in billionths.
    pub(crate) fn part_of(self, begin: u64, end: u64) -> u64 {
        let inside = end.min(self.until).saturating_sub(begin.max(self.from));
        let whole = u128::from(end.saturating_sub(begin).max(1));
        (u128::from(inside) * u128::from(Window::WHOLE) / whole) as u64
    }

    /// Whether an instant that lies in it lies in its second half.
    #[inline]
    pub(crate) fn is_late(self, instant: u64) -> bool {
        instant >= self.middle
    }
}
