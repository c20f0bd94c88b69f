//! A quantity that is a ratio, measured per connection.

use measure::{Distribution, HandshakeKind, Metric};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Recorded values are thousandths.
const UNIT: f64 = 1000.0;

/// A distribution of ratios. Percentiles are above the true ones by at most 0.1 % or 0.001.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RatioFigure {
    /// Number of values.
    pub count: u64,
    /// Arithmetic mean, exact to a thousandth of each value.
    pub mean: f64,
    /// The smallest ratio.
    pub min: f64,
    /// The 50th percentile.
    pub p50: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The largest ratio.
    pub max: f64,
}

impl RatioFigure {
    fn new(distribution: &Distribution) -> RatioFigure {
        let at = |percentile| {
            distribution
                .percentile(percentile)
                .map_or(0.0, |found| found.value_ns as f64 / UNIT)
        };
        RatioFigure {
            count: distribution.count,
            mean: distribution.mean().unwrap_or(0.0) / UNIT,
            min: distribution.min as f64 / UNIT,
            p50: at(50.0),
            p90: at(90.0),
            p99: at(99.0),
            max: distribution.max as f64 / UNIT,
        }
    }
}

/// Returns handshake times in units of their connection's TCP connect time: `full` and `resumed`,
/// for operations that ended ok or timed out.
pub(crate) fn handshakes_in_connects(
    merged: impl Fn(Metric) -> Option<Distribution>,
) -> BTreeMap<String, RatioFigure> {
    let kinds = [
        ("full", HandshakeKind::Full),
        ("resumed", HandshakeKind::Resumed),
    ];
    let figure = |kind: HandshakeKind| Some(RatioFigure::new(&merged(kind.in_connects()?)?));
    kinds
        .into_iter()
        .filter_map(|(name, kind)| Some((name.to_owned(), figure(kind)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousandths_become_a_ratio() {
        let mut distribution = Distribution::default();
        [1500, 2000, 2500]
            .into_iter()
            .for_each(|value| distribution.record(value));
        let figure = RatioFigure::new(&distribution);
        assert_eq!(
            (
                figure.count,
                figure.mean,
                figure.min,
                figure.p50,
                figure.max
            ),
            (3, 2.0, 1.5, 2.0, 2.5)
        );
    }
}
