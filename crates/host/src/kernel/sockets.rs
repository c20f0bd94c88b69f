//! Sockets by state, from `/proc/PID/net/sockstat` and `sockstat6`.

use super::{KernelFiles, KernelText};
use crate::HostError;

/// Sockets of TCP of a network namespace, now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SocketCounts {
    /// Bound or connected, over IPv4 and IPv6.
    pub in_use: u64,
    /// Closed by their owner and not yet by TCP.
    pub orphaned: u64,
    /// In TIME_WAIT: each keeps a port of a pair of addresses for a minute.
    pub time_wait: u64,
    /// That hold memory, whatever their state.
    pub allocated: u64,
    /// Pages of memory for all that waits in them, over all namespaces.
    pub memory_pages: u64,
}

impl SocketCounts {
    /// Reads those of the network namespace that `process` (an id, or `self`) is in. `None` if the
    /// kernel does not say.
    pub(crate) fn read(
        files: &KernelFiles,
        process: &str,
    ) -> Result<Option<SocketCounts>, HostError> {
        let Some(ipv4) = files.read_if_there(&format!("proc/{process}/net/sockstat"))? else {
            return Ok(None);
        };
        // Without IPv6 there is no such file.
        let ipv6 = files.read_if_there(&format!("proc/{process}/net/sockstat6"))?;
        let of_ipv6 = ipv6.map(|ipv6| word(&ipv6, "TCP6:", "inuse")).transpose()?;
        let tcp = |name| word(&ipv4, "TCP:", name);
        Ok(Some(SocketCounts {
            in_use: tcp("inuse")?.saturating_add(of_ipv6.unwrap_or(0)),
            orphaned: tcp("orphan")?,
            time_wait: tcp("tw")?,
            allocated: tcp("alloc")?,
            memory_pages: tcp("mem")?,
        }))
    }
}

/// The number behind `name`, of a line such as `TCP: inuse 1 orphan 0`.
fn word(text: &KernelText, group: &str, name: &str) -> Result<u64, HostError> {
    let line = text.after(group).unwrap_or_default();
    let mut words = line.split_whitespace().skip_while(|word| *word != name);
    text.number(words.nth(1), name)
}
