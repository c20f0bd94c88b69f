//! When an open loop's arrivals are due: one sequence for the whole cluster, dealt to its workers.

use crate::portion::PortionDeal;
use crate::random::Exponential;
use crate::replay::OwnRequests;
use crate::{
    Arrivals, End, Load, MergedArrivals, Owner, Portion, Profile, RecordedArrivals, Shape,
};
use measure::nanoseconds;
use std::sync::Arc;

/// Distinguishes the warm-up's random arrivals from the measured ones.
const WARM_UP_SEED: u64 = 0x7761_726d_2d75_7021;

/// The most Poisson arrivals that are drawn to learn how long they take, in 25 ns each. More take
/// as long as the rate says, within 0.1 %.
const DRAWN_FOR_SPAN: u64 = 1_000_000;

/// The arrivals of one part (warm-up or measured) of an open loop, in nanoseconds from that part's
/// beginning.
///
/// Even arrivals: number k is due when the integral of the rate passes k, the first one at once. If
/// journeys have loads of their own, this holds for each, and they are merged by instant. Poisson
/// arrivals: the same with a sum of seeded exponential gaps in place of k, over all journeys. A
/// replay: as its log says. Every owner computes the same sequence and takes its own numbers from
/// it, so the union over all owners is the same sequence, however many they are.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    profile: Profile,
    arrivals: Arrivals,
    recorded: Option<Arc<RecordedArrivals>>,
    /// Even arrivals of journeys that have loads of their own, whose sum is the profile.
    merged: Option<Arc<MergedArrivals>>,
    seed: u64,
    bound: Bound,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    /// Arrivals before this instant.
    Before(u64),
    /// This many arrivals.
    Count(u64),
}

impl Schedule {
    /// The schedule of the measured part; `None` for a closed loop.
    #[must_use]
    pub fn after_warm_up(load: &Load) -> Option<Schedule> {
        let Shape::Open { arrivals, .. } = load.shape else {
            return None;
        };
        let bound = match load.end {
            End::Duration(duration) => Bound::Before(nanoseconds(duration)),
            End::Requests(requests) => Bound::Count(requests),
        };
        Some(Schedule {
            profile: Profile::after_warm_up(load),
            arrivals,
            recorded: load.recorded.clone(),
            merged: MergedArrivals::after_warm_up(load).map(Arc::new),
            seed: load.seed,
            bound,
        })
    }

    /// The schedule of the warm-up, at the initial amount; `None` for a closed loop or without a
    /// warm-up.
    #[must_use]
    pub fn warm_up(load: &Load) -> Option<Schedule> {
        let Shape::Open { arrivals, .. } = load.shape else {
            return None;
        };
        let bound = Bound::Before(nanoseconds(load.warm_up));
        let schedule = Schedule {
            profile: Profile::warm_up(load),
            arrivals,
            recorded: None,
            merged: MergedArrivals::warm_up(load).map(Arc::new),
            seed: load.seed ^ WARM_UP_SEED,
            bound,
        };
        (!load.warm_up.is_zero()).then_some(schedule)
    }

    /// How long the arrivals take: until the end of the part, or until the arrival after the last
    /// one would be due.
    pub(crate) fn span_ns(&self) -> Option<u64> {
        let drawn = self.span_until(|count| match self.arrivals {
            Arrivals::Poisson if count <= DRAWN_FOR_SPAN => self.gaps().sum_to(count),
            Arrivals::Even | Arrivals::Poisson => count as f64,
        });
        // The last of random arrivals may never be due if the rate falls to 0.
        drawn.or_else(|| self.span_at_rate_ns())
    }

    /// How long they take if random arrivals keep the rate.
    pub(crate) fn span_at_rate_ns(&self) -> Option<u64> {
        self.span_until(|count| count as f64)
    }

    /// How long they take if `integral` says up to which integral of the rate a number of them
    /// comes.
    fn span_until(&self, integral: impl Fn(u64) -> f64) -> Option<u64> {
        match (self.bound, &self.recorded) {
            (_, Some(recorded)) => Some(recorded.span_ns()),
            (Bound::Before(end_ns), None) => Some(end_ns),
            (Bound::Count(count), None) => self.instant(count, integral(count)),
        }
    }

    /// How many arrivals `portion` has, if that needs no counting.
    pub(crate) fn amount(&self, portion: &Portion) -> Option<u64> {
        self.known_total()?;
        self.numbers(portion).amount()
    }

    /// The numbers of the portion's arrivals.
    fn numbers(&self, portion: &Portion) -> Numbers {
        match &self.recorded {
            Some(recorded) => Numbers::Own(recorded.own(portion)),
            None => Numbers::Dealt(PortionDeal::new(portion, self.known_total())),
        }
    }

    /// When arrival `number` is due, up to which the integral comes to `integral`; `None` if it
    /// never does.
    #[inline]
    fn instant(&self, number: u64, integral: f64) -> Option<u64> {
        match (&self.recorded, &self.merged) {
            (Some(recorded), _) => Some(recorded.instant(number)),
            (None, Some(merged)) => merged.at(number).map(|arrival| arrival.at_ns),
            (None, None) => self.profile.instant_of(integral),
        }
    }

    /// The number of arrivals. Takes constant time, except for Poisson arrivals that end at an
    /// instant, which are counted one by one.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.known_total()
            .unwrap_or_else(|| self.instants(Owner::ALONE).count() as u64)
    }

    /// Arrivals of `portion` as (number in the whole sequence from 0, nanoseconds from this part's
    /// beginning), both ascending.
    #[must_use]
    pub fn instants(&self, portion: impl Into<Portion>) -> Instants {
        self.bookmark().instants(portion)
    }

    /// A bookmark at the beginning of the sequence.
    #[must_use]
    pub fn bookmark(&self) -> Bookmark {
        let gaps = (self.arrivals == Arrivals::Poisson).then(|| self.gaps());
        Bookmark {
            schedule: self.clone(),
            gaps,
        }
    }

    /// The gaps of its random arrivals, none of them drawn.
    fn gaps(&self) -> Gaps {
        Gaps {
            next: 0,
            sum: 0.0,
            source: Exponential::new(self.seed),
        }
    }

    /// The total, if it needs no counting. Poisson arrivals that end at an instant are dealt in
    /// turn, without an end.
    pub(crate) fn known_total(&self) -> Option<u64> {
        match (self.bound, self.arrivals) {
            (Bound::Count(count), _) => Some(count),
            (Bound::Before(end_ns), Arrivals::Even) => Some(match &self.merged {
                Some(merged) => merged.count_before(end_ns),
                None => self.profile.count_before(end_ns),
            }),
            (Bound::Before(_), Arrivals::Poisson) => None,
        }
    }

    fn admits(&self, at_ns: u64) -> bool {
        match self.bound {
            Bound::Before(end_ns) => at_ns < end_ns,
            Bound::Count(_) => true,
        }
    }
}

/// Arrivals of one portion: see [`Schedule::instants`]. Constant work per arrival; with Poisson
/// arrivals the gaps of the other portions are drawn too.
#[derive(Debug, Clone)]
pub struct Instants {
    schedule: Schedule,
    numbers: Numbers,
    taken: u64,
    gaps: Option<Gaps>,
}

/// Which arrivals of the whole sequence a portion has.
#[derive(Debug, Clone)]
enum Numbers {
    /// Those that are dealt to it.
    Dealt(PortionDeal),
    /// Those of its connections of a log.
    Own(OwnRequests),
}

impl Numbers {
    /// How many they are; `None` for an endless sequence.
    fn amount(&self) -> Option<u64> {
        match self {
            Numbers::Dealt(deal) => deal.amount(),
            Numbers::Own(own) => Some(own.amount()),
        }
    }

    /// The number of its `nth` arrival (from 0), if there is one.
    #[inline]
    fn item(&self, nth: u64) -> Option<u64> {
        match self {
            Numbers::Dealt(deal) => deal.item(nth),
            Numbers::Own(own) => own.item(nth),
        }
    }
}

/// How far the gaps of random arrivals have been drawn, for starting in the middle of a sequence:
/// drawing hundreds of millions of them takes seconds. Even arrivals need no drawing.
#[derive(Debug, Clone)]
pub struct Bookmark {
    schedule: Schedule,
    gaps: Option<Gaps>,
}

/// Sum of the exponential gaps up to and including arrival `next - 1`.
#[derive(Debug, Clone)]
struct Gaps {
    next: u64,
    sum: f64,
    source: Exponential,
}

impl Bookmark {
    /// Advances to just before the first arrival at `at_ns` or later; never goes back.
    pub fn advance_to(&mut self, at_ns: u64) {
        if let Some(gaps) = &mut self.gaps {
            // An integral and its inverse do not round alike, so one more arrival is left to draw.
            gaps.draw_below(self.schedule.profile.integral_at(at_ns) - 1.0);
        }
    }

    /// Like [`Schedule::instants`], without arrivals that the bookmark has passed.
    #[must_use]
    pub fn instants(&self, portion: impl Into<Portion>) -> Instants {
        let numbers = self.schedule.numbers(&portion.into());
        let drawn = self.gaps.as_ref().map_or(0, |gaps| gaps.next);
        // A portion cannot have more items below a number than there are numbers.
        let taken = first_not(drawn, |nth| numbers.item(nth).is_some_and(|k| k < drawn));
        Instants {
            schedule: self.schedule.clone(),
            numbers,
            taken,
            gaps: self.gaps.clone(),
        }
    }
}

impl Instants {
    /// Keeps only arrivals that are due at `from_ns` or later. Even arrivals are found without
    /// counting; for Poisson arrivals all portions' gaps up to there are drawn, starting at the
    /// bookmark.
    #[must_use]
    pub fn starting_at(mut self, from_ns: u64) -> Instants {
        if self.gaps.is_none() {
            self.taken = self.even_before(from_ns);
            return self;
        }
        loop {
            // An arrival's instant is only known once it is taken, so the state before it is kept.
            let before = (self.taken, self.gaps.clone());
            if self.next().is_none_or(|(_, at_ns)| at_ns >= from_ns) {
                (self.taken, self.gaps) = before;
                return self;
            }
        }
    }

    /// How many even arrivals of the portion are due before `from_ns`.
    fn even_before(&self, from_ns: u64) -> u64 {
        let is_before = |nth: u64| {
            let number = self.numbers.item(nth);
            let at_ns = number.and_then(|k| self.schedule.instant(k, k as f64));
            at_ns.is_some_and(|at_ns| at_ns < from_ns)
        };
        first_not(self.numbers.amount().unwrap_or(0), is_before)
    }
}

/// The first number for which `holds` is false, or else `most`, by bisection.
fn first_not(most: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

impl Iterator for Instants {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        let number = self.numbers.item(self.taken)?;
        let integral = self
            .gaps
            .as_mut()
            .map_or(number as f64, |gaps| gaps.sum_to(number));
        let at_ns = self
            .schedule
            .instant(number, integral)
            .filter(|&at_ns| self.schedule.admits(at_ns))?;
        self.taken += 1;
        Some((number, at_ns))
    }
}

impl Gaps {
    /// `number` never decreases: an owner's numbers ascend.
    fn sum_to(&mut self, number: u64) -> f64 {
        while self.next <= number {
            self.sum += self.source.draw();
            self.next += 1;
        }
        self.sum
    }

    /// Draws as long as the sum remains below `limit`.
    fn draw_below(&mut self, limit: f64) {
        loop {
            let mut one_more = self.clone();
            if one_more.sum_to(self.next) >= limit {
                return;
            }
            *self = one_more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Owner, Schedule};
    use crate::{Arrivals, End, Load, Rate, Shape, Stage};
    use std::time::Duration;

    const MS: u64 = 1_000_000;

    fn open(rate: f64, arrivals: Arrivals, stages: &[(u64, f64)], end: End) -> Load {
        let rate = Rate::per_second(rate).unwrap();
        Load {
            shape: Shape::Open {
                rate,
                arrivals,
                max_connections: 100,
                users: None,
            },
            stages: stages
                .iter()
                .map(|&(s, to)| Stage {
                    over: Duration::from_secs(s),
                    to,
                })
                .collect(),
            end,
            warm_up: Duration::from_secs(2),
            seed: 7,
            connect_ramp: Duration::ZERO,
            recorded: None,
            journeys: Vec::new(),
        }
    }

    fn seconds(s: u64) -> End {
        End::Duration(Duration::from_secs(s))
    }

    fn measured(load: &Load) -> Vec<(u64, u64)> {
        Schedule::after_warm_up(load)
            .unwrap()
            .instants(Owner::ALONE)
            .collect()
    }

    #[test]
    fn even_arrivals_begin_at_once_and_do_not_drift() {
        let load = open(3.0, Arrivals::Even, &[], seconds(1));
        assert_eq!(
            measured(&load),
            [(0, 0), (1, 333_333_333), (2, 666_666_667)]
        );
        let long =
            Schedule::after_warm_up(&open(3.0, Arrivals::Even, &[], End::Requests(3_000_001)))
                .unwrap();
        assert_eq!(
            long.instants(Owner::ALONE).last(),
            Some((3_000_000, 1_000_000 * 1000 * MS))
        );
    }

    #[test]
    fn totals_are_the_arrivals_before_the_end() {
        // 100 a minute for a minute is 100 and not 101, although the rate has no exact binary form.
        let cases = [
            (500.0, vec![], seconds(10), 5000),
            (100.0 / 60.0, vec![], seconds(60), 100),
            (5.0 / 3600.0, vec![], seconds(3600), 5),
            (0.1, vec![], seconds(3), 1),
            (0.0, vec![(60, 250.0)], seconds(60), 7500),
            (2000.0, vec![], End::Requests(17), 17),
        ];
        for (rate, stages, end, total) in cases {
            let load = open(rate, Arrivals::Even, &stages, end);
            assert_eq!(
                Schedule::after_warm_up(&load).unwrap().total(),
                total,
                "{rate}/s {stages:?} {end:?}"
            );
            assert_eq!(
                measured(&load).len() as u64,
                total,
                "{rate}/s {stages:?} {end:?}"
            );
        }
    }

    #[test]
    fn arrivals_of_a_ramp_are_where_its_area_passes_whole_numbers() {
        // From 0 to 8/s over 4 s, the area at t is t².
        let instants: Vec<u64> = measured(&open(0.0, Arrivals::Even, &[(4, 8.0)], seconds(4)))
            .iter()
            .map(|a| a.1)
            .collect();
        let by_hand: Vec<u64> = (0..16)
            .map(|k| (f64::from(k).sqrt() * 1e9).round() as u64)
            .collect();
        assert_eq!(instants, by_hand);
    }

    #[test]
    fn warm_up_is_a_schedule_of_its_own_at_the_first_amount() {
        let load = open(4.0, Arrivals::Even, &[(5, 100.0)], seconds(5));
        let warm_up = Schedule::warm_up(&load).unwrap();
        let instants: Vec<u64> = warm_up
            .instants(Owner::ALONE)
            .map(|arrival| arrival.1)
            .collect();
        assert_eq!(instants, (0..8).map(|k| k * 250 * MS).collect::<Vec<_>>());
        assert_eq!(measured(&load)[0], (0, 0));
        assert_eq!(
            Schedule::warm_up(&Load {
                warm_up: Duration::ZERO,
                ..load
            }),
            None
        );
    }

    #[test]
    fn poisson_arrivals_keep_the_rate_and_follow_the_seed() {
        let load = open(1000.0, Arrivals::Poisson, &[], seconds(20));
        let instants = measured(&load);
        // Mean 20,000, standard deviation 141.
        assert!(
            (19_300..20_700).contains(&instants.len()),
            "{}",
            instants.len()
        );
        let gaps: Vec<f64> = instants
            .windows(2)
            .map(|pair| (pair[1].1 - pair[0].1) as f64 / 1e6)
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!(
            (0.9..1.1).contains(&(variance.sqrt() / mean)),
            "an exponential gap's deviation is its mean"
        );
        assert_eq!(instants, measured(&load));
        assert_ne!(
            instants,
            measured(&Load {
                seed: 8,
                ..load.clone()
            })
        );
        assert_eq!(
            Schedule::after_warm_up(&load).unwrap().total(),
            instants.len() as u64
        );
    }

    #[test]
    fn number_of_arrivals_takes_until_the_one_after_the_last_would_be_due() {
        for arrivals in [Arrivals::Even, Arrivals::Poisson] {
            for requests in [1, 99, 2000] {
                let load = |more: u64| {
                    let end = End::Requests(requests + more);
                    open(50.0, arrivals, &[(3, 200.0), (0, 20.0)], end)
                };
                let after_the_last = measured(&load(1)).last().map(|arrival| arrival.1);
                let span = load(0).measured_span_ns();
                assert_eq!(span, after_the_last, "{arrivals:?} {requests}");
            }
        }
    }

    #[test]
    fn bookmark_anywhere_leaves_the_arrivals_from_there_on_as_they_are() {
        let owner = |worker| Owner {
            agent: 1,
            agents: 3,
            worker,
            workers: 2,
        };
        let ends = [seconds(7), End::Requests(603)];
        for (arrivals, end) in [Arrivals::Even, Arrivals::Poisson]
            .into_iter()
            .flat_map(|a| ends.map(|end| (a, end)))
        {
            let load = open(50.0, arrivals, &[(3, 200.0), (0, 20.0)], end);
            let schedule = Schedule::after_warm_up(&load).unwrap();
            let mut bookmark = schedule.bookmark();
            for at in [0, 1, 999 * MS, 1000 * MS, 2999 * MS, 6999 * MS, 70_000 * MS] {
                bookmark.advance_to(at);
                for worker in 0..2 {
                    let all = schedule.instants(owner(worker));
                    let expected: Vec<_> = all.filter(|arrival| arrival.1 >= at).collect();
                    let rest = bookmark.instants(owner(worker)).starting_at(at);
                    assert_eq!(rest.collect::<Vec<_>>(), expected, "{arrivals:?} {at}");
                }
            }
            let drawn = bookmark.gaps.map(|gaps| gaps.next);
            assert!(drawn.is_none_or(|drawn| drawn > 500), "{drawn:?}");
        }
    }

    #[test]
    fn many_owners_offer_the_schedule_of_one() {
        let ends = [seconds(7), End::Requests(1003), End::Requests(3)];
        for (arrivals, end) in [Arrivals::Even, Arrivals::Poisson]
            .into_iter()
            .flat_map(|a| ends.map(|end| (a, end)))
        {
            let load = open(50.0, arrivals, &[(3, 200.0), (0, 20.0)], end);
            let schedule = Schedule::after_warm_up(&load).unwrap();
            for (agents, workers) in [(1, 1), (2, 1), (4, 2), (3, 5)] {
                let owners = (0..agents).flat_map(|agent| {
                    (0..workers).map(move |worker| Owner {
                        agent,
                        agents,
                        worker,
                        workers,
                    })
                });
                let mut union: Vec<_> = owners.flat_map(|owner| schedule.instants(owner)).collect();
                union.sort_unstable();
                assert_eq!(
                    union,
                    measured(&load),
                    "{arrivals:?} {end:?} over {agents} × {workers}"
                );
            }
        }
    }
}
