//! The activity of a machine, collected as it arrives. Memory is bounded: in a long run, or with
//! many machines, a row holds two seconds, then four, and so on.

use crate::{
    AgentSetup, BeforeLoadRow, GroupRow, InterfaceRow, MachineResult, MachineRole, MachineRow,
    ProcessRow, ProfileResult, QueueRow, TcpRow,
};

/// Rows of all machines together: some 6 MB of JSON, which is replaced as a whole while a run goes
/// on.
const ROWS_IN_ALL: usize = 8_000;

/// Fewest rows of a machine, however many machines there are.
const ROWS_LEAST: usize = 60;

/// Most rows of one machine: an hour of seconds, like the series.
const ROWS_MOST: usize = 3_600;

/// Most processes and network interfaces in a row; the first ones named are kept.
const PROCESSES_MAX: usize = 64;
const INTERFACES_MAX: usize = 32;

/// The activity of one machine.
#[derive(Debug, Clone)]
pub(crate) struct MachineRun {
    /// Rows in order.
    rows: Vec<MachineRow>,
    /// Seconds per row, a power of two.
    row_seconds: u64,
    /// The earliest second that is still accepted.
    next: u32,
    /// Busy share of its CPUs in the last second received.
    latest_busy: Option<f64>,
    before_load: Option<BeforeLoadRow>,
    profile: Option<ProfileResult>,
}

impl Default for MachineRun {
    fn default() -> MachineRun {
        MachineRun {
            rows: Vec::new(),
            row_seconds: 1,
            next: 0,
            latest_busy: None,
            before_load: None,
            profile: None,
        }
    }
}

/// Returns how many rows each of `machines` machines may have.
pub(crate) fn rows_each(machines: usize) -> usize {
    (ROWS_IN_ALL / machines.max(1)).clamp(ROWS_LEAST, ROWS_MOST)
}

impl MachineRun {
    /// Adds a second. One that is not later than all received before is known already, and ignored.
    /// At most `rows_max` rows are kept.
    pub(crate) fn add(&mut self, row: MachineRow, rows_max: usize) {
        if row.second < self.next {
            return;
        }
        self.next = row.second.saturating_add(1);
        self.latest_busy = Some(row.cpu_busy);
        self.append(row);
        while self.rows.len() > rows_max.max(1) {
            self.row_seconds *= 2;
            let rows = std::mem::take(&mut self.rows);
            rows.into_iter().for_each(|row| self.append(row));
        }
    }

    /// Sets what it did without load, which is reported with its first second.
    pub(crate) fn set_before_load(&mut self, before: BeforeLoadRow) {
        self.before_load = Some(before);
    }

    /// Sets the CPU profile taken of it.
    pub(crate) fn set_profile(&mut self, profile: ProfileResult) {
        self.profile = Some(profile);
    }

    /// Returns the busy share of its CPUs in the last second received.
    pub(crate) fn latest_busy(&self) -> Option<f64> {
        self.latest_busy
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn result(&self, role: MachineRole, setup: &AgentSetup) -> MachineResult {
        MachineResult {
            name: setup.name.clone(),
            role,
            labels: setup.labels.clone(),
            facts: setup.facts.clone(),
            rows: self.rows.clone(),
            before_load: self.before_load.clone(),
            profile: self.profile.clone(),
        }
    }

    fn append(&mut self, row: MachineRow) {
        let place = |row: &MachineRow| u64::from(row.second) / self.row_seconds;
        match self.rows.last_mut() {
            Some(last) if place(last) == place(&row) => *last = join(last, row),
            _ => self.rows.push(row),
        }
    }
}

/// The weights of two rows in a mean over both.
#[derive(Debug, Clone, Copy)]
struct TimeParts(f64, f64);

impl TimeParts {
    fn new(first: &MachineRow, next: &MachineRow) -> TimeParts {
        let (first, next) = (first.elapsed_ns as f64, next.elapsed_ns as f64);
        let whole = first + next;
        if whole > 0.0 {
            TimeParts(first / whole, next / whole)
        } else {
            TimeParts(0.5, 0.5)
        }
    }

    fn mean(self, first: f64, next: f64) -> f64 {
        first * self.0 + next * self.1
    }

    /// Takes the mean, or the only value if just one row has one.
    fn mean_of_known(self, first: Option<f64>, next: Option<f64>) -> Option<f64> {
        first
            .zip(next)
            .map(|(first, next)| self.mean(first, next))
            .or(first)
            .or(next)
    }
}

/// Joins two rows: shares as their mean over time, counters as their sum, quantities with a limit
/// at their fullest, and all others as in the later row.
fn join(first: &MachineRow, next: MachineRow) -> MachineRow {
    let parts = TimeParts::new(first, &next);
    let most = |first: Option<f64>, next: Option<f64>| match (first, next) {
        (Some(first), Some(next)) => Some(first.max(next)),
        (first, next) => first.or(next),
    };
    let busier = if first.busiest_cpu > next.busiest_cpu {
        first.busiest_cpu_number
    } else {
        next.busiest_cpu_number
    };
    MachineRow {
        second: first.second,
        seconds: first.seconds.saturating_add(next.seconds),
        elapsed_ns: first.elapsed_ns.saturating_add(next.elapsed_ns),
        cpu_busy: parts.mean(first.cpu_busy, next.cpu_busy),
        cpus: next.cpus,
        cpu_niced: parts.mean(first.cpu_niced, next.cpu_niced),
        cpu_waiting_for_disk: parts.mean(first.cpu_waiting_for_disk, next.cpu_waiting_for_disk),
        busiest_cpu: parts.mean(first.busiest_cpu, next.busiest_cpu),
        busiest_cpu_number: busier,
        softirq: parts.mean(first.softirq, next.softirq),
        busiest_softirq: parts.mean(first.busiest_softirq, next.busiest_softirq),
        steal: parts.mean(first.steal, next.steal),
        worst_steal: parts.mean(first.worst_steal, next.worst_steal),
        running: next.running,
        cpu_stall: parts.mean_of_known(first.cpu_stall, next.cpu_stall),
        memory_stall: parts.mean_of_known(first.memory_stall, next.memory_stall),
        io_stall: parts.mean_of_known(first.io_stall, next.io_stall),
        group: match (first.group, next.group) {
            (Some(first), Some(next)) => Some(join_groups(parts, first, next)),
            (first, next) => first.or(next),
        },
        memory_available_bytes: next.memory_available_bytes,
        swapped_pages: first.swapped_pages.saturating_add(next.swapped_pages),
        major_faults: first.major_faults.saturating_add(next.major_faults),
        interfaces: join_interfaces(&first.interfaces, next.interfaces),
        backlog_drops: first.backlog_drops.saturating_add(next.backlog_drops),
        squeezed: first.squeezed.saturating_add(next.squeezed),
        tcp: join_tcp(first.tcp, next.tcp),
        accept_queue: join_queues(parts, first.accept_queue.clone(), next.accept_queue),
        conntrack: most(first.conntrack, next.conntrack),
        conntrack_drops: first.conntrack_drops.saturating_add(next.conntrack_drops),
        ports: most(first.ports, next.ports),
        processes: join_processes(parts, &first.processes, next.processes),
    }
}

fn join_groups(parts: TimeParts, first: GroupRow, next: GroupRow) -> GroupRow {
    GroupRow {
        quota: next.quota.or(first.quota),
        throttled: parts.mean(first.throttled, next.throttled),
        throttled_ns: first.throttled_ns.saturating_add(next.throttled_ns),
        memory: match (first.memory, next.memory) {
            (Some(first), Some(next)) => Some(first.max(next)),
            (first, next) => first.or(next),
        },
        memory_limit_hits: first
            .memory_limit_hits
            .saturating_add(next.memory_limit_hits),
        oom_kills: first.oom_kills.saturating_add(next.oom_kills),
        refaults: first.refaults.saturating_add(next.refaults),
    }
}

fn join_interfaces(first: &[InterfaceRow], next: Vec<InterfaceRow>) -> Vec<InterfaceRow> {
    let mut all = first.to_vec();
    for one in next {
        if let Some(known) = all.iter_mut().find(|known| known.name == one.name) {
            *known = InterfaceRow {
                received_bytes: known.received_bytes.saturating_add(one.received_bytes),
                sent_bytes: known.sent_bytes.saturating_add(one.sent_bytes),
                drops: known.drops.saturating_add(one.drops),
                ..one
            };
        } else if all.len() < INTERFACES_MAX {
            all.push(one);
        }
    }
    all
}

fn join_tcp(first: TcpRow, next: TcpRow) -> TcpRow {
    let sum = |of: fn(&TcpRow) -> u64| of(&first).saturating_add(of(&next));
    TcpRow {
        segments_sent: sum(|tcp| tcp.segments_sent),
        retransmits: sum(|tcp| tcp.retransmits),
        active_opens: sum(|tcp| tcp.active_opens),
        passive_opens: sum(|tcp| tcp.passive_opens),
        listen_overflows: sum(|tcp| tcp.listen_overflows),
        listen_drops: sum(|tcp| tcp.listen_drops),
        request_queue_drops: sum(|tcp| tcp.request_queue_drops),
        cookies_sent: sum(|tcp| tcp.cookies_sent),
        memory_pressures: sum(|tcp| tcp.memory_pressures),
        established: next.established,
        time_wait: next.time_wait,
    }
}

/// Keeps the fuller queue; if both rows have the same one, adds up what it dropped.
fn join_queues(
    parts: TimeParts,
    first: Option<QueueRow>,
    next: Option<QueueRow>,
) -> Option<QueueRow> {
    let (Some(first), Some(next)) = (&first, &next) else {
        return first.or(next);
    };
    let fuller = if first.fill() > next.fill() {
        first
    } else {
        next
    };
    let both = first.address == next.address;
    let dropped = first.dropped.zip(next.dropped).filter(|_| both);
    let dropped = dropped.map(|(first, next)| first.saturating_add(next));
    let waited = if both {
        parts.mean(first.waited, next.waited)
    } else {
        fuller.waited
    };
    Some(QueueRow {
        dropped: dropped.or(fuller.dropped),
        waited,
        ..fuller.clone()
    })
}

/// Joins processes by id. A process that is in only one row was idle in the other.
fn join_processes(
    parts: TimeParts,
    first: &[ProcessRow],
    next: Vec<ProcessRow>,
) -> Vec<ProcessRow> {
    let idle = |of: &ProcessRow| ProcessRow {
        cpus: 0.0,
        busiest_thread_share: 0.0,
        busiest_thread_waiting: 0.0,
        longest_waiting: 0.0,
        blocked: 0.0,
        major_faults: 0,
        ..of.clone()
    };
    let mut all = first.to_vec();
    for known in &mut all {
        let last = next.iter().find(|one| one.pid == known.pid);
        let last = last.map_or_else(|| idle(known), Clone::clone);
        *known = join_process(parts, known, last);
    }
    for one in next {
        if all.len() < PROCESSES_MAX && all.iter().all(|known| known.pid != one.pid) {
            all.push(join_process(parts, &idle(&one), one));
        }
    }
    all
}

fn join_process(parts: TimeParts, first: &ProcessRow, next: ProcessRow) -> ProcessRow {
    let busier = if first.busiest_thread_share > next.busiest_thread_share {
        first
    } else {
        &next
    };
    ProcessRow {
        cpus: parts.mean(first.cpus, next.cpus),
        busiest_thread: busier.busiest_thread.clone(),
        busiest_thread_share: parts.mean(first.busiest_thread_share, next.busiest_thread_share),
        busiest_thread_waiting: parts
            .mean(first.busiest_thread_waiting, next.busiest_thread_waiting),
        busiest_thread_cpus: busier.busiest_thread_cpus,
        longest_waiting: parts.mean(first.longest_waiting, next.longest_waiting),
        blocked: parts.mean(first.blocked, next.blocked),
        major_faults: first.major_faults.saturating_add(next.major_faults),
        descriptors: first.descriptors.max(next.descriptors),
        ..next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(second: u32) -> MachineRow {
        MachineRow {
            second,
            seconds: 1,
            elapsed_ns: 1_000_000_000,
            ..MachineRow::default()
        }
    }

    fn seconds(run: &MachineRun) -> Vec<(u32, u32)> {
        let rows = run.rows.iter();
        rows.map(|row| (row.second, row.seconds)).collect()
    }

    #[test]
    fn each_second_counts_once() {
        let mut run = MachineRun::default();
        for second in [0, 1, 1, 0, 3, 2] {
            run.add(row(second), 10);
        }
        assert_eq!(seconds(&run), [(0, 1), (1, 1), (3, 1)]);
    }

    #[test]
    fn rows_are_bounded_and_hold_all_seconds() {
        let mut run = MachineRun::default();
        (0..9).for_each(|second| run.add(row(second), 4));
        assert_eq!(seconds(&run), [(0, 4), (4, 4), (8, 1)]);
        // When more machines join, there is less room for each.
        run.add(row(9), 1);
        assert_eq!(seconds(&run), [(0, 10)]);
        run.add(row(u32::MAX), 1);
        assert_eq!(run.rows.len(), 1, "however far apart they are");
    }

    #[test]
    fn machines_share_the_room() {
        let room = [0, 1, 5, 10, 100, 10_000].map(rows_each);
        assert_eq!(room, [3600, 3600, 1600, 800, 80, 60]);
    }

    #[test]
    fn two_rows_are_one_by_time_by_sum_and_by_what_is_fullest() {
        let process = |pid, cpus, thread: &str, share| ProcessRow {
            pid,
            cpus,
            busiest_thread: thread.to_owned(),
            busiest_thread_share: share,
            ..ProcessRow::default()
        };
        let queue = |waiting, most| QueueRow {
            address: format!("{waiting} of {most}"),
            waiting,
            most,
            ..QueueRow::default()
        };
        let first = MachineRow {
            elapsed_ns: 3_000,
            cpu_busy: 0.4,
            busiest_cpu: 0.9,
            busiest_cpu_number: 2,
            cpu_stall: Some(0.5),
            swapped_pages: 5,
            memory_available_bytes: 70,
            accept_queue: Some(queue(8, 8)),
            ports: Some(0.9),
            processes: vec![process(1, 0.4, "a", 0.9), process(2, 0.8, "c", 0.1)],
            interfaces: vec![InterfaceRow {
                name: "eth0".to_owned(),
                drops: 1,
                ..InterfaceRow::default()
            }],
            ..row(0)
        };
        let next = MachineRow {
            elapsed_ns: 1_000,
            cpu_busy: 0.8,
            busiest_cpu: 0.1,
            busiest_cpu_number: 3,
            swapped_pages: 7,
            memory_available_bytes: 60,
            accept_queue: Some(queue(100, 4096)),
            ports: Some(0.1),
            processes: vec![process(1, 0.8, "b", 0.5), process(3, 0.8, "d", 0.4)],
            interfaces: first.interfaces.clone(),
            ..row(1)
        };
        let both = join(&first, next);
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value}");
        near(both.cpu_busy, 0.5);
        near(both.busiest_cpu, 0.7);
        assert_eq!(both.busiest_cpu_number, 2);
        assert_eq!((both.seconds, both.elapsed_ns), (2, 4_000));
        assert_eq!(both.cpu_stall, Some(0.5), "only the first knows it");
        assert_eq!((both.swapped_pages, both.memory_available_bytes), (12, 60));
        assert_eq!(both.accept_queue, Some(queue(8, 8)));
        assert_eq!(both.ports, Some(0.9));
        assert_eq!(both.interfaces[0].drops, 2);
        let cpus = [1, 2, 3].map(|pid| both.processes.iter().find(|it| it.pid == pid).unwrap());
        near(cpus[0].cpus, 0.5);
        assert_eq!(cpus[0].busiest_thread, "a");
        near(cpus[1].cpus, 0.6);
        near(cpus[2].cpus, 0.2);
    }

    #[test]
    fn queue_of_two_rows_has_what_both_dropped() {
        let queue = |address: &str, waiting, dropped, waited| QueueRow {
            address: address.to_owned(),
            most: 8,
            waiting,
            dropped,
            waited,
            ..QueueRow::default()
        };
        let halves = TimeParts(0.5, 0.5);
        for (next, expected) in [
            (queue("a", 7, Some(2), 0.5), queue("a", 8, Some(5), 0.75)),
            (queue("a", 7, None, 0.0), queue("a", 8, Some(3), 0.5)),
            (queue("b", 7, Some(2), 0.5), queue("a", 8, Some(3), 1.0)),
        ] {
            let first = Some(queue("a", 8, Some(3), 1.0));
            assert_eq!(join_queues(halves, first, Some(next)), Some(expected));
        }
        let one = Some(queue("a", 1, None, 1.0));
        assert_eq!(join_queues(halves, None, one.clone()), one);
        assert_eq!(join_queues(halves, one.clone(), None), one);
    }

    #[test]
    fn what_a_row_holds_is_bounded_however_often_other_names_come() {
        let mut run = MachineRun::default();
        for second in 0..40 {
            let named = |index: u32| second * 100 + index;
            let processes = (0..PROCESSES_MAX as u32).map(|index| ProcessRow {
                pid: named(index),
                ..ProcessRow::default()
            });
            let interfaces = (0..INTERFACES_MAX as u32).map(|index| InterfaceRow {
                name: named(index).to_string(),
                ..InterfaceRow::default()
            });
            let full = MachineRow {
                processes: processes.collect(),
                interfaces: interfaces.collect(),
                ..row(second)
            };
            run.add(full, 1);
        }
        let row = &run.rows[0];
        assert_eq!(row.processes.len(), PROCESSES_MAX);
        assert_eq!(row.interfaces.len(), INTERFACES_MAX);
    }
}
