//! What the kernel counts, one file for each family of its files: text in, plain counters out. A
//! file that this kernel does not have is `None`; text that is not what the kernel documents is an
//! error.
//!
//! The `procfs` crate is not used: 0.18 reads no `TcpExt`, sockstat, softnet or conntrack
//! statistics and no limits of control groups, and nothing below another root, as tests need.

mod conntrack;
mod control_group;
mod descriptors;
mod files;
mod interfaces;
mod listeners;
mod memory;
mod process;
mod sockets;
mod softnet;
mod stalls;
mod stat;
mod tcp;

pub use conntrack::Conntrack;
pub use control_group::{GroupBandwidth, GroupCounters, GroupMemory};
pub use descriptors::Descriptors;
pub use interfaces::InterfaceCounters;
pub use memory::MemoryState;
pub use process::{ProcessTimes, ThreadTimes};
pub use sockets::SocketCounts;
pub use softnet::{CpuBacklog, SoftnetCounters};
pub use stalls::{StallTime, StallTotals};
pub use stat::{CpuTimes, MachineTimes};
pub use tcp::TcpCounters;

pub(crate) use control_group::ControlGroup;
pub(crate) use descriptors::{most_open_files, open_files_limit};
pub(crate) use files::{KernelFiles, KernelText};
pub(crate) use interfaces::interfaces;
pub(crate) use listeners::{Listener, ListenerQuery};
pub(crate) use process::{ProcessStat, cpu_time_of, resident_bytes, schedule};
pub(crate) use softnet::softnet;

/// The difference of two structs: counters field by field, then figures of the moment as they are.
/// Counters may step back a little (iowait does) or begin anew; that counts as nothing.
macro_rules! difference {
    ($now:ident - $earlier:ident: $($counter:ident),+ $(; $($gauge:ident),+)?) => {
        Self {
            $($counter: $now.$counter.saturating_sub($earlier.$counter),)+
            $($($gauge: $now.$gauge.clone(),)+)?
        }
    };
}
use difference;
