//! A place for one operation, and how it waits while it has none.

use crate::live_operation::LiveOperation;

/// A seat's place for one operation.
#[derive(Default)]
pub(crate) enum Slot {
    /// No operation; the end of a pause or an arrival can begin the next one.
    #[default]
    Free,
    /// No operation: the next one begins once the seat's connection can take it.
    Parked,
    /// An operation is under way. On a draining seat of a closed loop it belongs to the slot
    /// `home`, whose user waits for it.
    Busy {
        operation: LiveOperation,
        home: Option<u32>,
    },
    /// On a draining seat: the operation of the slot `home` has ended, and its user has not
    /// continued yet.
    Over { home: u32 },
    /// The operation continues on another seat, and the user or the arrivals wait for it.
    Away,
}

impl Slot {
    /// Begins an operation.
    #[inline]
    pub(crate) fn begin(&mut self, operation: LiveOperation) {
        *self = Slot::Busy {
            operation,
            home: None,
        };
    }

    /// Takes the operation out, because it ends or moves to another slot.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<LiveOperation> {
        let Slot::Busy { operation, home } = self else {
            return None;
        };
        let (operation, home) = (*operation, *home);
        *self = home.map_or(Slot::Free, |home| Slot::Over { home });
        Some(operation)
    }

    /// Makes the next operation wait for the seat's connection.
    pub(crate) fn park(&mut self) {
        if matches!(self, Slot::Free) {
            *self = Slot::Parked;
        }
    }

    /// Ends such a wait. Returns whether there was one.
    pub(crate) fn unpark(&mut self) -> bool {
        let was_parked = matches!(self, Slot::Parked);
        if was_parked {
            *self = Slot::Free;
        }
        was_parked
    }

    #[inline]
    pub(crate) fn operation(&self) -> Option<&LiveOperation> {
        match self {
            Slot::Busy { operation, .. } => Some(operation),
            Slot::Free | Slot::Parked | Slot::Over { .. } | Slot::Away => None,
        }
    }

    #[inline]
    pub(crate) fn operation_mut(&mut self) -> Option<&mut LiveOperation> {
        match self {
            Slot::Busy { operation, .. } => Some(operation),
            Slot::Free | Slot::Parked | Slot::Over { .. } | Slot::Away => None,
        }
    }
}
