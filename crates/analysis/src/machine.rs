//! Machines over the time of a run: those of the agents, and those watched by monitors.

use crate::MachineFacts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A machine in the result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineResult {
    /// Name of the agent or of the monitor.
    pub name: String,
    /// Whether an agent or a monitor ran there.
    pub role: MachineRole,
    /// Labels given with `--label`.
    pub labels: BTreeMap<String, String>,
    /// Hardware and limits of the machine.
    pub facts: MachineFacts,
    /// Its activity, on the time axis of the run's series; seconds that were not reported are
    /// missing.
    pub rows: Vec<MachineRow>,
    /// Its activity without load, until the run began; absent if that time was too short to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_load: Option<BeforeLoadRow>,
    /// CPU profile of the processes that a monitor watched; absent if none was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileResult>,
}

/// Activity of a machine without load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BeforeLoadRow {
    /// Time covered.
    #[serde(skip_serializing_if = "is_default")]
    pub elapsed_ns: u64,
    /// Share of the CPUs it may use that was not idle.
    #[serde(skip_serializing_if = "is_default")]
    pub cpu_busy: f64,
    /// The processes it was asked to watch.
    #[serde(skip_serializing_if = "is_default")]
    pub processes: Vec<ProcessBeforeLoadRow>,
}

/// Activity of a process without load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ProcessBeforeLoadRow {
    /// Process id.
    pub pid: u32,
    /// CPUs it kept busy.
    #[serde(skip_serializing_if = "is_default")]
    pub cpus: f64,
    /// Share of a CPU that its busiest thread used.
    #[serde(skip_serializing_if = "is_default")]
    pub busiest_thread_share: f64,
}

/// A CPU profile saved beside the result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfileResult {
    /// The processes profiled, in words.
    pub process: String,
    /// How long samples were taken.
    pub seconds: f64,
    /// Number of samples in the files.
    pub samples: u64,
    /// Number of samples of the rarest stacks, left out to make the others fit.
    #[serde(default, skip_serializing_if = "is_default")]
    pub left_out: u64,
    /// File with one stack and its sample count per line, as read by `flamegraph.pl`.
    pub folded: String,
    /// File with the flame graph.
    pub svg: String,
    /// The functions that used the most CPU time themselves.
    pub hottest: Vec<HotFunction>,
}

/// A function in a CPU profile.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HotFunction {
    /// Its name in the profile; the file if it has no name.
    pub name: String,
    /// Share of the samples that were taken in the function itself, 0 to 1.
    pub share: f64,
}

/// The program that ran on a machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MachineRole {
    /// An agent, which fired from it.
    #[default]
    Agent,
    /// A monitor, which watched it.
    Monitor,
}

/// Activity of a machine in one second. Shares are 0 to 1 unless stated otherwise; values that its
/// kernel does not report are absent. JSON also leaves out zeros, since there can be many rows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MachineRow {
    /// First second, on the run clock.
    pub second: u32,
    /// Number of seconds in the row.
    pub seconds: u32,
    /// Time covered.
    #[serde(skip_serializing_if = "is_default")]
    pub elapsed_ns: u64,
    /// Share of the CPUs it may use that was not idle.
    #[serde(skip_serializing_if = "is_default")]
    pub cpu_busy: f64,
    /// Number of CPUs it may use.
    #[serde(skip_serializing_if = "is_default")]
    pub cpus: u32,
    /// Share of these CPUs used by programs of a lower priority (nice above 0) that are not
    /// watched.
    #[serde(skip_serializing_if = "is_default")]
    pub cpu_niced: f64,
    /// Share of these CPUs that was idle while a thread waited for a disk.
    #[serde(skip_serializing_if = "is_default")]
    pub cpu_waiting_for_disk: f64,
    /// Share of the busiest of these CPUs that was not idle.
    #[serde(skip_serializing_if = "is_default")]
    pub busiest_cpu: f64,
    /// Number of the busiest CPU.
    #[serde(skip_serializing_if = "is_default")]
    pub busiest_cpu_number: u32,
    /// Share of all CPUs spent in the kernel's soft interrupts.
    #[serde(skip_serializing_if = "is_default")]
    pub softirq: f64,
    /// Share spent in soft interrupts by the CPU with the most of it.
    #[serde(skip_serializing_if = "is_default")]
    pub busiest_softirq: f64,
    /// Share of all CPUs taken away by the hypervisor.
    #[serde(skip_serializing_if = "is_default")]
    pub steal: f64,
    /// Share taken away from the CPU that lost the most.
    #[serde(skip_serializing_if = "is_default")]
    pub worst_steal: f64,
    /// Threads that ran or could have run at the instant of sampling.
    #[serde(skip_serializing_if = "is_default")]
    pub running: u32,
    /// Fraction of time in which some thread waited for a CPU.
    #[serde(skip_serializing_if = "is_default")]
    pub cpu_stall: Option<f64>,
    /// Fraction of time in which some thread waited for memory.
    #[serde(skip_serializing_if = "is_default")]
    pub memory_stall: Option<f64>,
    /// Fraction of time in which some thread waited for a disk.
    #[serde(skip_serializing_if = "is_default")]
    pub io_stall: Option<f64>,
    /// Effects of its control group's limits, if there are any.
    #[serde(skip_serializing_if = "is_default")]
    pub group: Option<GroupRow>,
    /// Memory available without swapping.
    #[serde(skip_serializing_if = "is_default")]
    pub memory_available_bytes: u64,
    /// Memory pages read from or written to swap.
    #[serde(skip_serializing_if = "is_default")]
    pub swapped_pages: u64,
    /// Page faults that waited for a disk.
    #[serde(skip_serializing_if = "is_default")]
    pub major_faults: u64,
    /// Network interfaces that carried anything, including loopback.
    #[serde(skip_serializing_if = "is_default")]
    pub interfaces: Vec<InterfaceRow>,
    /// Packets that the kernel dropped for want of room before TCP saw them.
    #[serde(skip_serializing_if = "is_default")]
    pub backlog_drops: u64,
    /// Times that the kernel's network threads ran out of their time slice.
    #[serde(skip_serializing_if = "is_default")]
    pub squeezed: u64,
    /// TCP in this network namespace.
    #[serde(skip_serializing_if = "is_default")]
    pub tcp: TcpRow,
    /// One accept queue, sampled ten times, of those that the watched processes listen on, or of
    /// all: preferably one at the target's port, then the one that dropped most, then the fullest.
    #[serde(skip_serializing_if = "is_default")]
    pub accept_queue: Option<QueueRow>,
    /// Tracked connections over the most there can be.
    #[serde(skip_serializing_if = "is_default")]
    pub conntrack: Option<f64>,
    /// Connections that connection tracking dropped.
    #[serde(skip_serializing_if = "is_default")]
    pub conntrack_drops: u64,
    /// Local ports in use or in TIME_WAIT, over the ports available for new connections.
    #[serde(skip_serializing_if = "is_default")]
    pub ports: Option<f64>,
    /// The processes it was asked to watch; an agent watches itself.
    #[serde(skip_serializing_if = "is_default")]
    pub processes: Vec<ProcessRow>,
}

/// Effects of a control group's limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct GroupRow {
    /// CPU time it may use, in CPUs.
    #[serde(skip_serializing_if = "is_default")]
    pub quota: Option<f64>,
    /// Share of the ended periods in which the group was throttled.
    #[serde(skip_serializing_if = "is_default")]
    pub throttled: f64,
    /// Time for which it was throttled, summed over its CPUs.
    #[serde(skip_serializing_if = "is_default")]
    pub throttled_ns: u64,
    /// Memory in use over the memory limit.
    #[serde(skip_serializing_if = "is_default")]
    pub memory: Option<f64>,
    /// Times that it hit the memory limit.
    #[serde(skip_serializing_if = "is_default")]
    pub memory_limit_hits: u64,
    /// Processes killed by the OOM killer.
    #[serde(skip_serializing_if = "is_default")]
    pub oom_kills: u64,
    /// Pages read again soon after they were evicted.
    #[serde(skip_serializing_if = "is_default")]
    pub refaults: u64,
}

/// Traffic of a network interface.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct InterfaceRow {
    /// Its name in the kernel.
    pub name: String,
    /// Bytes received, including frame headers.
    #[serde(skip_serializing_if = "is_default")]
    pub received_bytes: u64,
    /// Bytes sent.
    #[serde(skip_serializing_if = "is_default")]
    pub sent_bytes: u64,
    /// Packets dropped or missed, in both directions.
    #[serde(skip_serializing_if = "is_default")]
    pub drops: u64,
    /// Link speed in megabits per second; absent for virtual interfaces, which have none.
    #[serde(skip_serializing_if = "is_default")]
    pub speed_mbit: Option<u64>,
}

/// TCP activity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TcpRow {
    /// Segments sent.
    #[serde(skip_serializing_if = "is_default")]
    pub segments_sent: u64,
    /// Segments retransmitted.
    #[serde(skip_serializing_if = "is_default")]
    pub retransmits: u64,
    /// Outgoing connections.
    #[serde(skip_serializing_if = "is_default")]
    pub active_opens: u64,
    /// Incoming connections.
    #[serde(skip_serializing_if = "is_default")]
    pub passive_opens: u64,
    /// Connections that found their accept queue full.
    #[serde(skip_serializing_if = "is_default")]
    pub listen_overflows: u64,
    /// Connections that were dropped before they were accepted, for any reason.
    #[serde(skip_serializing_if = "is_default")]
    pub listen_drops: u64,
    /// Connection requests (SYN) dropped because their queue was full.
    #[serde(skip_serializing_if = "is_default")]
    pub request_queue_drops: u64,
    /// SYN cookies sent in answer to connection requests.
    #[serde(skip_serializing_if = "is_default")]
    pub cookies_sent: u64,
    /// Times that TCP came under memory pressure.
    #[serde(skip_serializing_if = "is_default")]
    pub memory_pressures: u64,
    /// Established connections.
    #[serde(skip_serializing_if = "is_default")]
    pub established: u64,
    /// Connections in TIME_WAIT.
    #[serde(skip_serializing_if = "is_default")]
    pub time_wait: u64,
}

/// An accept queue.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct QueueRow {
    /// The listening address.
    pub address: String,
    /// Connections waiting to be accepted.
    #[serde(skip_serializing_if = "is_default")]
    pub waiting: u32,
    /// Most connections that can wait.
    #[serde(skip_serializing_if = "is_default")]
    pub most: u32,
    /// Share of the samples in which some connection was waiting.
    #[serde(skip_serializing_if = "is_default")]
    pub waited: f64,
    /// Connections it dropped; absent if the kernel does not report that.
    #[serde(skip_serializing_if = "is_default")]
    pub dropped: Option<u64>,
    /// Whether it is at a port that the plan sends load to.
    #[serde(skip_serializing_if = "is_default")]
    pub is_of_load: bool,
    /// Whether a watched process listens there.
    #[serde(skip_serializing_if = "is_default")]
    pub is_watched: bool,
    /// Name of the listening process, if it is not a watched one and the queue was full or dropped
    /// connections.
    #[serde(skip_serializing_if = "is_default")]
    pub holder: String,
}

/// Activity of a process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ProcessRow {
    /// Its name, which the kernel cuts to 15 bytes.
    pub name: String,
    /// Process id.
    #[serde(skip_serializing_if = "is_default")]
    pub pid: u32,
    /// CPUs it kept busy.
    #[serde(skip_serializing_if = "is_default")]
    pub cpus: f64,
    /// Name of its busiest thread; for an agent, of its busiest worker.
    #[serde(skip_serializing_if = "is_default")]
    pub busiest_thread: String,
    /// Share of a CPU that this thread used.
    #[serde(skip_serializing_if = "is_default")]
    pub busiest_thread_share: f64,
    /// Share of time for which this thread was runnable but had no CPU.
    #[serde(skip_serializing_if = "is_default")]
    pub busiest_thread_waiting: f64,
    /// CPUs that this thread may run on.
    #[serde(skip_serializing_if = "is_default")]
    pub busiest_thread_cpus: u32,
    /// Largest share of time for which one of its threads was runnable but had no CPU.
    #[serde(skip_serializing_if = "is_default")]
    pub longest_waiting: f64,
    /// Share of ten samples in which one of its threads was in uninterruptible sleep, mostly
    /// waiting for a disk.
    #[serde(skip_serializing_if = "is_default")]
    pub blocked: f64,
    /// Page faults that waited for a disk.
    #[serde(skip_serializing_if = "is_default")]
    pub major_faults: u64,
    /// Number of threads.
    #[serde(skip_serializing_if = "is_default")]
    pub threads: u32,
    /// Resident memory.
    #[serde(skip_serializing_if = "is_default")]
    pub rss_bytes: u64,
    /// Open files and sockets.
    #[serde(skip_serializing_if = "is_default")]
    pub descriptors: u64,
    /// Limit of open files and sockets.
    #[serde(skip_serializing_if = "is_default")]
    pub descriptors_limit: Option<u64>,
}

impl QueueRow {
    /// Returns how full it was; at 1 no more connections can wait.
    #[must_use]
    pub fn fill(&self) -> f64 {
        f64::from(self.waiting) / f64::from(self.most.max(1))
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
