//! Sends a CPU profile to the coordinator: first its announcement, then its parts.

use crate::RunId;
use crate::one_by_one::OneByOne;
use crate::profile_inbox::PROFILE_PARTS_MAX;
use proto::{Bytes, ProfilePart};

/// Content of one part: four seconds of a link of 64 kbit/s.
const PART_BYTES: usize = 32 << 10;

/// Largest profile that can be sent.
pub const PROFILE_MAX_BYTES: usize = PART_BYTES * PROFILE_PARTS_MAX as usize;

/// The profile of one run.
#[derive(Debug)]
pub(crate) struct ProfileOutbox {
    run: RunId,
    state: OutboxState,
}

#[derive(Debug)]
enum OutboxState {
    /// The profile is being taken. `is_said` says whether this was announced on this stream.
    Taking { is_said: bool },
    /// The profile was taken, and has `parts` parts.
    Taken { parts: u32, left: OneByOne },
}

impl ProfileOutbox {
    /// Creates the outbox of a profile that is being taken.
    pub(crate) fn new(run: RunId) -> ProfileOutbox {
        let state = OutboxState::Taking { is_said: false };
        ProfileOutbox { run, state }
    }

    pub(crate) fn run(&self) -> RunId {
        self.run
    }

    /// Cuts the finished profile into parts.
    pub(crate) fn cut(&mut self, encoded: &Bytes) {
        let mut left = OneByOne::default();
        let parts = encoded.len().div_ceil(PART_BYTES) as u32;
        for part in 0..parts {
            let from = part as usize * PART_BYTES;
            let to = encoded.len().min(from + PART_BYTES);
            left.add(part, encoded.slice(from..to), PROFILE_PARTS_MAX as usize);
        }
        self.state = OutboxState::Taken { parts, left };
    }

    /// The next message to send, if any.
    pub(crate) fn next(&mut self) -> Option<ProfilePart> {
        let (parts, (part, content)) = match &mut self.state {
            OutboxState::Taking { is_said: true } => return None,
            OutboxState::Taking { is_said } => {
                *is_said = true;
                (0, (0, Bytes::new()))
            }
            OutboxState::Taken { parts, left } => (*parts, left.next()?),
        };
        Some(ProfilePart {
            run_id: self.run.to_wire(),
            part,
            parts,
            content,
        })
    }

    /// Notes that a part is stored.
    pub(crate) fn note_stored(&mut self, part: u32) {
        if let OutboxState::Taken { left, .. } = &mut self.state {
            left.note_stored(part);
        }
    }

    /// Starts over on another stream: what was under way may not have arrived.
    pub(crate) fn rewind(&mut self) {
        match &mut self.state {
            OutboxState::Taking { is_said } => *is_said = false,
            OutboxState::Taken { left, .. } => left.rewind(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profile_is_announced_on_each_stream_and_then_goes_in_parts() {
        let mut outbox = ProfileOutbox::new(RunId([1; 16]));
        let next = |outbox: &mut ProfileOutbox| {
            let part = outbox.next()?;
            Some((part.part, part.parts, part.content.len()))
        };
        assert_eq!(next(&mut outbox), Some((0, 0, 0)));
        assert_eq!(next(&mut outbox), None);
        outbox.rewind();
        assert_eq!(next(&mut outbox), Some((0, 0, 0)), "on another stream");
        outbox.cut(&Bytes::from(vec![7; PART_BYTES + 1]));
        assert_eq!(next(&mut outbox), Some((0, 2, PART_BYTES)));
        assert_eq!(next(&mut outbox), None, "one at a time");
        outbox.rewind();
        assert_eq!(next(&mut outbox), Some((0, 2, PART_BYTES)));
        outbox.note_stored(0);
        assert_eq!(next(&mut outbox), Some((1, 2, 1)));
        outbox.note_stored(1);
        assert_eq!(next(&mut outbox), None);
    }
}
