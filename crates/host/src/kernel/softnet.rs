//! How each CPU takes packets off the network, from `/proc/PID/net/softnet_stat`.

use super::{KernelFiles, KernelText};
use crate::HostError;
use std::collections::BTreeMap;

/// The column that names the CPU, from Linux 5.10 on.
const CPU_COLUMN: usize = 12;

/// Packets of all CPUs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SoftnetCounters {
    /// By CPU number; a CPU that is off is absent.
    pub cpus: BTreeMap<u32, CpuBacklog>,
}

/// Packets of one CPU. Its counters have 32 bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuBacklog {
    /// Taken.
    pub processed: u64,
    /// Dropped, because its queue was full.
    pub dropped: u64,
    /// Times that it stopped with packets left, since it had used up its time.
    pub squeezed: u64,
}

/// `None` where the kernel does not say.
pub(crate) fn softnet(
    files: &KernelFiles,
    process: &str,
) -> Result<Option<SoftnetCounters>, HostError> {
    let stat = files.read_if_there(&format!("proc/{process}/net/softnet_stat"))?;
    stat.map(|stat| SoftnetCounters::parse(&stat)).transpose()
}

impl SoftnetCounters {
    /// A line of hexadecimal numbers for each CPU that is on.
    fn parse(stat: &KernelText) -> Result<SoftnetCounters, HostError> {
        let mut cpus = BTreeMap::new();
        for (line, nth) in stat.text.lines().zip(0..) {
            let words = line.split_whitespace();
            let numbers: Vec<u32> = words
                .map(|word| u32::from_str_radix(word, 16))
                .collect::<Result<_, _>>()
                .map_err(|_| stat.malformed("a hexadecimal count of a CPU"))?;
            let &[processed, dropped, squeezed, ..] = numbers.as_slice() else {
                return Err(stat.malformed("three counts of a CPU"));
            };
            let backlog = CpuBacklog {
                processed: processed.into(),
                dropped: dropped.into(),
                squeezed: squeezed.into(),
            };
            cpus.insert(numbers.get(CPU_COLUMN).copied().unwrap_or(nth), backlog);
        }
        Ok(SoftnetCounters { cpus })
    }

    /// What was counted since `earlier`. A CPU that was off then is absent: its counts are those
    /// since boot.
    #[must_use]
    pub fn since(&self, earlier: &SoftnetCounters) -> SoftnetCounters {
        let cpus = self.cpus.iter();
        SoftnetCounters {
            cpus: cpus
                .filter_map(|(number, now)| Some((*number, now.since(earlier.cpus.get(number)?))))
                .collect(),
        }
    }
}

impl CpuBacklog {
    /// What was counted since `earlier`; each counter begins anew after 2³² at most once between.
    #[must_use]
    pub fn since(&self, earlier: &CpuBacklog) -> CpuBacklog {
        let grown = |now: u64, then: u64| now.wrapping_sub(then) & u64::from(u32::MAX);
        CpuBacklog {
            processed: grown(self.processed, earlier.processed),
            dropped: grown(self.dropped, earlier.dropped),
            squeezed: grown(self.squeezed, earlier.squeezed),
        }
    }
}
