//! The readings of the verdict's rules: a figure, its bound, and the ratio of the two.

use super::{RuleBound, RuleId};

/// The result of a rule for a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleReading {
    /// The rule.
    pub rule: RuleId,
    /// Its evidence, if the rule fires.
    pub says: Option<String>,
    /// Evidence in favour of the side it would blame, if it has any, such as a link whose round
    /// trip stays at its minimum.
    pub acquits: Option<String>,
    /// The figure that the rule saw.
    pub figure: String,
    /// The bound from which the rule fires.
    pub bound: RuleBound,
    /// The figure over its bound; absent if either is not a number, or not known.
    pub distance: Option<f64>,
}

impl RuleReading {
    /// Creates the reading of a rule that had nothing to look at.
    pub(super) fn unknown(rule: RuleId, bound: RuleBound) -> RuleReading {
        RuleReading {
            rule,
            says: None,
            acquits: None,
            figure: "not known".to_owned(),
            bound,
            distance: None,
        }
    }
}
