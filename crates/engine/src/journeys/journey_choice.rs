//! Which journey is made, by its number in the cluster or by its user.

use measure::Period;
use plan::{MergedArrivals, Mix, Plan, VirtualUsers};

/// How the journeys of a plan are told apart.
#[derive(Debug)]
pub(super) enum JourneyChoice {
    /// By weight.
    Mixed(Mix),
    /// By the rates that they have of their own.
    Due(Box<DueJourneys>),
    /// By their user: journeys have users of their own.
    OfUsers(VirtualUsers),
}

#[derive(Debug)]
pub(super) struct DueJourneys {
    /// `None` without a warm-up, or if it has no arrivals.
    warm_up: Option<MergedArrivals>,
    measured: MergedArrivals,
}

impl JourneyChoice {
    pub(super) fn new(plan: &Plan) -> JourneyChoice {
        if let Some(measured) = MergedArrivals::after_warm_up(plan.load()) {
            let warm_up = MergedArrivals::warm_up(plan.load());
            return JourneyChoice::Due(Box::new(DueJourneys { warm_up, measured }));
        }
        if !plan.load().journeys.is_empty() {
            return JourneyChoice::OfUsers(VirtualUsers::new(plan.load()));
        }
        let journeys = plan.journeys().iter();
        let weights: Vec<u32> = journeys.map(|journey| journey.weight).collect();
        JourneyChoice::Mixed(Mix::new(&weights, plan.load().seed))
    }

    /// The place in the plan of journey `seq` of a part of the run, which `user` makes.
    #[inline]
    pub(super) fn at(&self, period: Period, seq: u64, user: u64) -> u16 {
        match self {
            JourneyChoice::Mixed(mix) => mix.at(seq),
            JourneyChoice::Due(due) => due.at(period, seq),
            // There are no other users.
            JourneyChoice::OfUsers(users) => users.journey_of(user).unwrap_or(0),
        }
    }
}

impl DueJourneys {
    fn at(&self, period: Period, seq: u64) -> u16 {
        let arrivals = match period {
            Period::WarmUp => self.warm_up.as_ref(),
            Period::Measured => Some(&self.measured),
        };
        let arrival = arrivals.and_then(|arrivals| arrivals.at(seq));
        // Its schedule has no other numbers.
        arrival.map_or(0, |arrival| arrival.journey)
    }
}
