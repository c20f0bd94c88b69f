//! The knee of a closed loop: where throughput stops following the load.

use super::LoadUnit;
use crate::human;
use serde::{Deserialize, Serialize};

/// Share of the plateau from which throughput has reached it.
const REACHED_SHARE: f64 = 0.97;

/// Users must have been tried up to this multiple of the knee: a plateau shows only beyond its
/// edge.
const BEYOND_FACTOR: f64 = 1.5;

/// The point where throughput stops following the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Knee {
    /// Fewest users that reach 97 % of the plateau.
    pub users: f64,
    /// Throughput there: operations that ended ok, per second.
    pub ok_per_second: f64,
    /// Most users tried that do not reach it; absent if even the fewest do.
    pub below: Option<f64>,
    /// Mean throughput of the holds at the plateau.
    pub plateau_ok_per_second: f64,
    /// Most users tried.
    pub up_to: f64,
    /// Throughput with the most users.
    pub up_to_ok_per_second: f64,
}

impl Knee {
    /// Finds the knee from holds as (users, throughput), in any order; `None` if throughput still
    /// rose with the most users.
    #[must_use]
    pub fn from_holds(holds: &[(f64, f64)]) -> Option<Knee> {
        let top = holds
            .iter()
            .map(|&(_, throughput)| throughput)
            .reduce(f64::max)
            .filter(|&top| top > 0.0)?;
        let at_top: Vec<f64> = holds
            .iter()
            .map(|&(_, throughput)| throughput)
            .filter(|&throughput| throughput >= REACHED_SHARE * top)
            .collect();
        // The mean, since the largest of several noisy values is too large.
        let plateau = at_top.iter().sum::<f64>() / at_top.len() as f64;
        let &(users, ok_per_second) = holds
            .iter()
            .filter(|hold| hold.1 >= REACHED_SHARE * plateau)
            .min_by(|a, b| a.0.total_cmp(&b.0))?;
        let &(up_to, up_to_ok_per_second) = holds.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
        let below = holds
            .iter()
            .map(|hold| hold.0)
            .filter(|&other| other < users)
            .reduce(f64::max);
        (up_to >= BEYOND_FACTOR * users).then_some(Knee {
            users,
            ok_per_second,
            below,
            plateau_ok_per_second: plateau,
            up_to,
            up_to_ok_per_second,
        })
    }

    /// Describes the knee in one sentence.
    #[must_use]
    pub fn statement(&self) -> String {
        let per_second = |throughput| format!("{}/s", human::number(throughput));
        let brought = (self.up_to_ok_per_second / self.ok_per_second - 1.0) * 100.0;
        format!(
            "throughput stops rising at {}, with {}: {}, {} times as many, brought {} \
             ({brought:+.1} %)",
            LoadUnit::Users.display(self.users),
            per_second(self.ok_per_second),
            LoadUnit::Users.display(self.up_to),
            human::number(self.up_to / self.users),
            per_second(self.up_to_ok_per_second),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knee_is_the_least_load_within_three_per_cent_of_the_plateau() {
        let knee = Knee::from_holds(&[
            (64.0, 50.4),
            (1.0, 1.0),
            (16.0, 16.0),
            (250.0, 49.6),
            (48.0, 48.0),
            (56.0, 49.0),
        ])
        .unwrap();
        // At the top: 50.4, 49.6, 49.0, with a mean of 49.67; 97 % of it is 48.18.
        assert_eq!(
            (knee.users, knee.ok_per_second, knee.below, knee.up_to),
            (56.0, 49.0, Some(48.0), 250.0)
        );
        assert!((knee.plateau_ok_per_second - 149.0 / 3.0).abs() < 1e-9);
        let text = knee.statement();
        assert_eq!(
            text,
            "throughput stops rising at 56 users, with 49.0/s: 250 users, 4.46 times as many, \
             brought 49.6/s (+1.2 %)"
        );
    }

    #[test]
    fn throughput_that_falls_again_has_a_knee_too() {
        let knee =
            Knee::from_holds(&[(1.0, 10.0), (4.0, 40.0), (16.0, 100.0), (64.0, 70.0)]).unwrap();
        assert_eq!((knee.users, knee.up_to_ok_per_second), (16.0, 70.0));
    }

    #[test]
    fn throughput_that_still_rises_has_none() {
        for holds in [
            vec![],
            vec![(1.0, 10.0)],
            vec![(1.0, 10.0), (4.0, 40.0)],
            vec![(1.0, 0.0), (4.0, 0.0)],
            vec![(8.0, 9.9), (9.0, 9.9)],
        ] {
            assert_eq!(Knee::from_holds(&holds), None, "{holds:?}");
        }
    }
}
