//! Everything the kernel counted up to one instant.

use crate::kernel::{
    CpuTimes, InterfaceCounters, MachineTimes, MemoryState, ProcessTimes, TcpCounters, ThreadTimes,
};
use crate::{CpuUsage, InterfaceUsage, MachineUsage, ProcessUsage, TcpUsage, ThreadUsage, Usage};
use std::collections::BTreeMap;

/// Everything the kernel counted up to one instant; worth something only beside an earlier one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageSample {
    pub(crate) at_ns: u64,
    pub(crate) process: ProcessTimes,
    pub(crate) machine: MachineTimes,
    pub(crate) memory: MemoryState,
    pub(crate) interfaces: BTreeMap<String, InterfaceCounters>,
    pub(crate) tcp: TcpCounters,
}

impl UsageSample {
    /// What was used since `earlier`. A thread or interface that was not there yet counts from
    /// zero; one that is gone is left out.
    #[must_use]
    pub fn since(&self, earlier: &UsageSample) -> Usage {
        let elapsed_ns = self.at_ns.saturating_sub(earlier.at_ns);
        let process = self.process.since(&earlier.process);
        let spent = process.threads.iter();
        let threads: Vec<ThreadUsage> = spent.map(|spent| thread(spent, elapsed_ns)).collect();
        let switches = |of: fn(&ThreadUsage) -> u64| threads.iter().map(of).sum();
        Usage {
            elapsed_ns,
            process: ProcessUsage {
                user_share: share(process.user_ns, elapsed_ns),
                system_share: share(process.system_ns, elapsed_ns),
                rss_bytes: process.rss_bytes,
                voluntary_switches: switches(|thread| thread.voluntary_switches),
                involuntary_switches: switches(|thread| thread.involuntary_switches),
            },
            machine: self.machine(earlier),
            threads,
            interfaces: self.interfaces(earlier),
            tcp: self.tcp(earlier),
        }
    }

    fn machine(&self, earlier: &UsageSample) -> MachineUsage {
        let spent = self.machine.since(&earlier.machine);
        let cpus = spent.cpus.iter();
        MachineUsage {
            total: cpu(None, &spent.total),
            cpus: cpus
                .map(|(number, spent)| cpu(Some(*number), spent))
                .collect(),
            context_switches: spent.context_switches,
            memory_total_bytes: self.memory.total_bytes,
            memory_available_bytes: self.memory.available_bytes,
        }
    }

    fn interfaces(&self, earlier: &UsageSample) -> Vec<InterfaceUsage> {
        let usage = |(name, now): (&String, &InterfaceCounters)| {
            let then = earlier.interfaces.get(name).copied().unwrap_or_default();
            let carried = now.since(&then);
            InterfaceUsage {
                name: name.clone(),
                received_bytes: carried.received_bytes,
                sent_bytes: carried.sent_bytes,
            }
        };
        self.interfaces
            .iter()
            .map(usage)
            .filter(|usage| usage.received_bytes + usage.sent_bytes > 0)
            .collect()
    }

    fn tcp(&self, earlier: &UsageSample) -> TcpUsage {
        let counted = self.tcp.since(&earlier.tcp);
        TcpUsage {
            segments_sent: counted.segments_sent,
            retransmits: counted.retransmits,
            listen_overflows: counted.listen_overflows,
            listen_drops: counted.listen_drops,
            timeouts: counted.timeouts,
            established: counted.established,
        }
    }
}

fn thread(spent: &ThreadTimes, elapsed_ns: u64) -> ThreadUsage {
    ThreadUsage {
        tid: spent.tid,
        name: spent.name.clone(),
        cpu_share: share(spent.cpu_ns, elapsed_ns),
        waiting_share: share(spent.waiting_ns, elapsed_ns),
        voluntary_switches: spent.voluntary_switches,
        involuntary_switches: spent.involuntary_switches,
    }
}

fn cpu(number: Option<u32>, times: &CpuTimes) -> CpuUsage {
    let total = times.total();
    CpuUsage {
        number,
        user_share: share(times.user, total),
        system_share: share(times.system.saturating_add(times.irq), total),
        softirq_share: share(times.softirq, total),
        steal_share: share(times.steal, total),
        idle_share: share(times.idle, total),
    }
}

pub(crate) fn share(part: u64, whole: u64) -> f32 {
    if whole == 0 {
        0.0
    } else {
        (part as f64 / whole as f64) as f32
    }
}
