//! The identities of the verdict's rules.

use super::LimitOf;
use std::fmt::{self, Display, Formatter};

/// A rule of the verdict. Its name is shown to people, and saved in the results of searches, so it
/// stays the same from version to version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RuleId {
    /// Faults of agents or of the run, of which none is allowed.
    Faults,
    /// A client's loop stood still with no limit of the client to explain it.
    StoodStill,
    /// Agents were lost, as the plan allows.
    LostAgents,
    /// The client noticed late that arrivals were due.
    ScheduleDelay,
    /// The client handled late what its sockets had.
    LoopLag,
    /// Operations failed for want of local ports or descriptors.
    PortsAndDescriptors,
    /// A worker thread used its CPU up.
    Worker,
    /// A CPU quota stopped an agent.
    QuotaStops,
    /// An agent used its CPU quota up.
    Quota,
    /// An agent waited for memory.
    ClientMemory,
    /// A worker shared its CPU with something else.
    WorkerCpu,
    /// An agent's machine was full, and the agent waited for a CPU.
    ClientMachine,
    /// The hypervisor took CPU time from an agent's machine.
    Steal,
    /// A machine shared by client and server was full.
    SharedMachine,
    /// Arrivals waited for a connection.
    Lateness,
    /// Arrivals found no connection at all.
    NeverSent,
    /// What was under way grew while the load was offered.
    Backlog,
    /// All connections of the plan were in use, and more could carry more.
    PlanConnections,
    /// More users than those of the plan could do more.
    PlanUsers,
    /// The server's CPUs were full and waited for.
    ServerCpus,
    /// A thread of the server used a CPU up.
    ServerThread,
    /// A process of the server used the CPUs up that it may use.
    ServerProcess,
    /// A CPU quota stopped the server.
    ServerQuota,
    /// The server's accept queue was full.
    AcceptQueue,
    /// A process of the server had nearly all its descriptors open.
    ServerDescriptors,
    /// The server waited for memory.
    ServerMemory,
    /// The server waited for a disk.
    ServerDisk,
    /// The connection tracking of the server's machine was full.
    ConnectionTracking,
    /// Throughput stopped following the load.
    Throughput,
    /// The server turned operations away as the load rose.
    ErrorsByLoad,
    /// Answers took nothing but a round trip, which acquits the server.
    RoundTrip,
    /// An interface carried what its link can.
    Link,
    /// Segments were sent again.
    Retransmits,
    /// Segments waited in a queue on the path.
    QueueOnTheWay,
    /// Bytes came at one pace, however much was asked for.
    PaceOfBytes,
    /// More was lost on the path under more load.
    RisingLosses,
}

impl RuleId {
    /// All rules, by subject.
    pub const ALL: [RuleId; 36] = [
        RuleId::Faults,
        RuleId::StoodStill,
        RuleId::LostAgents,
        RuleId::ScheduleDelay,
        RuleId::LoopLag,
        RuleId::PortsAndDescriptors,
        RuleId::Worker,
        RuleId::QuotaStops,
        RuleId::Quota,
        RuleId::ClientMemory,
        RuleId::WorkerCpu,
        RuleId::ClientMachine,
        RuleId::Steal,
        RuleId::SharedMachine,
        RuleId::Lateness,
        RuleId::NeverSent,
        RuleId::Backlog,
        RuleId::PlanConnections,
        RuleId::PlanUsers,
        RuleId::ServerCpus,
        RuleId::ServerThread,
        RuleId::ServerProcess,
        RuleId::ServerQuota,
        RuleId::AcceptQueue,
        RuleId::ServerDescriptors,
        RuleId::ServerMemory,
        RuleId::ServerDisk,
        RuleId::ConnectionTracking,
        RuleId::Throughput,
        RuleId::ErrorsByLoad,
        RuleId::RoundTrip,
        RuleId::Link,
        RuleId::Retransmits,
        RuleId::QueueOnTheWay,
        RuleId::PaceOfBytes,
        RuleId::RisingLosses,
    ];

    /// Returns its name: a few words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            RuleId::Faults => "faults",
            RuleId::StoodStill => "loop that stood still",
            RuleId::LostAgents => "lost agents",
            RuleId::ScheduleDelay => "schedule delay",
            RuleId::LoopLag => "loop lag",
            RuleId::PortsAndDescriptors => "ports and descriptors",
            RuleId::Worker => "worker",
            RuleId::QuotaStops => "CPU quota's stops",
            RuleId::Quota => "CPU quota",
            RuleId::ClientMemory => "client's memory",
            RuleId::WorkerCpu => "worker's CPU",
            RuleId::ClientMachine => "client's machine",
            RuleId::Steal => "steal",
            RuleId::SharedMachine => "machine of client and server",
            RuleId::Lateness => "lateness",
            RuleId::NeverSent => "never sent",
            RuleId::Backlog => "backlog",
            RuleId::PlanConnections => "plan's connections",
            RuleId::PlanUsers => "plan's users",
            RuleId::ServerCpus => "server's CPUs",
            RuleId::ServerThread => "server's thread",
            RuleId::ServerProcess => "server's process",
            RuleId::ServerQuota => "server's CPU quota",
            RuleId::AcceptQueue => "accept queue",
            RuleId::ServerDescriptors => "server's descriptors",
            RuleId::ServerMemory => "server's memory",
            RuleId::ServerDisk => "server's disk",
            RuleId::ConnectionTracking => "connection tracking",
            RuleId::Throughput => "throughput follows load",
            RuleId::ErrorsByLoad => "errors rise with load",
            RuleId::RoundTrip => "round trip",
            RuleId::Link => "link",
            RuleId::Retransmits => "retransmits",
            RuleId::QueueOnTheWay => "queue on the way",
            RuleId::PaceOfBytes => "pace of bytes",
            RuleId::RisingLosses => "losses rise with load",
        }
    }

    /// Returns its subject.
    #[must_use]
    pub const fn limit_of(self) -> LimitOf {
        match self {
            RuleId::Faults | RuleId::StoodStill | RuleId::LostAgents => LimitOf::Trust,
            RuleId::ScheduleDelay
            | RuleId::LoopLag
            | RuleId::PortsAndDescriptors
            | RuleId::Worker
            | RuleId::QuotaStops
            | RuleId::Quota
            | RuleId::ClientMemory
            | RuleId::WorkerCpu
            | RuleId::ClientMachine
            | RuleId::Steal
            | RuleId::SharedMachine => LimitOf::Client,
            RuleId::Lateness | RuleId::NeverSent | RuleId::Backlog => LimitOf::Load,
            RuleId::PlanConnections | RuleId::PlanUsers => LimitOf::Plan,
            RuleId::ServerCpus
            | RuleId::ServerThread
            | RuleId::ServerProcess
            | RuleId::ServerQuota
            | RuleId::AcceptQueue
            | RuleId::ServerDescriptors
            | RuleId::ServerMemory
            | RuleId::ServerDisk
            | RuleId::ConnectionTracking
            | RuleId::Throughput
            | RuleId::ErrorsByLoad
            | RuleId::RoundTrip => LimitOf::Server,
            RuleId::Link
            | RuleId::Retransmits
            | RuleId::QueueOnTheWay
            | RuleId::PaceOfBytes
            | RuleId::RisingLosses => LimitOf::Network,
        }
    }
}

impl Display for RuleId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::RuleId;
    use std::collections::BTreeSet;

    #[test]
    fn each_rule_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = RuleId::ALL.iter().map(|rule| rule.name()).collect();
        assert_eq!(names.len(), RuleId::ALL.len());
    }
}
