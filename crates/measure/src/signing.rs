//! What it costs to make the digests and signatures that requests carry.

use serde::{Deserialize, Serialize};

/// Digests and signatures that were made for measured operations, and the CPU time they took.
///
/// The time is an estimate: some of them are timed, and each of the others counts as much as the
/// mean of those of its kind that were timed before. Estimates of workers and seconds add up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SigningTally {
    /// Digests and signatures that were made. What another one is made of is part of that one.
    pub made: u64,
    /// Those among them that were timed.
    pub timed: u64,
    /// CPU time of all of them, estimated.
    pub cpu_ns: u64,
}

impl SigningTally {
    /// Adds everything in `other`.
    pub fn merge(&mut self, other: &SigningTally) {
        self.made = self.made.saturating_add(other.made);
        self.timed = self.timed.saturating_add(other.timed);
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
    }
}
