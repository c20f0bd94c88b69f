//! A change against the first variant, in numbers and in plain words.

use super::correction::FALSE_SHARE;
use super::evidence::Evidence;
use super::figure::{Better, Figure};
use super::{Method, REPEATS_ENOUGH};
use crate::Unit;
use serde::{Deserialize, Serialize};

/// From this ratio on, a factor is easier to read than a percentage.
const FACTOR_FROM: f64 = 2.0;

/// From here on, an upper end means nothing.
const FACTOR_MAX: f64 = 100.0;

/// A change against the first variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// Ratio to the first variant, or for shares the difference.
    pub estimate: Option<f64>,
    /// Interval that contains the true change: with the comparison's confidence if a difference is
    /// reported, otherwise with 95 %; absent if the noise is not known.
    pub interval: Option<ConfidenceInterval>,
    /// The conclusion.
    pub finding: ChangeFinding,
    /// Number of repeats behind it.
    pub repeats: u32,
    /// Whether it is based on fewer than five repeats.
    pub weak: bool,
    /// The change in words.
    pub text: String,
}

/// An interval that contains the true change.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfidenceInterval {
    /// Lower end, in the unit of `estimate`.
    pub low: f64,
    /// Upper end, in the unit of `estimate`.
    pub high: f64,
}

/// The conclusion about a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChangeFinding {
    /// No difference beyond the noise.
    NoDifference,
    /// Higher, beyond the noise, and that is better.
    HigherIsBetter,
    /// Higher, beyond the noise, and that is worse.
    HigherIsWorse,
    /// Lower, beyond the noise, and that is better.
    LowerIsBetter,
    /// Lower, beyond the noise, and that is worse.
    LowerIsWorse,
    /// The noise is not known, or one of the two was not measured.
    Unknown,
}

impl ChangeFinding {
    /// Returns whether it got worse, beyond the noise.
    #[must_use]
    pub fn is_worse(self) -> bool {
        matches!(
            self,
            ChangeFinding::HigherIsWorse | ChangeFinding::LowerIsWorse
        )
    }

    /// Returns whether there is a difference beyond the noise.
    #[must_use]
    pub fn is_difference(self) -> bool {
        !matches!(self, ChangeFinding::NoDifference | ChangeFinding::Unknown)
    }
}

/// How changes of a figure are displayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// Ratios, as a percentage or a factor.
    Ratio,
    /// Differences of shares, as percentage points.
    Points,
}

impl Change {
    pub(super) fn new(
        figure: &Figure,
        evidence: Evidence,
        repeats: u32,
        method: Method,
        alpha: f64,
    ) -> Change {
        let scale = if figure.unit == Unit::Share {
            Scale::Points
        } else {
            Scale::Ratio
        };
        let named = evidence.ends(alpha);
        let finding = named.map_or(ChangeFinding::Unknown, |ends| finding(ends, figure.better));
        // A change that is not reported as a difference is shown with its own confidence: widened
        // for all the others, it would seem to say nothing.
        let shown = if finding.is_difference() {
            named
        } else {
            evidence.ends(FALSE_SHARE)
        };
        let interval = shown.map(|(low, high)| ConfidenceInterval {
            low: scale.to_display(low),
            high: scale.to_display(high),
        });
        let estimate = scale.to_display(evidence.difference);
        let text = scale.words(estimate, interval, finding, method);
        let weak = method == Method::WithinRun || (repeats as usize) < REPEATS_ENOUGH;
        Change {
            estimate: Some(estimate),
            interval,
            finding,
            repeats,
            weak,
            text,
        }
    }

    pub(super) fn none_in_either() -> Change {
        let text = "none in either".to_owned();
        Change {
            estimate: Some(0.0),
            interval: None,
            finding: ChangeFinding::NoDifference,
            repeats: 0,
            weak: false,
            text,
        }
    }

    pub(super) fn unknown(reason: String) -> Change {
        Change {
            estimate: None,
            interval: None,
            finding: ChangeFinding::Unknown,
            repeats: 0,
            weak: true,
            text: reason,
        }
    }
}

fn finding((low, high): (f64, f64), better: Better) -> ChangeFinding {
    match better {
        _ if low <= 0.0 && high >= 0.0 => ChangeFinding::NoDifference,
        Better::Higher if low > 0.0 => ChangeFinding::HigherIsBetter,
        Better::Higher => ChangeFinding::LowerIsWorse,
        Better::Lower if low > 0.0 => ChangeFinding::HigherIsWorse,
        Better::Lower => ChangeFinding::LowerIsBetter,
    }
}

impl Scale {
    /// Converts a difference from the scale of evidence to that of display.
    fn to_display(self, difference: f64) -> f64 {
        match self {
            Scale::Ratio => difference.exp(),
            Scale::Points => difference,
        }
    }

    fn words(
        self,
        estimate: f64,
        interval: Option<ConfidenceInterval>,
        finding: ChangeFinding,
        method: Method,
    ) -> String {
        let Some(ConfidenceInterval { low, high }) = interval else {
            let why = if method == Method::WithinRun {
                "one run each"
            } else {
                "one repeat"
            };
            return format!(
                "{}, noise not known ({why})",
                self.with_sign_and_unit(estimate)
            );
        };
        let is_higher = matches!(
            finding,
            ChangeFinding::HigherIsBetter | ChangeFinding::HigherIsWorse
        );
        if !finding.is_difference() && self.says_nothing(low, high) {
            return "cannot be told from these runs".to_owned();
        }
        if is_higher && self == Scale::Ratio && high >= FACTOR_MAX {
            return format!("at least {low:.2} times");
        }
        let is_factor = self == Scale::Ratio && estimate >= FACTOR_FROM && finding.is_difference();
        let leaves_out_no_change = self.per_cent(low) > 0.0 || self.per_cent(high) < 0.0;
        match finding {
            ChangeFinding::NoDifference if leaves_out_no_change => {
                format!(
                    "not beyond chance among so many figures ({} to {})",
                    self.with_sign(low),
                    self.with_sign_and_unit(high)
                )
            }
            ChangeFinding::NoDifference | ChangeFinding::Unknown => {
                format!(
                    "no difference beyond the noise ({} to {})",
                    self.with_sign(low),
                    self.with_sign_and_unit(high)
                )
            }
            _ if is_factor => format!("{estimate:.2} times ({low:.2} to {high:.2})"),
            ChangeFinding::HigherIsBetter | ChangeFinding::HigherIsWorse => {
                format!(
                    "higher by {} ({} to {})",
                    self.with_unit(estimate),
                    self.size(low),
                    self.with_unit(high)
                )
            }
            ChangeFinding::LowerIsBetter | ChangeFinding::LowerIsWorse => {
                format!(
                    "lower by {} ({} to {})",
                    self.with_unit(estimate),
                    self.size(high),
                    self.with_unit(low)
                )
            }
        }
    }

    /// Returns whether an interval leaves everything open.
    fn says_nothing(self, low: f64, high: f64) -> bool {
        match self {
            Scale::Ratio => low <= 1.0 / FACTOR_FROM && high >= FACTOR_FROM,
            Scale::Points => high - low >= 1.0,
        }
    }

    fn per_cent(self, value: f64) -> f64 {
        match self {
            Scale::Ratio => (value - 1.0) * 100.0,
            Scale::Points => value * 100.0,
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Scale::Ratio => "%",
            Scale::Points => "points",
        }
    }

    fn size(self, value: f64) -> String {
        digits(self.per_cent(value).abs())
    }

    fn with_unit(self, value: f64) -> String {
        format!("{} {}", self.size(value), self.unit())
    }

    fn with_sign(self, value: f64) -> String {
        format!(
            "{}{}",
            if self.per_cent(value) < 0.0 { "-" } else { "+" },
            self.size(value)
        )
    }

    fn with_sign_and_unit(self, value: f64) -> String {
        format!("{} {}", self.with_sign(value), self.unit())
    }
}

/// Formats with one decimal; small numbers get two significant digits, large ones no decimals.
fn digits(size: f64) -> String {
    match size {
        _ if size >= 99.95 || size == 0.0 => format!("{size:.0}"),
        _ if size >= 0.095 => format!("{size:.1}"),
        _ if size >= 0.0095 => format!("{size:.2}"),
        _ => format!("{size:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_said_in_plain_words() {
        use ChangeFinding::{HigherIsWorse, LowerIsBetter, NoDifference};
        for (scale, estimate, interval, finding, text) in [
            (
                Scale::Ratio,
                1.031,
                (1.022, 1.04),
                HigherIsWorse,
                "higher by 3.1 % (2.2 to 4.0 %)",
            ),
            (
                Scale::Ratio,
                0.9,
                (0.88, 0.92),
                LowerIsBetter,
                "lower by 10.0 % (8.0 to 12.0 %)",
            ),
            (
                Scale::Ratio,
                1.001,
                (0.988, 1.015),
                NoDifference,
                "no difference beyond the noise (-1.2 to +1.5 %)",
            ),
            (
                Scale::Ratio,
                12.9,
                (12.1, 13.7),
                HigherIsWorse,
                "12.90 times (12.10 to 13.70)",
            ),
            (
                Scale::Ratio,
                2.5,
                (0.5, 12.5),
                NoDifference,
                "cannot be told from these runs",
            ),
            (
                Scale::Ratio,
                1.0,
                (1e-9, 1_871_836.4),
                NoDifference,
                "cannot be told from these runs",
            ),
            (
                Scale::Ratio,
                900.0,
                (1.05, 1_871_836.4),
                HigherIsWorse,
                "at least 1.05 times",
            ),
            (
                Scale::Ratio,
                1.03,
                (1.001, 1.06),
                NoDifference,
                "not beyond chance among so many figures (+0.1 to +6.0 %)",
            ),
            (
                Scale::Points,
                0.0031,
                (0.0012, 0.005),
                HigherIsWorse,
                "higher by 0.3 points (0.1 to 0.5 points)",
            ),
        ] {
            let interval = ConfidenceInterval {
                low: interval.0,
                high: interval.1,
            };
            assert_eq!(
                scale.words(estimate, Some(interval), finding, Method::Paired),
                text
            );
        }
        assert_eq!(
            Scale::Ratio.words(1.03, None, ChangeFinding::Unknown, Method::WithinRun),
            "+3.0 %, noise not known (one run each)"
        );
    }

    #[test]
    fn direction_decides_between_better_and_worse() {
        for (ends, better, expected) in [
            ((0.1, 0.2), Better::Higher, ChangeFinding::HigherIsBetter),
            ((0.1, 0.2), Better::Lower, ChangeFinding::HigherIsWorse),
            ((-0.2, -0.1), Better::Higher, ChangeFinding::LowerIsWorse),
            ((-0.2, -0.1), Better::Lower, ChangeFinding::LowerIsBetter),
            ((-0.1, 0.1), Better::Lower, ChangeFinding::NoDifference),
            ((0.0, 0.0), Better::Lower, ChangeFinding::NoDifference),
        ] {
            assert_eq!(finding(ends, better), expected, "{ends:?}");
        }
    }
}
