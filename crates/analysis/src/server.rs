//! Resources that the server itself used, if they are known: for the built-in target, whose process
//! the coordinator starts, and for the processes that monitors watched.

use crate::Figures;
use serde::{Deserialize, Serialize};

/// CPU time of the server's process, from before the first connection of the run until after its
/// last.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerFigures {
    /// User and system time, in nanoseconds, with a resolution of 10 ms.
    pub cpu_ns: u64,
    /// CPU time per operation, including those of the warm-up; absent if none ended.
    pub cpu_per_operation_ns: Option<f64>,
    /// CPUs that this amounts to at the rate of the measured part.
    pub cpus: Option<f64>,
}

/// Returns how many operations the server saw: an arrival that is never sent costs it nothing.
fn sent_and_ended(figures: &Figures) -> u64 {
    let operations = &figures.operations;
    operations.ended.saturating_sub(operations.not_sent)
}

impl ServerFigures {
    pub(crate) fn new(cpu_ns: u64, warm_up: Option<&Figures>, measured: &Figures) -> ServerFigures {
        let ended = warm_up
            .map_or(0, sent_and_ended)
            .saturating_add(sent_and_ended(measured));
        let cpu_per_operation_ns = (ended > 0).then(|| cpu_ns as f64 / ended as f64);
        let cpus =
            cpu_per_operation_ns.map(|each| each * measured.rates.operations_per_second / 1e9);
        ServerFigures {
            cpu_ns,
            cpu_per_operation_ns,
            cpus,
        }
    }
}

/// Resources that processes of the same name used in the measured part, on a machine watched by a
/// monitor.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessFigures {
    /// The monitor's name.
    pub machine: String,
    /// The processes' name.
    pub name: String,
    /// Largest number of them at the same time.
    pub processes: u32,
    /// CPUs they kept busy together, mean.
    pub cpus: f64,
    /// CPU time per operation that ended in the measured part, in nanoseconds; absent if none did.
    pub cpu_per_operation_ns: Option<f64>,
}
