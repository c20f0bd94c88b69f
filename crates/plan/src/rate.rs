//! A rate of events.

use std::fmt;

/// Events per second; finite and not negative.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    /// A rate, where `per_second` is finite and not negative.
    #[must_use]
    pub fn per_second(per_second: f64) -> Option<Rate> {
        (per_second.is_finite() && per_second >= 0.0).then_some(Rate(per_second))
    }

    /// Events per second.
    #[must_use]
    pub fn as_per_second(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.0)
    }
}
