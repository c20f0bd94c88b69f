//! When in a run a profile is taken.

use std::time::Duration;

/// If the length of a run is not known, its beginning is over by then.
const BEGINS_AFTER: Duration = Duration::from_secs(5);

/// Least time before the profile in a short run: connections are opened in the first second.
const LEAST_BEFORE: Duration = Duration::from_secs(1);

/// Least time after the profile in a short run, to deliver it.
const LEAST_AFTER: Duration = Duration::from_secs(3);

/// A shorter profile says nothing.
const SHORTEST: Duration = Duration::from_secs(1);

/// When the profile begins on the run clock, and how long it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProfileWindow {
    pub(super) from: Duration,
    pub(super) length: Duration,
}

/// The middle of a run that fires for `firing`, as far as it is ahead at `now` on the run clock. If
/// there is none, says why.
pub(super) fn profile_window(
    firing: Option<Duration>,
    wanted: Duration,
    now: Duration,
) -> Result<ProfileWindow, &'static str> {
    let (from, until) = match firing {
        None => {
            let from = BEGINS_AFTER.max(now);
            (from, from.saturating_add(wanted))
        }
        Some(firing) if firing > wanted.saturating_add(LEAST_BEFORE + LEAST_AFTER) => {
            let from = (firing - wanted) / 2;
            (from, from + wanted)
        }
        Some(firing) => (LEAST_BEFORE, firing.saturating_sub(LEAST_AFTER)),
    };
    if until < from.saturating_add(SHORTEST) {
        return Err("the run is too short for a CPU profile; let it fire for 5 s or more");
    }
    let from = from.max(now);
    if until < from.saturating_add(SHORTEST) {
        return Err(
            "the run was past its middle when this monitor joined; start it before the run",
        );
    }
    let length = until - from;
    Ok(ProfileWindow { from, length })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(firing: Option<u64>, wanted: u64, now: u64) -> Option<(u64, u64)> {
        let millis = Duration::from_millis;
        let window = profile_window(firing.map(millis), millis(wanted), millis(now)).ok()?;
        let millis = |time: Duration| time.as_millis() as u64;
        Some((millis(window.from), millis(window.length)))
    }

    #[test]
    fn profile_lies_in_the_middle_of_a_run() {
        for (firing, wanted, now, expected) in [
            (Some(60_000), 30_000, 0, Some((15_000, 30_000))),
            (Some(61_100), 30_000, 0, Some((15_550, 30_000))),
            (Some(34_001), 30_000, 0, Some((2_000, 30_000))),
            // Shorter than that: all there is.
            (Some(34_000), 30_000, 0, Some((1_000, 30_000))),
            (Some(10_000), 30_000, 0, Some((1_000, 6_000))),
            (Some(5_000), 30_000, 0, Some((1_000, 1_000))),
            (Some(4_999), 30_000, 0, None),
            (Some(0), 30_000, 0, None),
            // The monitor joined late.
            (Some(60_000), 30_000, 15_000, Some((15_000, 30_000))),
            (Some(60_000), 30_000, 20_000, Some((20_000, 25_000))),
            (Some(60_000), 30_000, 44_000, Some((44_000, 1_000))),
            (Some(60_000), 30_000, 44_001, None),
            (Some(60_000), 30_000, 90_000, None),
            // The run ends by a count.
            (None, 30_000, 0, Some((5_000, 30_000))),
            (None, 30_000, 70_000, Some((70_000, 30_000))),
            // Odd lengths.
            (Some(3_600_000), 1_000, 0, Some((1_799_500, 1_000))),
            (Some(u64::MAX), u64::MAX, 0, Some((1_000, u64::MAX - 4_000))),
        ] {
            let found = window(firing, wanted, now);
            assert_eq!(found, expected, "{firing:?} {wanted} {now}");
        }
    }
}
