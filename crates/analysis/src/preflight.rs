//! What agents found before the first packet, though the run went on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an agent's preflight found, though the run went on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PreflightFinding {
    /// Name of the agent.
    pub agent: String,
    /// What it found, with numbers and what helps.
    pub text: String,
    /// The agent would have refused the run, had it not been forced.
    pub forced: bool,
}
