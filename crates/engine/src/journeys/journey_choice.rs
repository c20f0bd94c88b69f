//! Which journey is made, by its number in the cluster or by its user.

use crate::arrival::Arrival;
use measure::{Period, nanoseconds};
use plan::{Load, MarkedArrivals, MergedArrivals, Mix, Plan, VirtualUsers};

/// How the journeys of a plan are told apart.
#[derive(Debug)]
pub(super) enum JourneyChoice {
    /// By weight.
    Mixed(Mix),
    /// By the even arrivals that they have of their own.
    Due(PartsOf<MergedArrivals>),
    /// By the random arrivals that they have of their own.
    Marked(PartsOf<MarkedArrivals>),
    /// By their user: journeys have users of their own.
    OfUsers(VirtualUsers),
}

/// The arrivals of the parts of a run.
#[derive(Debug)]
pub(super) struct PartsOf<T> {
    warm_up: Box<T>,
    measured: Box<T>,
    /// When the measured part begins; run clock.
    measured_from: u64,
}

impl JourneyChoice {
    pub(super) fn new(plan: &Plan) -> JourneyChoice {
        let load = plan.load();
        if let Some(parts) =
            PartsOf::new(load, MergedArrivals::warm_up, MergedArrivals::after_warm_up)
        {
            return JourneyChoice::Due(parts);
        }
        if let Some(parts) =
            PartsOf::new(load, MarkedArrivals::warm_up, MarkedArrivals::after_warm_up)
        {
            return JourneyChoice::Marked(parts);
        }
        if !load.journeys.is_empty() {
            return JourneyChoice::OfUsers(VirtualUsers::new(load));
        }
        let journeys = plan.journeys().iter();
        let weights: Vec<u32> = journeys.map(|journey| journey.weight).collect();
        JourneyChoice::Mixed(Mix::new(&weights, load.seed))
    }

    /// The place in the plan of the journey that is due as `arrival` and made by `user`.
    #[inline]
    pub(super) fn at(&self, arrival: Arrival, user: u64) -> u16 {
        let seq = arrival.seq;
        match self {
            JourneyChoice::Mixed(mix) => mix.at(seq),
            JourneyChoice::Due(parts) => {
                let (arrivals, _) = parts.of(arrival);
                // The schedule has no other numbers.
                arrivals.at(seq).map_or(0, |due| due.journey)
            }
            JourneyChoice::Marked(parts) => {
                let (arrivals, at_ns) = parts.of(arrival);
                arrivals.at(seq, at_ns)
            }
            // There are no other users.
            JourneyChoice::OfUsers(users) => users.journey_of(user).unwrap_or(0),
        }
    }
}

impl<T> PartsOf<T> {
    fn new(
        load: &Load,
        warm_up: impl Fn(&Load) -> Option<T>,
        measured: impl Fn(&Load) -> Option<T>,
    ) -> Option<PartsOf<T>> {
        Some(PartsOf {
            warm_up: Box::new(warm_up(load)?),
            measured: Box::new(measured(load)?),
            measured_from: nanoseconds(load.warm_up),
        })
    }

    /// The part that `arrival` belongs to, and when in it it is due.
    fn of(&self, arrival: Arrival) -> (&T, u64) {
        match arrival.period {
            Period::WarmUp => (&self.warm_up, arrival.intended_at),
            Period::Measured => {
                let at_ns = arrival.intended_at.saturating_sub(self.measured_from);
                (&self.measured, at_ns)
            }
        }
    }
}
