//! The measured part as it was: how long it took, and which counts its rates are made of.

use crate::cell_tally::CellTally;
use crate::counts::sent_and_ended;
use measure::Within;

/// The most of all operations that may still be under way when the last one of a number begins.
/// Beyond it the load never held for long enough, and the rates are those until the last one ended,
/// as ab has them.
const UNDER_WAY_SHARE_MAX: f64 = 0.1;

/// A part of a run that rates are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// How long operations began.
    pub(crate) offered_ns: u64,
    /// How long it took: what rates are divided by.
    pub(crate) length_ns: u64,
    pub(crate) basis: Basis,
}

/// What rates count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Basis {
    /// What happened between the two instants of the measured part, whenever it was begun.
    Within,
    /// All operations of the measured part, and what else happened until the last of them ended.
    UntilLast,
    /// What happened before the measured part: of the warm-up.
    Before,
}

impl Span {
    /// The measured part, which offered load for `offered_ns`.
    pub(crate) fn measured(offered_ns: u64) -> Span {
        Span {
            offered_ns,
            length_ns: offered_ns,
            basis: Basis::Within,
        }
    }

    /// The same of a number of operations in a closed loop, the last of which ended after
    /// `until_last_ns`.
    pub(crate) fn of_count(offered_ns: u64, until_last_ns: u64, whole: &CellTally) -> Span {
        let all = sent_and_ended(&whole.counters);
        // Those that ended after the offer were under way when the last one began.
        let under_way = all.saturating_sub(whole.counters.within.ended);
        if under_way as f64 > UNDER_WAY_SHARE_MAX * all as f64 {
            return Span {
                offered_ns,
                length_ns: until_last_ns.max(offered_ns),
                basis: Basis::UntilLast,
            };
        }
        Span::measured(offered_ns)
    }

    pub(crate) fn warm_up(length_ns: u64) -> Span {
        Span {
            offered_ns: length_ns,
            length_ns,
            basis: Basis::Before,
        }
    }

    /// What its rates count.
    pub(crate) fn work(self, tally: &CellTally) -> Within {
        let all = Within {
            ended: sent_and_ended(&tally.counters),
            ok: tally.counters.ok,
            payload_bytes: tally.counters.payload_bytes,
            wire_bytes_sent: tally.counters.wire_bytes_sent,
            wire_bytes_received: tally.counters.wire_bytes_received,
            ..Within::default()
        };
        match self.basis {
            Basis::Within => sum(tally.counters.within, tally.carried),
            Basis::UntilLast => sum(all, tally.carried),
            Basis::Before => difference(all, tally.counters.within),
        }
    }

    /// So many in `length_ns`, per second.
    pub(crate) fn per_second(self, number: u64) -> f64 {
        per_second(number, self.length_ns)
    }

    /// So many begun, per second.
    pub(crate) fn offered_per_second(self, number: u64) -> f64 {
        per_second(number, self.offered_ns)
    }
}

fn per_second(number: u64, ns: u64) -> f64 {
    if ns == 0 {
        0.0
    } else {
        number as f64 * 1e9 / ns as f64
    }
}

fn sum(mut one: Within, other: Within) -> Within {
    one.merge(&other);
    one
}

fn difference(all: Within, part: Within) -> Within {
    Within {
        ended: all.ended.saturating_sub(part.ended),
        ok: all.ok.saturating_sub(part.ok),
        payload_bytes: all.payload_bytes.saturating_sub(part.payload_bytes),
        wire_bytes_sent: all.wire_bytes_sent.saturating_sub(part.wire_bytes_sent),
        wire_bytes_received: all
            .wire_bytes_received
            .saturating_sub(part.wire_bytes_received),
        ..Within::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of so many ended operations so many ended within, and so many of the warm-up did.
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

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn rate_is_what_ended_between_two_instants_whenever_it_began() {
        // 20 users, answers after 1 s, 10 s: 20 of the warm-up end in it, and 20 of its own after
        // it.
        let span = Span::measured(10 * SECOND);
        assert_eq!(span.per_second(span.work(&tally(200, 180, 20)).ok), 20.0);
        // 1.1 s of 200/s, then a drain.
        let span = Span::measured(1_100_000_000);
        assert_eq!(span.per_second(span.work(&tally(440, 220, 0)).ok), 200.0);
        assert_eq!(Span::measured(0).per_second(5), 0.0);
        let span = Span::warm_up(2 * SECOND);
        assert_eq!(
            span.per_second(span.work(&tally(60, 20, 0)).ok),
            20.0,
            "20 of the warm-up ended after it"
        );
    }

    #[test]
    fn number_of_operations_is_measured_while_they_begin_or_of_few_until_the_last_ends() {
        // 1000 at 50/s, the last of which hangs: nothing of the wait is in the rate.
        let whole = tally(1000, 980, 0);
        let span = Span::of_count(20 * SECOND, 39 * SECOND, &whole);
        assert_eq!(
            (span.length_ns, span.per_second(span.work(&whole).ok)),
            (20 * SECOND, 49.0)
        );
        // 200 by 50 users whose answers take 1 s: the last begin after 3 s and end after 4.
        let whole = tally(200, 150, 0);
        let span = Span::of_count(3 * SECOND, 4 * SECOND, &whole);
        assert_eq!(
            (span.length_ns, span.per_second(span.work(&whole).ok)),
            (4 * SECOND, 50.0)
        );
        assert_eq!(span.offered_ns, 3 * SECOND);
    }
}
