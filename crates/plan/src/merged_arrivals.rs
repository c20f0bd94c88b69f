//! Even arrivals of several journeys, each with a rate of its own, as one sequence.

use crate::{Arrivals, JourneyLoad, Load, Profile, Shape, Stage};
use measure::nanoseconds;
use std::time::Duration;

/// The arrivals of every journey in one sequence, by the instant at which they are due; those of
/// one instant in the order of the plan.
///
/// Each journey's own arrivals are as even as if it were alone. An arrival's number in the sequence
/// is found without going through those before it, so a worker finds its own at once.
#[derive(Debug, Clone, PartialEq)]
pub struct MergedArrivals {
    /// The rate of each journey.
    journeys: Vec<Profile>,
    /// The sum of them.
    whole: Profile,
}

/// An arrival in a merged sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergedArrival {
    /// The journey that arrives, by its place in the plan.
    pub journey: u16,
    /// When it is due, in nanoseconds from the beginning of the part.
    pub at_ns: u64,
}

impl MergedArrivals {
    /// The arrivals of the measured part; `None` if journeys do not arrive evenly, at rates of
    /// their own.
    #[must_use]
    pub fn after_warm_up(load: &Load) -> Option<MergedArrivals> {
        let own = |journey: &JourneyLoad| journey.profile();
        MergedArrivals::new(load, own, Profile::after_warm_up(load))
    }

    /// The arrivals of the warm-up, in which each journey has its first rate.
    #[must_use]
    pub fn warm_up(load: &Load) -> Option<MergedArrivals> {
        let own = |journey: &JourneyLoad| Profile::new(journey.amount, &[]);
        MergedArrivals::new(load, own, Profile::warm_up(load))
    }

    fn new(
        load: &Load,
        own: impl Fn(&JourneyLoad) -> Profile,
        whole: Profile,
    ) -> Option<MergedArrivals> {
        let journeys: Vec<Profile> = load.journeys.iter().map(own).collect();
        let is_even = match load.shape {
            Shape::Open { arrivals, .. } => arrivals == Arrivals::Even,
            Shape::Closed { .. } => false,
        };
        (is_even && !journeys.is_empty()).then_some(MergedArrivals { journeys, whole })
    }

    /// Returns arrival `number`, from 0; `None` if there are fewer.
    #[must_use]
    pub fn at(&self, number: u64) -> Option<MergedArrival> {
        // By any instant, at most one arrival of a journey is due beyond the area under its rate.
        // So at this one, no more than `number` of all journeys are.
        let surely = number.saturating_sub(self.journeys.len() as u64 + 1);
        let from = match surely {
            0 => 0,
            surely => self.whole.instant_of(surely as f64)?,
        };
        self.look_from(number, from)
            .unwrap_or_else(|| self.look_from(number, 0).unwrap_or(None))
    }

    /// The same, looked for from an instant on; `None` if it is due before that.
    fn look_from(&self, number: u64, from_ns: u64) -> Option<Option<MergedArrival>> {
        let profiles = || self.journeys.iter();
        let mut next: Vec<(u64, Option<u64>)> = profiles()
            .map(|profile| {
                let taken = profile.count_before(from_ns);
                (taken, profile.instant_of(taken as f64))
            })
            .collect();
        let mut before: u64 = next.iter().map(|(taken, _)| taken).sum();
        if before > number {
            return None;
        }
        loop {
            let due = next.iter().enumerate();
            let due = due.filter_map(|(journey, (_, at_ns))| Some(((*at_ns)?, journey)));
            let Some((at_ns, journey)) = due.min() else {
                return Some(None);
            };
            if before == number {
                let journey = journey as u16; // a plan has 100 of them at most
                return Some(Some(MergedArrival { journey, at_ns }));
            }
            let (taken, at_ns) = &mut next[journey];
            *taken += 1;
            *at_ns = self.journeys[journey].instant_of(*taken as f64);
            before += 1;
        }
    }

    /// How many arrivals are due before an instant.
    #[must_use]
    pub fn count_before(&self, at_ns: u64) -> u64 {
        let counts = self.journeys.iter();
        counts.map(|profile| profile.count_before(at_ns)).sum()
    }

    /// How many arrivals of each journey are due before an instant.
    #[must_use]
    pub fn counts_before(&self, at_ns: u64) -> Vec<u64> {
        let counts = self.journeys.iter();
        counts.map(|profile| profile.count_before(at_ns)).collect()
    }
}

/// The sum of loads: its first amount, and the stages that follow. Where any of them
/// bends or jumps, the sum does.
pub(crate) fn sum(journeys: &[JourneyLoad]) -> (f64, Vec<Stage>) {
    let profiles: Vec<Profile> = journeys.iter().map(JourneyLoad::profile).collect();
    let mut bends: Vec<u64> = journeys.iter().flat_map(JourneyLoad::bends).collect();
    bends.push(0);
    bends.sort_unstable();
    bends.dedup();
    let total = |amount: &dyn Fn(&Profile) -> f64| profiles.iter().map(amount).sum::<f64>();
    let first: f64 = journeys.iter().map(|journey| journey.amount).sum();
    let (mut stages, mut amount) = (Vec::new(), first);
    for (place, &bend) in bends.iter().enumerate() {
        let from = total(&|profile| profile.amount_at(bend));
        if from != amount {
            stages.push(Stage {
                over: Duration::ZERO,
                to: from,
            });
            amount = from;
        }
        if let Some(&next) = bends.get(place + 1) {
            amount = total(&|profile| profile.amount_before(next));
            stages.push(Stage {
                over: Duration::from_nanos(next - bend),
                to: amount,
            });
        }
    }
    (first, stages)
}

impl JourneyLoad {
    pub(crate) fn profile(&self) -> Profile {
        Profile::new(self.amount, &self.stages)
    }

    /// The instants at which stages end, in nanoseconds from the beginning.
    fn bends(&self) -> impl Iterator<Item = u64> {
        self.stages.iter().scan(0_u64, |at_ns, stage| {
            *at_ns = at_ns.saturating_add(nanoseconds(stage.over));
            Some(*at_ns)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{End, Rate};
    use proptest::prelude::*;

    const S: u64 = 1_000_000_000;

    fn journey(rate: f64, stages: &[(u64, f64)]) -> JourneyLoad {
        let stage = |&(ms, to): &(u64, f64)| Stage {
            over: Duration::from_millis(ms),
            to,
        };
        JourneyLoad {
            amount: rate,
            stages: stages.iter().map(stage).collect(),
        }
    }

    fn load(journeys: Vec<JourneyLoad>) -> Load {
        let (rate, stages) = sum(&journeys);
        Load {
            shape: Shape::Open {
                rate: Rate::per_second(rate).expect("a rate"),
                arrivals: Arrivals::Even,
                max_connections: 1,
                users: None,
            },
            stages,
            end: End::Duration(Duration::from_secs(10)),
            warm_up: Duration::ZERO,
            seed: 1,
            connect_ramp: Duration::ZERO,
            recorded: None,
            journeys,
        }
    }

    /// All arrivals before `end_ns`, merged in the plain way.
    fn merged(journeys: &[JourneyLoad], end_ns: u64) -> Vec<MergedArrival> {
        let mut all: Vec<(u64, u16)> = Vec::new();
        for (place, journey) in (0..).zip(journeys) {
            let profile = journey.profile();
            let instants = (0_u32..).map_while(|k| profile.instant_of(f64::from(k)));
            let due = instants.take_while(|&at_ns| at_ns < end_ns);
            all.extend(due.map(|at_ns| (at_ns, place)));
        }
        all.sort_unstable();
        let arrival = |(at_ns, journey)| MergedArrival { journey, at_ns };
        all.into_iter().map(arrival).collect()
    }

    #[test]
    fn arrivals_of_each_journey_are_even() {
        let load = load(vec![
            journey(2.0, &[]),
            journey(0.0, &[(1000, 0.0), (0, 1.0)]),
        ]);
        let arrivals = MergedArrivals::after_warm_up(&load).expect("loads of journeys");
        let first: Vec<(u16, u64)> = (0..7)
            .filter_map(|number| arrivals.at(number))
            .map(|arrival| (arrival.journey, arrival.at_ns * 10 / S))
            .collect();
        let expected = [(0, 0), (0, 5), (0, 10), (1, 10), (0, 15), (0, 20), (1, 20)];
        assert_eq!(first, expected);
    }

    #[test]
    fn journeys_that_end_leave_the_others() {
        let load = load(vec![
            journey(3.0, &[(1000, 3.0), (0, 0.0)]),
            journey(1.0, &[]),
        ]);
        let arrivals = MergedArrivals::after_warm_up(&load).expect("loads of journeys");
        assert_eq!(arrivals.counts_before(5 * S), [3, 5]);
        let last = arrivals
            .at(7)
            .map(|arrival| (arrival.journey, arrival.at_ns));
        assert_eq!(last, Some((1, 4 * S)));
        let none = self::load(vec![journey(3.0, &[(1000, 3.0), (0, 0.0)])]);
        assert_eq!(
            MergedArrivals::after_warm_up(&none).expect("loads").at(3),
            None
        );
        assert_eq!(MergedArrivals::after_warm_up(&self::load(Vec::new())), None);
    }

    #[test]
    fn sum_bends_where_a_journey_does() {
        let journeys = [
            journey(10.0, &[(2000, 30.0)]),
            journey(1.0, &[(1000, 1.0), (0, 5.0)]),
        ];
        let (first, stages) = sum(&journeys);
        let stages: Vec<(u128, f64)> = stages
            .iter()
            .map(|stage| (stage.over.as_millis(), stage.to))
            .collect();
        assert_eq!(first, 11.0);
        assert_eq!(stages, [(1000, 21.0), (0, 25.0), (1000, 35.0)]);
    }

    #[test]
    fn multiplied_load_is_that_of_each_journey() {
        let journeys = vec![journey(2.0, &[(500, 4.0)]), journey(0.0, &[(0, 3.0)])];
        let mut load = load(journeys);
        load.multiply(4).expect("a load");
        let arrivals = MergedArrivals::after_warm_up(&load).expect("loads of journeys");
        assert_eq!(arrivals.counts_before(S), [4 * 3 + 2, 12]);
        assert_eq!(sum(&load.journeys).1, load.stages);
    }

    fn any_journey() -> impl Strategy<Value = JourneyLoad> {
        let stage = (0_u64..900, prop_oneof![Just(0.0), 0.1_f64..300.0]);
        let stages = proptest::collection::vec(stage, 0..4);
        (0.0_f64..200.0, stages).prop_map(|(rate, stages)| journey(rate, &stages))
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_the_merged_sequence(
            journeys in proptest::collection::vec(any_journey(), 1..6),
        ) {
            let load = load(journeys);
            let arrivals = MergedArrivals::after_warm_up(&load).expect("loads of journeys");
            let all = merged(&load.journeys, S);
            prop_assert_eq!(arrivals.count_before(S), all.len() as u64);
            for (number, expected) in (0..).zip(&all) {
                prop_assert_eq!(arrivals.at(number), Some(*expected), "{}", number);
            }
        }
    }
}
