//! Memory and swap of the machine, from `/proc/meminfo` and `/proc/vmstat`.

use super::{KernelText, difference};
use crate::HostError;

/// Bytes of one kB of `/proc`.
const KIB: u64 = 1024;

/// Memory now, and what became of too little of it since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryState {
    /// Installed, bytes.
    pub total_bytes: u64,
    /// What programs can still get without swapping, bytes.
    pub available_bytes: u64,
    /// Swap there is, bytes.
    pub swap_total_bytes: u64,
    /// Swap that is free, bytes.
    pub swap_free_bytes: u64,
    /// Page faults that waited for a disk.
    pub major_faults: u64,
    /// Pages read from swap.
    pub swapped_in: u64,
    /// Pages written to swap.
    pub swapped_out: u64,
    /// Processes killed for want of memory.
    pub oom_kills: u64,
}

impl MemoryState {
    pub(crate) fn parse(
        meminfo: &KernelText,
        vmstat: &KernelText,
    ) -> Result<MemoryState, HostError> {
        let bytes = |key| {
            let kib: u64 = meminfo.number_after(key)?;
            Ok(kib.saturating_mul(KIB))
        };
        Ok(MemoryState {
            total_bytes: bytes("MemTotal:")?,
            available_bytes: bytes("MemAvailable:")?,
            swap_total_bytes: bytes("SwapTotal:")?,
            swap_free_bytes: bytes("SwapFree:")?,
            major_faults: vmstat.number_after("pgmajfault ")?,
            swapped_in: vmstat.number_after("pswpin ")?,
            swapped_out: vmstat.number_after("pswpout ")?,
            oom_kills: vmstat.number_after("oom_kill ")?,
        })
    }

    /// What happened since `earlier`; sizes are those of now.
    #[must_use]
    pub fn since(&self, earlier: &MemoryState) -> MemoryState {
        difference!(self - earlier: major_faults, swapped_in, swapped_out, oom_kills;
            total_bytes, available_bytes, swap_total_bytes, swap_free_bytes)
    }
}
