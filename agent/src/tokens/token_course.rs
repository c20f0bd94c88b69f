//! When a token is asked for again. Pure: instants are arguments.

use std::time::{Duration, Instant};

/// The pause after a token could not be renewed; it doubles from one failure to the next.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// A token is renewed no sooner than this after it was asked for, however short its life is.
const RENEWAL_MIN: Duration = Duration::from_millis(500);

/// The course of one credential's token.
#[derive(Debug)]
pub(super) struct TokenCourse {
    /// The part of a token's life after which it is renewed.
    renewed_after: f64,
    renew_at: Option<Instant>,
    failures_in_row: u32,
}

impl TokenCourse {
    /// The course of a token on agent number `agent`, before it is fetched. Agents renew at 70 to
    /// 80 % of its life, so that a fleet does not ask at once.
    pub(super) fn new(agent: u32) -> TokenCourse {
        // Multiples of the golden ratio are spread evenly, however many there are.
        let spread = (f64::from(agent) * 0.618_033_988_749_894_9).fract();
        TokenCourse {
            renewed_after: 0.8 - 0.1 * spread,
            renew_at: None,
            failures_in_row: 0,
        }
    }

    /// When it is asked for next; `None` if it lasts as long as the run.
    pub(super) fn renew_at(&self) -> Option<Instant> {
        self.renew_at
    }

    /// Takes a new token with this life, which was asked for at `asked_at`.
    pub(super) fn on_token(&mut self, asked_at: Instant, life: Option<Duration>) {
        self.failures_in_row = 0;
        // The server counts from an instant between request and answer.
        let renewed_after = |life: Duration| life.mul_f64(self.renewed_after).max(RENEWAL_MIN);
        self.renew_at = life.map(|life| asked_at + renewed_after(life));
    }

    /// Takes a failure. Returns whether it is the first since the last token.
    pub(super) fn on_failure(&mut self, now: Instant) -> bool {
        let pause = PAUSE_MIN.saturating_mul(1 << self.failures_in_row.min(8));
        self.renew_at = Some(now + pause.min(PAUSE_MAX));
        self.failures_in_row += 1;
        self.failures_in_row == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_renewed_before_it_expires_and_tried_again_ever_more_slowly() {
        let (mut course, begin) = (TokenCourse::new(0), Instant::now());
        let at = |seconds| Some(begin + Duration::from_secs(seconds));
        course.on_token(begin, Some(Duration::from_secs(100)));
        assert_eq!(course.renew_at(), at(80));
        let mut now = begin + Duration::from_secs(80);
        for (pause, is_first) in [(1, true), (2, false), (4, false), (8, false), (16, false)] {
            assert_eq!(course.on_failure(now), is_first);
            now += Duration::from_secs(pause);
            assert_eq!(course.renew_at(), Some(now));
        }
        (0..40).for_each(|_| assert!(!course.on_failure(now)));
        assert_eq!(course.renew_at(), Some(now + PAUSE_MAX));
        course.on_token(now, None);
        assert_eq!(course.renew_at(), None);
        assert!(course.on_failure(now));
    }

    #[test]
    fn agents_of_a_fleet_renew_at_different_times() {
        let mut times: Vec<f64> = (0..1_000)
            .map(|agent| TokenCourse::new(agent).renewed_after)
            .collect();
        assert!(times.iter().all(|time| (0.7..=0.8).contains(time)));
        times.sort_by(f64::total_cmp);
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] < 0.000_5));
    }
}
