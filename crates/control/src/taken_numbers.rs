//! Which numbers of one sender are taken: in order, and each once.

/// What was taken, and what of that is stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TakenNumbers {
    next: u32,
    stored_below: u32,
}

impl TakenNumbers {
    /// The first that was not taken.
    pub(crate) fn next(self) -> u32 {
        self.next
    }

    /// It is passed on, and acknowledged once it is stored.
    pub(crate) fn take(&mut self, number: u32) {
        self.next = self.next.max(number.saturating_add(1));
    }

    /// It is in the record.
    pub(crate) fn stored(&mut self, number: u32) {
        self.take(number);
        self.stored_below = self.stored_below.max(number.saturating_add(1));
    }

    /// Whether it needs an acknowledgement once more: a cut stream may have lost the first.
    pub(crate) fn is_stored(self, number: u32) -> bool {
        number < self.stored_below
    }
}
