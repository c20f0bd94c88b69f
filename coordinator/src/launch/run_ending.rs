//! How a run ended, as far as it was watched.

use analysis::RunState;
use control::RunOutcome;

/// How a run ended, as far as it was watched.
#[derive(Debug, Clone, Default)]
pub(super) struct RunEnding {
    /// As reported by the fleet; `None` if it was not waited for.
    pub(super) outcome: Option<RunOutcome>,
    /// Whether any agent fired.
    pub(super) has_begun: bool,
    /// Whether the end was asked for.
    pub(super) is_interrupted: bool,
    /// Whether the coordinator before this one had asked for the end.
    pub(super) was_stopped: bool,
    /// Problems apart from the measurement, for the user.
    pub(super) problems: Vec<String>,
    /// Sentences for the result.
    pub(super) notes: Vec<String>,
}

impl RunEnding {
    /// The state that the result gets.
    pub(super) fn state(&self) -> RunState {
        let is_cut = self.is_interrupted || self.was_stopped;
        match (self.has_begun, is_cut, self.outcome) {
            (true, true, _) => RunState::Interrupted,
            (true, false, Some(RunOutcome::Ran)) => RunState::Complete,
            _ => RunState::Incomplete,
        }
    }

    /// Whether something other than the measurement failed.
    pub(super) fn has_failed(&self) -> bool {
        let never_began = !self.has_begun && !self.is_interrupted;
        never_began || !self.problems.is_empty()
    }

    /// Remembers what went wrong, for the user and for the result.
    pub(super) fn fail(&mut self, problem: String) {
        self.notes.push(problem.clone());
        self.problems.push(problem);
    }
}
