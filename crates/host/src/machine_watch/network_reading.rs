//! Counters of a network namespace at one moment.

use crate::kernel::{
    Conntrack, InterfaceCounters, KernelFiles, SocketCounts, SoftnetCounters, TcpCounters,
};
use crate::{HostError, InterfaceSecond, Sampler, TcpSecond};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Interfaces of an observation: the busiest. A machine with containers may have hundreds.
const INTERFACES_MAX: usize = 64;

#[derive(Debug)]
pub(super) struct NetworkReading {
    /// Which namespace it is; where the kernel does not say, whose.
    pub(super) namespace: PathBuf,
    interfaces: BTreeMap<String, InterfaceCounters>,
    tcp: TcpCounters,
    pub(super) sockets: Option<SocketCounts>,
    conntrack: Option<Conntrack>,
    softnet: Option<SoftnetCounters>,
}

/// What happened in a namespace between two readings.
#[derive(Debug, Default)]
pub(super) struct NetworkSecond {
    pub(super) interfaces: Vec<InterfaceSecond>,
    pub(super) tcp: TcpSecond,
    pub(super) conntrack_drops: u64,
    pub(super) backlog_drops: u64,
    pub(super) squeezed: u64,
}

impl NetworkReading {
    /// Reads the namespace that `process` (an id, or `self`) is in.
    pub(super) fn read(files: &KernelFiles, process: &str) -> Result<NetworkReading, HostError> {
        let sampler = Sampler::on(files.clone(), process);
        let link = files.link(&format!("proc/{process}/ns/net"));
        Ok(NetworkReading {
            namespace: link.unwrap_or_else(|| PathBuf::from(process)),
            interfaces: sampler.interfaces()?,
            tcp: sampler.tcp()?,
            sockets: sampler.sockets()?,
            conntrack: sampler.conntrack()?,
            softnet: sampler.softnet()?,
        })
    }

    /// Tracked connections by how many there may be.
    pub(super) fn conntrack_fill(&self) -> Option<f32> {
        let table = self.conntrack.filter(|table| table.most > 0)?;
        Some(table.entries as f32 / table.most as f32)
    }

    /// What happened since `earlier`. Counters of another namespace are no beginning for these:
    /// then nothing is known to have happened.
    pub(super) fn since(&self, earlier: &NetworkReading) -> NetworkSecond {
        let earlier = if self.namespace == earlier.namespace {
            earlier
        } else {
            self
        };
        let conntrack = self.conntrack.unwrap_or_default();
        let softnet = self.softnet.clone().unwrap_or_default();
        let cpus = softnet
            .since(&earlier.softnet.clone().unwrap_or_default())
            .cpus;
        NetworkSecond {
            interfaces: self.interfaces_since(earlier),
            tcp: self.tcp_since(earlier),
            conntrack_drops: conntrack
                .since(&earlier.conntrack.unwrap_or_default())
                .drops,
            backlog_drops: cpus.values().map(|cpu| cpu.dropped).sum(),
            squeezed: cpus.values().map(|cpu| cpu.squeezed).sum(),
        }
    }

    fn interfaces_since(&self, earlier: &NetworkReading) -> Vec<InterfaceSecond> {
        let second = |(name, now): (&String, &InterfaceCounters)| {
            let then = earlier.interfaces.get(name).copied().unwrap_or_default();
            let carried = now.since(&then);
            InterfaceSecond {
                name: name.clone(),
                received_bytes: carried.received_bytes,
                sent_bytes: carried.sent_bytes,
                drops: carried.receive_drops.saturating_add(carried.send_drops),
                speed_mbit: carried.speed_mbit,
            }
        };
        let carried = |one: &InterfaceSecond| one.received_bytes.saturating_add(one.sent_bytes);
        let all = self.interfaces.iter().map(second);
        let mut seconds: Vec<_> = all
            .filter(|one| carried(one) > 0 || one.drops > 0)
            .collect();
        seconds.sort_by_key(|one| std::cmp::Reverse(carried(one)));
        seconds.truncate(INTERFACES_MAX);
        seconds
    }

    fn tcp_since(&self, earlier: &NetworkReading) -> TcpSecond {
        let counted = self.tcp.since(&earlier.tcp);
        TcpSecond {
            segments_sent: counted.segments_sent,
            retransmits: counted.retransmits,
            active_opens: counted.active_opens,
            passive_opens: counted.passive_opens,
            listen_overflows: counted.listen_overflows,
            listen_drops: counted.listen_drops,
            request_queue_drops: counted.request_queue_drops,
            cookies_sent: counted.cookies_sent,
            memory_pressures: counted.memory_pressures,
            established: counted.established,
            time_wait: self.sockets.map_or(0, |sockets| sockets.time_wait),
        }
    }
}
