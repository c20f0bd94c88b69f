//! Findings of the agents' preflight that did not stop the run.

use serde::{Deserialize, Serialize};

/// A finding of an agent's preflight that did not stop the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PreflightFinding {
    /// Name of the agent.
    pub agent: String,
    /// The finding, with numbers and a remedy.
    pub text: String,
    /// Whether the agent would have refused the run, had it not been forced.
    pub forced: bool,
}
