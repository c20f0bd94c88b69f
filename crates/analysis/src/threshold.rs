//! Thresholds judged on the merged whole: headline times (ok and timed out), counters and shares.

use crate::number::number;
use crate::tally::{HANDSHAKE, HANDSHAKES, Tally};
use crate::{Headline, human};
use plan::{Comparison, Limit, Metric, Statistic, Threshold};
use serde::{Deserialize, Serialize};

/// A threshold with its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Name of the figure, as the plan has it.
    pub metric: String,
    /// `<`, `<=`, `>` or `>=`.
    pub comparison: String,
    /// Right-hand side, in `unit`.
    pub limit: f64,
    /// What was measured, in `unit`; absent where nothing was.
    pub actual: Option<f64>,
    /// `actual` is a lower bound: it falls among time-outs.
    pub at_least: bool,
    /// Unit of `limit` and `actual`.
    pub unit: Unit,
    /// It holds.
    pub passed: bool,
    /// Why it does not hold, where the numbers alone do not say.
    pub reason: Option<String>,
}

/// Unit of a threshold's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// A plain count.
    Count,
    /// 0 to 1.
    Share,
    /// Per second.
    PerSecond,
    /// Bytes per second.
    BytesPerSecond,
}

/// What was measured for a threshold.
struct Measured {
    unit: Unit,
    actual: Result<f64, String>,
    at_least: bool,
}

/// Judges every threshold.
pub(crate) fn judge(thresholds: &[Threshold], whole: &Tally, window_ns: u64) -> Vec<Judgement> {
    thresholds.iter().map(|threshold| judge_one(threshold, whole, window_ns)).collect()
}

fn judge_one(threshold: &Threshold, whole: &Tally, window_ns: u64) -> Judgement {
    let measured = Measured::of(&threshold.metric, whole, window_ns);
    let limit = match threshold.limit {
        Limit::Time(limit) => limit.as_nanos() as f64,
        Limit::Number(limit) => limit,
    };
    let outcome = measured.holds(threshold.comparison, limit);
    Judgement {
        metric: threshold.metric.to_string(),
        comparison: threshold.comparison.to_string(),
        limit,
        actual: measured.actual.ok(),
        at_least: measured.at_least,
        unit: measured.unit,
        passed: outcome == Ok(true),
        reason: outcome.err(),
    }
}

impl Measured {
    fn of(metric: &Metric, whole: &Tally, window_ns: u64) -> Measured {
        match metric {
            Metric::Time { histogram, statistic } => Measured::time(histogram, *statistic, whole),
            Metric::Number(name) => {
                let (unit, actual) = number(name, whole, window_ns);
                Measured { unit, actual: actual.map_err(str::to_owned), at_least: false }
            }
        }
    }

    fn time(histogram: &str, statistic: Statistic, whole: &Tally) -> Measured {
        let metrics: Vec<measure::Metric> = match histogram {
            HANDSHAKE => HANDSHAKES.to_vec(),
            name => measure::Metric::ALL.into_iter().filter(|metric| metric.name() == name).collect(),
        };
        let found = whole.headline(&metrics).and_then(|headline| value(&headline, statistic));
        let (actual, at_least) = match found {
            Some((value, at_least)) => (Ok(value), at_least),
            None => (Err(format!("no {histogram} was measured")), false),
        };
        Measured { unit: Unit::Ns, actual, at_least }
    }

    /// Whether it holds, or why it cannot be said to.
    fn holds(&self, comparison: Comparison, limit: f64) -> Result<bool, String> {
        let actual = *self.actual.as_ref().map_err(Clone::clone)?;
        let (holds, is_upper_limit) = match comparison {
            Comparison::Below => (actual < limit, true),
            Comparison::AtMost => (actual <= limit, true),
            Comparison::Above => (actual > limit, false),
            Comparison::AtLeast => (actual >= limit, false),
        };
        if holds && is_upper_limit && self.at_least {
            return Err(format!("it falls among time-outs: it is {} or more", human::time(actual)));
        }
        Ok(holds)
    }
}

/// A statistic, and whether it is a lower bound.
fn value(headline: &Headline, statistic: Statistic) -> Option<(f64, bool)> {
    let distribution = &headline.distribution;
    let any_timed_out = headline.timed_out > 0;
    match statistic {
        Statistic::Min => Some((distribution.min as f64, headline.is_at_least(distribution.min))),
        Statistic::Max => Some((distribution.max as f64, any_timed_out)),
        Statistic::Mean => distribution.mean().map(|mean| (mean, any_timed_out)),
        Statistic::StdDev => distribution.std_dev().map(|sd| (sd, false)),
        Statistic::Percentile(percentile) => {
            headline.percentile(percentile).map(|figure| (figure.value_ns as f64, figure.at_least))
        }
    }
}

impl Unit {
    /// A value in this unit as people read it.
    #[must_use]
    pub fn display(self, value: f64) -> String {
        match self {
            Unit::Ns => human::time(value),
            Unit::Count => format!("{value:.0}"),
            Unit::Share => human::share(value),
            Unit::PerSecond => format!("{}/s", human::number(value)),
            Unit::BytesPerSecond => format!("{}/s", human::bytes(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{Distribution, Metric as Measure, Outcome};
    use std::time::Duration;

    const MS: u64 = 1_000_000;

    /// 98 ok at 1 ms … 98 ms, 2 timed out at 200 ms.
    fn whole() -> Tally {
        let mut tally = Tally::default();
        let distribution = |values: &[u64]| {
            let mut distribution = Distribution::default();
            values.iter().for_each(|&value| distribution.record(value));
            distribution
        };
        let ok: Vec<u64> = (1..=98).map(|ms| ms * MS).collect();
        tally.times.insert((Outcome::Ok, Measure::ResponseTime), distribution(&ok));
        tally.times.insert((Outcome::TimedOut, Measure::ResponseTime), distribution(&[200 * MS; 2]));
        tally.times.insert((Outcome::Failed, Measure::ResponseTime), distribution(&[1; 1000]));
        tally.times.insert((Outcome::Ok, Measure::HandshakeFull), distribution(&[3 * MS]));
        tally.times.insert((Outcome::Ok, Measure::HandshakeResumed), distribution(&[MS]));
        (tally.counters.ok, tally.counters.timed_out, tally.counters.failed) = (98, 2, 1000);
        tally
    }

    fn judged(metric: Metric, comparison: Comparison, limit: Limit) -> Judgement {
        judge(&[Threshold { metric, comparison, limit }], &whole(), 1_000_000_000).remove(0)
    }

    fn time(histogram: &str, statistic: Statistic, comparison: Comparison, ms: u64) -> Judgement {
        judged(Metric::Time { histogram: histogram.into(), statistic }, comparison, Limit::Time(Duration::from_millis(ms)))
    }

    #[test]
    fn times_are_judged_on_ok_and_timed_out_together() {
        use Comparison::{Above, AtLeast, AtMost, Below};
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
        let judgement = time("response_time", Statistic::Percentile(99.0), Comparison::AtMost, 1000);
        assert!(!judgement.passed && judgement.at_least);
        assert_eq!(judgement.actual, Some(200e6));
        assert_eq!(judgement.reason.as_deref(), Some("it falls among time-outs: it is 200 ms or more"));
    }

    #[test]
    fn threshold_on_what_was_never_measured_fails_with_that_reason() {
        let judgement = time("handshake_resumed_retried", Statistic::Max, Comparison::AtMost, 1000);
        assert!(!judgement.passed);
        assert_eq!(judgement.reason.as_deref(), Some("no handshake_resumed_retried was measured"));
        let judgement = judged(Metric::Number("tls.resumed.share".into()), Comparison::AtLeast, Limit::Number(0.0));
        assert_eq!((judgement.passed, judgement.reason.as_deref()), (false, Some("no handshake was completed")));
    }

    #[test]
    fn judgement_names_figure_and_comparison_as_the_plan_does() {
        let judgement = time("response_time", Statistic::Percentile(99.9), Comparison::AtMost, 250);
        assert_eq!((judgement.metric.as_str(), judgement.comparison.as_str()), ("response_time.p99.9", "<="));
        assert_eq!(judgement.unit.display(judgement.limit), "250 ms");
        let judgement = judged(Metric::Number("errors.share".into()), Comparison::AtMost, Limit::Number(0.001));
        assert_eq!((judgement.actual, judgement.unit), (Some(1002.0 / 1100.0), Unit::Share));
    }
}
