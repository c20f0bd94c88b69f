//! Machines over the time of a run: those that agents fired from, and those that monitors watched.

use crate::MachineFacts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A machine in the result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineResult {
    /// Name of the agent or of the monitor.
    pub name: String,
    /// What was there.
    pub role: MachineRole,
    /// What `--label` said.
    pub labels: BTreeMap<String, String>,
    /// What it is and allows.
    pub facts: MachineFacts,
    /// What it did, on the axis of the run's series; seconds that nobody told are missing.
    pub rows: Vec<MachineRow>,
}

/// What was on a machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MachineRole {
    /// An agent, which fired from there.
    #[default]
    Agent,
    /// A monitor, which watched.
    Monitor,
}

/// What a machine did in a second. Shares are 0 to 1 unless said otherwise; what this kernel does
/// not tell is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineRow {
    /// First second, of the run clock.
    pub second: u32,
    /// Seconds that it holds.
    pub seconds: u32,
    /// Time that it is about.
    pub elapsed_ns: u64,
    /// Of the CPUs that it may use, not idle.
    pub cpu_busy: f64,
    /// The busiest of these CPUs, not idle.
    pub busiest_cpu: f64,
    /// Which one that is.
    pub busiest_cpu_number: u32,
    /// Of all CPUs, in the kernel's soft interrupts.
    pub softirq: f64,
    /// The same of the CPU that had most of it.
    pub busiest_softirq: f64,
    /// Of all CPUs, taken away by the hypervisor.
    pub steal: f64,
    /// The same of the CPU that lost most.
    pub worst_steal: f64,
    /// Threads that ran or could have, when it was looked at.
    pub running: u32,
    /// Part of the time in which some thread waited for a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_stall: Option<f64>,
    /// Part of the time in which some thread waited for memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_stall: Option<f64>,
    /// Part of the time in which some thread waited for a disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_stall: Option<f64>,
    /// The control group's limits, where there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupRow>,
    /// Memory that could be had without swapping.
    pub memory_available_bytes: u64,
    /// Memory pages read from or written to swap.
    pub swapped_pages: u64,
    /// Page faults that waited for a disk.
    pub major_faults: u64,
    /// Network interfaces that carried anything, loopback too.
    pub interfaces: Vec<InterfaceRow>,
    /// Packets that the kernel had no room for before TCP saw them.
    pub backlog_drops: u64,
    /// Times that its network threads ran out of their share of time.
    pub squeezed: u64,
    /// TCP of this network namespace.
    pub tcp: TcpRow,
    /// The fullest accept queue of ten looks, of those that the chosen processes listen on, or of
    /// all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept_queue: Option<QueueRow>,
    /// Tracked connections by how many there may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conntrack: Option<f64>,
    /// Connections that connection tracking dropped.
    pub conntrack_drops: u64,
    /// Local ports in use, or in TIME_WAIT, by how many there are for new connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<f64>,
    /// The processes that it was asked to watch; an agent watches itself.
    pub processes: Vec<ProcessRow>,
}

/// What a control group's limits did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupRow {
    /// CPUs' worth of time that it may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<f64>,
    /// Of the periods that ended, those in which it was stopped.
    pub throttled: f64,
    /// Time for which its CPUs were stopped, over all of them.
    pub throttled_ns: u64,
    /// Memory in use by the most that there may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<f64>,
    /// Times that it came up against that limit.
    pub memory_limit_hits: u64,
    /// Processes killed for want of memory.
    pub oom_kills: u64,
}

/// What a network interface carried.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct InterfaceRow {
    /// As the kernel names it.
    pub name: String,
    /// Bytes that came in, with their frames.
    pub received_bytes: u64,
    /// Bytes that went out.
    pub sent_bytes: u64,
    /// Packets dropped or missed, either way.
    pub drops: u64,
    /// Megabits that it carries in a second; virtual interfaces do not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mbit: Option<u64>,
}

/// What TCP did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TcpRow {
    /// Segments sent.
    pub segments_sent: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Connections made from here.
    pub active_opens: u64,
    /// Connections that came in.
    pub passive_opens: u64,
    /// Connections for which an accept queue had no room.
    pub listen_overflows: u64,
    /// Connections that were dropped before they were accepted, for whatever reason.
    pub listen_drops: u64,
    /// Requests for a connection dropped since their queue was full.
    pub request_queue_drops: u64,
    /// Answers to such requests by a cookie.
    pub cookies_sent: u64,
    /// Times that TCP came under memory pressure.
    pub memory_pressures: u64,
    /// Connections that stand.
    pub established: u64,
    /// Connections that wait in TIME_WAIT.
    pub time_wait: u64,
}

/// An accept queue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueRow {
    /// Where it listens.
    pub address: String,
    /// Connections that waited to be accepted.
    pub waiting: u32,
    /// How many may wait.
    pub most: u32,
}

/// What a process did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessRow {
    /// Its name, cut by the kernel to 15 bytes.
    pub name: String,
    /// The kernel's id of it.
    pub pid: u32,
    /// CPUs that it kept busy.
    pub cpus: f64,
    /// Its busiest thread; of an agent its busiest worker.
    pub busiest_thread: String,
    /// How much of a CPU that thread had.
    pub busiest_thread_share: f64,
    /// How long that thread could have run and had no CPU.
    pub busiest_thread_waiting: f64,
    /// CPUs that the thread may run on.
    pub busiest_thread_cpus: u32,
    /// The longest that one of its threads could have run and had no CPU.
    pub longest_waiting: f64,
    /// Threads.
    pub threads: u32,
    /// Resident memory.
    pub rss_bytes: u64,
    /// Open files and sockets.
    pub descriptors: u64,
    /// How many it may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub descriptors_limit: Option<u64>,
}
