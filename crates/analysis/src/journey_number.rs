//! The figures of journeys that thresholds can use.

use crate::counts::share;
use crate::journey_figures::with_an_end;
use crate::journey_tally::JourneyTally;
use crate::span::Span;
use crate::{Headline, Unit};
use measure::{Distribution, GroupTally};
use plan::{GroupFigure, JourneyNumber, JourneyTime, Words as _};

const NO_JOURNEY: &str = "no journey was completed, failed or not sent";
const UNKNOWN: &str = "this version measures nothing of that name";

/// Returns the unit of the number that a threshold calls `name`, and the number or the reason why
/// there is none. The journey has `groups`.
pub(crate) fn number(
    name: &str,
    (tally, groups): (&JourneyTally, &[String]),
    span: Span,
) -> (Unit, Result<f64, &'static str>) {
    if let Some((group, figure)) = GroupFigure::split(name) {
        let count = find_group(group, (tally, groups)).map_or(0, |tally| match figure {
            GroupFigure::CompletedCount => tally.completed,
            _ => tally.begun,
        });
        return (Unit::Count, Ok(count as f64));
    }
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

/// Returns the times that a threshold calls `name`; `None` if no journey, or no such group of its
/// `groups`, was completed.
pub(crate) fn times(name: &str, (tally, groups): (&JourneyTally, &[String])) -> Option<Headline> {
    let times: &Distribution = match GroupFigure::split(name) {
        Some((group, GroupFigure::Time)) => &find_group(group, (tally, groups))?.time,
        Some((group, _)) => &find_group(group, (tally, groups))?.wait,
        None => match JourneyTime::from_word(name)? {
            JourneyTime::Time => &tally.funnel.time,
            JourneyTime::Wait => &tally.funnel.wait,
        },
    };
    (!times.is_empty()).then(|| Headline::exact(times))
}

/// Returns the tally of the group with this name; `None` if it was never begun.
fn find_group<'t>(
    name: &str,
    (tally, groups): (&'t JourneyTally, &[String]),
) -> Option<&'t GroupTally> {
    let place = groups.iter().position(|group| group == name)?;
    tally.funnel.groups.get(place)
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
            assert_eq!(
                number(name, (&tally(), &[]), span).1,
                Ok(expected),
                "{name}"
            );
        }
        let (nothing, at_once) = (JourneyTally::default(), Span::measured(0, span.counting));
        for name in ["completed.share", "failed.share", "rate", "time.p99"] {
            assert!(number(name, (&nothing, &[]), at_once).1.is_err(), "{name}");
        }
    }

    #[test]
    fn times_are_those_of_completed_journeys() {
        let mut tally = tally();
        assert!(times("time", (&tally, &[])).is_none());
        tally.funnel.time.record(5);
        tally.funnel.wait.record(3);
        let groups = ["a".to_owned(), "b c".to_owned()];
        let max = |tally: &JourneyTally, name| {
            let times = times(name, (tally, &groups));
            Some(times?.distribution.max)
        };
        let found = ["time", "wait", "lateness"].map(|name| max(&tally, name));
        assert_eq!(found, [Some(5), Some(3), None]);
        assert_eq!(max(&tally, "group.b c.time"), None);
        let mut group = GroupTally::default();
        (group.begun, group.completed) = (9, 1);
        group.time.record(4);
        group.wait.record(2);
        tally.funnel.groups = vec![GroupTally::default(), group];
        let found = [
            "group.b c.time",
            "group.b c.wait",
            "group.a.time",
            "group.z.time",
        ];
        let found = found.map(|name| max(&tally, name));
        assert_eq!(found, [Some(4), Some(2), None, None]);
        let span = Span::measured(2_000_000_000, EdgeCounting::WhereEnded);
        let names = ["b c.begun", "b c.completed", "a.begun"];
        let counts = names.map(|name| {
            let name = format!("group.{name}.count");
            number(&name, (&tally, &groups), span).1
        });
        assert_eq!(counts, [Ok(9.0), Ok(1.0), Ok(0.0)]);
    }
}
