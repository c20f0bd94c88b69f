//! How far ahead the start instant is.

use std::time::Duration;

/// At least so far; more on slow paths, so that start and lease arrive in time.
const MARGIN_MIN: Duration = Duration::from_millis(300);
const MARGIN_MAX: Duration = Duration::from_secs(4);

/// Start and lease each need a round trip and the bound of a clock is half of one: four of the
/// worst, and more.
pub(crate) fn start_margin(bounds_ns: impl Iterator<Item = u64>) -> Duration {
    let worst_ns = bounds_ns.max().unwrap_or(0);
    MARGIN_MIN
        .saturating_add(Duration::from_nanos(worst_ns.saturating_mul(8)))
        .min(MARGIN_MAX)
}
