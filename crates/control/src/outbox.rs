//! What an agent keeps of its intervals until the coordinator has them.

use crate::RunId;
use crate::upload_id::UploadId;
use proto::{Bytes, IntervalPart, Resume};
use std::collections::VecDeque;

/// Encoded intervals that a link holds before it takes no more reports. At 64 KiB a second that is
/// an hour; an agent whose coordinator is away stops firing after a lease, so only a coordinator
/// that is far too slow comes near it.
pub const HELD_MAX_BYTES: usize = 256 << 20;

/// Largest encoded interval that travels.
pub const INTERVAL_MAX_BYTES: usize = 64 << 20;

/// Content of one part of an interval, well below what a message may hold: a beat waits behind a
/// part, and a stream that is cut loses the part that was under way.
pub const INTERVAL_PART_BYTES: usize = 64 << 10;

/// Sent but not acknowledged, above which nothing new is begun: bounds what waits at the
/// coordinator for a slow caller.
const WINDOW_BYTES: usize = 4 << 20;
const WINDOW_INTERVALS: usize = 32;

/// Intervals of one run, in order, and its totals after them.
#[derive(Debug)]
pub(crate) struct Outbox {
    run: RunId,
    held: VecDeque<Held>,
    held_bytes: usize,
    /// How many of `held`, from the front, are sent whole; the next one may be sent in part.
    sent: usize,
    next_part: usize,
    /// Of this interval (or totals) the coordinator has so many parts over earlier streams.
    in_part: Option<(UploadId, usize)>,
}

#[derive(Debug)]
struct Held {
    upload: UploadId,
    encoded: Bytes,
}

impl Outbox {
    pub(crate) fn new(run: RunId) -> Outbox {
        Outbox {
            run,
            held: VecDeque::new(),
            held_bytes: 0,
            sent: 0,
            next_part: 0,
            in_part: None,
        }
    }

    /// Keeps an interval until it is acknowledged.
    pub(crate) fn keep(&mut self, interval: u32, encoded: Bytes) {
        self.push(UploadId::Interval(interval), encoded);
    }

    /// Keeps the totals of `intervals` intervals until they are acknowledged.
    pub(crate) fn keep_totals(&mut self, intervals: u32, encoded: Bytes) {
        self.push(UploadId::Totals(intervals), encoded);
    }

    /// The next part to send, if the window has room.
    pub(crate) fn next_part(&mut self) -> Option<IntervalPart> {
        if self.next_part == 0 && !self.has_room() {
            return None;
        }
        let held = self.held.get(self.sent)?;
        let parts = held.parts();
        let came_in_part = |&mut (upload, _): &mut (UploadId, usize)| upload == held.upload;
        if let Some((_, came)) = self.in_part.take_if(came_in_part) {
            // The last part goes again at least: it is what brings the acknowledgement.
            self.next_part = came.min(parts - 1);
        }
        let from = self.next_part * INTERVAL_PART_BYTES;
        let to = held.encoded.len().min(from + INTERVAL_PART_BYTES);
        let (interval, totals) = held.upload.to_wire();
        let part = IntervalPart {
            run_id: self.run.to_wire(),
            interval,
            part: self.next_part as u32,
            parts: parts as u32,
            content: held.encoded.slice(from..to),
            totals,
        };
        self.next_part += 1;
        if self.next_part == parts {
            self.sent += 1;
            self.next_part = 0;
        }
        Some(part)
    }

    /// The coordinator has it. Acknowledgements of what is not held are late ones, and do nothing.
    pub(crate) fn acknowledge(&mut self, upload: UploadId) {
        // What was not sent on this stream cannot be acknowledged: a late answer names it.
        let mut sent = self.held.iter().take(self.sent);
        let Some(place) = sent.position(|held| held.upload == upload) else {
            return;
        };
        let held = self.held.remove(place).expect("position is within");
        self.held_bytes -= held.encoded.len();
        self.sent -= 1;
    }

    /// The stream is another one: what is held goes again, from the first that is not stored, and
    /// goes on where a part came.
    pub(crate) fn rewind(&mut self, resume: &Resume) {
        self.sent = 0;
        self.next_part = 0;
        let upload = UploadId::from_wire(resume.interval, resume.totals);
        self.in_part = (resume.parts > 0).then_some((upload, resume.parts as usize));
        // Totals are never below the mark: only their acknowledgement says that they are stored.
        self.held.retain(|held| match held.upload {
            UploadId::Interval(interval) => interval >= resume.stored_below,
            UploadId::Totals(_) => true,
        });
        self.held_bytes = self.held.iter().map(|held| held.encoded.len()).sum();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.held_bytes >= HELD_MAX_BYTES
    }

    pub(crate) fn intervals(&self) -> usize {
        let is_interval = |held: &&Held| matches!(held.upload, UploadId::Interval(_));
        self.held.iter().filter(is_interval).count()
    }

    fn push(&mut self, upload: UploadId, encoded: Bytes) {
        self.held_bytes += encoded.len();
        self.held.push_back(Held { upload, encoded });
    }

    fn has_room(&self) -> bool {
        let in_flight: usize = self
            .held
            .iter()
            .take(self.sent)
            .map(|held| held.encoded.len())
            .sum();
        self.sent < WINDOW_INTERVALS && in_flight < WINDOW_BYTES
    }
}

impl Held {
    fn parts(&self) -> usize {
        self.encoded.len().div_ceil(INTERVAL_PART_BYTES).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outbox(sizes: &[usize]) -> Outbox {
        let mut outbox = Outbox::new(RunId([1; 16]));
        for (interval, &size) in sizes.iter().enumerate() {
            outbox.keep(interval as u32, vec![0; size].into());
        }
        outbox
    }

    fn drain(outbox: &mut Outbox) -> Vec<(u32, u32, u32, usize)> {
        std::iter::from_fn(|| outbox.next_part())
            .map(|part| (part.interval, part.part, part.parts, part.content.len()))
            .collect()
    }

    #[test]
    fn intervals_are_cut_into_parts_and_an_empty_one_is_one_part() {
        let mut outbox = outbox(&[0, INTERVAL_PART_BYTES, INTERVAL_PART_BYTES + 1]);
        let expected = [
            (0, 0, 1, 0),
            (1, 0, 1, INTERVAL_PART_BYTES),
            (2, 0, 2, INTERVAL_PART_BYTES),
            (2, 1, 2, 1),
        ];
        assert_eq!(drain(&mut outbox), expected);
    }

    #[test]
    fn window_holds_back_until_something_is_acknowledged() {
        let mut outbox = outbox(&[10; 40]);
        assert_eq!(drain(&mut outbox).len(), WINDOW_INTERVALS);
        outbox.acknowledge(UploadId::Interval(0));
        assert_eq!(drain(&mut outbox), [(32, 0, 1, 10)]);
    }

    #[test]
    fn interval_larger_than_the_window_goes_whole() {
        let mut outbox = outbox(&[WINDOW_BYTES * 2, 1]);
        assert_eq!(drain(&mut outbox).len(), 128);
        outbox.acknowledge(UploadId::Interval(0));
        assert_eq!(drain(&mut outbox), [(1, 0, 1, 1)]);
    }

    #[test]
    fn new_stream_gets_again_what_was_not_acknowledged_and_nothing_else() {
        let mut outbox = outbox(&[1, 2, INTERVAL_PART_BYTES * 2]);
        for _ in 0..3 {
            outbox.next_part().unwrap();
        }
        outbox.acknowledge(UploadId::Interval(1));
        outbox.acknowledge(UploadId::Interval(1));
        outbox.acknowledge(UploadId::Interval(2));
        outbox.rewind(&Resume::default());
        assert_eq!(
            drain(&mut outbox),
            [
                (0, 0, 1, 1),
                (2, 0, 2, INTERVAL_PART_BYTES),
                (2, 1, 2, INTERVAL_PART_BYTES)
            ]
        );
    }

    #[test]
    fn new_stream_goes_on_where_the_old_one_ended() {
        let mut outbox = outbox(&[1, 2, 3]);
        outbox.keep_totals(3, vec![0; INTERVAL_PART_BYTES * 4].into());
        drain(&mut outbox);
        outbox.rewind(&Resume {
            stored_below: 2,
            interval: 3,
            totals: true,
            parts: 2,
            ..Resume::default()
        });
        let expected = [
            (2, 0, 1, 3),
            (3, 2, 4, INTERVAL_PART_BYTES),
            (3, 3, 4, INTERVAL_PART_BYTES),
        ];
        assert_eq!(drain(&mut outbox), expected);
        assert_eq!(outbox.held_bytes, 3 + INTERVAL_PART_BYTES * 4);
        outbox.rewind(&Resume {
            stored_below: 3,
            ..Resume::default()
        });
        assert_eq!(
            drain(&mut outbox).len(),
            4,
            "a coordinator that has no part of it gets it from the first"
        );
    }

    #[test]
    fn foreign_resume_makes_nothing_worse_than_sending_again() {
        let mut outbox = outbox(&[INTERVAL_PART_BYTES * 2]);
        outbox.rewind(&Resume {
            interval: 0,
            parts: 99,
            ..Resume::default()
        });
        assert_eq!(drain(&mut outbox), [(0, 1, 2, INTERVAL_PART_BYTES)]);
        outbox.rewind(&Resume {
            interval: 7,
            parts: 1,
            ..Resume::default()
        });
        assert_eq!(drain(&mut outbox).len(), 2);
    }

    #[test]
    fn totals_are_not_taken_for_the_interval_of_the_same_number() {
        let mut outbox = outbox(&[1]);
        outbox.keep_totals(0, Bytes::from_static(b"t"));
        assert_eq!(drain(&mut outbox).len(), 2);
        outbox.acknowledge(UploadId::Totals(0));
        assert_eq!(outbox.intervals(), 1);
        outbox.acknowledge(UploadId::Interval(0));
        assert!(outbox.is_empty());
        assert_eq!(outbox.held_bytes, 0);
    }
}
