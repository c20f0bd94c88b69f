//! Findings of the agents' preflight that did not stop the run.

use crate::Document;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A finding of an agent's preflight that did not stop the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PreflightFinding {
    /// Name of the agent.
    pub agent: String,
    /// The finding, with numbers and a remedy.
    pub text: String,
    /// Whether the agent would have refused the run, had it not been forced.
    pub forced: bool,
}

impl Document {
    /// Lists the findings that the run was forced past; they are part of the verdict's evidence.
    #[must_use]
    pub fn forced_past(&self) -> Vec<String> {
        let findings = self.preflight.iter().filter(|finding| finding.forced);
        findings
            .map(|PreflightFinding { agent, text, .. }| {
                format!("forced past preflight: agent {agent}: {text}")
            })
            .collect()
    }

    /// Lists the findings of agents that are close to a bound, for the notes.
    pub(crate) fn preflight_concerns(&self) -> impl Iterator<Item = String> {
        let findings = self.preflight.iter().filter(|finding| !finding.forced);
        findings.map(|PreflightFinding { agent, text, .. }| format!("agent {agent}: {text}"))
    }
}
