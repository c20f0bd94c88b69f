//! The end of a process that should not have ended yet.

use std::fmt;
use std::process::ExitStatus;

/// A process that ended too early.
#[derive(Debug)]
pub(crate) struct ChildDeath {
    /// The process that ended.
    pub(crate) role: ChildRole,
    /// How it ended.
    pub(crate) status: ExitStatus,
    /// The last part of what it wrote to standard error.
    pub(crate) complaint: String,
}

/// A process of a local run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChildRole {
    /// The agent of this name.
    Agent(String),
    /// The built-in target.
    Target,
}

impl fmt::Display for ChildRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChildRole::Agent(name) => write!(f, "agent {name}"),
            ChildRole::Target => f.write_str("the built-in target"),
        }
    }
}

impl fmt::Display for ChildDeath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ended with {}", self.role, self.status)?;
        if self.complaint.is_empty() {
            f.write_str(" and wrote nothing")
        } else {
            write!(f, "; it wrote:\n{}", self.complaint)
        }
    }
}
