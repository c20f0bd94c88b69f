//! A percentile of times.

use serde::{Deserialize, Serialize};

/// A percentile of times, exact or a lower bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PercentileFigure {
    /// 0 to 100.
    pub percentile: f64,
    /// The time that it falls on.
    pub value_ns: u64,
    /// Values that were cut short could move it (or it lies beyond an hour): the true value is no
    /// less, and may be more.
    pub at_least: bool,
}
