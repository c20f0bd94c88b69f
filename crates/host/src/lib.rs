//! Samples this machine and this process from `/proc` and `/sys` (Linux only). It knows nothing of
//! load, plans or verdicts; the difference of two samples is a [`Usage`], what does not change is
//! [`Facts`].

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
mod observation;
mod route;
mod sample;
mod sampler;
mod usage;

pub use boot::boot_id;
pub use cpu_profile::{CpuProfile, ProfileOutcome};
pub use error::HostError;
pub use facts::Facts;
pub use figures::{RunFigures, UsageFigures};
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
pub use sample::UsageSample;
pub use sampler::Sampler;
pub use usage::{
    CpuUsage, InterfaceUsage, MachineUsage, ProcessUsage, TcpUsage, ThreadUsage, Usage,
};
