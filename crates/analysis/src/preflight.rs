//! What agents found before the first packet, though the run went on.

use crate::Document;
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

impl Document {
    /// What the run was forced past; it marks the verdict.
    #[must_use]
    pub fn forced_past(&self) -> Vec<String> {
        let findings = self.preflight.iter().filter(|finding| finding.forced);
        findings
            .map(|PreflightFinding { agent, text, .. }| {
                format!("forced past preflight: agent {agent}: {text}")
            })
            .collect()
    }

    /// What agents found close to a bound, for the notes.
    pub(crate) fn preflight_concerns(&self) -> impl Iterator<Item = String> {
        let findings = self.preflight.iter().filter(|finding| !finding.forced);
        findings.map(|PreflightFinding { agent, text, .. }| format!("agent {agent}: {text}"))
    }
}
