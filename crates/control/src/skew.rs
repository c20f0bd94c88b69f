//! How far apart the agents of a run began, and how sure that is.

use crate::{FleetTime, Skew};

impl Skew {
    /// From each agent's first instant and its error bound in nanoseconds; nothing without any.
    ///
    /// Each instant lies within its bound. For every two agents that gives the most and the least
    /// by which one may have begun after the other; the largest of each bound the true skew from
    /// both sides.
    pub(crate) fn between(began: &[(FleetTime, u64)]) -> Option<Skew> {
        let skew_ns =
            began.iter().map(|(at, _)| at.0).max()? - began.iter().map(|(at, _)| at.0).min()?;
        let mut widest = 0;
        let mut narrowest = 0;
        for (i, (first, first_bound)) in began.iter().enumerate() {
            for (_, (last, last_bound)) in began.iter().enumerate().filter(|(j, _)| *j != i) {
                let most = last
                    .0
                    .saturating_add(*last_bound)
                    .saturating_sub(first.0.saturating_sub(*first_bound));
                let least = last
                    .0
                    .saturating_sub(*last_bound)
                    .saturating_sub(first.0.saturating_add(*first_bound));
                (widest, narrowest) = (most.max(widest), least.max(narrowest));
            }
        }
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
        // The unsure one in the middle may have been first, at 60, or last, at 160: up to 61 from
        // another.
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
}
