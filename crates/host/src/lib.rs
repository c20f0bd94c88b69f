//! Observes this machine and its processes by `/proc` and `/sys` (Linux only). It knows nothing of
//! load, plans or verdicts. What was done between two readings is an [`Observation`], what does not
//! change is [`Facts`].

mod addresses;
mod boot;
mod cpu_profile;
mod encoding;
mod error;
mod facts;
mod figures;
mod hangup;
mod kernel;
mod limits;
mod machine_watch;
mod netlink;
mod observation;
mod route;
mod sampler;

pub use boot::boot_id;
pub use cpu_profile::{CpuProfile, ProfileOutcome};
pub use error::HostError;
pub use facts::Facts;
pub use figures::{RunFigures, SHORTEST_OBSERVATION_NS, UsageFigures};
pub use hangup::ignores_hangup;
pub use kernel::{
    Conntrack, CpuBacklog, CpuTimes, Descriptors, GroupBandwidth, GroupCounters, GroupMemory,
    InterfaceCounters, MachineTimes, MemoryState, ProcessTimes, SocketCounts, SoftnetCounters,
    StallTime, StallTotals, TcpCounters, ThreadTimes,
};
pub use limits::{MachineLimits, PortLimits, PortReuse};
pub use machine_watch::{MachineWatch, ProcessChoice, SpunThread, WatchedProcesses};
pub use observation::{
    BeforeLoad, GroupSecond, InterfaceSecond, Observation, ProcessBeforeLoad, ProcessSecond,
    QueueSecond, TcpSecond,
};
pub use route::MachineRoute;
pub use sampler::Sampler;
