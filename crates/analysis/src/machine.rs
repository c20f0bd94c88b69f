//! Machines over the time of a run: those that agents fired from, and those that monitors watched.

use crate::MachineFacts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A machine in the result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// What it did without load, until the run began; absent where that was too short to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_load: Option<BeforeLoadRow>,
    /// CPU profile of the processes that a monitor watched; absent where none was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileResult>,
}

/// What a machine did without load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BeforeLoadRow {
    /// Time that it is about.
    #[serde(skip_serializing_if = "is_default")]
    pub elapsed_ns: u64,
    /// Of the CPUs that it may use, not idle.
    #[serde(skip_serializing_if = "is_default")]
    pub cpu_busy: f64,
    /// The processes that it was asked to watch.
    #[serde(skip_serializing_if = "is_default")]
    pub processes: Vec<ProcessBeforeLoadRow>,
}

/// What a process did without load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProcessBeforeLoadRow {
    /// The kernel's id of it.
    pub pid: u32,
    /// CPUs that it kept busy.
    #[serde(skip_serializing_if = "is_default")]
    pub cpus: f64,
    /// How much of a CPU its busiest thread had.
    #[serde(skip_serializing_if = "is_default")]
    pub busiest_thread_share: f64,
}

/// A CPU profile that stands beside the result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileResult {
    /// Which processes, in words.
    pub process: String,
    /// How long samples were taken.
    pub seconds: f64,
    /// In the files.
    pub samples: u64,
    /// Left out, of the rarest stacks, so that the others fit.
    #[serde(default, skip_serializing_if = "is_default")]
    pub left_out: u64,
    /// File with a stack and its samples in each line, as `flamegraph.pl` reads it.
    pub folded: String,
    /// File with the flame graph.
    pub svg: String,
    /// Functions that used the CPU most themselves.
    pub hottest: Vec<HotFunction>,
}

/// A function in a CPU profile.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HotFunction {
    /// As the profile names it; the file where it has no name.
    pub name: String,
    /// Of the samples, those in itself, 0 to 1.
    pub share: f64,
}

/// What was on a machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MachineRole {
    /// An agent, which fired from there.
    #[default]
    Agent,
    /// A monitor, which watched.
    Monitor,
}

/// What a machine did in a second. Shares are 0 to 1 unless said otherwise; what this kernel does
/// not tell is absent. JSON leaves out what is 0 too: there may be many rows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MachineRow {
    /// First second, of the run clock.
    pub second: u32,
    /// Seconds that it holds.
    pub seconds: u32,
    /// Time that it is about.
    #[serde(skip_serializing_if = "is_default")]
    pub elapsed_ns: u64,
    /// Of the CPUs that it may use, not idle.
    #[serde(skip_serializing_if = "is_default")]
    pub cpu_busy: f64,
    /// How many CPUs these are.
    #[serde(skip_serializing_if = "is_default")]
    pub cpus: u32,
    /// Of these CPUs, programs of a lower priority (nice above 0) that are not watched.
    #[serde(skip_serializing_if = "is_default")]
    pub cpu_niced: f64,
    /// Of these CPUs, idle while a thread waited for a disk.
    #[serde(skip_serializing_if = "is_default")]
    pub cpu_waiting_for_disk: f64,
    /// The busiest of these CPUs, not idle.
    #[serde(skip_serializing_if = "is_default")]
    pub busiest_cpu: f64,
    /// Which one that is.
    #[serde(skip_serializing_if = "is_default")]
    pub busiest_cpu_number: u32,
    /// Of all CPUs, in the kernel's soft interrupts.
    #[serde(skip_serializing_if = "is_default")]
    pub softirq: f64,
    /// The same of the CPU that had most of it.
    #[serde(skip_serializing_if = "is_default")]
    pub busiest_softirq: f64,
    /// Of all CPUs, taken away by the hypervisor.
    #[serde(skip_serializing_if = "is_default")]
    pub steal: f64,
    /// The same of the CPU that lost most.
    #[serde(skip_serializing_if = "is_default")]
    pub worst_steal: f64,
    /// Threads that ran or could have, when it was looked at.
    #[serde(skip_serializing_if = "is_default")]
    pub running: u32,
    /// Part of the time in which some thread waited for a CPU.
    #[serde(skip_serializing_if = "is_default")]
    pub cpu_stall: Option<f64>,
    /// Part of the time in which some thread waited for memory.
    #[serde(skip_serializing_if = "is_default")]
    pub memory_stall: Option<f64>,
    /// Part of the time in which some thread waited for a disk.
    #[serde(skip_serializing_if = "is_default")]
    pub io_stall: Option<f64>,
    /// The control group's limits, where there are any.
    #[serde(skip_serializing_if = "is_default")]
    pub group: Option<GroupRow>,
    /// Memory that could be had without swapping.
    #[serde(skip_serializing_if = "is_default")]
    pub memory_available_bytes: u64,
    /// Memory pages read from or written to swap.
    #[serde(skip_serializing_if = "is_default")]
    pub swapped_pages: u64,
    /// Page faults that waited for a disk.
    #[serde(skip_serializing_if = "is_default")]
    pub major_faults: u64,
    /// Network interfaces that carried anything, loopback too.
    #[serde(skip_serializing_if = "is_default")]
    pub interfaces: Vec<InterfaceRow>,
    /// Packets that the kernel had no room for before TCP saw them.
    #[serde(skip_serializing_if = "is_default")]
    pub backlog_drops: u64,
    /// Times that its network threads ran out of their share of time.
    #[serde(skip_serializing_if = "is_default")]
    pub squeezed: u64,
    /// TCP of this network namespace.
    #[serde(skip_serializing_if = "is_default")]
    pub tcp: TcpRow,
    /// An accept queue in ten looks, of those that the chosen processes listen on, or of all: of
    /// these one at the target's port, and what dropped most, or else the fullest.
    #[serde(skip_serializing_if = "is_default")]
    pub accept_queue: Option<QueueRow>,
    /// Tracked connections by how many there may be.
    #[serde(skip_serializing_if = "is_default")]
    pub conntrack: Option<f64>,
    /// Connections that connection tracking dropped.
    #[serde(skip_serializing_if = "is_default")]
    pub conntrack_drops: u64,
    /// Local ports in use, or in TIME_WAIT, by how many there are for new connections.
    #[serde(skip_serializing_if = "is_default")]
    pub ports: Option<f64>,
    /// The processes that it was asked to watch; an agent watches itself.
    #[serde(skip_serializing_if = "is_default")]
    pub processes: Vec<ProcessRow>,
}

/// What a control group's limits did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GroupRow {
    /// CPUs' worth of time that it may use.
    #[serde(skip_serializing_if = "is_default")]
    pub quota: Option<f64>,
    /// Of the periods that ended, those in which it was stopped.
    #[serde(skip_serializing_if = "is_default")]
    pub throttled: f64,
    /// Time for which its CPUs were stopped, over all of them.
    #[serde(skip_serializing_if = "is_default")]
    pub throttled_ns: u64,
    /// Memory in use by the most that there may be.
    #[serde(skip_serializing_if = "is_default")]
    pub memory: Option<f64>,
    /// Times that it came up against that limit.
    #[serde(skip_serializing_if = "is_default")]
    pub memory_limit_hits: u64,
    /// Processes killed for want of memory.
    #[serde(skip_serializing_if = "is_default")]
    pub oom_kills: u64,
    /// Pages read again soon after they had to make room.
    #[serde(skip_serializing_if = "is_default")]
    pub refaults: u64,
}

/// What a network interface carried.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct InterfaceRow {
    /// As the kernel names it.
    pub name: String,
    /// Bytes that came in, with their frames.
    #[serde(skip_serializing_if = "is_default")]
    pub received_bytes: u64,
    /// Bytes that went out.
    #[serde(skip_serializing_if = "is_default")]
    pub sent_bytes: u64,
    /// Packets dropped or missed, either way.
    #[serde(skip_serializing_if = "is_default")]
    pub drops: u64,
    /// Megabits that it carries in a second; virtual interfaces do not know.
    #[serde(skip_serializing_if = "is_default")]
    pub speed_mbit: Option<u64>,
}

/// What TCP did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TcpRow {
    /// Segments sent.
    #[serde(skip_serializing_if = "is_default")]
    pub segments_sent: u64,
    /// Segments sent again.
    #[serde(skip_serializing_if = "is_default")]
    pub retransmits: u64,
    /// Connections made from here.
    #[serde(skip_serializing_if = "is_default")]
    pub active_opens: u64,
    /// Connections that came in.
    #[serde(skip_serializing_if = "is_default")]
    pub passive_opens: u64,
    /// Connections for which an accept queue had no room.
    #[serde(skip_serializing_if = "is_default")]
    pub listen_overflows: u64,
    /// Connections that were dropped before they were accepted, for whatever reason.
    #[serde(skip_serializing_if = "is_default")]
    pub listen_drops: u64,
    /// Requests for a connection dropped since their queue was full.
    #[serde(skip_serializing_if = "is_default")]
    pub request_queue_drops: u64,
    /// Answers to such requests by a cookie.
    #[serde(skip_serializing_if = "is_default")]
    pub cookies_sent: u64,
    /// Times that TCP came under memory pressure.
    #[serde(skip_serializing_if = "is_default")]
    pub memory_pressures: u64,
    /// Connections that stand.
    #[serde(skip_serializing_if = "is_default")]
    pub established: u64,
    /// Connections that wait in TIME_WAIT.
    #[serde(skip_serializing_if = "is_default")]
    pub time_wait: u64,
}

/// An accept queue.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct QueueRow {
    /// Where it listens.
    pub address: String,
    /// Connections that waited to be accepted.
    #[serde(skip_serializing_if = "is_default")]
    pub waiting: u32,
    /// How many may wait.
    #[serde(skip_serializing_if = "is_default")]
    pub most: u32,
    /// Part of the looks that saw some waiting.
    #[serde(skip_serializing_if = "is_default")]
    pub waited: f64,
    /// Connections that it dropped; absent where the kernel does not say.
    #[serde(skip_serializing_if = "is_default")]
    pub dropped: Option<u64>,
    /// Whether it is at a port that the plan has connections made to.
    #[serde(skip_serializing_if = "is_default")]
    pub is_of_load: bool,
    /// Whether a chosen process listens there.
    #[serde(skip_serializing_if = "is_default")]
    pub is_watched: bool,
    /// Name of the process that does, where it is another one and the queue was full or dropped.
    #[serde(skip_serializing_if = "is_default")]
    pub holder: String,
}

/// What a process did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProcessRow {
    /// Its name, cut by the kernel to 15 bytes.
    pub name: String,
    /// The kernel's id of it.
    #[serde(skip_serializing_if = "is_default")]
    pub pid: u32,
    /// CPUs that it kept busy.
    #[serde(skip_serializing_if = "is_default")]
    pub cpus: f64,
    /// Its busiest thread; of an agent its busiest worker.
    #[serde(skip_serializing_if = "is_default")]
    pub busiest_thread: String,
    /// How much of a CPU that thread had.
    #[serde(skip_serializing_if = "is_default")]
    pub busiest_thread_share: f64,
    /// How long that thread could have run and had no CPU.
    #[serde(skip_serializing_if = "is_default")]
    pub busiest_thread_waiting: f64,
    /// CPUs that the thread may run on.
    #[serde(skip_serializing_if = "is_default")]
    pub busiest_thread_cpus: u32,
    /// The longest that one of its threads could have run and had no CPU.
    #[serde(skip_serializing_if = "is_default")]
    pub longest_waiting: f64,
    /// Part of ten looks in which one of its threads waited where nothing can wake it: for a disk,
    /// mostly.
    #[serde(skip_serializing_if = "is_default")]
    pub blocked: f64,
    /// Page faults that waited for a disk.
    #[serde(skip_serializing_if = "is_default")]
    pub major_faults: u64,
    /// Threads.
    #[serde(skip_serializing_if = "is_default")]
    pub threads: u32,
    /// Resident memory.
    #[serde(skip_serializing_if = "is_default")]
    pub rss_bytes: u64,
    /// Open files and sockets.
    #[serde(skip_serializing_if = "is_default")]
    pub descriptors: u64,
    /// How many it may have.
    #[serde(skip_serializing_if = "is_default")]
    pub descriptors_limit: Option<u64>,
}

impl QueueRow {
    /// How full it was: 1 where nothing more may wait.
    #[must_use]
    pub fn fill(&self) -> f64 {
        f64::from(self.waiting) / f64::from(self.most.max(1))
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
