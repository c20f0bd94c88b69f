//! Instants of the calendar, as used in the names of folders and in records. Leap seconds are those
//! of the system's clock.

use measure::calendar;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// An instant of the calendar, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Utc {
    since_1970: Duration,
}

impl Utc {
    /// The system's time; 1970 if the clock is set to an earlier time.
    #[must_use]
    pub fn now() -> Utc {
        Utc {
            since_1970: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default(),
        }
    }

    /// The instant `since_1970` after the beginning of 1970.
    #[must_use]
    pub fn after_1970(since_1970: Duration) -> Utc {
        Utc { since_1970 }
    }

    /// Time since the beginning of 1970.
    #[must_use]
    pub fn since_1970(self) -> Duration {
        self.since_1970
    }

    /// The instant that is later by `duration`.
    #[must_use]
    pub fn after(self, duration: Duration) -> Utc {
        Utc {
            since_1970: self.since_1970.saturating_add(duration),
        }
    }

    /// Nanoseconds since `earlier`; negative if that is later.
    #[must_use]
    pub fn ns_after(self, earlier: Utc) -> i128 {
        let ns = |at: Utc| i128::try_from(at.since_1970.as_nanos()).unwrap_or(i128::MAX);
        ns(self) - ns(earlier)
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub fn millis(self) -> u64 {
        u64::try_from(self.since_1970.as_millis()).unwrap_or(u64::MAX)
    }

    /// For the name of a folder: it sorts by time, and has no colon.
    #[must_use]
    pub fn stamp(self) -> String {
        self.text().replace(['-', ':'], "")
    }

    /// RFC 3339, to the second.
    fn text(self) -> String {
        calendar::text(i64::try_from(self.since_1970.as_secs()).unwrap_or(i64::MAX))
    }
}

impl fmt::Display for Utc {
    /// RFC 3339 with milliseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:03}Z",
            self.text().trim_end_matches('Z'),
            self.since_1970.subsec_millis()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Utc;
    use std::time::Duration;

    #[test]
    fn instants_are_those_of_the_calendar() {
        for (millis, text, stamp) in [
            (0, "1970-01-01T00:00:00.000Z", "19700101T000000Z"),
            (
                951_782_399_999,
                "2000-02-28T23:59:59.999Z",
                "20000228T235959Z",
            ),
            (
                951_782_400_000,
                "2000-02-29T00:00:00.000Z",
                "20000229T000000Z",
            ),
            (
                951_868_800_000,
                "2000-03-01T00:00:00.000Z",
                "20000301T000000Z",
            ),
            (
                1_767_225_599_000,
                "2025-12-31T23:59:59.000Z",
                "20251231T235959Z",
            ),
            (
                4_107_542_400_000,
                "2100-03-01T00:00:00.000Z",
                "21000301T000000Z",
            ),
        ] {
            let utc = Utc {
                since_1970: Duration::from_millis(millis),
            };
            assert_eq!(
                (utc.to_string().as_str(), utc.stamp().as_str()),
                (text, stamp)
            );
            assert_eq!(utc.millis(), millis);
        }
    }
}
