//! Random arrivals of several journeys, each with a rate of its own.

use crate::{Arrivals, JourneyLoad, Load, Profile, Shape};
use measure::SplitMix;

/// Distinguishes these random numbers from others of the run.
const MARK_SEED: u64 = 0x6a6f_7572_6e65_7973;

/// Which journey each arrival of a Poisson process makes.
///
/// The process has the sum of the journeys' rates, and each arrival makes a journey at random, by
/// the rates at its instant. So the arrivals of each journey are a Poisson process with its own
/// rate, independent of the others (the marking theorem; Kingman, Poisson Processes, 1993). The
/// number and the instant of an arrival tell its journey, over a fleet of any size.
#[derive(Debug, Clone, PartialEq)]
pub struct MarkedArrivals {
    /// The rate of each journey.
    journeys: Vec<Profile>,
    seed: u64,
}

impl MarkedArrivals {
    /// The arrivals of the measured part; `None` if journeys do not arrive at random, at rates of
    /// their own.
    #[must_use]
    pub fn after_warm_up(load: &Load) -> Option<MarkedArrivals> {
        MarkedArrivals::new(load, JourneyLoad::profile, 0)
    }

    /// The arrivals of the warm-up, in which each journey has its first rate.
    #[must_use]
    pub fn warm_up(load: &Load) -> Option<MarkedArrivals> {
        MarkedArrivals::new(load, |journey| Profile::new(journey.amount, &[]), 1)
    }

    fn new(
        load: &Load,
        own: impl Fn(&JourneyLoad) -> Profile,
        part: u64,
    ) -> Option<MarkedArrivals> {
        let Shape::Open {
            arrivals: Arrivals::Poisson,
            ..
        } = load.shape
        else {
            return None;
        };
        let journeys: Vec<Profile> = load.journeys.iter().map(own).collect();
        let seed = SplitMix::new(load.seed ^ MARK_SEED ^ part).bits();
        (!journeys.is_empty()).then_some(MarkedArrivals { journeys, seed })
    }

    /// The journey that arrival `number`, due `at_ns` after the beginning of the part, makes, by
    /// its place in the plan.
    #[must_use]
    pub fn at(&self, number: u64, at_ns: u64) -> u16 {
        // An arrival at the very end of a part of the load was due before it.
        self.by(number, |journey| journey.amount_at(at_ns))
            .or_else(|| self.by(number, |journey| journey.amount_before(at_ns)))
            .unwrap_or(0)
    }

    /// The journey drawn by these rates; `None` if all are 0.
    fn by(&self, number: u64, rate: impl Fn(&Profile) -> f64) -> Option<u16> {
        let all: f64 = self.journeys.iter().map(&rate).sum();
        // 53 bits in [0, 1).
        let bits = SplitMix::nth(self.seed, number) >> 11;
        let drawn = bits as f64 / (1_u64 << 53) as f64 * all;
        let mut below = 0.0;
        let mut last = None;
        for (place, journey) in (0..).zip(&self.journeys) {
            let rate = rate(journey);
            below += rate;
            if rate > 0.0 {
                last = Some(place);
                if drawn < below {
                    break;
                }
            }
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{End, Owner, Rate, Schedule, Stage, merged_arrivals};
    use std::time::Duration;

    const S: u64 = 1_000_000_000;

    fn journey(first: f64, stages: &[(u64, f64)]) -> JourneyLoad {
        let stage = |&(seconds, to): &(u64, f64)| Stage {
            over: Duration::from_secs(seconds),
            to,
        };
        JourneyLoad {
            amount: first,
            stages: stages.iter().map(stage).collect(),
        }
    }

    fn load(journeys: Vec<JourneyLoad>) -> Load {
        let (rate, stages) = merged_arrivals::sum(&journeys);
        Load {
            shape: Shape::Open {
                rate: Rate::per_second(rate).expect("a rate"),
                arrivals: Arrivals::Poisson,
                max_connections: 1,
                users: None,
            },
            stages,
            end: End::Duration(Duration::from_secs(100)),
            warm_up: Duration::ZERO,
            seed: 7,
            connect_ramp: Duration::ZERO,
            recorded: None,
            journeys,
        }
    }

    /// The instants of the arrivals of each journey.
    fn instants(load: &Load) -> Vec<Vec<u64>> {
        let schedule = Schedule::after_warm_up(load).expect("an open loop");
        let marked = MarkedArrivals::after_warm_up(load).expect("random arrivals");
        let mut of_journeys = vec![Vec::new(); load.journeys.len()];
        for (number, at_ns) in schedule.instants(Owner::ALONE) {
            of_journeys[usize::from(marked.at(number, at_ns))].push(at_ns);
        }
        of_journeys
    }

    #[test]
    fn arrivals_of_each_journey_are_a_poisson_process() {
        let load = load(vec![
            journey(0.0, &[(50, 200.0), (0, 20.0)]),
            journey(80.0, &[]),
            journey(0.0, &[(50, 0.0), (0, 40.0)]),
        ]);
        let of_journeys = instants(&load);
        // Within four standard deviations.
        let is_near = |found: usize, mean: f64| (found as f64 - mean).abs() <= 4.0 * mean.sqrt();
        for (instants, means) in of_journeys
            .iter()
            .zip([[5000, 1000], [4000, 4000], [0, 2000]])
        {
            let early = instants.iter().filter(|&&at_ns| at_ns < 50 * S).count();
            let found = [early, instants.len() - early];
            for (found, mean) in found.into_iter().zip(means) {
                assert!(is_near(found, f64::from(mean)), "{found} near {mean}");
            }
        }
        // Gaps of such a process vary as much as their mean.
        let gaps = of_journeys[1]
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as f64);
        let (mean, number) = (S as f64 / 80.0, (of_journeys[1].len() - 1) as f64);
        let spread: f64 = gaps.map(|gap| (gap - mean).powi(2)).sum();
        let relative = (spread / number).sqrt() / mean;
        assert!((0.93..1.07).contains(&relative), "{relative}");
    }

    #[test]
    fn journey_without_arrivals_is_never_drawn() {
        let load = load(vec![
            journey(0.0, &[(5, 0.0), (0, 9.0)]),
            journey(3.0, &[(5, 3.0), (0, 0.0)]),
        ]);
        let of_journeys = instants(&load);
        assert!(of_journeys[0].iter().all(|&at_ns| at_ns >= 5 * S));
        assert!(of_journeys[1].iter().all(|&at_ns| at_ns <= 5 * S));
        let marked = MarkedArrivals::after_warm_up(&load).expect("random arrivals");
        assert_eq!(marked.at(1, 5 * S - 1), 1);
    }
}
