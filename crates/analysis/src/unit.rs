//! Units of thresholds' figures.

use crate::human::{self, in_full};
use serde::{Deserialize, Serialize};

/// Unit of a threshold's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Times in nanoseconds.
    Ns,
    /// A plain count.
    Count,
    /// 0 to 1.
    Share,
    /// Operations per second.
    PerSecond,
    /// Bytes per second.
    BytesPerSecond,
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

    /// A value in this unit with all its digits, such as a limit that someone wrote.
    #[must_use]
    pub fn display_in_full(self, value: f64) -> String {
        match self {
            Unit::Ns => in_full::time(value),
            Unit::Count => in_full::plain(value),
            Unit::Share => in_full::share(value),
            Unit::PerSecond => format!("{}/s", in_full::number(value)),
            Unit::BytesPerSecond => format!("{}/s", in_full::bytes(value)),
        }
    }
}
