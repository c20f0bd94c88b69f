//! Durations as the whole nanoseconds that instants and schedules are counted in.

use std::time::Duration;

/// Whole nanoseconds of `duration`; the largest number for 584 years and more.
#[inline]
#[must_use]
pub fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
