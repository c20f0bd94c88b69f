//! The conditions for a run to pass.

use crate::duration;
use std::fmt;
use std::time::Duration;

/// One line of `[thresholds]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// The part of the load that it is about.
    pub scope: ThresholdScope,
    /// The figure that is compared.
    pub metric: ThresholdMetric,
    /// How the metric must compare with the limit.
    pub comparison: Relation,
    /// The value that the metric is compared with.
    pub limit: Limit,
}

/// The part of the load that a threshold is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThresholdScope {
    /// All of it.
    Run,
    /// The request of this name.
    Request(String),
    /// The journeys of this name. Their metrics are those of [`ThresholdMetric::of_journey`].
    Journey(String),
}

/// A figure of the result, named as in the plan, such as `response_time.p99` or `errors.share`.
#[derive(Debug, Clone, PartialEq)]
pub enum ThresholdMetric {
    /// A statistic of a histogram (`response_time`, `service_time`, `lateness`, or a phase).
    Time {
        /// Name of the histogram as returned by `measure::Metric::name`; `handshake` means all four
        /// kinds together.
        histogram: String,
        /// Which statistic of the histogram.
        statistic: Statistic,
    },
    /// A counter or ratio by its dotted name, such as `errors.share`, `errors.count`, `rate`,
    /// `tls.resumed.share`.
    Number(String),
}

/// A statistic of a histogram.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// The smallest value.
    Min,
    /// The arithmetic mean.
    Mean,
    /// The standard deviation.
    StdDev,
    /// The largest value.
    Max,
    /// Percentile, 0 to 100.
    Percentile(f64),
}

/// How a metric and its limit must compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// `<`: the metric is below the limit.
    Below,
    /// `<=`: the metric is at most the limit.
    AtMost,
    /// `>`: the metric is above the limit.
    Above,
    /// `>=`: the metric is at least the limit.
    AtLeast,
}

/// Right-hand side of a threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// For a [`ThresholdMetric::Time`].
    Time(Duration),
    /// For a [`ThresholdMetric::Number`]: a plain number (a rate is per second, a share is 0 to 1).
    Number(f64),
}

impl Threshold {
    /// The figure's name, such as `response_time.p99` or `request.index.response_time.p99`.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.scope {
            ThresholdScope::Run => self.metric.to_string(),
            ThresholdScope::Request(request) => format!("request.{request}.{}", self.metric),
            ThresholdScope::Journey(journey) => format!("journey.{journey}.{}", self.metric),
        }
    }
}

impl fmt::Display for Threshold {
    /// For example `response_time.p99 <= 250ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.name(), self.comparison, self.limit)
    }
}

impl fmt::Display for Limit {
    /// The limit as the plan writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Time(limit) => f.write_str(&duration::write(*limit)),
            Limit::Number(limit) => write!(f, "{limit}"),
        }
    }
}
