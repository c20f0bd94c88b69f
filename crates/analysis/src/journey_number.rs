//! The figures of journeys that thresholds can use.

use crate::counts::share;
use crate::journey_figures::with_an_end;
use crate::journey_tally::JourneyTally;
use crate::span::Span;
use crate::{Headline, Unit};
use plan::{JourneyNumber, JourneyTime, Words as _};

const NO_JOURNEY: &str = "no journey was completed, failed or not sent";
const UNKNOWN: &str = "this version measures nothing of that name";

/// Returns the unit of the number that a threshold calls `name`, and the number or the reason why
/// there is none.
pub(crate) fn number(
    name: &str,
    tally: &JourneyTally,
    span: Span,
) -> (Unit, Result<f64, &'static str>) {
    let counts = &tally.funnel.counts;
    let count = |count: u64| (Unit::Count, Ok(count as f64));
    let part = |part: u64| {
        (
            Unit::Share,
            share(part, with_an_end(counts)).ok_or(NO_JOURNEY),
        )
    };
    match JourneyNumber::from_word(name) {
        Some(JourneyNumber::Rate) => {
            let rate = span.per_second(tally.count_completed() as f64);
            let is_known = span.length_ns > 0;
            let rate = is_known.then_some(rate).ok_or("nothing was measured");
            (Unit::PerSecond, rate)
        }
        Some(JourneyNumber::CompletedCount) => count(counts.completed),
        Some(JourneyNumber::CompletedShare) => part(counts.completed),
        Some(JourneyNumber::FailedCount) => count(counts.failed),
        Some(JourneyNumber::FailedShare) => part(counts.failed),
        Some(JourneyNumber::AbandonedCount) => count(counts.abandoned),
        Some(JourneyNumber::NotSentCount) => count(counts.not_sent),
        Some(JourneyNumber::NotSentShare) => part(counts.not_sent),
        None => (Unit::Count, Err(UNKNOWN)),
    }
}

/// Returns the times that a threshold calls `name`; `None` if no journey was completed.
pub(crate) fn times(name: &str, tally: &JourneyTally) -> Option<Headline> {
    let times = match JourneyTime::from_word(name)? {
        JourneyTime::Time => &tally.funnel.time,
        JourneyTime::Wait => &tally.funnel.wait,
    };
    (!times.is_empty()).then(|| Headline::exact(times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::EdgeCounting;
    use measure::JourneyCounts;

    fn tally() -> JourneyTally {
        let mut tally = JourneyTally::default();
        tally.funnel.counts = JourneyCounts {
            begun: 115,
            not_sent: 4,
            completed: 90,
            failed: 6,
            abandoned: 15,
            completed_within: 76,
        };
        tally.carried = 4;
        tally
    }

    #[test]
    fn numbers_of_journeys_are_those_worked_out_by_hand() {
        let span = Span::measured(2_000_000_000, EdgeCounting::WhereEnded);
        let numbers = [
            ("rate", 40.0),
            ("completed.count", 90.0),
            ("completed.share", 0.9),
            ("failed.count", 6.0),
            ("failed.share", 0.06),
            ("abandoned.count", 15.0),
            ("not_sent.count", 4.0),
            ("not_sent.share", 0.04),
        ];
        assert_eq!(numbers.map(|(name, _)| name), JourneyNumber::WORDS);
        for (name, expected) in numbers {
            assert_eq!(number(name, &tally(), span).1, Ok(expected), "{name}");
        }
        let (nothing, at_once) = (JourneyTally::default(), Span::measured(0, span.counting));
        for name in ["completed.share", "failed.share", "rate", "time.p99"] {
            assert!(number(name, &nothing, at_once).1.is_err(), "{name}");
        }
    }

    #[test]
    fn times_are_those_of_completed_journeys() {
        let mut tally = tally();
        assert!(times("time", &tally).is_none());
        tally.funnel.time.record(5);
        tally.funnel.wait.record(3);
        let max = |name| Some(times(name, &tally)?.distribution.max);
        let found = (max("time"), max("wait"), max("lateness"));
        assert_eq!(found, (Some(5), Some(3), None));
    }
}
