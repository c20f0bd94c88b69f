//! What was used between two samples.

use crate::HostError;
use serde::{Deserialize, Serialize};

/// What was used between two samples. Shares of a thread or process are of one CPU (1 is one CPU
/// all the time, so a process with two busy threads has 2); shares of a CPU or of the machine are 0
/// to 1.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Time between the samples.
    pub elapsed_ns: u64,
    /// What this process used.
    pub process: ProcessUsage,
    /// What each of its threads used.
    pub threads: Vec<ThreadUsage>,
    /// What all processes of the machine used.
    pub machine: MachineUsage,
    /// Network interfaces that carried anything.
    pub interfaces: Vec<InterfaceUsage>,
    /// TCP of this network namespace.
    pub tcp: TcpUsage,
}

/// What this process used, all threads together.
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

/// What one thread of this process used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadUsage {
    /// The kernel's id of it.
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

/// What all processes of the machine used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineUsage {
    /// All CPUs together.
    pub total: CpuUsage,
    /// Each CPU that is on, by number.
    pub cpus: Vec<CpuUsage>,
    /// Context switches of all processes.
    pub context_switches: u64,
    /// Memory installed in the machine.
    pub memory_total_bytes: u64,
    /// Memory that could be had without swapping.
    pub memory_available_bytes: u64,
}

/// One CPU, or all of them; the shares add up to 1 (0 where no tick passed).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuUsage {
    /// The kernel's number; `None` for all together.
    pub number: Option<u32>,
    /// Processes in user mode, nice ones included.
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
    /// Bytes that it received.
    pub received_bytes: u64,
    /// Bytes that it sent.
    pub sent_bytes: u64,
}

/// TCP of this network namespace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TcpUsage {
    /// Segments sent by all connections.
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
    /// The busiest of the threads that `is_one` picks, by time on a CPU; `None` where it picks
    /// none.
    pub fn busiest_thread(&self, is_one: impl Fn(&ThreadUsage) -> bool) -> Option<&ThreadUsage> {
        self.threads
            .iter()
            .filter(|thread| is_one(thread))
            .max_by(|a, b| a.cpu_share.total_cmp(&b.cpu_share))
    }

    /// Makes the time that a thread used of its CPU only to wait there into idle time: the
    /// thread's, the process's and the machine's, not that of the CPU, which is not known.
    pub fn take_back(&mut self, thread: &str, waited_ns: u64) {
        let Some(thread) = self.threads.iter_mut().find(|known| known.name == thread) else {
            return; // it has ended, and its time is in no share
        };
        // What is taken back was measured by another clock, and can be a little more than the
        // kernel has counted.
        let share = (waited_ns as f64 / self.elapsed_ns.max(1) as f64) as f32;
        let share = share.min(thread.cpu_share);
        thread.cpu_share -= share;
        let process = &mut self.process;
        take(share, &mut process.system_share, &mut process.user_share);
        // One CPU is 1/n of the machine's total.
        let share = share / self.machine.cpus.len().max(1) as f32;
        let total = &mut self.machine.total;
        total.idle_share += take(share, &mut total.system_share, &mut total.user_share);
    }

    /// A version byte and the usage.
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

/// Takes a share out of two, of each as much as it has of both; how much it was.
fn take(share: f32, one: &mut f32, other: &mut f32) -> f32 {
    let both = *one + *other;
    let taken = share.min(both);
    let left = if both > 0.0 {
        (both - taken) / both
    } else {
        0.0
    };
    *one *= left;
    *other *= left;
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(cpu_share: f32, user_share: f32, system_share: f32) -> Usage {
        let total = CpuUsage {
            user_share: 0.25,
            system_share: 0.25,
            idle_share: 0.5,
            ..CpuUsage::default()
        };
        Usage {
            elapsed_ns: 1000,
            process: ProcessUsage {
                user_share,
                system_share,
                ..ProcessUsage::default()
            },
            threads: vec![ThreadUsage {
                name: "worker-0".into(),
                cpu_share,
                ..ThreadUsage::default()
            }],
            machine: MachineUsage {
                total,
                cpus: vec![CpuUsage::default(); 2],
                ..MachineUsage::default()
            },
            ..Usage::default()
        }
    }

    #[test]
    fn waiting_on_a_cpu_becomes_idle_time() {
        for (waited_ns, user, system, thread, rest, idle) in [
            (500, 0.5, 0.5, 1.0, (0.25, 0.25, 0.5), 0.75),
            (500, 0.75, 0.25, 1.0, (0.375, 0.125, 0.5), 0.75),
            (500, 0.0, 1.0, 1.0, (0.0, 0.5, 0.5), 0.75),
            (500, 0.125, 0.125, 1.0, (0.0, 0.0, 0.5), 0.75),
            (900, 0.5, 0.5, 0.5, (0.25, 0.25, 0.0), 0.75),
            (0, 0.5, 0.5, 1.0, (0.5, 0.5, 1.0), 0.5),
        ] {
            let mut usage = usage(thread, user, system);
            usage.take_back("worker-0", waited_ns);
            usage.take_back("worker-1", waited_ns);
            let left = (
                usage.process.user_share,
                usage.process.system_share,
                usage.threads[0].cpu_share,
            );
            assert_eq!(
                (left, usage.machine.total.idle_share),
                (rest, idle),
                "{waited_ns} {user} {system}"
            );
        }
    }
}
