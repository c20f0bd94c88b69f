//! The intervals of an agent, kept until the coordinator has stored them.

use crate::RunId;
use crate::interval_store::{Kept, Stash};
use crate::upload_id::UploadId;
use proto::{Bytes, IntervalPart, Resume};
use std::collections::VecDeque;

/// Largest encoded interval that can be sent.
pub const INTERVAL_MAX_BYTES: usize = 64 << 20;

/// Content of one part of an interval: one second of a link of 64 kbit/s. A beat waits behind a
/// part, and a cut stream loses the part that was under way, so parts are small.
pub const INTERVAL_PART_BYTES: usize = 8 << 10;

/// Uploads sent without an acknowledgement; at these limits no new one begins. They bound what
/// waits at the coordinator for a slow caller.
const WINDOW_BYTES: usize = 4 << 20;
const WINDOW_INTERVALS: usize = 32;

/// The same for all agents of a run together, so that a thousand of them do not fill the
/// coordinator's memory while its disk is full. Each may begin one interval beyond it.
const RUN_WINDOW_BYTES: usize = 256 << 20;

/// Bytes that one of `agents` agents may have sent without an acknowledgement.
pub(crate) fn window_bytes(agents: u32) -> usize {
    let share = RUN_WINDOW_BYTES / (agents.max(1) as usize);
    share.clamp(INTERVAL_PART_BYTES, WINDOW_BYTES)
}

/// The intervals of one run, in order, followed by its totals.
#[derive(Debug)]
pub(crate) struct Outbox {
    run: RunId,
    window_bytes: usize,
    held: VecDeque<Held>,
    /// How many of `held`, from the front, were sent in full; the next one may be sent in part.
    sent: usize,
    next_part: usize,
    /// The interval (or totals) of which the coordinator has parts from earlier streams, and how
    /// many.
    in_part: Option<(UploadId, usize)>,
    /// The upload that is being sent in part, read from where it is kept.
    read: Option<(UploadId, Bytes)>,
}

#[derive(Debug)]
struct Held {
    upload: UploadId,
    kept: Kept,
}

impl Outbox {
    /// Creates the outbox of one of `agents` agents.
    pub(crate) fn new(run: RunId, agents: u32) -> Outbox {
        Outbox::with_window(run, window_bytes(agents))
    }

    fn with_window(run: RunId, window_bytes: usize) -> Outbox {
        Outbox {
            run,
            window_bytes,
            held: VecDeque::new(),
            sent: 0,
            next_part: 0,
            in_part: None,
            read: None,
        }
    }

    /// Keeps an interval until it is acknowledged.
    pub(crate) fn keep(&mut self, interval: u32, encoded: Bytes, stash: &mut Stash) {
        self.push(UploadId::Interval(interval), encoded, stash);
    }

    /// Keeps the totals of `intervals` intervals until they are acknowledged.
    pub(crate) fn keep_totals(&mut self, intervals: u32, encoded: Bytes, stash: &mut Stash) {
        self.push(UploadId::Totals(intervals), encoded, stash);
    }

    /// The next part to send. A new upload begins only if there is room for what is not
    /// acknowledged.
    pub(crate) fn next_part(&mut self, stash: &mut Stash) -> Option<IntervalPart> {
        if self.next_part == 0 && !self.has_room() {
            return None;
        }
        let (upload, encoded) = self.read(stash)?;
        let parts = parts(encoded.len());
        let came_in_part = |&mut (came, _): &mut (UploadId, usize)| came == upload;
        if let Some((_, came)) = self.in_part.take_if(came_in_part) {
            // The last part is always sent again, because it brings the acknowledgement.
            self.next_part = came.min(parts - 1);
        }
        let from = self.next_part * INTERVAL_PART_BYTES;
        let to = encoded.len().min(from + INTERVAL_PART_BYTES);
        let (interval, totals) = upload.to_wire();
        let part = IntervalPart {
            run_id: self.run.to_wire(),
            interval,
            part: self.next_part as u32,
            parts: parts as u32,
            content: encoded.slice(from..to),
            totals,
        };
        self.next_part += 1;
        if self.next_part == parts {
            self.sent += 1;
            self.next_part = 0;
            self.read = None;
        }
        Some(part)
    }

    /// Drops an upload that the coordinator has stored. Late acknowledgements, of what is not held,
    /// do nothing.
    pub(crate) fn acknowledge(&mut self, upload: UploadId, stash: &mut Stash) {
        // An upload that was not sent on this stream is not acknowledged on it, except by a late
        // answer.
        let mut sent = self.held.iter().take(self.sent);
        let Some(place) = sent.position(|held| held.upload == upload) else {
            return;
        };
        self.remove(place, stash);
        self.sent -= 1;
    }

    /// Starts over on another stream: everything held is sent again from the first that is not
    /// stored, and an upload continues after the parts that arrived.
    pub(crate) fn rewind(&mut self, resume: &Resume, stash: &mut Stash) {
        self.sent = 0;
        self.next_part = 0;
        self.read = None;
        let upload = UploadId::from_wire(resume.interval, resume.totals);
        self.in_part = (resume.parts > 0).then_some((upload, resume.parts as usize));
        // Totals are never below the mark: only an acknowledgement says that they are stored.
        let is_stored = |held: &Held| match held.upload {
            UploadId::Interval(nth) => nth < resume.stored_below,
            UploadId::Totals(_) => false,
        };
        while let Some(place) = self.held.iter().position(is_stored) {
            self.remove(place, stash);
        }
    }

    /// Forgets all uploads.
    pub(crate) fn clear(&mut self, stash: &mut Stash) {
        (0..self.held.len()).for_each(|_| self.remove(0, stash));
        *self = Outbox::with_window(self.run, self.window_bytes);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    pub(crate) fn intervals(&self) -> usize {
        let is_interval = |held: &&Held| matches!(held.upload, UploadId::Interval(_));
        self.held.iter().filter(is_interval).count()
    }

    fn push(&mut self, upload: UploadId, encoded: Bytes, stash: &mut Stash) {
        let kept = stash.keep(encoded);
        self.held.push_back(Held { upload, kept });
    }

    /// The next upload to send, in full. One that can no longer be read is left out, and the
    /// coordinator sees that it is missing.
    fn read(&mut self, stash: &mut Stash) -> Option<(UploadId, Bytes)> {
        loop {
            let held = self.held.get(self.sent)?;
            let upload = held.upload;
            if let Some((_, encoded)) = self.read.as_ref().filter(|(read, _)| *read == upload) {
                return Some((upload, encoded.clone()));
            }
            match stash.read(&held.kept) {
                Some(encoded) => self.read = Some((upload, encoded)),
                None => self.remove(self.sent, stash),
            }
        }
    }

    fn remove(&mut self, place: usize, stash: &mut Stash) {
        if let Some(held) = self.held.remove(place) {
            stash.free(held.kept);
        }
    }

    fn has_room(&self) -> bool {
        let in_flight: usize = self
            .held
            .iter()
            .take(self.sent)
            .map(|held| held.kept.len())
            .sum();
        self.sent < WINDOW_INTERVALS && in_flight < self.window_bytes
    }
}

/// Number of parts; an empty upload has one.
fn parts(bytes: usize) -> usize {
    bytes.div_ceil(INTERVAL_PART_BYTES).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval_store::{HELD_MAX_BYTES, IntervalStore, NoStore, StoredPlace};

    /// An outbox, and where it keeps its uploads.
    struct Sender {
        outbox: Outbox,
        stash: Stash,
    }

    impl Sender {
        fn new(sizes: &[usize]) -> Sender {
            Sender::with(Box::new(NoStore), sizes)
        }

        fn with(store: Box<dyn IntervalStore>, sizes: &[usize]) -> Sender {
            let mut sender = Sender {
                outbox: Outbox::new(RunId([1; 16]), 1),
                stash: Stash::new(store),
            };
            for (interval, &size) in sizes.iter().enumerate() {
                let encoded = vec![interval as u8; size].into();
                sender
                    .outbox
                    .keep(interval as u32, encoded, &mut sender.stash);
            }
            sender
        }

        fn keep_totals(&mut self, intervals: u32, size: usize) {
            let encoded = vec![0; size].into();
            self.outbox.keep_totals(intervals, encoded, &mut self.stash);
        }

        fn next(&mut self) -> Option<IntervalPart> {
            self.outbox.next_part(&mut self.stash)
        }

        fn drain(&mut self) -> Vec<(u32, u32, u32, usize)> {
            std::iter::from_fn(|| self.next())
                .map(|part| (part.interval, part.part, part.parts, part.content.len()))
                .collect()
        }

        fn acknowledge(&mut self, upload: UploadId) {
            self.outbox.acknowledge(upload, &mut self.stash);
        }

        fn rewind(&mut self, resume: &Resume) {
            self.outbox.rewind(resume, &mut self.stash);
        }

        fn held_bytes(&self) -> usize {
            self.outbox.held.iter().map(|held| held.kept.len()).sum()
        }
    }

    #[test]
    fn intervals_are_cut_into_parts_and_an_empty_one_is_one_part() {
        let mut sender = Sender::new(&[0, INTERVAL_PART_BYTES, INTERVAL_PART_BYTES + 1]);
        let expected = [
            (0, 0, 1, 0),
            (1, 0, 1, INTERVAL_PART_BYTES),
            (2, 0, 2, INTERVAL_PART_BYTES),
            (2, 1, 2, 1),
        ];
        assert_eq!(sender.drain(), expected);
    }

    #[test]
    fn agents_of_a_large_fleet_share_what_may_wait_at_the_coordinator() {
        for (agents, bytes) in [
            (0, WINDOW_BYTES),
            (64, WINDOW_BYTES),
            (65, RUN_WINDOW_BYTES / 65),
            (1_000, 268_435),
            (u32::MAX, INTERVAL_PART_BYTES),
        ] {
            assert_eq!(window_bytes(agents), bytes, "{agents} agents");
        }
        let mut sender = Sender::new(&[100_000; 10]);
        sender.outbox.window_bytes = window_bytes(1_000);
        let sent: usize = sender.drain().iter().map(|part| part.3).sum();
        assert_eq!(sent, 300_000, "it may end what it began");
        sender.acknowledge(UploadId::Interval(0));
        assert_eq!(
            sender.drain().len(),
            100_000_usize.div_ceil(INTERVAL_PART_BYTES)
        );
    }

    #[test]
    fn window_holds_back_until_something_is_acknowledged() {
        let mut sender = Sender::new(&[10; 40]);
        assert_eq!(sender.drain().len(), WINDOW_INTERVALS);
        sender.acknowledge(UploadId::Interval(0));
        assert_eq!(sender.drain(), [(32, 0, 1, 10)]);
    }

    #[test]
    fn interval_larger_than_the_window_goes_whole() {
        let mut sender = Sender::new(&[WINDOW_BYTES * 2, 1]);
        assert_eq!(sender.drain().len(), WINDOW_BYTES * 2 / INTERVAL_PART_BYTES);
        sender.acknowledge(UploadId::Interval(0));
        assert_eq!(sender.drain(), [(1, 0, 1, 1)]);
    }

    #[test]
    fn new_stream_gets_again_what_was_not_acknowledged_and_nothing_else() {
        let mut sender = Sender::new(&[1, 2, INTERVAL_PART_BYTES * 2]);
        for _ in 0..3 {
            sender.next().unwrap();
        }
        sender.acknowledge(UploadId::Interval(1));
        sender.acknowledge(UploadId::Interval(1));
        sender.acknowledge(UploadId::Interval(2));
        sender.rewind(&Resume::default());
        assert_eq!(
            sender.drain(),
            [
                (0, 0, 1, 1),
                (2, 0, 2, INTERVAL_PART_BYTES),
                (2, 1, 2, INTERVAL_PART_BYTES)
            ]
        );
    }

    #[test]
    fn new_stream_goes_on_where_the_old_one_ended() {
        let mut sender = Sender::new(&[1, 2, 3]);
        sender.keep_totals(3, INTERVAL_PART_BYTES * 4);
        sender.drain();
        sender.rewind(&Resume {
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
        assert_eq!(sender.drain(), expected);
        assert_eq!(sender.held_bytes(), 3 + INTERVAL_PART_BYTES * 4);
        sender.rewind(&Resume {
            stored_below: 3,
            ..Resume::default()
        });
        assert_eq!(
            sender.drain().len(),
            4,
            "a coordinator that has no part of it gets it from the first"
        );
    }

    #[test]
    fn foreign_resume_makes_nothing_worse_than_sending_again() {
        let mut sender = Sender::new(&[INTERVAL_PART_BYTES * 2]);
        sender.rewind(&Resume {
            interval: 0,
            parts: 99,
            ..Resume::default()
        });
        assert_eq!(sender.drain(), [(0, 1, 2, INTERVAL_PART_BYTES)]);
        sender.rewind(&Resume {
            interval: 7,
            parts: 1,
            ..Resume::default()
        });
        assert_eq!(sender.drain().len(), 2);
    }

    #[test]
    fn totals_are_not_taken_for_the_interval_of_the_same_number() {
        let mut sender = Sender::new(&[1]);
        sender.keep_totals(0, 1);
        assert_eq!(sender.drain().len(), 2);
        sender.acknowledge(UploadId::Totals(0));
        assert_eq!(sender.outbox.intervals(), 1);
        sender.acknowledge(UploadId::Interval(0));
        assert!(sender.outbox.is_empty());
        assert_eq!(sender.held_bytes(), 0);
    }

    /// Returns what was put, except from one place, which it lost.
    #[derive(Debug)]
    struct Forgetful {
        taken: Vec<Bytes>,
        lost: u64,
    }

    impl IntervalStore for Forgetful {
        fn put(&mut self, encoded: &[u8]) -> Result<StoredPlace, String> {
            self.taken.push(Bytes::copy_from_slice(encoded));
            Ok(StoredPlace {
                offset: self.taken.len() as u64 - 1,
                bytes: encoded.len(),
            })
        }

        fn get(&mut self, place: StoredPlace) -> Result<Bytes, String> {
            if place.offset == self.lost {
                return Err("lost".to_owned());
            }
            Ok(self.taken[place.offset as usize].clone())
        }

        fn free(&mut self, _: StoredPlace) {}
    }

    #[test]
    fn what_lies_in_the_store_goes_in_order_and_what_is_lost_there_is_left_out_whole() {
        let store = Forgetful {
            taken: vec![],
            lost: 0,
        };
        let sizes = [HELD_MAX_BYTES, INTERVAL_PART_BYTES + 1, 5];
        let mut sender = Sender::with(Box::new(store), &sizes);
        while sender.next().is_some() {}
        sender.acknowledge(UploadId::Interval(0));
        assert_eq!(sender.drain(), [(2, 0, 1, 5)]);
        assert_eq!(sender.outbox.intervals(), 1);
        sender.rewind(&Resume::default());
        let again = sender.next().unwrap();
        assert_eq!((again.interval, &again.content[..]), (2, &[2; 5][..]));
    }
}
