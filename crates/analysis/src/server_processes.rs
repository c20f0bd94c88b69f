//! What the processes used that monitors watched, from the seconds of their machines.

use crate::{Document, MachineResult, MachineRole, ProcessFigures};
use std::collections::BTreeMap;

impl ProcessFigures {
    /// The processes of all monitors' machines, by machine and name.
    pub(crate) fn all(document: &Document) -> Vec<ProcessFigures> {
        let machines = document.machines.iter();
        let watched = machines.filter(|machine| machine.role == MachineRole::Monitor);
        watched
            .flat_map(|machine| ProcessFigures::on(document, machine))
            .collect()
    }

    fn on(document: &Document, machine: &MachineResult) -> Vec<ProcessFigures> {
        // By name: the most at once, and the CPU time in nanoseconds.
        let mut used: BTreeMap<&str, (u32, f64)> = BTreeMap::new();
        let mut elapsed_ns = 0.0;
        for row in document.measured_rows(machine) {
            elapsed_ns += row.elapsed_ns as f64;
            let mut at_once: BTreeMap<&str, u32> = BTreeMap::new();
            for process in &row.processes {
                *at_once.entry(&process.name).or_default() += 1;
                used.entry(&process.name).or_default().1 += process.cpus * row.elapsed_ns as f64;
            }
            for (name, number) in at_once {
                let most = &mut used.entry(name).or_default().0;
                *most = number.max(*most);
            }
        }
        let per_second = document.measured.rates.operations_per_second;
        let figures = |(name, (processes, cpu_ns)): (&str, (u32, f64))| {
            let cpus = cpu_ns / f64::max(elapsed_ns, 1.0);
            ProcessFigures {
                machine: machine.name.clone(),
                name: name.to_owned(),
                processes,
                cpus,
                cpu_per_operation_ns: (per_second > 0.0).then(|| cpus * 1e9 / per_second),
            }
        };
        used.into_iter().map(figures).collect()
    }
}
