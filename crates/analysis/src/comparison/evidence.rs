//! How much two variants differ in one figure, and how uncertain that is.

use super::bootstrap;
use super::figure::{BUCKET, Figure, FigureValue};
use crate::student;
use crate::{Document, Unit};

/// A difference and its uncertainty: between logarithms for ratios, plain for shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Evidence {
    pub(crate) difference: f64,
    /// Its standard error; `None` if it is not known.
    pub(crate) error: Option<StandardError>,
}

impl Evidence {
    /// Returns the interval that misses the truth with probability `alpha`; `None` if the error is
    /// not known.
    pub(crate) fn ends(self, alpha: f64) -> Option<(f64, f64)> {
        let half = self.error?.half_width(alpha);
        Some((self.difference - half, self.difference + half))
    }
}

/// How much a difference would scatter if everything were repeated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StandardError {
    pub(crate) size: f64,
    pub(crate) freedom: u32,
    /// No difference is known more precisely than this.
    pub(crate) resolution: f64,
}

impl StandardError {
    /// Returns the probability of observing at least this difference when there is none.
    pub(crate) fn probability_of(self, difference: f64) -> f64 {
        let beyond = (difference.abs() - self.resolution).max(0.0);
        if beyond == 0.0 {
            1.0
        } else {
            student::two_sided_p(beyond / self.size, self.freedom)
        }
    }

    /// Returns half the width of the interval that misses the truth with probability `alpha`.
    pub(crate) fn half_width(self, alpha: f64) -> f64 {
        self.resolution + student::quantile(alpha, self.freedom) * self.size
    }
}

/// Compares repeats made in turns: a change from round to round affects both, and leaves their
/// ratio.
pub(crate) fn compare_pairs(figure: &Figure, pairs: &[(FigureValue, FigureValue)]) -> Evidence {
    let differences: Vec<f64> = pairs
        .iter()
        .map(|(first, other)| scale(figure, other) - scale(figure, first))
        .collect();
    let (mean, variance) = moments(&differences);
    // Standard error of a mean: s/√n.
    let spread = variance.map(|variance| (variance / differences.len() as f64).sqrt());
    let (first, other): (Vec<FigureValue>, Vec<FigureValue>) = pairs.iter().copied().unzip();
    let freedom = differences.len() as u32 - 1; // the caller has a pair
    Evidence {
        difference: mean,
        error: spread.map(|spread| standard_error(figure, spread, freedom, &first, &other)),
    }
}

/// Compares two sets of runs made apart, by Welch's t with Satterthwaite's degrees of freedom,
/// rounded down. A single run is assumed to scatter like those of the other side.
pub(crate) fn separate(figure: &Figure, first: &[FigureValue], other: &[FigureValue]) -> Evidence {
    let (mean_first, variance_first) = moments(&scales(figure, first));
    let (mean_other, variance_other) = moments(&scales(figure, other));
    let runs_first = first.len() as f64;
    let runs_other = other.len() as f64;
    let spread = match (variance_first, variance_other) {
        (Some(variance_first), Some(variance_other)) => Some(welch(
            variance_first / runs_first,
            runs_first,
            variance_other / runs_other,
            runs_other,
        )),
        (Some(variance), None) | (None, Some(variance)) => {
            // Student's t with a common variance: s·√(1/n + 1/m).
            let size = (variance * (1.0 / runs_first + 1.0 / runs_other)).sqrt();
            Some((size, runs_first.max(runs_other) - 1.0))
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

fn scales(figure: &Figure, values: &[FigureValue]) -> Vec<f64> {
    values.iter().map(|value| scale(figure, value)).collect()
}

/// Returns the standard error and the degrees of freedom (Welch 1947, Satterthwaite 1946), from the
/// squared standard errors a and b of two means and their numbers of values n and m:
/// (a + b)² / (a²/(n − 1) + b²/(m − 1)).
fn welch(first: f64, runs_first: f64, other: f64, runs_other: f64) -> (f64, f64) {
    let size = (first + other).sqrt();
    let freedom = (first + other).powi(2)
        / (first * first / (runs_first - 1.0) + other * other / (runs_other - 1.0));
    if freedom.is_finite() {
        return (size, freedom.floor().max(1.0));
    }
    // Neither side scatters, which gives 0/0.
    (size, runs_first.min(runs_other) - 1.0)
}

/// Compares one run each. The difference is that of the runs' figures, as in any table; its
/// uncertainty comes from their rows.
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
    let estimate = |document: &Document| {
        let in_rows = figure.in_rows(document.series.row_seconds)?;
        let scaled = |rows: &[&crate::Row]| to_scale(figure, in_rows(rows)?);
        bootstrap::estimate(&bootstrap::whole_rows(document), scaled, seed)
    };
    let [Some(first), Some(other)] = documents.map(estimate) else {
        return plain;
    };
    // A mean of percentiles is not a percentile, and rows at the edges are left out. If the rows
    // show another difference than the runs, that discrepancy is part of the error.
    let apart = (other.value - first.value) - plain.difference;
    // The two runs are independent: their variances add.
    let size = first.error.hypot(other.error).hypot(apart);
    let freedom = first.blocks.min(other.blocks).saturating_sub(1).max(1);
    let error = standard_error(figure, size, freedom, &values[..1], &values[1..]);
    Evidence {
        error: Some(error),
        ..plain
    }
}

/// Returns the least error that can be claimed. Rounding of the values adds to their scatter, so
/// that repeats which agree to the step are not taken as certain. A ratio is known no more
/// precisely than a step or a bucket, a share no more precisely than its count allows.
fn standard_error(
    figure: &Figure,
    spread: f64,
    freedom: u32,
    first: &[FigureValue],
    other: &[FigureValue],
) -> StandardError {
    let is_share = figure.unit == Unit::Share;
    let spread = if is_share {
        spread.max(counting_error(first, other))
    } else {
        spread
    };
    let resolution = if is_share {
        0.0
    } else {
        BUCKET.max(step(figure, first)).max(step(figure, other))
    };
    StandardError {
        size: (spread.powi(2) + rounding(figure, first) + rounding(figure, other)).sqrt(),
        freedom,
        resolution,
    }
}

/// Returns the variance that rounding leaves in the mean of `values`: q²/12 each, that of an even
/// distribution as wide as a step.
fn rounding(figure: &Figure, values: &[FigureValue]) -> f64 {
    let number = values.len().max(1) as f64;
    let variances: f64 = values
        .iter()
        .map(|value| step_on_scale(figure, value).powi(2) / 12.0)
        .sum();
    variances / (number * number)
}

/// Returns the mean step of `values`. An error in the same direction in all of them is not averaged
/// out.
fn step(figure: &Figure, values: &[FigureValue]) -> f64 {
    let steps: f64 = values
        .iter()
        .map(|value| step_on_scale(figure, value))
        .sum();
    steps / values.len().max(1) as f64
}

/// Returns a value's step on the scale of differences.
fn step_on_scale(figure: &Figure, value: &FigureValue) -> f64 {
    match figure.unit {
        Unit::Share => value.quantum,
        _ => value.quantum / value.value, // d ln x = dx / x
    }
}

/// Returns the standard error of a difference of shares of independent operations. One event more
/// than was seen is assumed, so that no event in a few operations is not taken as certain. With p
/// pooled over both sides, it is √(p(1 − p)(1/n + 1/m)).
fn counting_error(first: &[FigureValue], other: &[FigureValue]) -> f64 {
    let of_first = operations(first);
    let of_other = operations(other);
    let events: f64 = first
        .iter()
        .chain(other)
        .map(|value| value.value * value.whole)
        .sum();
    // Laplace's rule of succession; above one half the error would shrink again.
    let share = ((events + 1.0) / (of_first + of_other + 2.0)).min(0.5);
    (share * (1.0 - share) * (1.0 / of_first + 1.0 / of_other)).sqrt()
}

/// Returns the number of operations that the shares refer to, over all runs.
fn operations(values: &[FigureValue]) -> f64 {
    values.iter().map(|value| value.whole).sum::<f64>().max(1.0)
}

fn scale(figure: &Figure, value: &FigureValue) -> f64 {
    to_scale(figure, value.value).unwrap_or(f64::NAN)
}

/// Converts a value to the scale of differences; `None` if it is 0 and would be part of a ratio.
pub(crate) fn to_scale(figure: &Figure, value: f64) -> Option<f64> {
    match figure.unit {
        Unit::Share => Some(value),
        _ => (value > 0.0).then(|| value.ln()),
    }
}

/// Returns the mean, and the variance of the sample if there are at least two values.
fn moments(values: &[f64]) -> (f64, Option<f64>) {
    let number = values.len() as f64;
    let mean = values.iter().sum::<f64>() / number;
    if values.len() < 2 {
        return (mean, None);
    }
    // In two passes, so that no digits cancel; over n − 1, since the mean is the sample's own.
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, Some(squares / (number - 1.0)))
}
