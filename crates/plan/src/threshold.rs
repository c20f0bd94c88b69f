//! What must hold for a run to pass.

use crate::duration;
use std::fmt;
use std::time::Duration;

/// One line of `[thresholds]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// What is compared.
    pub metric: Metric,
    /// How.
    pub comparison: Comparison,
    /// With what.
    pub limit: Limit,
}

/// A figure of the result, named as in the plan, such as `response_time.p99` or `errors.share`.
#[derive(Debug, Clone, PartialEq)]
pub enum Metric {
    /// A statistic of a histogram (`response_time`, `service_time`, `lateness`, or a phase).
    Time {
        /// Histogram's name as `measure::Metric::name` gives it; `handshake` means all four kinds
        /// together.
        histogram: String,
        /// Which statistic.
        statistic: Statistic,
    },
    /// A counter or ratio by its dotted name, such as `errors.share`, `errors.count`, `rate`,
    /// `tls.resumed.share`.
    Number(String),
}

/// A statistic of a histogram.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// Smallest value.
    Min,
    /// Arithmetic mean.
    Mean,
    /// Standard deviation.
    StdDev,
    /// Largest value.
    Max,
    /// Percentile, 0 to 100.
    Percentile(f64),
}

/// Comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

/// Right-hand side of a threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// For a [`Metric::Time`].
    Time(Duration),
    /// For a [`Metric::Number`]: plain number (a rate is per second, a share is 0 to 1).
    Number(f64),
}

impl fmt::Display for Threshold {
    /// As in `response_time.p99 <= 250ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.metric, self.comparison, self.limit)
    }
}

impl fmt::Display for Limit {
    /// As the plan writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Time(limit) => f.write_str(&duration::write(*limit)),
            Limit::Number(limit) => write!(f, "{limit}"),
        }
    }
}
