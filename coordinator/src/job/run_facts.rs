//! What a job knows of a run that was made.

use super::job_standing::{JobStanding, ResultRules};
use analysis::{Document, RunState, Verdict};

/// What a job knows of a run that was made.
#[derive(Debug, Clone)]
pub(crate) struct RunFacts {
    pub(crate) document: Document,
    /// The name of its folder.
    pub(crate) folder: String,
    /// Whether any agent fired.
    pub(crate) has_begun: bool,
    /// Whether the end was wanted.
    pub(crate) is_interrupted: bool,
    /// Whether something other than the measurement failed, such as saving it.
    pub(crate) has_failed: bool,
    /// What failed apart from the measurement, in sentences.
    pub(crate) problems: Vec<String>,
    /// Whether an agent of the coordinator's machine has ended; it does not come back.
    pub(crate) lacks_agents: bool,
}

impl RunFacts {
    /// Whether it ran to its end with a valid result.
    pub(super) fn is_trusted(&self) -> bool {
        let is_valid = self.document.verdict.verdict != Verdict::Invalid;
        is_valid && self.document.run.state == RunState::Complete
    }

    /// Whether something failed beside a run that was made, such as the command after it: nothing
    /// may follow.
    pub(super) fn has_failed_beside(&self) -> bool {
        self.has_begun && self.has_failed
    }

    /// How the run stands apart from the measurement: [`JobStanding::Failed`],
    /// [`JobStanding::Stopped`], or [`JobStanding::Held`].
    pub(super) fn failure(&self) -> JobStanding {
        match (self.has_failed, self.is_interrupted) {
            (true, _) => JobStanding::Failed,
            (false, true) => JobStanding::Stopped,
            (false, false) => JobStanding::Held,
        }
    }

    /// How the run stands, by its result and by problems apart from it.
    pub(crate) fn standing(&self, rules: ResultRules) -> JobStanding {
        if !self.has_begun {
            return self.failure();
        }
        JobStanding::from_document(&self.document, rules).max(self.failure())
    }
}
