//! The readings of the verdict's rules: a figure, its bound, and the ratio of the two.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The subject of a rule: what it would blame, or describe.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LimitOf {
    /// The numbers themselves, and whether they can be trusted at all.
    Trust,
    /// The load generator.
    Client,
    /// The load, and whether it was sent and carried.
    Load,
    /// The plan's limit on what is under way.
    Plan,
    /// The server.
    Server,
    /// Everything between client and server.
    Network,
}

impl LimitOf {
    /// Returns its name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LimitOf::Trust => "trust",
            LimitOf::Client => "client",
            LimitOf::Load => "load",
            LimitOf::Plan => "plan",
            LimitOf::Server => "server",
            LimitOf::Network => "network",
        }
    }
}

/// The result of a rule for a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleReading {
    /// The rule's name: a few words, the same in every run.
    pub rule: &'static str,
    /// The subject of the rule.
    pub limit_of: LimitOf,
    /// Its evidence, if the rule fires.
    pub says: Option<String>,
    /// Evidence in favour of the side it would blame, if it has any, such as a link whose round
    /// trip stays at its minimum.
    pub acquits: Option<String>,
    /// The figure that the rule saw.
    pub figure: String,
    /// The bound from which the rule fires.
    pub bound: String,
    /// The figure over its bound; absent if either is not a number, or not known.
    pub distance: Option<f64>,
}

impl RuleReading {
    /// Creates the reading of a rule that had nothing to look at.
    pub(super) fn unknown(rule: &'static str, limit_of: LimitOf, bound: String) -> RuleReading {
        RuleReading {
            rule,
            limit_of,
            says: None,
            acquits: None,
            figure: "not known".to_owned(),
            bound,
            distance: None,
        }
    }
}
