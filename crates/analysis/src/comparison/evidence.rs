//! How far two variants differ in one figure, and how uncertain that is.

use super::bootstrap;
use super::figure::{BUCKET, Figure, FigureValue};
use super::student;
use crate::{Document, Unit};

/// A difference with its uncertainty: of logarithms for ratios, plain for shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Evidence {
    pub(crate) difference: f64,
    /// Its standard error; `None` where nothing tells it.
    pub(crate) error: Option<StandardError>,
}

/// How far a difference would scatter if all were done again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StandardError {
    pub(crate) size: f64,
    pub(crate) freedom: u32,
    /// No difference is known better than this.
    pub(crate) resolution: f64,
}

impl StandardError {
    /// Probability of at least this difference where there is none.
    pub(crate) fn probability_of(self, difference: f64) -> f64 {
        let beyond = (difference.abs() - self.resolution).max(0.0);
        if beyond == 0.0 {
            1.0
        } else {
            student::two_sided_p(beyond / self.size, self.freedom)
        }
    }

    /// Half the width of the interval that misses the truth with probability `alpha`.
    pub(crate) fn half_width(self, alpha: f64) -> f64 {
        self.resolution + student::quantile(alpha, self.freedom) * self.size
    }
}

/// Repeats that were made in turns: what changes from round to round falls on both, and leaves
/// their ratio.
pub(crate) fn paired(figure: &Figure, pairs: &[(FigureValue, FigureValue)]) -> Evidence {
    let differences: Vec<f64> = pairs
        .iter()
        .map(|(first, other)| scale(figure, other) - scale(figure, first))
        .collect();
    let (mean, variance) = moments(&differences);
    let spread = variance.map(|variance| (variance / differences.len() as f64).sqrt());
    let (first, other): (Vec<FigureValue>, Vec<FigureValue>) = pairs.iter().copied().unzip();
    let freedom = differences.len() as u32 - 1;
    Evidence {
        difference: mean,
        error: spread.map(|spread| standard_error(figure, spread, freedom, &first, &other)),
    }
}

/// Two sets of runs made apart, by Welch's t with Satterthwaite's degrees of freedom, rounded down.
/// A single run is taken to scatter as those of the other side do.
pub(crate) fn separate(figure: &Figure, first: &[FigureValue], other: &[FigureValue]) -> Evidence {
    let scaled = |values: &[FigureValue]| {
        values
            .iter()
            .map(|value| scale(figure, value))
            .collect::<Vec<f64>>()
    };
    let ((mean_first, of_first), (mean_other, of_other)) =
        (moments(&scaled(first)), moments(&scaled(other)));
    let (runs_first, runs_other) = (first.len() as f64, other.len() as f64);
    let spread = match (of_first, of_other) {
        (Some(of_first), Some(of_other)) => Some(welch(
            of_first / runs_first,
            runs_first,
            of_other / runs_other,
            runs_other,
        )),
        (Some(variance), None) | (None, Some(variance)) => {
            let freedom = runs_first.max(runs_other) - 1.0;
            Some((
                (variance * (1.0 / runs_first + 1.0 / runs_other)).sqrt(),
                freedom,
            ))
        }
        (None, None) => None,
    };
    let error =
        spread.map(|(size, freedom)| standard_error(figure, size, freedom as u32, first, other));
    Evidence {
        difference: mean_other - mean_first,
        error,
    }
}

/// Standard error and degrees of freedom, from the squared standard errors of two means and how
/// many values each has.
fn welch(first: f64, runs_first: f64, other: f64, runs_other: f64) -> (f64, f64) {
    let freedom = (first + other).powi(2)
        / (first * first / (runs_first - 1.0) + other * other / (runs_other - 1.0));
    let least = runs_first.min(runs_other) - 1.0;
    (
        (first + other).sqrt(),
        if freedom.is_finite() {
            freedom.floor().max(1.0)
        } else {
            least
        },
    )
}

/// One run each: only what the seconds of a run say.
pub(crate) fn within_runs(
    figure: &Figure,
    documents: [&Document; 2],
    values: [FigureValue; 2],
    seed: u64,
) -> Evidence {
    let plain = Evidence {
        difference: scale(figure, &values[1]) - scale(figure, &values[0]),
        error: None,
    };
    let Some(of_seconds) = figure.of_seconds else {
        return plain;
    };
    let scaled = |rows: &[&crate::Row]| of_seconds(rows).and_then(|value| scaled(figure, value));
    let estimate =
        |document: &Document| bootstrap::estimate(&bootstrap::seconds(document), scaled, seed);
    let [Some(first), Some(other)] = documents.map(estimate) else {
        return plain;
    };
    let size = first.error.hypot(other.error);
    let freedom = first.blocks.min(other.blocks).saturating_sub(1).max(1);
    let error = standard_error(figure, size, freedom, &values[..1], &values[1..]);
    Evidence {
        difference: other.value - first.value,
        error: Some(error),
    }
}

/// The least that can be claimed. To what values scatter comes what they are rounded by, so that
/// repeats that agree to the step are no certainty; a ratio is known no better than a step, nor
/// than a bucket, a share no better than its counting allows.
fn standard_error(
    figure: &Figure,
    spread: f64,
    freedom: u32,
    first: &[FigureValue],
    other: &[FigureValue],
) -> StandardError {
    let rounded =
        |spread: f64| (spread.powi(2) + rounding(figure, first) + rounding(figure, other)).sqrt();
    match figure.unit {
        Unit::Share => StandardError {
            size: rounded(spread.max(counting_error(first, other))),
            freedom,
            resolution: 0.0,
        },
        _ => {
            let resolution = BUCKET.max(step(figure, first)).max(step(figure, other));
            StandardError {
                size: rounded(spread),
                freedom,
                resolution,
            }
        }
    }
}

/// Variance that rounding leaves in the mean of `values`: q²/12 each, which is that of an even
/// distribution as wide as a step.
fn rounding(figure: &Figure, values: &[FigureValue]) -> f64 {
    let number = values.len().max(1) as f64;
    values
        .iter()
        .map(|value| scaled_step(figure, value).powi(2) / 12.0)
        .sum::<f64>()
        / (number * number)
}

/// The mean step of `values`. What each of them is off by in the same direction no mean takes away.
fn step(figure: &Figure, values: &[FigureValue]) -> f64 {
    values
        .iter()
        .map(|value| scaled_step(figure, value))
        .sum::<f64>()
        / values.len().max(1) as f64
}

/// A value's step on the scale of differences.
fn scaled_step(figure: &Figure, value: &FigureValue) -> f64 {
    match figure.unit {
        Unit::Share => value.quantum,
        _ => value.quantum / value.value,
    }
}

/// Standard error of a difference of shares of independent operations, with one event more than was
/// seen, so that no event in a few operations is no certainty.
fn counting_error(first: &[FigureValue], other: &[FigureValue]) -> f64 {
    let whole =
        |values: &[FigureValue]| values.iter().map(|value| value.whole).sum::<f64>().max(1.0);
    let events: f64 = first
        .iter()
        .chain(other)
        .map(|value| value.value * value.whole)
        .sum();
    let share = ((events + 1.0) / (whole(first) + whole(other) + 2.0)).min(0.5);
    (share * (1.0 - share) * (1.0 / whole(first) + 1.0 / whole(other))).sqrt()
}

fn scale(figure: &Figure, value: &FigureValue) -> f64 {
    scaled(figure, value.value).unwrap_or(f64::NAN)
}

/// On the scale of differences; `None` where a ratio would be of 0.
pub(crate) fn scaled(figure: &Figure, value: f64) -> Option<f64> {
    match figure.unit {
        Unit::Share => Some(value),
        _ => (value > 0.0).then(|| value.ln()),
    }
}

/// Mean, and the variance of a sample; none of fewer than two.
fn moments(values: &[f64]) -> (f64, Option<f64>) {
    let number = values.len() as f64;
    let mean = values.iter().sum::<f64>() / number;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (values.len() > 1).then(|| squares / (number - 1.0)))
}
