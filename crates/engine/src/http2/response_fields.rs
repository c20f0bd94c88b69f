//! All fields of a response's header block taken together.

use super::field::{FieldMeaning, HeaderField};
use crate::response::MAX_HEAD;
use measure::{HttpViolation, Kind};

/// The relevant content of a header block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ResponseFields {
    pub(super) status: Option<u16>,
    pub(super) content_length: Option<u64>,
    /// The first rule that they break.
    violation: Option<HttpViolation>,
    /// Size of the list (RFC 9113 §6.5.2).
    bytes: usize,
    /// Whether a field other than a pseudo-field has come.
    has_regular: bool,
}

impl ResponseFields {
    pub(super) fn take(&mut self, field: HeaderField) {
        self.bytes = self.bytes.saturating_add(field.size());
        match field.meaning {
            FieldMeaning::Other => self.has_regular = true,
            FieldMeaning::Status(status) => self.take_status(status),
            FieldMeaning::ContentLength(length) => {
                self.has_regular = true;
                let before = self.content_length.replace(length);
                if before.is_some_and(|before| before != length) {
                    self.refuse(HttpViolation::ContentLength);
                }
            }
            FieldMeaning::Broken(rule) => self.refuse(rule),
        }
    }

    fn take_status(&mut self, status: u16) {
        if self.has_regular {
            self.refuse(HttpViolation::PseudoField);
        }
        if self.status.replace(status).is_some() {
            self.refuse(HttpViolation::Status);
        }
    }

    fn refuse(&mut self, rule: HttpViolation) {
        self.violation.get_or_insert(rule);
    }

    /// Why the response is malformed, or too large; `None` if it is neither.
    pub(super) fn fault(&self) -> Option<Kind> {
        if self.bytes > MAX_HEAD {
            return Some(Kind::HeadTooLarge);
        }
        self.violation.map(Kind::Violation)
    }
}
