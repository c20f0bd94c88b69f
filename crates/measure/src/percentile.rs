//! The answer to "which percentile": a time, and whether the truth may be larger.

use std::fmt;
use std::time::Duration;

/// A percentile of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percentile {
    /// Its value, nanoseconds.
    pub value_ns: u64,
    /// The value is only a lower bound, printed as `≥ 30 s`: it falls among time-outs, which would
    /// have taken longer had they been waited for, or among values above one hour, which have no
    /// bucket.
    pub at_least: bool,
}

impl fmt::Display for Percentile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.at_least { "≥ " } else { "" };
        write!(f, "{sign}{:?}", Duration::from_nanos(self.value_ns))
    }
}
