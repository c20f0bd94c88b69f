//! Time in which work waited for a resource (pressure stall information), from `/proc/pressure`
//! and control groups (kernel: Documentation/accounting/psi.rst).

use super::{KernelFiles, KernelText, difference};
use crate::HostError;

/// How long work waited for each resource. `None` where the kernel does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StallTotals {
    /// For a CPU.
    pub cpu: Option<StallTime>,
    /// For memory.
    pub memory: Option<StallTime>,
    /// For disks.
    pub io: Option<StallTime>,
}

/// How long work waited for one resource.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StallTime {
    /// At least one thread waited, nanoseconds.
    pub some_ns: u64,
    /// All of them did, nanoseconds; 0 for a CPU before Linux 5.13.
    pub full_ns: u64,
}

impl StallTotals {
    /// Reads the machine's.
    pub(crate) fn read(files: &KernelFiles) -> Result<StallTotals, HostError> {
        StallTotals::at(files, |resource| format!("proc/pressure/{resource}"))
    }

    /// Reads those of the control group (version 2) whose folder this is.
    pub(crate) fn of_group(files: &KernelFiles, folder: &str) -> Result<StallTotals, HostError> {
        StallTotals::at(files, |resource| format!("{folder}/{resource}.pressure"))
    }

    fn at(files: &KernelFiles, path: impl Fn(&str) -> String) -> Result<StallTotals, HostError> {
        let stall = |resource| {
            let text = files.read_if_there(&path(resource))?;
            text.map(|text| StallTime::parse(&text)).transpose()
        };
        Ok(StallTotals {
            cpu: stall("cpu")?,
            memory: stall("memory")?,
            io: stall("io")?,
        })
    }

    /// What was waited since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &StallTotals) -> StallTotals {
        let stall = |now: Option<StallTime>, then: Option<StallTime>| {
            now.map(|now| now.since(&then.unwrap_or_default()))
        };
        StallTotals {
            cpu: stall(self.cpu, earlier.cpu),
            memory: stall(self.memory, earlier.memory),
            io: stall(self.io, earlier.io),
        }
    }
}

impl StallTime {
    /// `some avg10=0.00 avg60=0.00 avg300=0.00 total=12345`, in microseconds, and the same of
    /// `full`.
    fn parse(pressure: &KernelText) -> Result<StallTime, HostError> {
        let total = |line: &str| {
            let total = line.rsplit_once("total=").map(|(_, total)| total);
            let total_us: u64 = pressure.number(total, "total")?;
            Ok(total_us.saturating_mul(1000))
        };
        let some = pressure
            .after("some ")
            .ok_or_else(|| pressure.malformed("the line `some`"))?;
        let full = pressure.after("full ").map(total).transpose()?;
        Ok(StallTime {
            some_ns: total(some)?,
            full_ns: full.unwrap_or(0),
        })
    }

    /// What was waited since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &StallTime) -> StallTime {
        difference!(self - earlier: some_ns, full_ns)
    }
}
