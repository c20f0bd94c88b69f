//! The verdict as a result has it; `verdict` reaches it.

use serde::{Deserialize, Serialize};

/// What the numbers are about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The server could not do more.
    ServerBound,
    /// The client could not do more: the numbers are about it.
    ClientBound,
    /// The network could not carry more.
    NetworkBound,
    /// Everything that was to be sent was sent in time and answered.
    LoadMet,
    /// What the plan allows at once was the limit: its connections, or its users.
    PlanBound,
    /// Nothing speaks against the numbers, and nothing proves what limits them.
    #[default]
    Undetermined,
    /// The numbers are of a part of the fleet, as the plan allows: agents were lost.
    Degraded,
    /// The numbers cannot be trusted.
    Invalid,
}

/// A verdict with its reasons.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerdictRecord {
    /// What the numbers are about.
    pub verdict: Verdict,
    /// Why, with numbers.
    pub evidence: Vec<String>,
    /// What would have to be known to say more.
    pub missing: Vec<String>,
    /// How long the run, or each of its stages, would have to be to tell whether its load was
    /// carried; absent unless that is what is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed_ns: Option<u64>,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Verdict; 8] = [
        Verdict::LoadMet,
        Verdict::ServerBound,
        Verdict::ClientBound,
        Verdict::NetworkBound,
        Verdict::PlanBound,
        Verdict::Undetermined,
        Verdict::Degraded,
        Verdict::Invalid,
    ];

    /// As people write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::ServerBound => "server-bound",
            Verdict::ClientBound => "client-bound",
            Verdict::NetworkBound => "network-bound",
            Verdict::LoadMet => "load met",
            Verdict::PlanBound => "plan-bound",
            Verdict::Undetermined => "undetermined",
            Verdict::Degraded => "degraded",
            Verdict::Invalid => "invalid",
        }
    }

    /// What it means, in one sentence.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Verdict::ServerBound => "the server could not do more",
            Verdict::ClientBound => {
                "the load generator could not do more, the numbers are about it"
            }
            Verdict::NetworkBound => "the network could not carry more",
            Verdict::LoadMet => {
                "all of the load was sent in time and answered while it was offered"
            }
            Verdict::PlanBound => "the plan allows no more at once, and the server could do more",
            Verdict::Undetermined => "nothing proves what limits these numbers",
            Verdict::Degraded => "agents were lost, as the plan allows; the others went on",
            Verdict::Invalid => "these numbers cannot be trusted",
        }
    }
}
