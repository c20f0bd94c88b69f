//! How much of an upload may be under way at once, so that a beat behind it arrives in time.

use crate::upload_id::UploadId;
use crate::{INTERVAL_PART_BYTES, Mono, RunId};
use proto::{IntervalPart, Received};
use std::collections::VecDeque;
use std::time::Duration;

/// Bytes that may be under way before anything is known about the link.
const FIRST_BYTES: usize = 16 << 10;

/// Upper bound of the window: what a link of 100 Mbit/s carries in 80 ms.
const MOST_BYTES: usize = 1 << 20;

/// A confirmation that is later than on an idle link by less than this lets the window grow.
const QUICK: Duration = Duration::from_millis(100);

/// One that is later by more than this makes it shrink: a beat would wait as long.
const SLOW: Duration = Duration::from_millis(300);

/// A part is no longer waited for once a beat that was sent this much later is answered: a
/// coordinator does not confirm parts of a run that it has given up.
const ANSWERED: Duration = Duration::from_secs(5);

/// Parts under way on one stream. The window grows by what is confirmed quickly, so it doubles in a
/// round trip. When a confirmation is slow, it shrinks to what the link carries in time. One part
/// at a time is always allowed.
#[derive(Debug)]
pub(crate) struct UploadWindow {
    under_way: VecDeque<UnderWay>,
    under_way_bytes: usize,
    bytes: usize,
    /// Parts sent before this went into the earlier window, and do not shrink the new one.
    shrunk_at: Mono,
}

#[derive(Debug)]
struct UnderWay {
    run: RunId,
    upload: UploadId,
    part: u32,
    bytes: usize,
    sent: Mono,
}

impl UploadWindow {
    pub(crate) fn new() -> UploadWindow {
        UploadWindow {
            under_way: VecDeque::new(),
            under_way_bytes: 0,
            bytes: FIRST_BYTES,
            shrunk_at: Mono(0),
        }
    }

    /// Starts over on another stream: nothing is under way. What was learnt about the link is kept.
    pub(crate) fn reset(&mut self) {
        self.under_way.clear();
        self.under_way_bytes = 0;
    }

    /// Whether one more part may be sent.
    pub(crate) fn has_room(&self) -> bool {
        self.under_way_bytes + INTERVAL_PART_BYTES <= self.bytes || self.under_way.is_empty()
    }

    /// Notes that a part is sent now.
    pub(crate) fn note_sent(&mut self, run: RunId, part: &IntervalPart, now: Mono) {
        self.under_way_bytes += part.content.len();
        self.under_way.push_back(UnderWay {
            run,
            upload: UploadId::from_wire(part.interval, part.totals),
            part: part.part,
            bytes: part.content.len(),
            sent: now,
        });
    }

    /// Takes a confirmation of parts that have arrived. `trip` is the round trip of a beat that
    /// queues behind nothing.
    pub(crate) fn note_arrival(
        &mut self,
        run: RunId,
        received: &Received,
        trip: Duration,
        now: Mono,
    ) {
        let upload = UploadId::from_wire(received.interval, received.totals);
        if let Some((sent, bytes)) = self.take_confirmed(run, upload, received.parts) {
            self.adapt(sent, now.since(sent).saturating_sub(trip), bytes, now);
        }
    }

    /// Notes that the coordinator has stored an upload. If that took long, its disk may be the
    /// reason, so the window does not shrink.
    pub(crate) fn note_stored(&mut self, run: RunId, upload: UploadId, trip: Duration, now: Mono) {
        if let Some((sent, bytes)) = self.take_confirmed(run, upload, u32::MAX) {
            let waited = now.since(sent).saturating_sub(trip).min(SLOW);
            self.adapt(sent, waited, bytes, now);
        }
    }

    /// Stops waiting for the parts of a run.
    pub(crate) fn forget(&mut self, run: RunId) {
        self.under_way.retain(|part| part.run != run);
        self.count();
    }

    /// Notes that a beat sent at `beat` was answered.
    pub(crate) fn note_answer(&mut self, beat: Mono) {
        self.under_way
            .retain(|part| beat < part.sent.after(ANSWERED));
        self.count();
    }

    fn count(&mut self) {
        self.under_way_bytes = self.under_way.iter().map(|part| part.bytes).sum();
    }

    /// Takes out the parts that are confirmed. Returns when the last of them was sent, and their
    /// bytes.
    fn take_confirmed(
        &mut self,
        run: RunId,
        upload: UploadId,
        parts: u32,
    ) -> Option<(Mono, usize)> {
        let is_of = |part: &UnderWay| (part.run, part.upload) == (run, upload) && part.part < parts;
        // Parts arrive in the order in which they are sent, so what was sent before has arrived
        // too.
        let last = self.under_way.iter().rposition(is_of)?;
        let sent = self.under_way[last].sent;
        let came = self.under_way.drain(..=last);
        let bytes = came.map(|part| part.bytes).sum();
        self.count();
        Some((sent, bytes))
    }

    fn adapt(&mut self, sent: Mono, waited: Duration, bytes: usize, now: Mono) {
        if waited < QUICK {
            self.bytes = (self.bytes + bytes).min(MOST_BYTES);
        } else if waited > SLOW && sent >= self.shrunk_at {
            // The link carried the window in `waited`; this share of it takes `SLOW`.
            let share = SLOW.as_secs_f64() / waited.as_secs_f64();
            self.bytes = ((self.bytes as f64 * share) as usize).max(INTERVAL_PART_BYTES);
            self.shrunk_at = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::Bytes;

    const RUN: RunId = RunId([1; 16]);
    const MS: u64 = 1_000_000;

    /// Sends parts of one upload over a link for `for_ms` milliseconds. Returns the window at the
    /// end in bytes, how many bytes arrived, and the longest wait of a beat in milliseconds.
    fn upload(bytes_per_second: u64, trip_ms: u64, for_ms: u64) -> (usize, u64, u64) {
        let mut window = UploadWindow::new();
        let trip = Duration::from_millis(trip_ms);
        let (mut next_part, mut came, mut free_at, mut longest) = (0, 0, 0, 0);
        let mut on_way = VecDeque::new();
        let content = Bytes::from(vec![0; INTERVAL_PART_BYTES]);
        for ms in 0..for_ms {
            while window.has_room() {
                let part = IntervalPart {
                    part: next_part,
                    content: content.clone(),
                    ..IntervalPart::default()
                };
                window.note_sent(RUN, &part, Mono(ms * MS));
                next_part += 1;
                let takes_us = INTERVAL_PART_BYTES as u64 * 1_000_000 / bytes_per_second;
                free_at = (ms * 1_000).max(free_at) + takes_us;
                on_way.push_back((free_at / 1_000 + trip_ms, next_part));
            }
            // The first seconds are for learning.
            if ms > 2_500 {
                longest = longest.max((free_at / 1_000).saturating_sub(ms));
            }
            while on_way.front().is_some_and(|(at, _)| *at <= ms) {
                let (_, parts) = on_way.pop_front().unwrap();
                came = u64::from(parts) * INTERVAL_PART_BYTES as u64;
                let received = Received {
                    parts,
                    ..Received::default()
                };
                window.note_arrival(RUN, &received, trip, Mono(ms * MS));
            }
        }
        (window.bytes, came, longest)
    }

    #[test]
    fn beat_waits_for_no_more_than_half_a_second_or_one_part_and_the_link_is_used() {
        for (bits_per_second, trip_ms, share) in [
            (64_000, 120, 80),
            (256_000, 120, 60),
            (1_000_000, 40, 80),
            (100_000_000, 120, 40),
            (200_000_000, 1, 80),
        ] {
            let rate = bits_per_second / 8;
            let (window, came, waits_ms) = upload(rate, trip_ms, 30_000);
            let one_part_ms = INTERVAL_PART_BYTES as u64 * 1_000 / rate;
            assert!(
                waits_ms <= one_part_ms.max(500),
                "{bits_per_second} bit/s: {waits_ms} ms, window {window}"
            );
            assert!(
                came * 100 / (rate * 30) >= share,
                "{bits_per_second} bit/s: only {came} bytes came, window {window}"
            );
        }
    }

    #[test]
    fn window_is_never_less_than_a_part_nor_more_than_its_limit() {
        assert_eq!(upload(8_000, 120, 20_000).0, INTERVAL_PART_BYTES);
        assert_eq!(upload(100_000_000, 0, 2_000).0, MOST_BYTES);
    }

    fn part(interval: u32, part: u32) -> IntervalPart {
        IntervalPart {
            interval,
            part,
            parts: 2,
            content: Bytes::from(vec![0; INTERVAL_PART_BYTES]),
            ..IntervalPart::default()
        }
    }

    #[test]
    fn confirmation_counts_for_its_own_parts_and_those_before_them() {
        let mut window = UploadWindow::new();
        for (interval, nth) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            window.note_sent(RUN, &part(interval, nth), Mono(0));
        }
        assert!(!window.has_room());
        let late = Mono(200 * MS);
        let foreign = UploadId::Interval(7);
        window.note_stored(RUN, foreign, Duration::ZERO, late);
        window.note_stored(RunId([2; 16]), UploadId::Interval(0), Duration::ZERO, late);
        assert_eq!(window.under_way.len(), 4);
        let first_of_second = Received {
            interval: 1,
            parts: 1,
            ..Received::default()
        };
        window.note_arrival(RUN, &first_of_second, Duration::ZERO, late);
        assert_eq!(window.under_way.len(), 1);
        window.note_stored(RUN, UploadId::Interval(1), Duration::ZERO, late);
        assert_eq!((window.under_way.len(), window.under_way_bytes), (0, 0));
        assert_eq!(window.bytes, FIRST_BYTES, "neither quick nor slow");
        window.note_sent(RUN, &part(2, 1), Mono(0));
        let (stored, long) = (UploadId::Interval(2), Mono(9_000 * MS));
        window.note_stored(RUN, stored, Duration::ZERO, long);
        assert_eq!(window.bytes, FIRST_BYTES, "a slow disk is no slow link");
    }

    #[test]
    fn part_that_is_never_confirmed_is_not_waited_for_after_a_later_beat_was_answered() {
        let mut window = UploadWindow::new();
        let full = |window: &mut UploadWindow| {
            (0..2).for_each(|nth| window.note_sent(RUN, &part(0, nth), Mono(0)));
            !window.has_room()
        };
        assert!(full(&mut window));
        window.note_answer(Mono(4_999 * MS));
        assert!(!window.has_room());
        window.note_answer(Mono(5_000 * MS));
        assert!(window.has_room() && full(&mut window));
        window.forget(RunId([2; 16]));
        assert!(!window.has_room());
        window.forget(RUN);
        assert_eq!((window.has_room(), window.under_way_bytes), (true, 0));
    }

    #[test]
    fn part_larger_than_the_window_goes_alone_and_a_new_stream_begins_with_none_under_way() {
        let mut window = UploadWindow::new();
        window.bytes = 1;
        assert!(window.has_room());
        window.note_sent(RUN, &part(0, 0), Mono(0));
        assert!(!window.has_room());
        window.reset();
        assert!(window.has_room());
    }
}
