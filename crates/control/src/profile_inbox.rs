//! Receives a CPU profile from a monitor: each part once, in order, and no more than fits.

use crate::taken_numbers::TakenNumbers;
use proto::ProfilePart;

/// Largest content of one part.
const PART_MAX_BYTES: usize = 32 << 10;

/// Most parts of one profile, so that a monitor brings at most 4 MiB in a run.
pub(crate) const PROFILE_PARTS_MAX: u32 = 128;

/// What has arrived of one monitor's profile in one run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ProfileInbox {
    /// Whether a profile was announced.
    is_announced: bool,
    /// Number of parts, as the first part says; 0 before it.
    parts: u32,
    taken: TakenNumbers,
}

/// What to do about a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartStep {
    /// Store it.
    Store,
    /// It is stored: acknowledge it again.
    Acknowledge,
    /// It is an announcement, is waiting to be stored, or cannot be accepted.
    Ignore,
}

impl ProfileInbox {
    pub(crate) fn take(&mut self, part: &ProfilePart) -> PartStep {
        if part.parts == 0 {
            self.is_announced = true;
            return PartStep::Ignore;
        }
        if self.taken.is_stored(part.part) {
            return PartStep::Acknowledge;
        }
        let is_new = part.part == self.taken.next() && part.part < part.parts;
        let is_of_it = self.parts == 0 || self.parts == part.parts;
        let fits = part.parts <= PROFILE_PARTS_MAX && part.content.len() <= PART_MAX_BYTES;
        if !(is_new && is_of_it && fits) {
            return PartStep::Ignore;
        }
        self.parts = part.parts;
        self.taken.take(part.part);
        PartStep::Store
    }

    /// Notes that a part is in the record.
    pub(crate) fn note_stored(&mut self, part: u32, parts: u32) {
        self.parts = parts;
        self.taken.note_stored(part);
    }

    /// Whether more of the profile is to come.
    pub(crate) fn is_owed(&self) -> bool {
        match self.parts {
            0 => self.is_announced,
            parts => !self.taken.is_stored(parts - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::Bytes;

    fn part(part: u32, parts: u32, bytes: usize) -> ProfilePart {
        ProfilePart {
            run_id: Bytes::new(),
            part,
            parts,
            content: vec![0; bytes].into(),
        }
    }

    #[test]
    fn parts_are_taken_once_and_in_order_and_acknowledged_again() {
        let mut inbox = ProfileInbox::default();
        assert!(!inbox.is_owed());
        assert_eq!(inbox.take(&part(0, 0, 0)), PartStep::Ignore);
        assert!(inbox.is_owed(), "it is announced");
        assert_eq!(inbox.take(&part(0, 2, 1)), PartStep::Store);
        assert_eq!(inbox.take(&part(0, 2, 1)), PartStep::Ignore, "not stored");
        inbox.note_stored(0, 2);
        assert_eq!(inbox.take(&part(0, 2, 1)), PartStep::Acknowledge);
        assert_eq!(inbox.take(&part(1, 2, 1)), PartStep::Store);
        assert!(inbox.is_owed());
        inbox.note_stored(1, 2);
        assert!(!inbox.is_owed());
        assert_eq!(inbox.take(&part(2, 3, 1)), PartStep::Ignore, "it is whole");
    }

    #[test]
    fn nothing_hostile_is_taken() {
        for (first, then) in [
            (part(1, 2, 1), None),
            (part(0, PROFILE_PARTS_MAX + 1, 1), None),
            (part(0, 2, PART_MAX_BYTES + 1), None),
            (part(u32::MAX, u32::MAX, 1), None),
            (part(0, 2, 1), Some(part(1, 3, 1))),
            (part(0, 3, 1), Some(part(2, 3, 1))),
        ] {
            let mut inbox = ProfileInbox::default();
            let steps = [Some(first), then].map(|part| part.map(|part| inbox.take(&part)));
            let last = steps.into_iter().flatten().last();
            assert_eq!(last, Some(PartStep::Ignore));
        }
    }
}
