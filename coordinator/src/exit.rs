//! Exit codes: what each means, and which one counts if several apply.

use crate::job::JobStanding;
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
}

impl From<JobStanding> for Exit {
    fn from(standing: JobStanding) -> Exit {
        match standing {
            JobStanding::Held => Exit::Passed,
            JobStanding::Missed => Exit::ThresholdFailed,
            JobStanding::Invalid => Exit::Invalid,
            JobStanding::Stopped => Exit::Interrupted,
            JobStanding::Failed => Exit::Failed,
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
