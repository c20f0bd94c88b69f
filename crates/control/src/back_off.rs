//! When to dial again: the wait grows with each failure, and is random so that agents do not all
//! dial at once.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(5);

/// While a lease holds. The shortest lease is 2 s, and a run that does not get through in time is
/// over.
const LONGEST_LEASED: Duration = Duration::from_millis(500);

/// Waits that double up to five seconds, each between half of that and all of it.
#[derive(Debug, Clone)]
pub(crate) struct BackOff {
    failures: u32,
    random: u64,
}

impl BackOff {
    pub(crate) fn new(seed: u64) -> BackOff {
        BackOff {
            failures: 0,
            random: seed,
        }
    }

    /// Returns the wait after another failure; it is shorter while a lease holds.
    pub(crate) fn next(&mut self, is_leased: bool) -> Duration {
        let longest = if is_leased { LONGEST_LEASED } else { LONGEST };
        let whole = FIRST
            .saturating_mul(1 << self.failures.min(16))
            .min(longest);
        self.failures = self.failures.saturating_add(1);
        // Half is fixed and half is random, so that agents that were cut off together spread out.
        let half_ns = crate::clock::nanoseconds(whole) / 2;
        Duration::from_nanos(half_ns + self.draw() % (half_ns + 1))
    }

    /// Starts over with the shortest wait, after a success.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }

    /// SplitMix64 (Steele, Lea, Flood 2014): good enough to spread agents out.
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_five_seconds_and_begin_again_after_a_success() {
        let mut back_off = BackOff::new(7);
        for whole_ms in [250, 500, 1_000, 2_000, 4_000, 5_000, 5_000] {
            let wait = back_off.next(false);
            assert!(
                wait >= Duration::from_millis(whole_ms / 2)
                    && wait <= Duration::from_millis(whole_ms),
                "{wait:?}"
            );
        }
        back_off.reset();
        assert!(back_off.next(false) <= FIRST);
    }

    #[test]
    fn waits_stay_short_while_a_lease_runs_and_are_as_long_as_ever_after_it() {
        let mut back_off = BackOff::new(7);
        let waits: Vec<Duration> = (0..20).map(|_| back_off.next(true)).collect();
        assert!(
            waits.iter().all(|wait| *wait <= LONGEST_LEASED),
            "{waits:?}"
        );
        assert!(back_off.next(false) >= LONGEST / 2);
    }

    #[test]
    fn agents_with_different_seeds_do_not_wait_alike() {
        let waits: Vec<Duration> = (0..20).map(|seed| BackOff::new(seed).next(false)).collect();
        assert!(waits.iter().any(|wait| *wait != waits[0]));
    }
}
