//! What a machine did in the measured part, in a few figures.

use crate::{Document, MachineResult, MachineRole, MachineRow, QueueRow};

/// From this mean on a machine's CPUs are busy enough to be told.
const BUSY: f64 = 0.9;
/// From this share on, CPU time that the hypervisor took is told.
const STEAL: f64 = 0.01;
/// From this share on, segments that were sent again are told.
const RESENT: f64 = 0.001;
/// From this fill on, an accept queue is told: a server that is in time lets one wait, too.
const QUEUED: f64 = 0.1;

/// What a machine did in the measured part. Shares are 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineFigures<'d> {
    /// Which one.
    pub machine: &'d MachineResult,
    /// Of the CPUs that it may use, not idle, mean.
    pub cpu_busy_mean: f64,
    /// The same, most in one row.
    pub cpu_busy_max: f64,
    /// What ran most: of its CPUs, or of the threads that were watched.
    pub busiest: Busiest<'d>,
    /// How busy that was, mean.
    pub busiest_mean: f64,
    /// Periods in which a CPU quota stopped it; absent without a quota.
    pub throttled: Option<f64>,
    /// CPU time that the hypervisor took away, mean.
    pub steal_mean: f64,
    /// Of the segments that it sent, those that it sent again; absent where it sent none.
    pub resent: Option<f64>,
    /// The fullest that an accept queue was; absent where none was 10 % full.
    pub accept_queue: Option<&'d QueueRow>,
    /// Connections that the accept queue dropped; where the kernel does not say which queue did,
    /// all for which one had no room.
    pub listen_overflows: u64,
}

/// What ran most on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Busiest<'d> {
    /// A CPU, by its number.
    Cpu(u32),
    /// A thread, by the names of its process and of itself.
    Thread(&'d str, &'d str),
}

impl Document {
    /// Rows of a machine that lie in the measured part.
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

    /// Figures of the machines that a reader should look at: of those that monitors watched, and of
    /// agents' where something is not as it should be.
    #[must_use]
    pub fn machine_figures(&self) -> Vec<MachineFigures<'_>> {
        let machines = self.machines.iter();
        let known = machines.filter_map(|machine| self.figures_of(machine));
        known.filter(MachineFigures::is_telling).collect()
    }

    /// Nothing where it told nothing of the measured part.
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
            listen_overflows: sum(dropped),
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

/// The CPU or the thread that had most, called as where it had most of all.
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

/// By the queue that was looked at; where the kernel does not say, by any.
fn dropped(row: &MachineRow) -> u64 {
    let queue = row.accept_queue.as_ref();
    let dropped = queue.and_then(|queue| queue.dropped);
    dropped.unwrap_or(row.tcp.listen_overflows)
}

/// By time.
fn mean(rows: &[&MachineRow], of: impl Fn(&MachineRow) -> f64) -> f64 {
    let time = |row: &&MachineRow| row.elapsed_ns as f64;
    let all: f64 = rows.iter().map(time).sum();
    let sum: f64 = rows.iter().map(|row| of(row) * time(row)).sum();
    sum / all.max(1.0)
}
