//! The virtual users of a closed loop: when each is active, and which journey it makes.

use crate::{JourneyLoad, Load, Profile, Shape};
use std::ops::Range;

/// The cluster's virtual users, numbered from 0. If journeys have users of their own, those of the
/// first journey have the first numbers, and so on, so that dealing users to agents by number deals
/// each journey's evenly.
#[derive(Debug, Clone, PartialEq)]
pub struct VirtualUsers {
    /// Users of one profile each, in the order of their numbers.
    groups: Vec<UserGroup>,
    /// Whether each group makes a journey of its own: that at its place in the plan.
    is_by_journey: bool,
}

/// Users who follow one profile: the first of them are active whenever any is.
#[derive(Debug, Clone, PartialEq)]
struct UserGroup {
    /// Number of its first user.
    first: u32,
    /// How many it has.
    number: u32,
    warm_up: Profile,
    measured: Profile,
    /// How many users of all groups before it are active at the beginning.
    initial_before: f64,
}

impl VirtualUsers {
    /// The users of a closed loop; none for an open loop.
    #[must_use]
    pub fn new(load: &Load) -> VirtualUsers {
        let own = |journey: &JourneyLoad| {
            let warm_up = Profile::new(journey.amount, &[]);
            (warm_up, journey.profile())
        };
        let profiles: Vec<(Profile, Profile)> = match load.shape {
            Shape::Open { .. } => Vec::new(),
            Shape::Closed { .. } if load.journeys.is_empty() => {
                vec![(Profile::warm_up(load), Profile::after_warm_up(load))]
            }
            Shape::Closed { .. } => load.journeys.iter().map(own).collect(),
        };
        let (mut first, mut initial_before) = (0_u32, 0.0);
        let group = |(warm_up, measured): (Profile, Profile)| {
            let group = UserGroup {
                first,
                number: measured.peak().ceil() as u32,
                warm_up,
                measured,
                initial_before,
            };
            first = first.saturating_add(group.number);
            initial_before += group.warm_up.amount_at(0);
            group
        };
        VirtualUsers {
            groups: profiles.into_iter().map(group).collect(),
            is_by_journey: !load.journeys.is_empty(),
        }
    }

    /// Whether each of them is still active, or is again, after the last stage.
    pub(crate) fn all_remain(&self) -> bool {
        let remain = |group: &UserGroup| group.measured.last() >= group.measured.peak();
        self.groups.iter().all(remain)
    }

    /// How many there are: the most of each profile at any time.
    #[must_use]
    pub fn number(&self) -> u32 {
        let last = self.groups.last();
        last.map_or(0, |group| group.first.saturating_add(group.number))
    }

    /// The journey that `user` makes, by its place in the plan; `None` if users make any of them.
    #[must_use]
    pub fn journey_of(&self, user: u64) -> Option<u16> {
        if !self.is_by_journey {
            return None;
        }
        let (place, _) = self.group_of(u32::try_from(user).ok()?)?;
        u16::try_from(place).ok()
    }

    /// When `user` is active in the warm-up, and then in the measured part, in nanoseconds from the
    /// beginning of each.
    #[must_use]
    pub fn active_spans(&self, user: u32) -> (Vec<Range<u64>>, Vec<Range<u64>>) {
        let Some((_, group)) = self.group_of(user) else {
            return (Vec::new(), Vec::new());
        };
        let place = user - group.first;
        let spans = |profile: &Profile| profile.active_spans(place);
        (spans(&group.warm_up), spans(&group.measured))
    }

    /// The share of the users active at the beginning that come before `user`, from 0 to below 1;
    /// `None` if it is not active then.
    #[must_use]
    pub fn initial_place(&self, user: u32) -> Option<f64> {
        let (_, group) = self.group_of(user)?;
        let place = f64::from(user - group.first);
        let last = self.groups.last()?;
        let all = last.initial_before + last.warm_up.amount_at(0);
        let is_initial = place < group.warm_up.amount_at(0);
        is_initial.then(|| (group.initial_before + place) / all)
    }

    /// The group of `user`, with its place.
    fn group_of(&self, user: u32) -> Option<(usize, &UserGroup)> {
        let after = self.groups.partition_point(|group| group.first <= user);
        let place = after.checked_sub(1)?;
        let group = &self.groups[place];
        (user - group.first < group.number).then_some((place, group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{End, Stage};
    use std::time::Duration;

    const S: u64 = 1_000_000_000;

    fn load(connections: u32, journeys: &[(u32, &[(u64, u32)])]) -> Load {
        let stage = |&(seconds, to): &(u64, u32)| Stage {
            over: Duration::from_secs(seconds),
            to: f64::from(to),
        };
        let journey = |&(first, stages): &(u32, &[(u64, u32)])| JourneyLoad {
            amount: f64::from(first),
            stages: stages.iter().map(stage).collect(),
        };
        Load {
            shape: Shape::Closed {
                connections,
                max_connections: None,
                think_time: None,
            },
            stages: Vec::new(),
            end: End::Duration(Duration::from_secs(10)),
            warm_up: Duration::ZERO,
            seed: 1,
            connect_ramp: Duration::ZERO,
            recorded: None,
            journeys: journeys.iter().map(journey).collect(),
        }
    }

    #[test]
    fn each_journey_has_as_many_users_as_it_ever_needs() {
        let users = VirtualUsers::new(&load(5, &[(3, &[(2, 3), (0, 1)]), (2, &[(4, 4)])]));
        assert_eq!(users.number(), 3 + 4);
        let journeys: Vec<Option<u16>> = (0..8).map(|user| users.journey_of(user)).collect();
        let (first, second) = (Some(0), Some(1));
        let expected = [first, first, first, second, second, second, second, None];
        assert_eq!(journeys, expected);
        let measured = |user| users.active_spans(user).1;
        let is_one = |spans: &[Range<u64>], span: Range<u64>| spans == std::slice::from_ref(&span);
        assert!(is_one(&measured(0), 0..u64::MAX));
        assert!(is_one(&measured(2), 0..2 * S));
        assert!(is_one(&measured(4), 0..u64::MAX));
        assert!(is_one(&measured(5), 1..u64::MAX));
        assert!(is_one(&measured(6), 2 * S + 1..u64::MAX));
        assert!(measured(7).is_empty());
        assert_eq!(
            users.active_spans(6).0,
            [],
            "the first amount in the warm-up"
        );
    }

    #[test]
    fn users_remain_unless_a_last_stage_is_below_their_most() {
        for (journeys, remain) in [
            (&[][..], true),
            (&[(3, &[][..]), (0, &[(2, 4)])], true),
            (&[(3, &[(2, 1), (0, 3)])], true),
            (&[(3, &[(2, 3), (0, 1)])], false),
            (&[(1, &[]), (3, &[(2, 0)])], false),
        ] {
            let users = VirtualUsers::new(&load(5, journeys));
            assert_eq!(users.all_remain(), remain, "{journeys:?}");
        }
    }

    #[test]
    fn journeys_multiplied_have_no_more_users_than_a_plan_may_have() {
        // Never together, but each user has a number.
        let (early, late): (&[_], &[_]) = (&[(1, 0)], &[(1, 4_000_000)]);
        let mut load = load(4_000_000, &[(4_000_000, early), (0, late)]);
        load.multiply(1).expect("a load");
        let problem = load.multiply(2).expect_err("too many users");
        assert_eq!(problem.path, "load.connections");
    }

    #[test]
    fn initial_users_follow_one_another() {
        let users = VirtualUsers::new(&load(4, &[(1, &[(0, 2)]), (0, &[(0, 1)]), (3, &[])]));
        let places: Vec<Option<f64>> = (0..6).map(|user| users.initial_place(user)).collect();
        assert_eq!(places[0], Some(0.0));
        assert_eq!(places[1..3], [None, None]);
        assert_eq!(places[3..], [Some(0.25), Some(0.5), Some(0.75)]);
    }

    #[test]
    fn users_of_one_load_make_any_journey() {
        let users = VirtualUsers::new(&load(3, &[]));
        assert_eq!((users.number(), users.journey_of(0)), (3, None));
        assert_eq!(users.initial_place(2), Some(2.0 / 3.0));
    }
}
