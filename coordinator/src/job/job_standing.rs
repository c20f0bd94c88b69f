//! How a job stands: what became of its runs, and why it could not go on.

use analysis::Document;

/// What became of a run or a search, or of all of them together. In ascending order of precedence:
/// later variants hide earlier ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum JobStanding {
    /// Everything asked for held.
    #[default]
    Held,
    /// A threshold failed, or operations failed that must not.
    Missed,
    /// The run is invalid as a measurement.
    Invalid,
    /// The end was wanted.
    Stopped,
    /// Something apart from the measurement failed.
    Failed,
}

/// Rules of the user in addition to the plan's thresholds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResultRules {
    /// See [`analysis::exit_code`].
    pub strict: bool,
    /// Whether one failed operation fails the run.
    pub fail_on_error: bool,
}

/// How a job ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct JobOutcome {
    /// The worst of its runs.
    pub(crate) standing: JobStanding,
    /// Why it could not go on, if so.
    pub(crate) obstacle: Option<JobObstacle>,
}

/// Why a job could not go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JobObstacle {
    /// An agent of the coordinator's machine ended.
    LostAgent,
    /// An action failed; the one that tried it knows why.
    Error,
    /// The plan cannot be run so.
    Plan(String),
}

impl JobStanding {
    /// How a run with this result stands.
    pub(crate) fn from_document(document: &Document, rules: ResultRules) -> JobStanding {
        let has_errors = document.measured.operations.errors > 0;
        let missed = (rules.fail_on_error && has_errors).then_some(JobStanding::Missed);
        let standing = JobStanding::from_code(analysis::exit_code(document, rules.strict));
        missed.map_or(standing, |missed| missed.max(standing))
    }

    /// How a run stands by its operations alone, whatever its thresholds and its verdict.
    pub(crate) fn of_operations(document: &Document, rules: ResultRules) -> JobStanding {
        let has_errors = document.measured.operations.errors > 0;
        match document.has_no_success() || (rules.fail_on_error && has_errors) {
            true => JobStanding::Missed,
            false => JobStanding::Held,
        }
    }

    /// The standing for a code of `analysis`.
    pub(crate) fn from_code(code: u8) -> JobStanding {
        match code {
            0 => JobStanding::Held,
            1 => JobStanding::Missed,
            3 => JobStanding::Invalid,
            _ => JobStanding::Failed,
        }
    }
}

impl JobOutcome {
    pub(super) fn add(&mut self, standing: JobStanding) {
        self.standing = self.standing.max(standing);
    }
}
