//! The measured part as it happened: how long it took, and which counts make up its rates.

use crate::cell_tally::CellTally;
use crate::counts::sent_and_ended;
use measure::Window;

/// A part of a run for which rates are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// Its length, by which rates are divided.
    pub(crate) length_ns: u64,
    pub(crate) part: RunPart,
    pub(crate) counting: EdgeCounting,
}

/// The parts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunPart {
    WarmUp,
    Measured,
}

/// How to count an operation that was under way at an end of the part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EdgeCounting {
    /// Open loop: in the part in which it ended. Arrivals are due by a clock of their own, so
    /// comparing them with what ended shows a growing queue.
    WhereEnded,
    /// Closed loop: by the fraction of its service time that lies in the part. Users begin only as
    /// often as they are answered, so all of them can be under way at the end, and there is no
    /// independent count to compare with.
    ByTime,
}

/// Work done in a span: operations, bytes, and events of streamed answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SpanWork {
    pub(crate) ended: f64,
    pub(crate) ok: f64,
    pub(crate) payload_bytes: u64,
    pub(crate) wire_bytes_sent: u64,
    pub(crate) wire_bytes_received: u64,
    pub(crate) events: u64,
}

impl Span {
    /// The measured part.
    pub(crate) fn measured(length_ns: u64, counting: EdgeCounting) -> Span {
        Span {
            length_ns,
            part: RunPart::Measured,
            counting,
        }
    }

    /// Returns the work that its rates count.
    pub(crate) fn work(self, tally: &CellTally) -> SpanWork {
        let counters = &tally.counters;
        let (own, carried, streams) = (counters.within, tally.carried, &tally.streams);
        let (ended, ok) = self.operations(tally);
        match self.part {
            RunPart::Measured => SpanWork {
                ended,
                ok,
                payload_bytes: own.payload_bytes.saturating_add(carried.payload_bytes),
                wire_bytes_sent: own.wire_bytes_sent.saturating_add(carried.wire_bytes_sent),
                wire_bytes_received: own
                    .wire_bytes_received
                    .saturating_add(carried.wire_bytes_received),
                events: streams.events_within.saturating_add(tally.carried_events),
            },
            // The warm-up's work without what happened in the measured part.
            RunPart::WarmUp => SpanWork {
                ended: sent_and_ended(counters) as f64 - ended,
                ok: counters.ok as f64 - ok,
                payload_bytes: counters.payload_bytes.saturating_sub(own.payload_bytes),
                wire_bytes_sent: counters.wire_bytes_sent.saturating_sub(own.wire_bytes_sent),
                wire_bytes_received: counters
                    .wire_bytes_received
                    .saturating_sub(own.wire_bytes_received),
                events: streams.events.saturating_sub(streams.events_within),
            },
        }
    }

    /// Returns the operations in the span, and the ok ones: those of the tally, and for the
    /// measured part also those that came over from the warm-up.
    fn operations(self, tally: &CellTally) -> (f64, f64) {
        let (own, carried) = (tally.counters.within, tally.carried);
        let both = |own: u64, carried: u64| own.saturating_add(carried) as f64;
        let parts = |own: u64, carried: u64| both(own, carried) / Window::WHOLE as f64;
        match (self.counting, self.part) {
            (EdgeCounting::WhereEnded, _) => {
                (both(own.ended, carried.ended), both(own.ok, carried.ok))
            }
            // Operations of the warm-up are all counted by their parts.
            (EdgeCounting::ByTime, RunPart::WarmUp) => {
                (parts(own.ended_parts, 0), parts(own.ok_parts, 0))
            }
            (EdgeCounting::ByTime, RunPart::Measured) => (
                own.ended as f64 + parts(own.ended_parts, carried.ended_parts),
                own.ok as f64 + parts(own.ok_parts, carried.ok_parts),
            ),
        }
    }

    /// Returns `number` over the length, per second.
    pub(crate) fn per_second(self, number: f64) -> f64 {
        if self.length_ns == 0 {
            0.0
        } else {
            number * 1e9 / self.length_ns as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Within;

    const SECOND: u64 = 1_000_000_000;

    /// A tally of `ended` operations, of which `within` ended within, and `carried` more from the
    /// warm-up.
    fn tally(ended: u64, within: u64, carried: u64) -> CellTally {
        let mut tally = CellTally::default();
        (
            tally.counters.ok,
            tally.counters.within.ended,
            tally.counters.within.ok,
        ) = (ended, within, within);
        (tally.carried.ended, tally.carried.ok) = (carried, carried);
        tally
    }

    fn in_parts(within: &mut Within, operations: u64, thousandths: u64) {
        within.ended_parts = operations * thousandths * (Window::WHOLE / 1000);
        within.ok_parts = within.ended_parts;
    }

    fn rate(span: Span, tally: &CellTally) -> f64 {
        span.per_second(span.work(tally).ok)
    }

    #[test]
    fn open_loops_rate_is_what_ended_between_two_instants_whenever_it_began() {
        // 20/s, answers after 1 s, 10 s: 20 of the warm-up end within, and 20 of its own end
        // afterwards.
        let open = |length_ns| Span::measured(length_ns, EdgeCounting::WhereEnded);
        let mut both = tally(200, 180, 20);
        assert_eq!(rate(open(10 * SECOND), &both), 20.0);
        in_parts(&mut both.counters.within, 20, 500);
        assert_eq!(rate(open(10 * SECOND), &both), 20.0);
        // 1.1 s of 200/s, then a drain.
        assert_eq!(rate(open(1_100_000_000), &tally(440, 220, 0)), 200.0);
        assert_eq!(rate(open(0), &tally(5, 5, 0)), 0.0);
        let warm_up = Span {
            part: RunPart::WarmUp,
            ..open(2 * SECOND)
        };
        assert_eq!(
            rate(warm_up, &tally(60, 20, 0)),
            20.0,
            "20 of the warm-up ended after it"
        );
    }

    #[test]
    fn closed_loops_rate_counts_what_is_under_way_at_an_end_by_its_part() {
        let closed = |length_ns| Span::measured(length_ns, EdgeCounting::ByTime);
        // 20 users, answers after 700 ms, 3.3 s: 4 rounds, and 500 ms of the fifth.
        let mut rounds = tally(100, 80, 0);
        in_parts(&mut rounds.counters.within, 20, 714);
        let seen = rate(closed(3_300_000_000), &rounds);
        assert!((seen - 20.0 / 0.7).abs() < 0.01, "{seen}");
        // The warm-up's last round lies in the measured part with 250 ms of its 1 s, and this
        // part's last round with 750 ms: 10 s at 20/s.
        let mut both = tally(200, 180, 20);
        in_parts(&mut both.carried, 20, 250);
        in_parts(&mut both.counters.within, 20, 750);
        assert_eq!(rate(closed(10 * SECOND), &both), 20.0);
        let warm_up = Span {
            part: RunPart::WarmUp,
            ..closed(2 * SECOND)
        };
        let mut rounds = tally(45, 20, 0);
        in_parts(&mut rounds.counters.within, 20, 250);
        assert_eq!(
            rate(warm_up, &rounds),
            20.0,
            "5 of 45 are the measured part's"
        );
    }
}
