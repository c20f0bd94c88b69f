//! Which numbers of one sender are taken: in order, and each once.

/// What was taken, and how much of that is stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TakenNumbers {
    next: u32,
    stored_below: u32,
}

impl TakenNumbers {
    /// The first number that was not taken.
    pub(crate) fn next(self) -> u32 {
        self.next
    }

    /// Notes that a number was passed on. It is acknowledged once it is stored.
    pub(crate) fn take(&mut self, number: u32) {
        self.next = self.next.max(number.saturating_add(1));
    }

    /// Notes that a number is in the record.
    pub(crate) fn note_stored(&mut self, number: u32) {
        self.take(number);
        self.stored_below = self.stored_below.max(number.saturating_add(1));
    }

    /// Whether it must be acknowledged again, because a cut stream may have lost the first time.
    pub(crate) fn is_stored(self, number: u32) -> bool {
        number < self.stored_below
    }
}
