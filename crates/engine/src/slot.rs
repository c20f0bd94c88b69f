//! Room for one operation, and how it waits while there is none.

use crate::live_operation::LiveOperation;

/// Room for one operation of a seat.
#[derive(Default)]
pub(crate) enum Slot {
    /// No operation: a pause's end, an arrival or nothing begins the next one.
    #[default]
    Free,
    /// No operation: the next one begins once the seat's connection can take it.
    Parked,
    /// An operation is under way; on a draining seat of a closed loop it is that of the slot
    /// `home`, whose user waits for it.
    Busy {
        operation: LiveOperation,
        home: Option<u32>,
    },
    /// On a draining seat: the operation of the slot `home` has ended, and its user has not gone on
    /// yet.
    Over { home: u32 },
    /// Closed loop: the operation goes on at a draining seat, and the user waits for it.
    Away,
}

impl Slot {
    /// An operation begins.
    #[inline]
    pub(crate) fn begin(&mut self, operation: LiveOperation) {
        *self = Slot::Busy {
            operation,
            home: None,
        };
    }

    /// Takes the operation out: it ends, or moves to another slot.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<LiveOperation> {
        let Slot::Busy { operation, home } = self else {
            return None;
        };
        let (operation, home) = (*operation, *home);
        *self = home.map_or(Slot::Free, |home| Slot::Over { home });
        Some(operation)
    }

    /// The next operation waits for the seat's connection.
    pub(crate) fn park(&mut self) {
        if matches!(self, Slot::Free) {
            *self = Slot::Parked;
        }
    }

    /// Ends such a wait; whether there was one.
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
