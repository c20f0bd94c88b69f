//! This machine's two clocks.

use control::{Boot, Mono, Now};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Reads both clocks.
pub(super) fn now() -> Now {
    let mono = Mono(nanoseconds(clock_gettime(ClockId::Monotonic)));
    Now {
        mono,
        boot: Boot(nanoseconds(clock_gettime(ClockId::Boottime))),
    }
}

/// Nanoseconds of a clock; neither clock is ever negative.
fn nanoseconds(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}
