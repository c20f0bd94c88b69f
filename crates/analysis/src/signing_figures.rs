//! CPU time that the client spent on digests and signatures.

use measure::SigningTally;
use serde::{Deserialize, Serialize};

/// CPU time that load threads spent on digests and signatures of measured operations. It is part of
/// the client's CPU time, and an estimate: some of them are timed, for all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SigningFigures {
    /// Digests and signatures that were made.
    pub made: u64,
    /// Those among them that were timed.
    pub timed: u64,
    /// CPU time of all of them.
    pub cpu_ns: u64,
    /// CPUs that this comes to, over the measured part.
    pub cpus: f64,
}

impl SigningFigures {
    /// The figures of a measured part of this length; `None` if nothing was signed.
    pub(crate) fn new(tally: SigningTally, length_ns: u64) -> Option<SigningFigures> {
        let SigningTally {
            made,
            timed,
            cpu_ns,
        } = tally;
        (made > 0).then(|| SigningFigures {
            made,
            timed,
            cpu_ns,
            cpus: cpu_ns as f64 / length_ns.max(1) as f64,
        })
    }

    /// CPU time of one of them, on average.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        self.cpu_ns as f64 / self.made.max(1) as f64
    }
}
