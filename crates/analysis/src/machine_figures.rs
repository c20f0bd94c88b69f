//! A few figures of what a machine did in the measured part.

use crate::{Document, MachineResult, MachineRole, MachineRow, QueueRow};

/// From this mean on, a machine's busy CPUs are worth reporting.
const BUSY: f64 = 0.9;
/// From this share on, CPU time taken by the hypervisor is worth reporting.
const STEAL: f64 = 0.01;
/// From this share on, retransmitted segments are worth reporting.
const RESENT: f64 = 0.001;
/// From this fill on, an accept queue is worth reporting: even a server that keeps up lets one
/// connection wait.
const QUEUED: f64 = 0.1;

/// Activity of a machine in the measured part. Shares are 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineFigures<'d> {
    /// The machine.
    pub machine: &'d MachineResult,
    /// Share of the CPUs it may use that was not idle, mean.
    pub cpu_busy_mean: f64,
    /// The same share, largest row.
    pub cpu_busy_max: f64,
    /// Its busiest CPU, or the busiest watched thread, whichever was busier.
    pub busiest: Busiest<'d>,
    /// How busy that CPU or thread was, mean.
    pub busiest_mean: f64,
    /// Share of periods in which a CPU quota throttled it; absent without a quota.
    pub throttled: Option<f64>,
    /// Share of CPU time taken away by the hypervisor, mean.
    pub steal_mean: f64,
    /// Retransmitted share of the segments it sent; absent if it sent none.
    pub resent: Option<f64>,
    /// The accept queue at its fullest; absent if none was 10 % full.
    pub accept_queue: Option<&'d QueueRow>,
    /// Connections dropped by the accept queue that was sampled; if the kernel does not report that
    /// per queue, all that found an accept queue full.
    pub listen_overflows: u64,
}

/// The busiest CPU or thread of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Busiest<'d> {
    /// A CPU, by its number.
    Cpu(u32),
    /// A thread, by the names of its process and of itself.
    Thread(&'d str, &'d str),
}

impl Document {
    /// Returns the rows of a machine that lie in the measured part.
    pub fn measured_rows<'d>(
        &self,
        machine: &'d MachineResult,
    ) -> impl Iterator<Item = &'d MachineRow> + use<'d> {
        let from = self.run.warm_up_ns;
        let until = from.saturating_add(self.run.duration_ns);
        machine.rows.iter().filter(move |row| {
            let begin = u64::from(row.second) * 1_000_000_000;
            let end = begin + u64::from(row.seconds) * 1_000_000_000;
            begin >= from && end <= until
        })
    }

    /// Returns figures of the machines worth a reader's attention: those watched by monitors, and
    /// those of agents that show a problem.
    #[must_use]
    pub fn machine_figures(&self) -> Vec<MachineFigures<'_>> {
        let machines = self.machines.iter();
        let known = machines.filter_map(|machine| self.figures_of(machine));
        known.filter(MachineFigures::is_telling).collect()
    }

    /// Returns `None` if it has no rows in the measured part.
    fn figures_of<'d>(&self, machine: &'d MachineResult) -> Option<MachineFigures<'d>> {
        let rows: Vec<&MachineRow> = self.measured_rows(machine).collect();
        let (busiest, busiest_mean) = busiest(&rows)?;
        let sum = |of: fn(&MachineRow) -> u64| {
            rows.iter()
                .fold(0, |sum: u64, row| sum.saturating_add(of(row)))
        };
        let sent = sum(|row| row.tcp.segments_sent);
        let resent = sum(|row| row.tcp.retransmits);
        let has_quota = |row: &&MachineRow| row.group.is_some_and(|group| group.quota.is_some());
        let throttled = |row: &MachineRow| row.group.map_or(0.0, |group| group.throttled);
        Some(MachineFigures {
            machine,
            cpu_busy_mean: mean(&rows, |row| row.cpu_busy),
            cpu_busy_max: rows.iter().map(|row| row.cpu_busy).fold(0.0, f64::max),
            busiest,
            busiest_mean,
            throttled: rows.iter().any(has_quota).then(|| mean(&rows, throttled)),
            steal_mean: mean(&rows, |row| row.steal),
            resent: (sent > 0).then(|| resent as f64 / sent as f64),
            accept_queue: rows
                .iter()
                .filter_map(|row| row.accept_queue.as_ref())
                .filter(|queue| queue.fill() >= QUEUED)
                .max_by(|one, other| one.fill().total_cmp(&other.fill())),
            listen_overflows: sum(count_drops),
        })
    }
}

impl MachineFigures<'_> {
    fn is_telling(&self) -> bool {
        self.machine.role == MachineRole::Monitor
            || self.cpu_busy_mean >= BUSY
            || self.steal_mean >= STEAL
            || self.throttled.is_some_and(|throttled| throttled > 0.0)
            || self.resent.is_some_and(|resent| resent >= RESENT)
    }
}

/// Returns the busier of the busiest CPU and the busiest thread, named after the row in which it
/// was busiest.
fn busiest<'d>(rows: &[&'d MachineRow]) -> Option<(Busiest<'d>, f64)> {
    let cpu_row = rows
        .iter()
        .max_by(|one, other| one.busiest_cpu.total_cmp(&other.busiest_cpu))?;
    let cpu = mean(rows, |row| row.busiest_cpu);
    let processes = rows.iter().flat_map(|row| &row.processes);
    let thread_process = processes.max_by(|one, other| {
        one.busiest_thread_share
            .total_cmp(&other.busiest_thread_share)
    });
    let thread = mean(rows, |row| {
        let shares = row.processes.iter().map(|it| it.busiest_thread_share);
        shares.fold(0.0, f64::max)
    });
    Some(match thread_process {
        Some(process) if thread >= cpu => (
            Busiest::Thread(&process.name, &process.busiest_thread),
            thread,
        ),
        _ => (Busiest::Cpu(cpu_row.busiest_cpu_number), cpu),
    })
}

/// Counts by the sampled queue, or over all queues if the kernel does not report drops per queue.
fn count_drops(row: &MachineRow) -> u64 {
    let queue = row.accept_queue.as_ref();
    let dropped = queue.and_then(|queue| queue.dropped);
    dropped.unwrap_or(row.tcp.listen_overflows)
}

/// Mean weighted by time.
fn mean(rows: &[&MachineRow], of: impl Fn(&MachineRow) -> f64) -> f64 {
    let time = |row: &&MachineRow| row.elapsed_ns as f64;
    let all: f64 = rows.iter().map(time).sum();
    let sum: f64 = rows.iter().map(|row| of(row) * time(row)).sum();
    sum / all.max(1.0)
}
