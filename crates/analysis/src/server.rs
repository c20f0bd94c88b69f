//! What the server itself used, where that is known: of the built-in target, whose process the
//! coordinator starts, and of the processes that monitors watched.

use crate::Figures;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// CPU time of the server's process, from before the first connection of the run until after its
/// last.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerFigures {
    /// User and system time, in nanoseconds; known to 10 ms.
    pub cpu_ns: u64,
    /// The same for each operation, those of the warm-up included; absent where none ended.
    pub cpu_per_operation_ns: Option<f64>,
    /// CPUs that this comes to at the rate of the measured part.
    pub cpus: Option<f64>,
}

/// Operations that the server saw: an arrival that is never sent costs it nothing.
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

/// What processes of one name used on a machine that a monitor watched, in the measured part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessFigures {
    /// The monitor's name.
    pub machine: String,
    /// The processes' name.
    pub name: String,
    /// How many there were at once, at most.
    pub processes: u32,
    /// CPUs that they kept busy together, mean.
    pub cpus: f64,
    /// CPU time for each operation that ended in the measured part, in nanoseconds; absent where
    /// none did.
    pub cpu_per_operation_ns: Option<f64>,
}
