//! What each rule of the verdict looked at: its figure, its bound, and how far one is from the
//! other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a rule would blame, or tell.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LimitOf {
    /// Whether the numbers can be trusted at all.
    Trust,
    /// The load generator.
    Client,
    /// Whether the load was sent, and carried.
    Load,
    /// What the plan allows at once.
    Plan,
    /// The server.
    Server,
    /// What lies between them.
    Network,
}

impl LimitOf {
    /// As people write it.
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

/// What a rule saw in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleReading {
    /// Which rule: a few words, the same in every run.
    pub rule: &'static str,
    /// What it is about.
    pub limit_of: LimitOf,
    /// Its evidence, where it speaks.
    pub says: Option<String>,
    /// What it saw that speaks for whom it would blame, where that is more than silence: a link
    /// whose round trip stays at its minimum.
    pub acquits: Option<String>,
    /// What it saw.
    pub figure: String,
    /// From where on it speaks.
    pub bound: String,
    /// The figure over its bound; absent where either is no number, or not known.
    pub distance: Option<f64>,
}

impl RuleReading {
    /// Of a rule that had nothing to look at.
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
