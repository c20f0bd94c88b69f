//! The bounds of a search: what is varied, between which amounts, and how precisely. They determine
//! the amounts of holds.

use super::KNEE_HOLDS_MAX;
use crate::human;
use serde::{Deserialize, Serialize};

/// Factor from hold to hold while nothing has failed yet.
const CLIMB_FACTOR: f64 = 4.0;

/// The highest amount that passed and the lowest that failed are each held once more.
const CONFIRMATIONS: u32 = 2;

/// Contradicting holds cost extra: one that failed by accident at the beginning costs about half a
/// search. After this many times the holds of a search without contradictions, the search stops
/// narrowing.
const PATIENCE: u32 = 2;

/// Holds it can take to find out, at the very end, that not even the first amount passes: two, and
/// a third to decide.
const LAST_RESORT: u32 = 3;

/// Significant digits of a hold's rate; more mean nothing and are hard to read.
const RATE_DIGITS: i32 = 5;

/// The quantity that a search varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LoadUnit {
    /// Arrivals per second of an open loop.
    Rate,
    /// Virtual users of a closed loop, in whole numbers.
    Users,
}

/// The range and precision of a search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bounds {
    amount: LoadUnit,
    from: f64,
    to: f64,
    precision: f64,
}

/// The reason why bounds do not make a search.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum BoundsError {
    /// The amounts are not in ascending order.
    #[error("from {from} to {to} is no range; write two amounts above 0, the smaller one first")]
    Range {
        /// Lowest amount, as given.
        from: f64,
        /// Highest amount, as given.
        to: f64,
    },
    /// No search can end at this ratio.
    #[error("a precision of {0} cannot be reached; write one from 0.001 to 1")]
    Precision(f64),
}

impl Bounds {
    /// Creates bounds with `from` below `to`, rounded to whole numbers for users. The search ends
    /// if the lowest amount that fails is at most `precision` (0.03 for 3 %) above the highest that
    /// passes.
    ///
    /// # Errors
    /// Fails if the amounts are not a range, or if the precision is outside 0.001 to 1.
    pub fn new(
        amount: LoadUnit,
        from: f64,
        to: f64,
        precision: f64,
    ) -> Result<Bounds, BoundsError> {
        let (from, to) = match amount {
            LoadUnit::Rate => (from, to),
            LoadUnit::Users => (from.round(), to.round()),
        };
        if !(from > 0.0 && to > from && to.is_finite()) {
            return Err(BoundsError::Range { from, to });
        }
        if !(0.001..=1.0).contains(&precision) {
            return Err(BoundsError::Precision(precision));
        }
        Ok(Bounds {
            amount,
            from,
            to,
            precision,
        })
    }

    /// Creates the bounds of a plan's search.
    ///
    /// # Errors
    /// As [`Bounds::new`].
    pub fn from_plan(capacity: &plan::Capacity) -> Result<Bounds, BoundsError> {
        let amount = match capacity.range {
            plan::SearchRange::Rate { .. } => LoadUnit::Rate,
            plan::SearchRange::Connections { .. } => LoadUnit::Users,
        };
        let (from, to) = capacity.range.ends();
        Bounds::new(amount, from, to, capacity.precision)
    }

    /// Returns what is varied.
    #[must_use]
    pub fn amount(&self) -> LoadUnit {
        self.amount
    }

    /// Returns the lowest amount.
    #[must_use]
    pub fn from(&self) -> f64 {
        self.from
    }

    /// Returns the highest amount.
    #[must_use]
    pub fn to(&self) -> f64 {
        self.to
    }

    /// Returns the largest distance between the two amounts at which a search ends, as a share of
    /// the lower one.
    #[must_use]
    pub fn precision(&self) -> f64 {
        self.precision
    }

    /// Returns the most holds that a search in these bounds makes if the holds of each amount
    /// agree, without those for the knee of a closed loop: a climb, the halvings of the step that
    /// failed, and one more hold of both ends.
    #[must_use]
    pub fn holds_agreeing(&self) -> u32 {
        let mut below = self.from;
        let mut at = self.first();
        let mut climbed = 1;
        // If the first amount fails, the one below it is held, too.
        let mut most =
            climbed + u32::from(at > self.from) + self.halvings(below, at) + CONFIRMATIONS;
        while at < self.to {
            below = at;
            at = self.above(at);
            climbed += 1;
            most = most.max(climbed + self.halvings(below, at) + CONFIRMATIONS);
        }
        most
    }

    /// Returns the most holds that a search in these bounds makes, whatever their outcomes, without
    /// those for the knee and those that are repeated because they could not be trusted.
    #[must_use]
    pub fn holds_max(&self) -> u32 {
        self.holds_to_narrow() + LAST_RESORT
    }

    /// Returns the number of holds after which the search stops narrowing.
    pub(crate) fn holds_to_narrow(&self) -> u32 {
        self.holds_agreeing() * PATIENCE
    }

    /// Returns the most holds for the knee.
    #[must_use]
    pub fn holds_for_knee(&self) -> u32 {
        if self.amount == LoadUnit::Users {
            KNEE_HOLDS_MAX as u32
        } else {
            0
        }
    }

    /// Returns the steps until two amounts are close enough: each halves the logarithm of their
    /// ratio.
    fn halvings(&self, low: f64, high: f64) -> u32 {
        let steps = (high / low).ln() / self.precision.ln_1p();
        steps.log2().ceil().max(0.0) as u32
    }

    /// Returns the first amount to hold. For rates it is the first step of the climb, since a hold
    /// of `from` is informative only if that step fails. For users it is `from`, where the search
    /// for the knee begins.
    pub(crate) fn first(&self) -> f64 {
        match self.amount {
            LoadUnit::Rate => self.above(self.from),
            LoadUnit::Users => self.from,
        }
    }

    /// Returns the next amount of the climb.
    pub(crate) fn above(&self, amount: f64) -> f64 {
        (amount * CLIMB_FACTOR).min(self.to)
    }

    /// Returns the geometric middle; `None` if the two are close enough, or have no amount between
    /// them.
    pub(crate) fn between(&self, low: f64, high: f64) -> Option<f64> {
        if high <= low * (1.0 + self.precision) {
            return None;
        }
        // This halves the logarithm of the ratio, to which the precision refers.
        let middle = self.amount.round((low * high).sqrt());
        // Rounding can move it to an end: there is no number of users between 7 and 8.
        (middle > low && middle < high).then_some(middle)
    }

    /// Returns the amount one step of the precision lower, but at least `from`.
    pub(crate) fn just_below(&self, amount: f64) -> f64 {
        let lower = self.amount.round(amount / (1.0 + self.precision));
        // With few users the precision is less than one user.
        let lower = if lower < amount { lower } else { amount - 1.0 };
        lower.max(self.from)
    }
}

impl LoadUnit {
    /// Rounds to whole users, or to a rate with few digits.
    fn round(self, amount: f64) -> f64 {
        match self {
            LoadUnit::Users => amount.round(),
            LoadUnit::Rate if amount > 0.0 && amount.is_finite() => {
                let unit = 10_f64.powi(amount.log10().floor() as i32 + 1 - RATE_DIGITS);
                if unit < 1.0 {
                    // Powers of ten below 1 are not exact floats, those above are.
                    (amount / unit).round() / (1.0 / unit).round()
                } else {
                    (amount / unit).round() * unit
                }
            }
            LoadUnit::Rate => amount,
        }
    }

    /// Formats an amount for people: `4021/s`, `250 users`.
    #[must_use]
    pub fn display(self, amount: f64) -> String {
        match self {
            LoadUnit::Users if amount == 1.0 => "1 user".to_owned(),
            LoadUnit::Users => format!("{amount:.0} users"),
            LoadUnit::Rate if amount >= 100.0 => format!("{amount:.0}/s"),
            LoadUnit::Rate => format!("{}/s", human::exact(&human::number(amount))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_are_none_are_refused() {
        for (amount, from, to, precision) in [
            (LoadUnit::Rate, 0.0, 10.0, 0.03),
            (LoadUnit::Rate, -1.0, 10.0, 0.03),
            (LoadUnit::Rate, 10.0, 10.0, 0.03),
            (LoadUnit::Rate, 10.0, 1.0, 0.03),
            (LoadUnit::Rate, 1.0, f64::INFINITY, 0.03),
            (LoadUnit::Rate, f64::NAN, 1.0, 0.03),
            (LoadUnit::Users, 0.3, 10.0, 0.03),
            (LoadUnit::Users, 3.0, 3.2, 0.03),
            (LoadUnit::Rate, 1.0, 10.0, 0.0),
            (LoadUnit::Rate, 1.0, 10.0, f64::NAN),
        ] {
            assert!(
                Bounds::new(amount, from, to, precision).is_err(),
                "{amount:?} {from} {to} {precision}"
            );
        }
    }

    #[test]
    fn amounts_climb_by_four_and_meet_in_the_geometric_middle() {
        let rates = Bounds::new(LoadUnit::Rate, 100.0, 50_000.0, 0.03).unwrap();
        assert_eq!(
            [100.0, 400.0, 25_600.0].map(|amount| rates.above(amount)),
            [400.0, 1600.0, 50_000.0]
        );
        assert_eq!(rates.between(1600.0, 6400.0), Some(3200.0));
        assert_eq!(rates.between(100.0, 103.0), None);
        assert_eq!(rates.between(1000.0, 2000.0), Some(1414.2), "five digits");
        assert_eq!(rates.just_below(1030.0), 1000.0);
        let users = Bounds::new(LoadUnit::Users, 1.0, 250.0, 0.03).unwrap();
        assert_eq!(
            [
                users.between(1.0, 4.0),
                users.between(7.0, 8.0),
                users.between(8.0, 10.0)
            ],
            [Some(2.0), None, Some(9.0)]
        );
        assert_eq!(
            [users.just_below(8.0), users.just_below(1.0)],
            [7.0, 1.0],
            "one user less at least"
        );
    }

    #[test]
    fn holds_are_bounded() {
        let of = |bounds: Bounds| {
            (
                bounds.holds_agreeing(),
                bounds.holds_max(),
                bounds.holds_for_knee(),
            )
        };
        // 400, 1600, 6400, 25600 fails; ln 4 / ln 1.03 = 46.9, which takes six halvings; both ends
        // once more.
        assert_eq!(
            of(Bounds::new(LoadUnit::Rate, 100.0, 50_000.0, 0.03).unwrap()),
            (12, 27, 0)
        );
        // 1, 4 fails; six halvings, if users were not whole; both ends; six for the knee.
        assert_eq!(
            of(Bounds::new(LoadUnit::Users, 1.0, 8.0, 0.03).unwrap()),
            (10, 23, 6)
        );
        // 2 fails, then 1: the two are close enough.
        assert_eq!(
            of(Bounds::new(LoadUnit::Rate, 1.0, 2.0, 1.0).unwrap()),
            (4, 11, 0)
        );
    }

    #[test]
    fn amounts_are_written_with_their_unit() {
        for (amount, value, text) in [
            (LoadUnit::Rate, 4021.3, "4021/s"),
            (LoadUnit::Rate, 12.5, "12.5/s"),
            (LoadUnit::Users, 1.0, "1 user"),
            (LoadUnit::Users, 250.0, "250 users"),
        ] {
            assert_eq!(amount.display(value), text);
        }
    }
}
