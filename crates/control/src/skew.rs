//! How far apart the agents of a run began, with the error bound.

use crate::{FleetTime, Skew};

impl Skew {
    /// The skew of the agents' first instants, given with their error bounds in nanoseconds; `None`
    /// without agents.
    ///
    /// Each instant lies within its bound. For every two agents this gives the most and the least
    /// by which one can have begun after the other. The largest of each bound the true skew from
    /// both sides.
    pub(crate) fn between(began: &[(FleetTime, u64)]) -> Option<Skew> {
        let skew_ns =
            began.iter().map(|(at, _)| at.0).max()? - began.iter().map(|(at, _)| at.0).min()?;
        let latest = || began.iter().map(|(at, bound)| at.0.saturating_add(*bound));
        let earliest = || began.iter().map(|(at, bound)| at.0.saturating_sub(*bound));
        let widest = widest_gap(latest(), earliest());
        let narrowest = widest_gap(earliest(), latest());
        let bound_ns = widest
            .saturating_sub(skew_ns)
            .max(skew_ns - narrowest.min(skew_ns));
        Some(Skew {
            agents: u32::try_from(began.len()).unwrap_or(u32::MAX),
            skew_ns,
            bound_ns,
        })
    }
}

/// The most by which one of `upper` exceeds one of `lower` that belongs to another agent.
fn widest_gap(upper: impl Iterator<Item = u64>, lower: impl Iterator<Item = u64>) -> u64 {
    let top = two_first(upper.map(std::cmp::Reverse));
    let bottom = two_first(lower);
    let mut widest = 0;
    for (i, std::cmp::Reverse(high)) in top.into_iter().flatten() {
        for (_, low) in bottom.into_iter().flatten().filter(|(j, _)| *j != i) {
            widest = high.saturating_sub(low).max(widest);
        }
    }
    widest
}

/// The two smallest, with their places. In one pass, because a fleet can have thousands of agents.
fn two_first<T: Ord + Copy>(values: impl Iterator<Item = T>) -> [Option<(usize, T)>; 2] {
    let mut first = [None, None];
    for (place, value) in values.enumerate() {
        let is_before = |held: Option<(usize, T)>| held.is_none_or(|(_, held)| value < held);
        if is_before(first[0]) {
            first = [Some((place, value)), first[0]];
        } else if is_before(first[1]) {
            first[1] = Some((place, value));
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skew(began: &[(u64, u64)]) -> Option<(u64, u64)> {
        let began: Vec<(FleetTime, u64)> = began
            .iter()
            .map(|&(at, bound)| (FleetTime(at), bound))
            .collect();
        Skew::between(&began).map(|skew| (skew.skew_ns, skew.bound_ns))
    }

    #[test]
    fn skew_and_bound_are_those_worked_out_by_hand() {
        // 100 ± 5 and 130 ± 7: between 18 and 42.
        assert_eq!(skew(&[(100, 5), (130, 7)]), Some((30, 12)));
        // The uncertain one in the middle may have been first, at 60, or last, at 160: up to 61
        // apart from another.
        assert_eq!(skew(&[(100, 1), (110, 50), (120, 1)]), Some((20, 41)));
        assert_eq!(skew(&[(5, 3), (5, 3)]), Some((0, 6)));
        assert_eq!(skew(&[]), None);
    }

    #[test]
    fn one_agent_has_no_skew() {
        assert_eq!(skew(&[(42, 7)]), Some((0, 0)));
    }

    #[test]
    fn foreign_bounds_of_any_size_do_no_harm() {
        assert_eq!(
            skew(&[(1, u64::MAX), (u64::MAX, u64::MAX)]),
            Some((u64::MAX - 1, u64::MAX - 1))
        );
    }

    /// Compares each pair: slow, but obviously right.
    fn by_pairs(began: &[(u64, u64)]) -> Option<(u64, u64)> {
        let at = || began.iter().map(|(at, _)| *at);
        let skew_ns = at().max()? - at().min()?;
        let (mut widest, mut narrowest) = (0, 0);
        for (i, &(first, first_bound)) in began.iter().enumerate() {
            for (_, &(last, last_bound)) in began.iter().enumerate().filter(|(j, _)| *j != i) {
                let most = last
                    .saturating_add(last_bound)
                    .saturating_sub(first.saturating_sub(first_bound));
                let least = last
                    .saturating_sub(last_bound)
                    .saturating_sub(first.saturating_add(first_bound));
                (widest, narrowest) = (most.max(widest), least.max(narrowest));
            }
        }
        let below = skew_ns - narrowest.min(skew_ns);
        Some((skew_ns, widest.saturating_sub(skew_ns).max(below)))
    }

    #[test]
    fn one_pass_says_what_every_pair_says() {
        let mut state = 7_u64;
        let mut below = |bound: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % bound
        };
        for case in 0..20_000 {
            let agents = below(7);
            let spread = [2, 10, 1_000][below(3) as usize];
            let began: Vec<(u64, u64)> = (0..agents)
                .map(|_| match below(40) {
                    0 => (u64::MAX - below(3), u64::MAX),
                    _ => (below(spread), below(spread)),
                })
                .collect();
            assert_eq!(skew(&began), by_pairs(&began), "case {case}: {began:?}");
        }
    }
}
