//! Agents and a built-in target on this machine, each in a process of its own: this program, run
//! again.

mod agents;
mod builtin;
mod child;
mod child_death;
mod cpus;
mod target_address;
mod target_arguments;

pub(crate) use agents::LocalAgents;
pub(crate) use builtin::BuiltinTarget;
pub(crate) use child_death::{ChildDeath, ChildRole};
pub(crate) use target_address::TargetAddress;
#[cfg(test)]
#[cfg(feature = "load")]
pub(crate) use target_arguments::target_arguments;

use plan::MappedFile;
use std::path::PathBuf;

/// How local agents are run.
#[derive(Debug, Clone, Default)]
pub struct LocalOptions {
    /// Load threads of each agent; by default as many as it has CPUs.
    pub workers: Option<u32>,
    /// Targets that they may load besides loopback and private addresses.
    pub allow: Vec<String>,
    /// Folder for the secrets of connections, if plans may ask for them.
    pub key_log: Option<PathBuf>,
    /// Data files that are not sent, as this process has mapped them.
    pub data: Vec<MappedFile>,
    /// Whether they always sleep until an arrival is due.
    pub no_spin: bool,
}
