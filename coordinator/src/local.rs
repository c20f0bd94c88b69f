//! Agents and a built-in target on this machine, as processes of their own: this program, run
//! again.

mod agents;
mod builtin;
mod child;
mod cpus;

pub(crate) use agents::LocalAgents;
pub(crate) use builtin::{BuiltinTarget, Listening};

use std::fmt;
use std::path::PathBuf;
use std::process::ExitStatus;

/// How local agents are run.
#[derive(Debug, Clone, Default)]
pub struct LocalOptions {
    /// Load threads of each; as many as it has CPUs where nothing is said.
    pub workers: Option<u32>,
    /// What they may fire at beside loopback and private addresses.
    pub allow: Vec<String>,
    /// Folder for the secrets of connections, where plans may ask for them.
    pub key_log: Option<PathBuf>,
    /// They sleep until an arrival is due.
    pub no_spin: bool,
}

/// A process that ended before it was to.
#[derive(Debug)]
pub(crate) struct Died {
    /// Which.
    pub(crate) who: Who,
    /// How.
    pub(crate) status: ExitStatus,
    /// The last it wrote to standard error.
    pub(crate) complaint: String,
}

/// A process of a local run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Who {
    /// The agent of this name.
    Agent(String),
    /// The built-in target.
    Target,
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Agent(name) => write!(f, "agent {name}"),
            Who::Target => f.write_str("the built-in target"),
        }
    }
}

impl fmt::Display for Died {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ended with {}", self.who, self.status)?;
        if self.complaint.is_empty() {
            f.write_str(" and wrote nothing")
        } else {
            write!(f, "; it wrote:\n{}", self.complaint)
        }
    }
}
