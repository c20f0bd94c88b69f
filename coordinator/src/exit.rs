//! Exit codes: what each means, and which one counts if several apply.

use std::process::ExitCode;

/// How the program ends. In ascending order of precedence: later variants hide earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Everything asked for held.
    Passed,
    /// A threshold failed, or operations failed that must not.
    ThresholdFailed,
    /// The run is invalid as a measurement.
    Invalid,
    /// It was interrupted.
    Interrupted,
    /// Anything else: a file that cannot be written, a port in use, an agent that cannot run the
    /// plan.
    Failed,
    /// The command line, the plan, or a saved run that was named cannot be used.
    Usage,
}

/// Rules of the command line in addition to the plan's thresholds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExitRules {
    /// See [`analysis::exit_code`].
    pub strict: bool,
    /// Whether one failed operation fails the run.
    pub fail_on_error: bool,
}

impl Exit {
    /// The number that the shell sees.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Exit::Passed => 0,
            Exit::ThresholdFailed => 1,
            Exit::Usage => 2,
            Exit::Invalid => 3,
            Exit::Failed => 4,
            Exit::Interrupted => 130,
        }
    }

    /// The exit for a result.
    #[must_use]
    pub fn from_document(document: &analysis::Document, rules: ExitRules) -> Exit {
        let has_errors = document.measured.operations.errors > 0;
        let failed = (rules.fail_on_error && has_errors).then_some(Exit::ThresholdFailed);
        let exit = Exit::from_code(analysis::exit_code(document, rules.strict));
        failed.map_or(exit, |failed| failed.max(exit))
    }

    /// The exit for a code of `analysis`.
    #[must_use]
    pub fn from_code(code: u8) -> Exit {
        match code {
            0 => Exit::Passed,
            1 => Exit::ThresholdFailed,
            3 => Exit::Invalid,
            _ => Exit::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn where_several_hold_the_documented_order_counts() {
        let mut all = [
            Exit::Passed,
            Exit::ThresholdFailed,
            Exit::Usage,
            Exit::Invalid,
            Exit::Failed,
            Exit::Interrupted,
        ]
        .map(|exit| exit);
        all.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(all.map(Exit::code), [2, 4, 130, 3, 1, 0]);
    }
}
