//! Agents and a built-in target on this machine, as processes of their own: this program, run
//! again.

mod agents;
mod builtin;
mod child;
mod child_death;
mod cpus;
mod target_address;

pub(crate) use agents::LocalAgents;
pub(crate) use builtin::BuiltinTarget;
pub(crate) use child_death::{ChildDeath, ChildRole};
pub(crate) use target_address::TargetAddress;

use std::path::PathBuf;

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
