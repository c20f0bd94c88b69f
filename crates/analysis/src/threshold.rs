//! Judges thresholds on the merged whole: headline times (ok and timed out), counters and shares.

use crate::cell_tally::CellTally;
use crate::journey_figures::JourneyNames;
use crate::journey_number;
use crate::journey_tally::{JourneyTallies, JourneyTally};
use crate::number::number;
use crate::span::Span;
use crate::{Headline, Unit, human};
use measure::{Client, HANDSHAKE, LOOP_LAG, Metric};
use plan::{GroupFigure, Limit, Relation, Statistic, Threshold, ThresholdMetric, ThresholdScope};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A threshold and its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judgement {
    /// Name of the figure, as the plan has it.
    pub metric: String,
    /// `<`, `<=`, `>` or `>=`.
    pub comparison: String,
    /// Right-hand side, in `unit`.
    pub limit: f64,
    /// Measured value, in `unit`; absent if nothing was measured.
    pub actual: Option<f64>,
    /// Whether `actual` is a lower bound, because values that were cut short (time-outs, arrivals
    /// never sent) could move it.
    pub at_least: bool,
    /// Unit of `limit` and `actual`.
    pub unit: Unit,
    /// Whether it holds.
    pub passed: bool,
    /// Why it does not hold, if the numbers alone do not show it.
    pub reason: Option<String>,
}

impl Judgement {
    /// The limit as the plan states it: `<= 250 ms`.
    #[must_use]
    pub fn limit_in_words(&self) -> String {
        let limit = self.unit.display_in_full(self.limit);
        format!("{} {limit}", self.comparison)
    }
}

/// What a threshold is judged by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JudgedBy<'a> {
    pub(crate) tally: &'a CellTally,
    /// Tallies of the requests that thresholds name, by their names.
    pub(crate) requests: &'a BTreeMap<String, CellTally>,
    /// Names of the plan's journeys, and their tallies by their places.
    pub(crate) journeys: (&'a [JourneyNames], &'a JourneyTallies),
    pub(crate) client: &'a Client,
    pub(crate) span: Span,
}

/// The value measured for a threshold.
struct Measured {
    unit: Unit,
    /// Lower bound of the value, or the reason why there is none.
    actual: Result<f64, String>,
    /// Upper bound of the value; `None` if there is none.
    most: Option<f64>,
}

/// Judges every threshold.
///
/// Counts and shares come from `all`, times and rates from `rates`, which can cover less time.
pub(crate) fn judge(
    thresholds: &[Threshold],
    all: JudgedBy<'_>,
    rates: JudgedBy<'_>,
) -> Vec<Judgement> {
    thresholds
        .iter()
        .map(|threshold| judge_one(threshold, all, rates))
        .collect()
}

fn judge_one(threshold: &Threshold, all: JudgedBy<'_>, rates: JudgedBy<'_>) -> Judgement {
    let is_count = match &threshold.metric {
        ThresholdMetric::Time { .. } => false,
        ThresholdMetric::Number(name) => !name.ends_with("rate"),
    };
    let judged = if is_count { all } else { rates };
    let JudgedBy {
        tally,
        requests,
        client,
        span,
        ..
    } = judged;
    // A request that was never sent has no tally, and neither has a journey.
    let nothing = CellTally::default();
    let metric = &threshold.metric;
    let measured = match &threshold.scope {
        ThresholdScope::Run => Measured::new(metric, tally, client, span),
        ThresholdScope::Request(name) => {
            let tally = requests.get(name).unwrap_or(&nothing);
            Measured::new(metric, tally, client, span)
        }
        ThresholdScope::Journey(name) => {
            let no_journey = JourneyTally::default();
            let (tally, groups) = judged.journey(name);
            let tally = tally.unwrap_or(&no_journey);
            Measured::of_journey(metric, (tally, groups), span)
        }
    };
    let limit = match threshold.limit {
        Limit::Time(limit) => limit.as_nanos() as f64,
        Limit::Number(limit) => limit,
    };
    let outcome = measured.holds(threshold.comparison, limit);
    Judgement {
        metric: threshold.name(),
        comparison: threshold.comparison.to_string(),
        limit,
        at_least: measured.is_lower_bound(),
        actual: measured.actual.ok(),
        unit: measured.unit,
        passed: outcome == Ok(true),
        reason: outcome.err(),
    }
}

impl<'a> JudgedBy<'a> {
    /// The tally of the journeys of this name, if it has any, and the names of their groups.
    fn journey(&self, name: &str) -> (Option<&'a JourneyTally>, &'a [String]) {
        let (names, tallies) = self.journeys;
        let named = (0..).zip(names).find(|(_, journey)| journey.name == name);
        named.map_or((None, &[]), |(place, names)| {
            (tallies.of(place), &names.groups)
        })
    }
}

impl Measured {
    fn of_journey(
        metric: &ThresholdMetric,
        journey: (&JourneyTally, &[String]),
        span: Span,
    ) -> Measured {
        match metric {
            ThresholdMetric::Time {
                histogram,
                statistic,
            } => {
                let headline = journey_number::times(histogram, journey);
                let why_none = || match GroupFigure::split(histogram) {
                    Some(_) => "no group of this name was completed".to_owned(),
                    None => "no journey was completed".to_owned(),
                };
                Measured::of_times(headline.as_ref(), *statistic, why_none)
            }
            ThresholdMetric::Number(name) => {
                Measured::of_number(journey_number::number(name, journey, span))
            }
        }
    }

    fn of_number((unit, actual): (Unit, Result<f64, &'static str>)) -> Measured {
        Measured {
            unit,
            most: actual.ok(),
            actual: actual.map_err(str::to_owned),
        }
    }

    fn new(metric: &ThresholdMetric, whole: &CellTally, client: &Client, span: Span) -> Measured {
        match metric {
            ThresholdMetric::Time {
                histogram,
                statistic,
            } => Measured::time(histogram, *statistic, whole, client),
            ThresholdMetric::Number(name) => Measured::of_number(number(name, whole, span)),
        }
    }

    fn time(histogram: &str, statistic: Statistic, whole: &CellTally, client: &Client) -> Measured {
        let metrics = |name| {
            Metric::ALL
                .into_iter()
                .filter(move |metric| metric.name() == name)
        };
        let headline = match histogram {
            HANDSHAKE => whole.headline(&Metric::HANDSHAKES),
            LOOP_LAG => (!client.loop_lag.is_empty()).then(|| Headline::exact(&client.loop_lag)),
            name => whole.headline(&metrics(name).collect::<Vec<_>>()),
        };
        let why_none = || format!("no {histogram} was measured");
        Measured::of_times(headline.as_ref(), statistic, why_none)
    }

    fn of_times(
        headline: Option<&Headline>,
        statistic: Statistic,
        why_none: impl FnOnce() -> String,
    ) -> Measured {
        let (actual, most) = match headline.and_then(|headline| bounds(headline, statistic)) {
            Some((least, most)) => (Ok(least), most),
            None => (Err(why_none()), None),
        };
        Measured {
            unit: Unit::Ns,
            actual,
            most,
        }
    }

    /// Returns whether the true value can be larger.
    fn is_lower_bound(&self) -> bool {
        self.actual
            .as_ref()
            .is_ok_and(|&actual| self.most.is_none_or(|most| most > actual))
    }

    /// Returns whether it holds, or why that cannot be decided.
    fn holds(&self, comparison: Relation, limit: f64) -> Result<bool, String> {
        let actual = *self.actual.as_ref().map_err(Clone::clone)?;
        let most = self.most.unwrap_or(f64::INFINITY);
        // The lower bound can keep a limit that the true value breaks.
        let (holds, may_hold) = match comparison {
            Relation::Below => (most < limit, actual < limit),
            Relation::AtMost => (most <= limit, actual <= limit),
            // A larger value only helps here, so the lower bound decides.
            Relation::Above => (actual > limit, actual > limit),
            Relation::AtLeast => (actual >= limit, actual >= limit),
        };
        if may_hold && !holds {
            let least = human::time(actual);
            return Err(format!(
                "it is {least} or more: time-outs, or arrivals that were never sent, were cut \
                 short"
            ));
        }
        Ok(holds)
    }
}

/// Returns a lower and an upper bound of a statistic, wherever the values that were cut short would
/// have ended.
fn bounds(headline: &Headline, statistic: Statistic) -> Option<(f64, Option<f64>)> {
    let distribution = &headline.distribution;
    let if_all_known = |value: f64| headline.censored.is_empty().then_some(value);
    match statistic {
        Statistic::Min => {
            // A value that was cut short would have been larger, never smaller.
            let is_known = headline.censored.is_empty() || distribution.min < headline.censored.min;
            let most = if is_known {
                Some(distribution.min)
            } else {
                headline.at_most(0.0)
            };
            Some((distribution.min as f64, most.map(|most| most as f64)))
        }
        Statistic::Max => Some((
            distribution.max as f64,
            if_all_known(distribution.max as f64),
        )),
        Statistic::Mean => distribution.mean().map(|mean| (mean, if_all_known(mean))),
        Statistic::StdDev => distribution.std_dev().map(|sd| (sd, if_all_known(sd))),
        Statistic::Percentile(percentile) => {
            let figure = headline.percentile(percentile)?;
            let most = if figure.at_least {
                headline.at_most(percentile)
            } else {
                Some(figure.value_ns)
            };
            Some((figure.value_ns as f64, most.map(|most| most as f64)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::EdgeCounting;
    use measure::{Distribution, Metric as Measure, Outcome};
    use std::time::Duration;

    const MS: u64 = 1_000_000;

    /// 98 ok at 1 ms … 98 ms, 2 timed out at 200 ms.
    fn whole() -> CellTally {
        let mut tally = CellTally::default();
        let distribution = |values: &[u64]| {
            let mut distribution = Distribution::default();
            values.iter().for_each(|&value| distribution.record(value));
            distribution
        };
        let ok: Vec<u64> = (1..=98).map(|ms| ms * MS).collect();
        tally
            .times
            .insert((Outcome::Ok, Measure::ResponseTime), distribution(&ok));
        tally.times.insert(
            (Outcome::TimedOut, Measure::ResponseTime),
            distribution(&[200 * MS; 2]),
        );
        tally.times.insert(
            (Outcome::Failed, Measure::ResponseTime),
            distribution(&[1; 1000]),
        );
        tally.times.insert(
            (Outcome::Ok, Measure::HandshakeFull),
            distribution(&[3 * MS]),
        );
        tally.times.insert(
            (Outcome::Ok, Measure::HandshakeResumed),
            distribution(&[MS]),
        );
        (
            tally.counters.ok,
            tally.counters.timed_out,
            tally.counters.failed,
        ) = (98, 2, 1000);
        tally
    }

    fn judge(
        thresholds: &[Threshold],
        tally: &CellTally,
        client: &Client,
        span: Span,
    ) -> Vec<Judgement> {
        let all = JudgedBy {
            tally,
            requests: &BTreeMap::new(),
            journeys: (&[], &JourneyTallies::default()),
            client,
            span,
        };
        super::judge(thresholds, all, all)
    }

    fn judged(metric: ThresholdMetric, comparison: Relation, limit: Limit) -> Judgement {
        judge(
            &[Threshold {
                scope: ThresholdScope::Run,
                metric,
                comparison,
                limit,
            }],
            &whole(),
            &Client::default(),
            Span::measured(1_000_000_000, EdgeCounting::WhereEnded),
        )
        .remove(0)
    }

    fn time(histogram: &str, statistic: Statistic, comparison: Relation, ms: u64) -> Judgement {
        judged(
            ThresholdMetric::Time {
                histogram: histogram.into(),
                statistic,
            },
            comparison,
            Limit::Time(Duration::from_millis(ms)),
        )
    }

    #[test]
    fn times_are_judged_on_ok_and_timed_out_together() {
        use Relation::{Above, AtLeast, AtMost, Below};
        use Statistic::{Max, Mean, Min, Percentile};
        for (histogram, statistic, comparison, ms, passed) in [
            ("response_time", Percentile(50.0), AtMost, 51, true),
            ("response_time", Percentile(50.0), AtMost, 49, false),
            ("response_time", Percentile(98.0), Below, 100, true),
            ("response_time", Percentile(99.0), AtMost, 150, false),
            ("response_time", Percentile(99.0), Above, 150, true),
            ("response_time", Min, AtLeast, 1, true),
            ("response_time", Max, AtLeast, 200, true),
            ("response_time", Mean, Above, 52, true),
            ("handshake", Max, AtMost, 3, true),
            ("handshake", Min, AtMost, 1, true),
            ("handshake_full", Min, AtMost, 1, false),
        ] {
            let judgement = time(histogram, statistic, comparison, ms);
            assert_eq!(judgement.passed, passed, "{judgement:?}");
            assert_eq!(judgement.reason, None, "{judgement:?}");
        }
    }

    #[test]
    fn percentile_among_time_outs_keeps_no_upper_limit() {
        let judgement = time(
            "response_time",
            Statistic::Percentile(99.0),
            Relation::AtMost,
            1000,
        );
        assert!(!judgement.passed && judgement.at_least);
        assert_eq!(judgement.actual, Some(200e6));
        assert_eq!(
            judgement.reason.as_deref(),
            Some(
                "it is 200 ms or more: time-outs, or arrivals that were never sent, were cut short"
            )
        );
    }

    #[test]
    fn percentile_keeps_a_limit_that_enough_values_are_known_to_lie_within() {
        // 60 of 100 are known to be within 60 ms; 40 arrivals were never sent, after waiting 10 ms.
        let mut tally = CellTally::default();
        let mut record = |outcome, values: Vec<u64>| {
            let distribution = tally
                .times
                .entry((outcome, Measure::ResponseTime))
                .or_default();
            values
                .into_iter()
                .for_each(|ms| distribution.record(ms * MS));
        };
        record(Outcome::Ok, (1..=60).collect());
        record(Outcome::NotSent, vec![10; 40]);
        for (percentile, limit_ms, passed) in [
            (50.0, 51, true),
            (50.0, 49, false),
            (60.0, 61, true),
            (61.0, 10_000, false),
        ] {
            let metric = ThresholdMetric::Time {
                histogram: "response_time".into(),
                statistic: Statistic::Percentile(percentile),
            };
            let limit = Limit::Time(Duration::from_millis(limit_ms));
            let threshold = Threshold {
                scope: ThresholdScope::Run,
                metric,
                comparison: Relation::AtMost,
                limit,
            };
            let judgement = judge(
                &[threshold],
                &tally,
                &Client::default(),
                Span::measured(1, EdgeCounting::WhereEnded),
            )
            .remove(0);
            assert_eq!(
                judgement.passed, passed,
                "p{percentile} <= {limit_ms} ms: {judgement:?}"
            );
            assert!(judgement.at_least, "{judgement:?}");
        }
    }

    #[test]
    fn threshold_on_what_was_never_measured_fails_with_that_reason() {
        let judgement = time(
            "handshake_resumed_retried",
            Statistic::Max,
            Relation::AtMost,
            1000,
        );
        assert!(!judgement.passed);
        assert_eq!(
            judgement.reason.as_deref(),
            Some("no handshake_resumed_retried was measured")
        );
        let judgement = judged(
            ThresholdMetric::Number("tls.resumed.share".into()),
            Relation::AtLeast,
            Limit::Number(0.0),
        );
        assert_eq!(
            (judgement.passed, judgement.reason.as_deref()),
            (false, Some("no handshake was completed"))
        );
    }

    #[test]
    fn judgement_names_figure_and_comparison_as_the_plan_does() {
        let judgement = time(
            "response_time",
            Statistic::Percentile(99.9),
            Relation::AtMost,
            250,
        );
        assert_eq!(
            (judgement.metric.as_str(), judgement.comparison.as_str()),
            ("response_time.p99.9", "<=")
        );
        assert_eq!(judgement.unit.display(judgement.limit), "250 ms");
        let judgement = judged(
            ThresholdMetric::Number("errors.share".into()),
            Relation::AtMost,
            Limit::Number(0.001),
        );
        assert_eq!(
            (judgement.actual, judgement.unit),
            (Some(1002.0 / 1100.0), Unit::Share)
        );
    }
}
