//! How much a load comes to: arrivals in a time, the most at once.

use crate::{End, Load, Profile, Rate, Schedule, Shape, VirtualUsers};
use measure::nanoseconds;

impl Load {
    /// Length of the measured part in nanoseconds, if the plan alone determines it: its duration,
    /// or the time that a number of arrivals of an open loop takes. `None` for a number of
    /// operations in a closed loop, whose time depends on the answers.
    #[must_use]
    pub fn measured_span_ns(&self) -> Option<u64> {
        match self.end {
            End::Duration(duration) => Some(nanoseconds(duration)),
            End::Requests(_) => Schedule::after_warm_up(self)?.span_ns(),
        }
    }

    /// How many arrivals all agents together are due between two instants of the run clock (the
    /// warm-up begins at 0), computed from the rate: random arrivals scatter around it. `None` for
    /// a closed loop.
    #[must_use]
    pub fn arrivals_between(&self, from_ns: u64, to_ns: u64) -> Option<f64> {
        if matches!(self.shape, Shape::Closed { .. }) {
            return None;
        }
        let warm_up_ns = nanoseconds(self.warm_up);
        let span_ns = Schedule::after_warm_up(self)?.span_at_rate_ns()?;
        let (warm_up, measured) = (Profile::warm_up(self), Profile::after_warm_up(self));
        let until = |at_ns: u64| {
            let of_measured = at_ns.saturating_sub(warm_up_ns).min(span_ns);
            warm_up.integral_at(at_ns.min(warm_up_ns)) + measured.integral_at(of_measured)
        };
        Some((until(to_ns) - until(from_ns)).max(0.0))
    }

    /// Most virtual users at any time; if journeys have their own, the most of each. `None` for an
    /// open loop.
    #[must_use]
    pub fn peak_users(&self) -> Option<u32> {
        matches!(self.shape, Shape::Closed { .. }).then(|| VirtualUsers::new(self).number())
    }

    /// Most arrivals per second at any time; `None` for a closed loop.
    #[must_use]
    pub fn peak_rate(&self) -> Option<Rate> {
        matches!(self.shape, Shape::Open { .. })
            .then(|| Rate::per_second(Profile::after_warm_up(self).peak()))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrivals, Stage};
    use std::time::Duration;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn arrivals_between_two_instants_are_the_area_below_the_rate() {
        let seconds = Duration::from_secs;
        let mut load = Load {
            shape: Shape::Open {
                rate: Rate::per_second(10.0).expect("a rate"),
                arrivals: Arrivals::Even,
                max_connections: 1,
                users: None,
            },
            stages: vec![Stage {
                over: seconds(10),
                to: 30.0,
            }],
            end: End::Duration(seconds(10)),
            warm_up: seconds(2),
            seed: 1,
            connect_ramp: Duration::ZERO,
            recorded: None,
            journeys: Vec::new(),
        };
        let cases = [
            (0, 2, 20.0),
            (1, 3, 10.0 + 11.0),
            (2, 12, 200.0),
            // Nothing is due after the end of the load.
            (2, 99, 200.0),
            (5, 5, 0.0),
            (6, 5, 0.0),
        ];
        for (from, to, arrivals) in cases {
            let between = load.arrivals_between(from * SECOND, to * SECOND);
            let off = between.map(|between| (between - arrivals).abs());
            assert!(
                off.is_some_and(|off| off < 1e-6),
                "{from} to {to}: {between:?}"
            );
        }
        load.shape = Shape::Closed {
            connections: 5,
            max_connections: None,
            think_time: None,
        };
        assert_eq!(load.arrivals_between(0, SECOND), None);
    }
}
