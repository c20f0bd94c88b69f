//! Rows of the result from what an observer reports of a machine. It comes from another machine:
//! values that are not numbers become 0, and names and lists are cut.

use analysis::{
    BeforeLoadRow, GroupRow, InterfaceRow, MachineRow, ProcessBeforeLoadRow, ProcessRow, QueueRow,
    TcpRow,
};
use host::{
    BeforeLoad, GroupSecond, InterfaceSecond, Observation, ProcessSecond, QueueSecond, TcpSecond,
};
use std::net::SocketAddr;

/// Longest name or address, in characters.
const NAME_MAX: usize = 64;
/// Most processes and interfaces in a second.
const PROCESSES_MAX: usize = 64;
const INTERFACES_MAX: usize = 32;

/// The row of a second of the run clock. Load arrives at the `target_ports`.
pub(super) fn machine_row(
    second: u32,
    observation: Observation,
    target_ports: &[u16],
) -> MachineRow {
    let Observation {
        elapsed_ns,
        cpus,
        busiest_cpu_number,
        running,
        memory_available_bytes,
        swapped_pages,
        major_faults,
        backlog_drops,
        squeezed,
        conntrack_drops,
        ..
    } = observation;
    let interfaces = observation.interfaces.into_iter().take(INTERFACES_MAX);
    let processes = observation.processes.into_iter().take(PROCESSES_MAX);
    MachineRow {
        second,
        seconds: 1,
        elapsed_ns,
        cpu_busy: finite(observation.cpu_busy),
        cpus,
        cpu_niced: finite(observation.cpu_niced),
        cpu_waiting_for_disk: finite(observation.cpu_waiting_for_disk),
        busiest_cpu: finite(observation.busiest_cpu),
        busiest_cpu_number,
        softirq: finite(observation.softirq),
        busiest_softirq: finite(observation.busiest_softirq),
        steal: finite(observation.steal),
        worst_steal: finite(observation.worst_steal),
        running,
        cpu_stall: observation.cpu_stall.map(finite),
        memory_stall: observation.memory_stall.map(finite),
        io_stall: observation.io_stall.map(finite),
        group: observation.group.map(group_row),
        memory_available_bytes,
        swapped_pages,
        major_faults,
        interfaces: interfaces.map(interface_row).collect(),
        backlog_drops,
        squeezed,
        tcp: tcp_row(observation.tcp),
        accept_queue: queue_of_load(observation.accept_queues, target_ports),
        conntrack: observation.conntrack.map(finite),
        conntrack_drops,
        ports: observation.ports.map(finite),
        processes: processes.map(process_row).collect(),
    }
}

/// The row of what a machine did without load.
pub(super) fn before_load_row(before: BeforeLoad) -> BeforeLoadRow {
    let process = |process: host::ProcessBeforeLoad| ProcessBeforeLoadRow {
        pid: process.pid,
        cpus: finite(process.cpus),
        busiest_thread_share: finite(process.busiest_thread_share),
    };
    let processes = before.processes.into_iter().take(PROCESSES_MAX);
    BeforeLoadRow {
        elapsed_ns: before.elapsed_ns,
        cpu_busy: finite(before.cpu_busy),
        processes: processes.map(process).collect(),
    }
}

/// The first queue at a port where load arrives. If there is none, addresses may be translated on
/// the way, so the first queue of all is taken.
fn queue_of_load(queues: Vec<QueueSecond>, target_ports: &[u16]) -> Option<QueueRow> {
    let is_of_load = |queue: &QueueSecond| {
        let address = queue.address.parse::<SocketAddr>();
        address.is_ok_and(|address| target_ports.contains(&address.port()))
    };
    let at = queues.iter().position(is_of_load);
    let queue = queues.into_iter().nth(at.unwrap_or(0))?;
    Some(queue_row(queue, at.is_some()))
}

/// Rounds to six decimal places, which is finer than the kernel's clocks; 0 for a value that no
/// share or number of CPUs can have.
fn finite(value: f32) -> f64 {
    if value.is_finite() {
        (f64::from(value) * 1e6).round().max(0.0) / 1e6
    } else {
        0.0
    }
}

fn cut(name: &str) -> String {
    name.chars().take(NAME_MAX).collect()
}

fn group_row(group: GroupSecond) -> GroupRow {
    GroupRow {
        quota: group.quota.map(finite),
        throttled: finite(group.throttled),
        throttled_ns: group.throttled_ns,
        memory: group.memory.map(finite),
        memory_limit_hits: group.memory_limit_hits,
        oom_kills: group.oom_kills,
        refaults: group.refaults,
    }
}

fn interface_row(interface: InterfaceSecond) -> InterfaceRow {
    InterfaceRow {
        name: cut(&interface.name),
        received_bytes: interface.received_bytes,
        sent_bytes: interface.sent_bytes,
        drops: interface.drops,
        speed_mbit: interface.speed_mbit,
    }
}

fn tcp_row(tcp: TcpSecond) -> TcpRow {
    TcpRow {
        segments_sent: tcp.segments_sent,
        retransmits: tcp.retransmits,
        active_opens: tcp.active_opens,
        passive_opens: tcp.passive_opens,
        listen_overflows: tcp.listen_overflows,
        listen_drops: tcp.listen_drops,
        request_queue_drops: tcp.request_queue_drops,
        cookies_sent: tcp.cookies_sent,
        memory_pressures: tcp.memory_pressures,
        established: tcp.established,
        time_wait: tcp.time_wait,
    }
}

fn queue_row(queue: QueueSecond, is_of_load: bool) -> QueueRow {
    QueueRow {
        address: cut(&queue.address),
        waiting: queue.waiting,
        most: queue.most,
        waited: finite(queue.waited),
        dropped: queue.dropped,
        is_watched: queue.is_watched,
        is_of_load,
        holder: cut(&queue.holder),
    }
}

fn process_row(process: ProcessSecond) -> ProcessRow {
    ProcessRow {
        name: cut(&process.name),
        pid: process.pid,
        cpus: finite(process.cpus),
        busiest_thread: cut(&process.busiest_thread),
        busiest_thread_share: finite(process.busiest_thread_share),
        busiest_thread_waiting: finite(process.busiest_thread_waiting),
        busiest_thread_cpus: process.busiest_thread_cpus,
        longest_waiting: finite(process.longest_waiting),
        blocked: finite(process.blocked),
        major_faults: process.major_faults,
        threads: process.threads,
        rss_bytes: process.rss_bytes,
        descriptors: process.descriptors,
        descriptors_limit: process.descriptors_limit,
    }
}
