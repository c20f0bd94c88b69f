//! Instants of three clocks that must not be mixed: the agent's two, and the coordinator's.

use serde::{Deserialize, Serialize};
use std::time::Duration;

macro_rules! instant {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[derive(Serialize, Deserialize)]
        pub struct $name(pub u64);

        impl $name {
            /// The instant `duration` later, or the last representable one.
            #[must_use]
            pub fn after(self, duration: Duration) -> $name {
                $name(self.0.saturating_add(nanoseconds(duration)))
            }

            /// Time since `earlier`, or zero if that is later.
            #[must_use]
            pub fn since(self, earlier: $name) -> Duration {
                Duration::from_nanos(self.0.saturating_sub(earlier.0))
            }
        }
    };
}

instant! {
    /// Nanoseconds of an agent's CLOCK_MONOTONIC, for schedules and round trips.
    Mono
}
instant! {
    /// Nanoseconds of an agent's CLOCK_BOOTTIME, which keeps running while the machine sleeps; for
    /// leases.
    Boot
}
instant! {
    /// Nanoseconds of the coordinator's CLOCK_MONOTONIC, to which the whole fleet refers.
    FleetTime
}

/// Both of an agent's clocks, read one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Now {
    /// CLOCK_MONOTONIC, for schedules.
    pub mono: Mono,
    /// CLOCK_BOOTTIME, for leases.
    pub boot: Boot,
}

/// Whole nanoseconds, limited to what a `u64` holds (584 years).
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_saturate_instead_of_wrapping() {
        assert_eq!(
            Mono(u64::MAX - 1).after(Duration::from_secs(1)),
            Mono(u64::MAX)
        );
        assert_eq!(Boot(1).since(Boot(2)), Duration::ZERO);
        assert_eq!(FleetTime(5).since(FleetTime(2)), Duration::from_nanos(3));
    }
}
