//! What was used between two samples.

use crate::HostError;
use serde::{Deserialize, Serialize};

/// What was used between two samples. Shares of a thread or process are of one CPU (1 is one CPU all the time, so a
/// process with two busy threads has 2); shares of a CPU or of the machine are 0 to 1.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Time between the samples.
    pub elapsed_ns: u64,
    /// This process.
    pub process: ProcessUsage,
    /// Its threads.
    pub threads: Vec<ThreadUsage>,
    /// The machine.
    pub machine: MachineUsage,
    /// Network interfaces that carried anything.
    pub interfaces: Vec<InterfaceUsage>,
    /// TCP of this network namespace.
    pub tcp: TcpUsage,
}

/// This process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessUsage {
    /// Time in user mode; 1 is one CPU.
    pub user_share: f32,
    /// Time in the kernel; 1 is one CPU.
    pub system_share: f32,
    /// Resident memory at the end.
    pub rss_bytes: u64,
    /// Times a thread gave its CPU up.
    pub voluntary_switches: u64,
    /// Times a CPU was taken away from a thread.
    pub involuntary_switches: u64,
}

/// One thread.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadUsage {
    /// Thread id.
    pub tid: u32,
    /// Name, cut by the kernel to 15 bytes.
    pub name: String,
    /// Time on a CPU, user and system.
    pub cpu_share: f32,
    /// Time ready to run without a CPU; 0 where the kernel does not say.
    pub waiting_share: f32,
    /// Times it gave its CPU up.
    pub voluntary_switches: u64,
    /// Times its CPU was taken away.
    pub involuntary_switches: u64,
}

/// The machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineUsage {
    /// All CPUs together.
    pub total: CpuUsage,
    /// Each CPU.
    pub cpus: Vec<CpuUsage>,
    /// Context switches of all processes.
    pub context_switches: u64,
    /// Installed memory.
    pub memory_total_bytes: u64,
    /// Memory that could be had without swapping.
    pub memory_available_bytes: u64,
}

/// One CPU, or all of them; the shares add up to 1 (0 where no tick passed).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuUsage {
    /// The kernel's number; `None` for all together.
    pub number: Option<u32>,
    /// User mode.
    pub user_share: f32,
    /// Kernel and hard interrupts.
    pub system_share: f32,
    /// Soft interrupts: most of the network's work.
    pub softirq_share: f32,
    /// Taken by the hypervisor.
    pub steal_share: f32,
    /// Idle, or waiting for disks.
    pub idle_share: f32,
}

/// One network interface.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct InterfaceUsage {
    /// Such as `eth0`.
    pub name: String,
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
}

/// TCP of this network namespace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TcpUsage {
    /// Segments sent.
    pub segments_sent: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Connections dropped because a listener's accept queue was full.
    pub listen_overflows: u64,
    /// Connections dropped by listeners for any reason.
    pub listen_drops: u64,
    /// Retransmission timers that fired.
    pub timeouts: u64,
    /// Connections established at the end.
    pub established: u64,
}

impl Usage {
    /// The busiest of the threads that `is_one` picks, by time on a CPU; `None` where it picks none.
    pub fn busiest_thread(&self, is_one: impl Fn(&ThreadUsage) -> bool) -> Option<&ThreadUsage> {
        self.threads.iter().filter(|thread| is_one(thread)).max_by(|a, b| a.cpu_share.total_cmp(&b.cpu_share))
    }

    /// Versioned bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        crate::encoding::encode(self)
    }

    /// Reads what [`Usage::encode`] wrote.
    ///
    /// # Errors
    /// The bytes are of another version, or broken.
    pub fn decode(bytes: &[u8]) -> Result<Usage, HostError> {
        crate::encoding::decode(bytes, "usage")
    }
}
