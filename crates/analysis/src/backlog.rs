//! Whether an open loop's load was carried while it was offered, or piled up and was worked off
//! after its end.

use crate::cell_tally::CellTally;
use measure::Metric;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A backlog may grow by this part of what was due, whatever its noise.
const GROWTH_SHARE_MAX: f64 = 0.01;

/// The number of operations under way scatters by the square root of their number where arrivals do
/// (Little's law, M/G/∞); more than so many times that is no scatter.
const SIGMAS: f64 = 3.0;

/// Operations that were due and had not ended, in the middle of the measured part and at its end.
///
/// A load that is carried has as many under way at its end as in its middle. One that is not piles
/// up, at the server or in front of it, and that a drain works it off later proves nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Backlog {
    /// Operations that were due in the second half, sent or not.
    pub due: u64,
    /// Operations that ended in the second half, whenever they were due.
    pub ended: u64,
    /// Due and not ended at the end.
    pub at_end: u64,
    /// By how much it may have grown without meaning anything: by chance, and on a ramp by what
    /// more arrivals at a time have under way.
    pub noise: f64,
}

impl Backlog {
    /// `ramp` is by how many arrivals a second the rate grows in the second half; each has more of
    /// them under way for as long as an answer takes.
    pub(crate) fn new(whole: &CellTally, ramp: f64) -> Backlog {
        let within = whole.counters.within;
        let due = within.due_late;
        let ended = within.ended_late.saturating_add(whole.carried.ended_late);
        let at_end = whole.counters.begun().saturating_sub(within.ended);
        let in_the_middle = at_end.saturating_sub(due.saturating_sub(ended));
        // Two Poisson numbers, each with its mean as its variance: those of a difference add.
        let scatter = SIGMAS * (at_end as f64 + in_the_middle as f64).sqrt();
        let more_under_way = ramp * median_service_s(whole);
        Backlog {
            due,
            ended,
            at_end,
            noise: scatter.max(GROWTH_SHARE_MAX * due as f64) + more_under_way,
        }
    }

    /// By how much it grew in the second half.
    #[must_use]
    pub fn growth(&self) -> u64 {
        self.due.saturating_sub(self.ended)
    }

    /// Whether what ended kept up with what was due.
    #[must_use]
    pub fn kept_up(&self) -> bool {
        self.growth() as f64 <= self.noise
    }
}

/// How long an answer takes, in seconds.
fn median_service_s(whole: &CellTally) -> f64 {
    let median = whole
        .headline(&[Metric::ServiceTime])
        .and_then(|headline| headline.percentile(50.0));
    median.map_or(0.0, |figure| figure.value_ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{Distribution, Outcome, Within};

    /// So many due and ended in the whole part, and in its second half.
    fn backlog(due: u64, ended: u64, due_late: u64, ended_late: u64) -> Backlog {
        let mut whole = CellTally::default();
        whole.counters.started = due;
        whole.counters.within = Within {
            ended,
            ok: ended,
            due_late,
            ended_late,
            ..Within::default()
        };
        Backlog::new(&whole, 0.0)
    }

    #[test]
    fn twice_a_servers_capacity_is_not_carried_however_short_the_part() {
        // 400/s on a server of 200/s: 4 s, and 1.1 s.
        let long = backlog(1600, 800, 800, 400);
        assert_eq!(
            (long.growth(), long.at_end, long.kept_up()),
            (400, 800, false)
        );
        let short = backlog(440, 220, 220, 110);
        assert_eq!(
            (short.growth(), short.kept_up()),
            (110, false),
            "noise: {}",
            short.noise
        );
    }

    #[test]
    fn slow_answers_alone_are_no_backlog_that_grows() {
        // 1000/s for 10 s, each answered after 1 s: 1000 under way in the middle and at the end.
        let steady = backlog(10_000, 9_000, 5000, 5000);
        assert_eq!(
            (steady.growth(), steady.at_end, steady.kept_up()),
            (0, 1000, true)
        );
        // Poisson arrivals: 1000 ± 32 under way at each of the two instants.
        assert!(backlog(10_000, 8_940, 5030, 4970).kept_up());
    }

    /// A ramp from 0 to 1000/s in 60 s, each answered after 1 s: 500 under way in the middle, 1000
    /// at the end.
    #[test]
    fn ramp_has_more_under_way_and_a_ramp_beyond_capacity_piles_up() {
        let mut whole = CellTally::default();
        whole.counters.started = 30_000;
        whole.counters.within = Within {
            ended: 29_000,
            due_late: 22_500,
            ended_late: 22_000,
            ..Within::default()
        };
        let mut second = Distribution::default();
        second.record(1_000_000_000);
        whole
            .times
            .insert((Outcome::Ok, Metric::ServiceTime), second);
        assert!(
            !Backlog::new(&whole, 0.0).kept_up(),
            "at an even rate that would be a backlog"
        );
        assert!(Backlog::new(&whole, 500.0).kept_up());
        // Of a server of 500/s 15,000 end in the second half, and answers take seconds.
        whole.counters.within = Within {
            ended: 22_500,
            due_late: 22_500,
            ended_late: 15_000,
            ..Within::default()
        };
        assert!(!Backlog::new(&whole, 500.0).kept_up());
    }

    #[test]
    fn arrivals_that_were_never_sent_are_due_all_the_same() {
        assert!(!backlog(8000, 4000, 4000, 2000).kept_up());
    }
}
