//! Whether a request's body may be sent that waits for the server's leave (RFC 9110 §10.1.1).

/// How the wait of a body stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum BodyLeave {
    /// It does not wait, or no longer.
    #[default]
    NotNeeded,
    /// Nothing has come yet.
    Awaited,
    /// `100 Continue` has come.
    Given,
    /// The answer has come instead: the body will not be sent.
    Refused,
}

impl BodyLeave {
    /// Takes the status of an interim answer.
    pub(super) fn take_interim(&mut self, status: u16) {
        if status == 100 && *self == BodyLeave::Awaited {
            *self = BodyLeave::Given;
        }
    }

    /// Takes the beginning of the answer.
    pub(super) fn take_answer(&mut self) {
        if *self == BodyLeave::Awaited {
            *self = BodyLeave::Refused;
        }
    }

    /// Whether the body must not be sent now.
    pub(crate) fn is_missing(self) -> bool {
        matches!(self, BodyLeave::Awaited | BodyLeave::Refused)
    }

    /// Whether leave was given just now. That can be asked once.
    pub(crate) fn take_given(&mut self) -> bool {
        let is_given = *self == BodyLeave::Given;
        if is_given {
            *self = BodyLeave::NotNeeded;
        }
        is_given
    }

    /// Stops waiting. Returns whether the body waited.
    pub(crate) fn give_up(&mut self) -> bool {
        let is_awaited = *self == BodyLeave::Awaited;
        if is_awaited {
            *self = BodyLeave::NotNeeded;
        }
        is_awaited
    }
}
