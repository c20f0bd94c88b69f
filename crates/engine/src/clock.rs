//! The clocks of a run: monotonic time since the run's start, and boot time for the lease.

use rustix::time::{ClockId, Timespec, clock_gettime};

pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// The monotonic clock in nanoseconds.
#[must_use]
pub fn monotonic_ns() -> u64 {
    to_ns(clock_gettime(ClockId::Monotonic))
}

/// The boot-time clock in nanoseconds; it keeps running while the machine is suspended.
#[must_use]
pub fn boot_time_ns() -> u64 {
    to_ns(clock_gettime(ClockId::Boottime))
}

/// The calendar's clock, in nanoseconds since 1970.
pub(crate) fn unix_ns() -> u64 {
    to_ns(clock_gettime(ClockId::Realtime))
}

fn to_ns(time: Timespec) -> u64 {
    // Clocks count from boot or from 1970, and are not negative.
    time.tv_sec as u64 * SECOND_NS + time.tv_nsec as u64
}

/// Time since a run's start in nanoseconds; 0 before it.
#[derive(Debug, Clone, Copy)]
pub struct RunClock {
    start_at: u64,
}

impl RunClock {
    /// A clock whose zero is `start_at` nanoseconds of the monotonic clock.
    #[must_use]
    pub fn starting_at(start_at: u64) -> RunClock {
        RunClock { start_at }
    }

    /// Nanoseconds since the start.
    #[inline]
    #[must_use]
    pub fn now(self) -> u64 {
        let now = if cfg!(feature = "blind") {
            to_ns(clock_gettime(ClockId::MonotonicCoarse))
        } else {
            monotonic_ns()
        };
        now.saturating_sub(self.start_at)
    }

    /// Nanoseconds until the start; 0 after it.
    #[must_use]
    pub fn until_start(self) -> u64 {
        self.start_at.saturating_sub(monotonic_ns())
    }
}
