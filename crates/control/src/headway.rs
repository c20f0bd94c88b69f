//! Whether an agent's streams bring anything new, so that an upload that makes no progress is
//! ended.

use crate::FleetTime;
use std::time::Duration;

/// After this many streams in a row that brought nothing new, over at least this long, the agent is
/// given up when the next one comes. A link that is cut every few seconds still brings an interval
/// on most streams; one that cannot carry a single part brings none on any.
const STREAMS_MAX: u32 = 5;
const FRUITLESS_MAX: Duration = Duration::from_secs(60);

/// The streams since the last one that brought something new.
#[derive(Debug, Default)]
pub(crate) struct Headway {
    fruitless: u32,
    /// When the first of them ended.
    since: Option<FleetTime>,
}

impl Headway {
    /// Notes that something new arrived.
    pub(crate) fn note_news(&mut self) {
        *self = Headway::default();
    }

    /// Notes that a stream ended.
    pub(crate) fn stream_ended(&mut self, now: FleetTime) {
        self.fruitless = self.fruitless.saturating_add(1);
        self.since.get_or_insert(now);
    }

    /// Whether there was no progress for too long.
    pub(crate) fn is_missing(&self, now: FleetTime) -> bool {
        self.fruitless >= STREAMS_MAX
            && self
                .since
                .is_some_and(|since| now.since(since) >= FRUITLESS_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64) -> FleetTime {
        FleetTime(second * 1_000_000_000)
    }

    #[test]
    fn headway_is_missing_after_many_streams_and_a_long_time_only() {
        for (streams, every, missing) in [
            (5, 15, true),
            (5, 14, false),
            (4, 60, false),
            (60, 1, false),
            (62, 1, true),
        ] {
            let mut headway = Headway::default();
            (0..streams).for_each(|stream| headway.stream_ended(at(stream * every)));
            assert_eq!(
                headway.is_missing(at((streams - 1) * every)),
                missing,
                "{streams} streams, one in {every} s"
            );
        }
    }

    #[test]
    fn anything_new_begins_the_count_anew() {
        let mut headway = Headway::default();
        (0..9).for_each(|stream| headway.stream_ended(at(stream * 10)));
        headway.note_news();
        (0..9).for_each(|_| headway.stream_ended(at(100)));
        assert!(!headway.is_missing(at(159)) && headway.is_missing(at(160)));
    }
}
