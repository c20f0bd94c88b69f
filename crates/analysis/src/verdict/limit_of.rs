//! What a rule of the verdict is about.

use serde::{Deserialize, Serialize};

/// The subject of a rule: what it would blame, or describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
