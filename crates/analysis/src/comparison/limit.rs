//! The definition of a regression: `response_time.p99=5%`.

use super::figure::{Better, FIGURES, Figure};
use super::part_figure::{is_of_journey, names, of_request};
use super::{Change, ChangeFinding, Comparison, Pairing, VariantRuns};
use crate::Unit;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// The figure of a [`RegressionLimit`] that searches are judged by.
pub(crate) const CAPACITY: &str = "capacity";

/// How much worse a figure may become.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RegressionLimit {
    /// Name of the figure.
    pub figure: String,
    /// With 0.05, a time may become 5 % higher, a rate 5 % lower, a share of errors higher by 5
    /// percentage points.
    pub worse_by: f64,
}

/// The reason why a text is not a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// Not of the form FIGURE=NUMBER%.
    #[error(
        "`{0}` is no limit; write a figure and how much worse it may become, such as \
         response_time.p99=5%"
    )]
    Form(String),
    /// It is not a figure that is compared.
    #[error("`{0}` is not compared; write one of {1}")]
    Unknown(String, String),
}

/// A limit and its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitResult {
    /// The limit that was judged.
    pub limit: RegressionLimit,
    /// The variant that was compared with the first.
    pub variant: String,
    /// The outcome.
    pub outcome: LimitOutcome,
    /// The change in words.
    pub text: String,
}

/// The outcome of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LimitOutcome {
    /// The interval of the change excludes everything that is worse by more than the limit.
    Kept,
    /// Worse by more than the limit, and beyond the noise.
    Regressed,
    /// Undecided: it was not measured in both, its noise is not known, or its interval contains
    /// both changes within the limit and changes beyond it.
    Unknown,
}

impl RegressionLimit {
    /// Returns the default limits: rate and response time within 5 %, errors within 0.1 percentage
    /// points.
    #[must_use]
    pub fn usual() -> Vec<RegressionLimit> {
        let usual = [
            ("rate", 0.05),
            ("response_time.p50", 0.05),
            ("response_time.p99", 0.05),
            ("errors.share", 0.001),
        ];
        usual
            .into_iter()
            .map(|(figure, worse_by)| RegressionLimit {
                figure: figure.to_owned(),
                worse_by,
            })
            .collect()
    }

    /// Formats the limit as it is written.
    #[must_use]
    pub fn display(&self) -> String {
        format!("{}={}%", self.figure, (self.worse_by * 1e6).round() / 1e4)
    }

    /// Judges every variant but the first against every limit. The figures with a limit were named
    /// before they were examined, so only they make up the family for which the confidence is
    /// corrected.
    #[must_use]
    pub fn judge(
        limits: &[RegressionLimit],
        variants: &[VariantRuns<'_>],
        pairing: Pairing,
        seed: u64,
    ) -> Vec<LimitResult> {
        let is_asked = |figure: &Figure| limits.iter().any(|limit| limit.figure == figure.name);
        let of_requests = limits.iter().filter_map(|limit| of_request(&limit.figure));
        let of_requests: Vec<Figure> = of_requests.collect();
        let comparison =
            &Comparison::in_figures(is_asked, &of_requests, variants, &[], pairing, seed);
        let of_limit = |limit: &RegressionLimit| {
            let others = comparison.variants.iter().enumerate().skip(1);
            others
                .map(|(index, variant)| limit.judge_one(comparison, index, variant))
                .collect::<Vec<_>>()
        };
        limits.iter().flat_map(of_limit).collect()
    }

    fn judge_one(&self, comparison: &Comparison, index: usize, variant: &str) -> LimitResult {
        let row = comparison.row(&self.figure);
        let change = row.and_then(|row| Some((row, row.cells.get(index)?.change.as_ref()?)));
        let (outcome, text) = match change {
            None => (LimitOutcome::Unknown, "not measured".to_owned()),
            Some((row, change)) => (
                self.outcome(change, row.unit, row.better),
                change.text.clone(),
            ),
        };
        LimitResult {
            limit: self.clone(),
            variant: variant.to_owned(),
            outcome,
            text,
        }
    }

    fn outcome(&self, change: &Change, unit: Unit, better: Better) -> LimitOutcome {
        let Some(estimate) = change.estimate else {
            return LimitOutcome::Unknown;
        };
        let is_beyond = |value: f64| match (unit, better) {
            (Unit::Share, _) => value > self.worse_by,
            (_, Better::Lower) => value > 1.0 + self.worse_by,
            (_, Better::Higher) => value < 1.0 - self.worse_by,
        };
        let worst = match (change.interval, better) {
            (Some(interval), Better::Lower) => interval.high,
            (Some(interval), Better::Higher) => interval.low,
            // If neither has any, there is no noise; otherwise it is not known.
            (None, _) if change.finding == ChangeFinding::NoDifference => estimate,
            (None, _) => return LimitOutcome::Unknown,
        };
        match change.finding {
            _ if !is_beyond(worst) => LimitOutcome::Kept,
            finding if finding.is_worse() && is_beyond(estimate) => LimitOutcome::Regressed,
            _ => LimitOutcome::Unknown,
        }
    }
}

impl FromStr for RegressionLimit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<RegressionLimit, LimitError> {
        let form = || LimitError::Form(text.to_owned());
        let (figure, limit) = text.split_once('=').ok_or_else(form)?;
        let per_cent: f64 = limit
            .trim()
            .strip_suffix('%')
            .ok_or_else(form)?
            .trim()
            .parse()
            .map_err(|_| form())?;
        if !(0.0..=1e6).contains(&per_cent) {
            return Err(form());
        }
        let figure = figure.trim();
        let known = || FIGURES.iter().map(|known| &*known.name).chain([CAPACITY]);
        let of_part = || is_of_journey(figure) || of_request(figure).is_some();
        if !known().any(|known| known == figure) && !of_part() {
            let known: Vec<String> = known().map(str::to_owned).chain(names()).collect();
            return Err(LimitError::Unknown(figure.to_owned(), known.join(", ")));
        }
        Ok(RegressionLimit {
            figure: figure.to_owned(),
            worse_by: per_cent / 100.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConfidenceInterval;

    #[test]
    fn limits_are_read_as_they_are_written() {
        for text in [
            "response_time.p99=5%",
            "rate=0.5%",
            "errors.share=0.1%",
            "capacity=2%",
            "request.the.index.response_time.p99=5%",
            "journey.buyer.time.p50=5%",
            "journey.buyer.group.checkout.time.p99=5%",
        ] {
            assert_eq!(text.parse::<RegressionLimit>().unwrap().display(), text);
        }
        for limit in RegressionLimit::usual() {
            assert_eq!(limit.display().parse::<RegressionLimit>(), Ok(limit));
        }
        for text in [
            "",
            "rate",
            "rate=5",
            "rate=%",
            "rate=-5%",
            "rate=nan%",
            "rate=x%",
        ] {
            assert!(
                matches!(text.parse::<RegressionLimit>(), Err(LimitError::Form(_))),
                "{text}"
            );
        }
        let unknown = "response_time.p77=5%"
            .parse::<RegressionLimit>()
            .unwrap_err()
            .to_string();
        assert!(
            unknown.contains(
                "write one of rate, payload.rate, events.rate, messages.rate, response_time"
            ),
            "{unknown}"
        );
        assert!(
            unknown.contains("request.NAME.response_time.p99") && unknown.contains("journey.NAME"),
            "{unknown}"
        );
    }

    #[test]
    fn limit_is_kept_or_broken_only_as_far_as_the_interval_tells() {
        use LimitOutcome::{Kept, Regressed, Unknown};
        let limit = RegressionLimit {
            figure: String::new(),
            worse_by: 0.05,
        };
        let time = (Unit::Ns, Better::Lower);
        let rate = (Unit::PerSecond, Better::Higher);
        let share = (Unit::Share, Better::Lower);
        for ((unit, better), estimate, interval, finding, expected) in [
            (
                time,
                1.06,
                Some((1.02, 1.10)),
                ChangeFinding::HigherIsWorse,
                Regressed,
            ),
            (
                time,
                1.03,
                Some((1.02, 1.04)),
                ChangeFinding::HigherIsWorse,
                Kept,
            ),
            (
                time,
                1.04,
                Some((1.02, 1.06)),
                ChangeFinding::HigherIsWorse,
                Unknown,
            ),
            (
                time,
                1.0,
                Some((0.9, 1.1)),
                ChangeFinding::NoDifference,
                Unknown,
            ),
            (
                time,
                1.06,
                Some((0.99, 1.13)),
                ChangeFinding::NoDifference,
                Unknown,
            ),
            (
                time,
                0.9,
                Some((0.88, 0.92)),
                ChangeFinding::LowerIsBetter,
                Kept,
            ),
            (time, 1.0, None, ChangeFinding::Unknown, Unknown),
            (
                rate,
                0.94,
                Some((0.92, 0.96)),
                ChangeFinding::LowerIsWorse,
                Regressed,
            ),
            (
                rate,
                1.0,
                Some((0.96, 1.5)),
                ChangeFinding::NoDifference,
                Kept,
            ),
            (
                rate,
                1.5,
                Some((1.4, 1.6)),
                ChangeFinding::HigherIsBetter,
                Kept,
            ),
            (
                share,
                0.06,
                Some((0.01, 0.11)),
                ChangeFinding::HigherIsWorse,
                Regressed,
            ),
            (
                share,
                0.02,
                Some((0.01, 0.03)),
                ChangeFinding::HigherIsWorse,
                Kept,
            ),
            (share, 0.0, None, ChangeFinding::NoDifference, Kept),
        ] {
            let change = Change {
                estimate: Some(estimate),
                interval: interval.map(|(low, high)| ConfidenceInterval { low, high }),
                finding,
                repeats: 5,
                weak: false,
                text: String::new(),
            };
            assert_eq!(limit.outcome(&change, unit, better), expected, "{change:?}");
        }
    }
}
