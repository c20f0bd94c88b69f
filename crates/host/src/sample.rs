//! Everything the kernel counted up to one instant.

use crate::cpu::{CpuTimes, MachineTimes};
use crate::network::{TcpCounters, Traffic};
use crate::process::{ProcessTimes, ThreadTimes};
use crate::{CpuUsage, InterfaceUsage, MachineUsage, ProcessUsage, TcpUsage, ThreadUsage, Usage};
use std::collections::BTreeMap;

/// Everything the kernel counted up to one instant; worth something only beside an earlier one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageSample {
    pub(crate) at_ns: u64,
    pub(crate) process: ProcessTimes,
    pub(crate) machine: MachineTimes,
    pub(crate) memory_total_bytes: u64,
    pub(crate) memory_available_bytes: u64,
    pub(crate) interfaces: BTreeMap<String, Traffic>,
    pub(crate) tcp: TcpCounters,
}

impl UsageSample {
    /// What was used since `earlier`. A thread or interface that was not there yet counts from
    /// zero; one that is gone is left out.
    #[must_use]
    pub fn since(&self, earlier: &UsageSample) -> Usage {
        let elapsed_ns = self.at_ns.saturating_sub(earlier.at_ns);
        let threads: Vec<ThreadUsage> = self
            .process
            .threads
            .iter()
            .map(|t| thread(t, &earlier.process, elapsed_ns))
            .collect();
        Usage {
            elapsed_ns,
            process: self.process(earlier, &threads),
            machine: self.machine(earlier),
            threads,
            interfaces: self.interfaces(earlier),
            tcp: self.tcp(earlier),
        }
    }

    fn process(&self, earlier: &UsageSample, threads: &[ThreadUsage]) -> ProcessUsage {
        let elapsed_ns = self.at_ns.saturating_sub(earlier.at_ns);
        let now = &self.process;
        let then = &earlier.process;
        ProcessUsage {
            user_share: share(now.user_ns.saturating_sub(then.user_ns), elapsed_ns),
            system_share: share(now.system_ns.saturating_sub(then.system_ns), elapsed_ns),
            rss_bytes: now.rss_bytes,
            voluntary_switches: threads.iter().map(|thread| thread.voluntary_switches).sum(),
            involuntary_switches: threads
                .iter()
                .map(|thread| thread.involuntary_switches)
                .sum(),
        }
    }

    fn machine(&self, earlier: &UsageSample) -> MachineUsage {
        MachineUsage {
            total: cpu(None, &self.machine.total.since(&earlier.machine.total)),
            cpus: self.cpus(earlier),
            context_switches: self
                .machine
                .context_switches
                .saturating_sub(earlier.machine.context_switches),
            memory_total_bytes: self.memory_total_bytes,
            memory_available_bytes: self.memory_available_bytes,
        }
    }

    /// A CPU that was off before counts from zero.
    fn cpus(&self, earlier: &UsageSample) -> Vec<CpuUsage> {
        let before: BTreeMap<u32, CpuTimes> = earlier.machine.cpus.iter().copied().collect();
        let mut cpus = Vec::new();
        for (number, times) in &self.machine.cpus {
            let then = before.get(number).copied().unwrap_or_default();
            cpus.push(cpu(Some(*number), &times.since(&then)));
        }
        cpus
    }

    fn interfaces(&self, earlier: &UsageSample) -> Vec<InterfaceUsage> {
        let usage = |(name, now): (&String, &Traffic)| {
            let then = earlier.interfaces.get(name).copied().unwrap_or_default();
            InterfaceUsage {
                name: name.clone(),
                received_bytes: now.received_bytes.saturating_sub(then.received_bytes),
                sent_bytes: now.sent_bytes.saturating_sub(then.sent_bytes),
            }
        };
        self.interfaces
            .iter()
            .map(usage)
            .filter(|usage| usage.received_bytes + usage.sent_bytes > 0)
            .collect()
    }

    fn tcp(&self, earlier: &UsageSample) -> TcpUsage {
        let now = &self.tcp;
        let then = &earlier.tcp;
        TcpUsage {
            segments_sent: now.segments_sent.saturating_sub(then.segments_sent),
            retransmits: now.retransmits.saturating_sub(then.retransmits),
            listen_overflows: now.listen_overflows.saturating_sub(then.listen_overflows),
            listen_drops: now.listen_drops.saturating_sub(then.listen_drops),
            timeouts: now.timeouts.saturating_sub(then.timeouts),
            established: now.established,
        }
    }
}

fn thread(now: &ThreadTimes, process: &ProcessTimes, elapsed_ns: u64) -> ThreadUsage {
    let then = process
        .threads
        .iter()
        .find(|then| then.tid == now.tid)
        .cloned()
        .unwrap_or_default();
    ThreadUsage {
        tid: now.tid,
        name: now.name.clone(),
        cpu_share: share(now.cpu_ns.saturating_sub(then.cpu_ns), elapsed_ns),
        waiting_share: share(now.waiting_ns.saturating_sub(then.waiting_ns), elapsed_ns),
        voluntary_switches: now
            .voluntary_switches
            .saturating_sub(then.voluntary_switches),
        involuntary_switches: now
            .involuntary_switches
            .saturating_sub(then.involuntary_switches),
    }
}

fn cpu(number: Option<u32>, times: &CpuTimes) -> CpuUsage {
    let total = times.total();
    CpuUsage {
        number,
        user_share: share(times.user, total),
        system_share: share(times.system, total),
        softirq_share: share(times.softirq, total),
        steal_share: share(times.steal, total),
        idle_share: share(times.idle, total),
    }
}

fn share(part: u64, whole: u64) -> f32 {
    if whole == 0 {
        0.0
    } else {
        (part as f64 / whole as f64) as f32
    }
}
