//! What the coordinator has of one agent's intervals: each counts once, and gaps are noticed.

use crate::upload_id::UploadId;
use crate::{INTERVAL_MAX_BYTES, INTERVAL_PART_BYTES, MISSING_MAX};
use proto::{Bytes, IntervalPart};
use std::collections::BTreeSet;

/// Seconds that a run can last, going by the numbers of its intervals: 46 days.
const INTERVALS_MAX: u32 = 4_000_000;

/// Intervals that can arrive ahead of one that is missing.
const AHEAD_MAX: usize = 10_000;

/// The intervals of one agent in one run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct IntervalInbox {
    /// Every interval below it has arrived.
    next: u32,
    /// Intervals that arrived beyond `next`.
    ahead: BTreeSet<u32>,
    totals: Option<u32>,
    /// Handed to the caller, which has not taken it yet; acknowledged when it has.
    pending: BTreeSet<UploadId>,
    assembly: Option<Assembly>,
    /// What a stream that ended left in part. The next one can continue it or begin it again.
    cut: Option<Assembly>,
}

/// An interval with parts still missing.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Assembly {
    upload: UploadId,
    parts: u32,
    next_part: u32,
    content: Vec<u8>,
}

/// What a part led to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// More parts must arrive.
    InPart,
    /// The upload is complete and new: hand it to the caller.
    New(Bytes),
    /// It is complete and arrived before; the caller has not taken it yet.
    Pending,
    /// It is complete and arrived before, and the caller has taken it: acknowledge it again.
    Delivered,
}

/// A part that no agent of this version sends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "part {part} of {parts} of interval {interval} does not follow what came before, or is too \
     large"
)]
pub(crate) struct OutOfPlace {
    interval: u32,
    part: u32,
    parts: u32,
}

impl IntervalInbox {
    /// Takes the next part of the stream.
    pub(crate) fn take(&mut self, part: IntervalPart) -> Result<Taken, OutOfPlace> {
        let out_of_place = OutOfPlace {
            interval: part.interval,
            part: part.part,
            parts: part.parts,
        };
        let upload = UploadId::from_wire(part.interval, part.totals);
        // An agent that was cut off before it learned that everything arrived sends the last part
        // again.
        if self.assembly.is_none() && is_in_bounds(&part) && self.has(upload) {
            let is_last = part.part + 1 == part.parts;
            return Ok(if is_last {
                self.again(upload)
            } else {
                Taken::InPart
            });
        }
        let Some(content) = self.assemble(part).ok_or(out_of_place.clone())? else {
            return Ok(Taken::InPart);
        };
        let is_new = match upload {
            UploadId::Totals(intervals) => self.note_totals(intervals).ok_or(out_of_place)?,
            UploadId::Interval(interval) => self.note(interval).ok_or(out_of_place)?,
        };
        if is_new {
            self.pending.insert(upload);
            return Ok(Taken::New(content));
        }
        Ok(self.again(upload))
    }

    /// The result for an upload that has arrived in full before.
    fn again(&self, upload: UploadId) -> Taken {
        if self.pending.contains(&upload) {
            Taken::Pending
        } else {
            Taken::Delivered
        }
    }

    fn has(&self, upload: UploadId) -> bool {
        match upload {
            UploadId::Totals(intervals) => self.totals == Some(intervals),
            UploadId::Interval(interval) => interval < self.next || self.ahead.contains(&interval),
        }
    }

    /// Notes an upload that was stored before this process began.
    pub(crate) fn restore(&mut self, upload: UploadId) {
        match upload {
            UploadId::Totals(intervals) => self.totals = Some(intervals),
            // An impossible number was never stored.
            UploadId::Interval(interval) => {
                self.note(interval);
            }
        }
    }

    /// Notes that the caller has taken an upload.
    pub(crate) fn note_delivery(&mut self, upload: UploadId) {
        self.pending.remove(&upload);
    }

    /// Every interval below it is stored: it arrived, and the caller has taken it.
    pub(crate) fn stored_below(&self) -> u32 {
        // Intervals are ordered by number, so the first one is the lowest.
        let pending = self.pending.iter().find_map(|upload| match upload {
            UploadId::Interval(interval) => Some(*interval),
            UploadId::Totals(_) => None,
        });
        pending.map_or(self.next, |pending| pending.min(self.next))
    }

    /// The totals, if they are stored.
    pub(crate) fn stored_totals(&self) -> Option<UploadId> {
        let totals = UploadId::Totals(self.totals?);
        (!self.pending.contains(&totals)).then_some(totals)
    }

    /// Ends the stream. The next one continues what arrived in part, or begins it again.
    pub(crate) fn cut(&mut self) {
        self.cut = self.assembly.take().or(self.cut.take());
    }

    /// The upload of which parts arrived over earlier streams, and how many of them. Totals that
    /// have arrived count as having all their parts: they are larger than most intervals, and must
    /// not travel twice because their acknowledgement was lost.
    pub(crate) fn in_part(&self) -> Option<(UploadId, u32)> {
        let whole = |intervals| (UploadId::Totals(intervals), u32::MAX);
        let in_part = self.cut.as_ref().map(|cut| (cut.upload, cut.next_part));
        in_part.or(self.totals.map(whole))
    }

    /// The first interval that has not arrived.
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// Number of intervals that have arrived.
    pub(crate) fn len(&self) -> usize {
        self.next as usize + self.ahead.len()
    }

    /// How many intervals the totals count, if they have arrived.
    pub(crate) fn totals(&self) -> Option<u32> {
        self.totals
    }

    /// Intervals that are known to exist and have not arrived, at most [`MISSING_MAX`].
    pub(crate) fn missing(&self) -> Vec<u32> {
        let beyond = self.ahead.last().map_or(0, |last| last + 1);
        // The number of the totals is only the agent's word; what arrived is certain.
        let end = self.totals.unwrap_or(0).min(INTERVALS_MAX).max(beyond);
        (self.next..end)
            .filter(|interval| !self.ahead.contains(interval))
            .take(MISSING_MAX)
            .collect()
    }

    /// Takes a part. Returns `None` if it is out of place, and `Some(None)` if more parts must
    /// follow.
    fn assemble(&mut self, part: IntervalPart) -> Option<Option<Bytes>> {
        if !is_in_bounds(&part) {
            return None;
        }
        let assembly = self.assembly.take();
        if part.parts == 1 && assembly.is_none() {
            return Some(Some(part.content));
        }
        let mut assembly = assembly.unwrap_or_else(|| self.begin(&part));
        assembly.add(&part)?;
        if assembly.next_part == assembly.parts {
            return Some(Some(assembly.content.into()));
        }
        self.assembly = Some(assembly);
        Some(None)
    }

    /// Finds the assembly that a part continues, or begins one, when none is under way.
    fn begin(&mut self, part: &IntervalPart) -> Assembly {
        // A first part begins anew: the agent may not know how much of the cut stream arrived.
        let goes_on = |cut: &mut Assembly| part.part > 0 && cut.is_of(part);
        self.cut.take_if(goes_on).unwrap_or_else(|| {
            self.cut.take_if(|cut| cut.is_of(part));
            Assembly::new(part)
        })
    }

    /// Returns whether the totals are new, or `None` if they count another number of intervals than
    /// earlier ones: such totals would be acknowledged without being stored.
    fn note_totals(&mut self, intervals: u32) -> Option<bool> {
        let Some(before) = self.totals else {
            self.totals = Some(intervals);
            return Some(true);
        };
        (before == intervals).then_some(false)
    }

    /// Returns whether the interval is new, or `None` for an impossible number.
    fn note(&mut self, interval: u32) -> Option<bool> {
        if interval >= INTERVALS_MAX || (interval != self.next && self.ahead.len() >= AHEAD_MAX) {
            return None;
        }
        if interval < self.next || !self.ahead.insert(interval) {
            return Some(false);
        }
        while self.ahead.remove(&self.next) {
            self.next += 1;
        }
        Some(true)
    }
}

fn is_in_bounds(part: &IntervalPart) -> bool {
    let parts_max = INTERVAL_MAX_BYTES.div_ceil(INTERVAL_PART_BYTES) as u32;
    (1..=parts_max).contains(&part.parts)
        && part.part < part.parts
        && part.content.len() <= INTERVAL_PART_BYTES
}

impl Assembly {
    fn new(first: &IntervalPart) -> Assembly {
        Assembly {
            upload: UploadId::from_wire(first.interval, first.totals),
            parts: first.parts,
            next_part: 0,
            content: Vec::new(),
        }
    }

    fn is_of(&self, part: &IntervalPart) -> bool {
        let upload = UploadId::from_wire(part.interval, part.totals);
        (self.upload, self.parts) == (upload, part.parts)
    }

    fn add(&mut self, part: &IntervalPart) -> Option<()> {
        if !self.is_of(part) || part.part != self.next_part || part.part >= part.parts {
            return None;
        }
        self.next_part += 1;
        self.content.extend_from_slice(&part.content);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(interval: u32, part: u32, parts: u32, content: &'static [u8]) -> IntervalPart {
        let content = Bytes::from_static(content);
        IntervalPart {
            run_id: Bytes::new(),
            interval,
            part,
            parts,
            content,
            totals: false,
        }
    }

    fn whole(interval: u32) -> IntervalPart {
        part(interval, 0, 1, b"x")
    }

    #[test]
    fn totals_that_came_do_not_travel_twice_because_their_acknowledgement_was_lost() {
        let totals = |nth| IntervalPart {
            totals: true,
            ..part(7, nth, 3, b"x")
        };
        let mut inbox = IntervalInbox::default();
        (0..2).for_each(|nth| assert_eq!(inbox.take(totals(nth)), Ok(Taken::InPart)));
        assert!(matches!(inbox.take(totals(2)), Ok(Taken::New(_))));
        inbox.cut();
        let (upload, parts) = inbox.in_part().unwrap();
        assert!(upload == UploadId::Totals(7) && parts >= 3);
        assert_eq!(inbox.take(totals(2)), Ok(Taken::Pending));
        inbox.note_delivery(upload);
        assert_eq!(inbox.take(totals(2)), Ok(Taken::Delivered));
        // Another implementation of the agent may send all of it again.
        (0..2).for_each(|nth| assert_eq!(inbox.take(totals(nth)), Ok(Taken::InPart)));
        assert_eq!(inbox.take(totals(2)), Ok(Taken::Delivered));
        assert!(inbox.take(totals(3)).is_err());
    }

    #[test]
    fn interval_counts_once_however_often_it_comes() {
        let mut inbox = IntervalInbox::default();
        for (interval, new) in [
            (0, true),
            (0, false),
            (2, true),
            (2, false),
            (1, true),
            (0, false),
            (1, false),
            (2, false),
        ] {
            assert_eq!(
                inbox.take(whole(interval)).unwrap() != Taken::Pending,
                new,
                "{interval}"
            );
        }
        assert_eq!(inbox.next(), 3);
    }

    #[test]
    fn parts_are_put_together_in_order() {
        let mut inbox = IntervalInbox::default();
        assert_eq!(inbox.take(part(0, 0, 3, b"ab")), Ok(Taken::InPart));
        assert_eq!(inbox.take(part(0, 1, 3, b"")), Ok(Taken::InPart));
        assert_eq!(
            inbox.take(part(0, 2, 3, b"c")),
            Ok(Taken::New(Bytes::from_static(b"abc")))
        );
    }

    #[test]
    fn new_stream_begins_a_cut_interval_again() {
        let mut inbox = IntervalInbox::default();
        inbox.take(part(0, 0, 2, b"ab")).unwrap();
        inbox.cut();
        inbox.take(part(0, 0, 2, b"ab")).unwrap();
        assert_eq!(
            inbox.take(part(0, 1, 2, b"c")),
            Ok(Taken::New(Bytes::from_static(b"abc")))
        );
        assert_eq!(inbox.in_part(), None);
    }

    #[test]
    fn new_stream_goes_on_with_a_cut_interval_after_others() {
        let mut inbox = IntervalInbox::default();
        inbox.take(part(1, 0, 3, b"a")).unwrap();
        inbox.cut();
        inbox.cut();
        assert_eq!(inbox.in_part(), Some((UploadId::Interval(1), 1)));
        assert_eq!(
            inbox.take(whole(0)),
            Ok(Taken::New(Bytes::from_static(b"x")))
        );
        assert_eq!(inbox.take(part(1, 1, 3, b"b")), Ok(Taken::InPart));
        assert_eq!(
            inbox.take(part(1, 2, 3, b"c")),
            Ok(Taken::New(Bytes::from_static(b"abc")))
        );
        assert_eq!((inbox.in_part(), inbox.next()), (None, 2));
    }

    #[test]
    fn new_stream_goes_on_nowhere_but_where_the_old_one_ended() {
        for (first, parts) in [(0, 3), (2, 3), (1, 4)] {
            let mut inbox = IntervalInbox::default();
            inbox.take(part(1, 0, 3, b"a")).unwrap();
            inbox.cut();
            let taken = inbox.take(part(1, first, parts, b"b"));
            assert_eq!(
                taken.is_ok(),
                first == 0,
                "part {first} of {parts}: {taken:?}"
            );
        }
    }

    #[test]
    fn parts_that_do_not_follow_are_refused() {
        let cases: [&[IntervalPart]; 6] = [
            &[part(0, 1, 2, b"")],
            &[part(0, 0, 0, b"")],
            &[part(0, 0, 2, b""), part(1, 1, 2, b"")],
            &[part(0, 0, 2, b""), part(0, 0, 2, b"")],
            &[part(0, 0, 2, b""), whole(1)],
            &[part(
                0,
                0,
                INTERVAL_MAX_BYTES.div_ceil(INTERVAL_PART_BYTES) as u32 + 1,
                b"",
            )],
        ];
        for sequence in cases {
            let mut inbox = IntervalInbox::default();
            assert!(
                sequence
                    .iter()
                    .map(|part| inbox.take(part.clone()))
                    .last()
                    .unwrap()
                    .is_err(),
                "{sequence:?}"
            );
        }
    }

    #[test]
    fn gaps_are_named_by_the_totals_or_by_what_came_beyond_them() {
        let mut inbox = IntervalInbox::default();
        for interval in [0, 1, 4] {
            inbox.take(whole(interval)).unwrap();
        }
        assert_eq!(inbox.missing(), [2, 3]);
        inbox
            .take(IntervalPart {
                totals: true,
                ..whole(6)
            })
            .unwrap();
        assert_eq!(inbox.missing(), [2, 3, 5]);
        assert_eq!(
            inbox.take(IntervalPart {
                totals: true,
                ..whole(6)
            }),
            Ok(Taken::Pending)
        );
    }

    #[test]
    fn foreign_totals_of_any_number_make_a_bounded_list() {
        let mut inbox = IntervalInbox::default();
        inbox
            .take(IntervalPart {
                totals: true,
                ..whole(u32::MAX)
            })
            .unwrap();
        assert_eq!(inbox.missing().len(), MISSING_MAX);
        assert!(inbox.take(whole(u32::MAX)).is_err());
    }

    #[test]
    fn second_totals_of_another_number_are_refused() {
        let mut inbox = IntervalInbox::default();
        let totals = |intervals| IntervalPart {
            totals: true,
            ..whole(intervals)
        };
        assert!(matches!(inbox.take(totals(7)), Ok(Taken::New(_))));
        assert_eq!(inbox.take(totals(7)), Ok(Taken::Pending));
        assert!(inbox.take(totals(8)).is_err());
        assert_eq!(inbox.take(totals(7)), Ok(Taken::Pending), "not replaced");
    }
}
