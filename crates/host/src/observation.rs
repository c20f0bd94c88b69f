//! What a machine did in a second of a run: what agents say of theirs, and monitors of the one that
//! they watch.

use crate::{HostError, encoding};
use serde::{Deserialize, Serialize};

/// What a machine did in a second. Shares are 0 to 1 unless said otherwise; what this kernel does
/// not tell is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Time that it is about, about a second.
    pub elapsed_ns: u64,
    /// Share of the CPUs that it may use that was not idle.
    pub cpu_busy: f32,
    /// The same of all CPUs of the machine. It goes into an agent's figures and is not sent.
    #[serde(skip)]
    pub machine_busy: f32,
    /// How many CPUs these are.
    pub cpus: u32,
    /// Share of these CPUs that programs of a lower priority (nice above 0) used, the watched ones
    /// left out.
    pub cpu_niced: f32,
    /// Share of these CPUs that was idle while a thread waited for a disk.
    pub cpu_waiting_for_disk: f32,
    /// The busiest of these CPUs, not idle.
    pub busiest_cpu: f32,
    /// Which one that is.
    pub busiest_cpu_number: u32,
    /// Share of all CPUs in the kernel's soft interrupts.
    pub softirq: f32,
    /// The same of the CPU that had most of it.
    pub busiest_softirq: f32,
    /// Share of all CPUs that the hypervisor took away.
    pub steal: f32,
    /// The same of the CPU that lost most.
    pub worst_steal: f32,
    /// Threads that ran or could have, when it was looked at.
    pub running: u32,
    /// Part of the time in which some thread waited for a CPU.
    pub cpu_stall: Option<f32>,
    /// Part of the time in which some thread waited for memory.
    pub memory_stall: Option<f32>,
    /// Part of the time in which some thread waited for a disk.
    pub io_stall: Option<f32>,
    /// The control group's limits, where there are any.
    pub group: Option<GroupSecond>,
    /// Memory that could be had without swapping.
    pub memory_available_bytes: u64,
    /// Memory pages read from or written to swap.
    pub swapped_pages: u64,
    /// Page faults that waited for a disk.
    pub major_faults: u64,
    /// Network interfaces that carried anything, loopback too.
    pub interfaces: Vec<InterfaceSecond>,
    /// Packets that the kernel had no room for before TCP saw them.
    pub backlog_drops: u64,
    /// Times that its network threads ran out of their share of time.
    pub squeezed: u64,
    /// TCP of this network namespace.
    pub tcp: TcpSecond,
    /// Accept queues in ten looks, of those that the chosen processes listen on, or of all: first
    /// what dropped most, then the fullest.
    pub accept_queues: Vec<QueueSecond>,
    /// Tracked connections by how many there may be.
    pub conntrack: Option<f32>,
    /// Connections that connection tracking dropped.
    pub conntrack_drops: u64,
    /// Local ports in use, or in TIME_WAIT, by how many there are for new connections.
    pub ports: Option<f32>,
    /// The processes that it was asked to watch; an agent watches itself.
    pub processes: Vec<ProcessSecond>,
    /// What was done before the load began, where this is the first second.
    pub before_load: Option<BeforeLoad>,
}

/// What a machine did without load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BeforeLoad {
    /// Time that it is about.
    pub elapsed_ns: u64,
    /// Share of the CPUs that it may use that was not idle.
    pub cpu_busy: f32,
    /// The processes that it was asked to watch.
    pub processes: Vec<ProcessBeforeLoad>,
}

/// What a process did without load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessBeforeLoad {
    /// The kernel's id of it.
    pub pid: u32,
    /// CPUs that it kept busy.
    pub cpus: f32,
    /// How much of a CPU its busiest thread had.
    pub busiest_thread_share: f32,
}

/// What a control group's limits did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupSecond {
    /// CPUs' worth of time that it may use.
    pub quota: Option<f32>,
    /// Share of the periods that ended in which it was stopped.
    pub throttled: f32,
    /// Time for which its CPUs were stopped, over all of them.
    pub throttled_ns: u64,
    /// Memory in use by the most that there may be, caches of idle files left out.
    pub memory: Option<f32>,
    /// Times that it hit that limit.
    pub memory_limit_hits: u64,
    /// Processes killed for want of memory.
    pub oom_kills: u64,
    /// Pages read again soon after they had to make room.
    pub refaults: u64,
}

/// What a network interface carried.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct InterfaceSecond {
    /// As the kernel names it.
    pub name: String,
    /// Bytes that came in, with their frames.
    pub received_bytes: u64,
    /// Bytes that went out.
    pub sent_bytes: u64,
    /// Packets dropped or missed, either way.
    pub drops: u64,
    /// Megabits that it carries in a second; virtual interfaces do not know.
    pub speed_mbit: Option<u64>,
}

/// What TCP did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TcpSecond {
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueSecond {
    /// Where it listens.
    pub address: String,
    /// Connections that waited to be accepted.
    pub waiting: u32,
    /// How many may wait.
    pub most: u32,
    /// Part of the looks that saw some waiting.
    pub waited: f32,
    /// Connections that it dropped; `None` where the kernel does not say.
    pub dropped: Option<u64>,
    /// Whether a chosen process listens there.
    pub is_watched: bool,
    /// Name of the process that does, where it is another one and this queue was full or dropped.
    pub holder: String,
}

/// What a process did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessSecond {
    /// Its name, cut by the kernel to 15 bytes.
    pub name: String,
    /// The kernel's id of it.
    pub pid: u32,
    /// CPUs that it kept busy.
    pub cpus: f32,
    /// Its busiest thread; of an agent its busiest worker.
    pub busiest_thread: String,
    /// How much of a CPU that thread had.
    pub busiest_thread_share: f32,
    /// How long that thread could have run and had no CPU.
    pub busiest_thread_waiting: f32,
    /// CPUs that the thread may run on.
    pub busiest_thread_cpus: u32,
    /// The longest that one of its threads could have run and had no CPU.
    pub longest_waiting: f32,
    /// Part of ten looks in which one of its threads waited where nothing can wake it: for a disk,
    /// mostly.
    pub blocked: f32,
    /// Page faults that waited for a disk.
    pub major_faults: u64,
    /// Threads.
    pub threads: u32,
    /// Resident memory.
    pub rss_bytes: u64,
    /// Open files and sockets.
    pub descriptors: u64,
    /// How many it may have.
    pub descriptors_limit: Option<u64>,
}

impl Observation {
    /// A version byte and the observation.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encoding::encode(self)
    }

    /// Reads what [`Observation::encode`] wrote.
    ///
    /// # Errors
    /// Where the bytes are of another version, or broken.
    pub fn decode(bytes: &[u8]) -> Result<Observation, HostError> {
        encoding::decode(bytes, "an observation of a machine")
    }
}
