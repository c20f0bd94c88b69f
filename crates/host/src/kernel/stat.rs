//! CPU time of the machine and its run queue, from `/proc/stat`.

use super::KernelText;
use super::difference;
use crate::HostError;
use std::collections::BTreeMap;

/// Time of one CPU, or of all together, in ticks of 1/100 s since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// User and nice.
    pub user: u64,
    /// The part of `user` that programs of a lower priority (nice above 0) used.
    pub niced: u64,
    /// In the kernel, interrupts left out.
    pub system: u64,
    /// Hard interrupts.
    pub irq: u64,
    /// Soft interrupts: most of the work for a network.
    pub softirq: u64,
    /// Taken by the hypervisor for others.
    pub steal: u64,
    /// Idle, also while waiting for disks.
    pub idle: u64,
    /// The part of `idle` in which a thread waited for a disk.
    pub waiting_for_disk: u64,
}

/// What `/proc/stat` says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineTimes {
    /// All CPUs together.
    pub total: CpuTimes,
    /// By CPU number; a CPU that is off is absent.
    pub cpus: BTreeMap<u32, CpuTimes>,
    /// Context switches since boot.
    pub context_switches: u64,
    /// Threads that run or wait for a CPU, now; the reader is one of them.
    pub running: u64,
    /// Threads that wait for disks, now.
    pub blocked: u64,
}

impl MachineTimes {
    pub(crate) fn parse(stat: &KernelText) -> Result<MachineTimes, HostError> {
        let mut times = MachineTimes {
            context_switches: stat.number_after("ctxt ")?,
            running: stat.number_after("procs_running ")?,
            blocked: stat.number_after("procs_blocked ")?,
            ..MachineTimes::default()
        };
        let total = stat
            .after("cpu ")
            .ok_or_else(|| stat.malformed("the line `cpu`"))?;
        times.total = CpuTimes::parse(stat, total)?;
        let lines = stat
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("cpu"));
        // The line without a number is the total.
        for line in lines.filter(|line| !line.starts_with(' ')) {
            let (number, rest) = line
                .split_once(' ')
                .ok_or_else(|| stat.malformed("a line of one CPU"))?;
            let number = stat.number(Some(number), "a CPU's number")?;
            times.cpus.insert(number, CpuTimes::parse(stat, rest)?);
        }
        Ok(times)
    }

    /// What was spent since `earlier`. A CPU that was off then is absent: its ticks are those since
    /// boot.
    #[must_use]
    pub fn since(&self, earlier: &MachineTimes) -> MachineTimes {
        let cpus = self.cpus.iter();
        MachineTimes {
            total: self.total.since(&earlier.total),
            cpus: cpus
                .filter_map(|(number, now)| Some((*number, now.since(earlier.cpus.get(number)?))))
                .collect(),
            context_switches: self
                .context_switches
                .saturating_sub(earlier.context_switches),
            running: self.running,
            blocked: self.blocked,
        }
    }
}

impl CpuTimes {
    fn parse(stat: &KernelText, words: &str) -> Result<CpuTimes, HostError> {
        let ticks: Vec<u64> = words
            .split_whitespace()
            .map(|word| stat.number(Some(word), "a CPU's ticks"))
            .collect::<Result<_, _>>()?;
        let &[user, nice, system, idle, iowait, irq, softirq, steal, ..] = ticks.as_slice() else {
            return Err(stat.malformed("eight numbers for a CPU"));
        };
        Ok(CpuTimes {
            user: user.saturating_add(nice),
            niced: nice,
            system,
            irq,
            softirq,
            steal,
            idle: idle.saturating_add(iowait),
            waiting_for_disk: iowait,
        })
    }

    /// Time since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &CpuTimes) -> CpuTimes {
        difference!(self - earlier: user, niced, system, irq, softirq, steal, idle,
            waiting_for_disk)
    }

    /// All of it.
    #[must_use]
    pub fn total(&self) -> u64 {
        let Self {
            user,
            niced: _,
            system,
            irq,
            softirq,
            steal,
            idle,
            waiting_for_disk: _,
        } = *self;
        [user, system, irq, softirq, steal, idle]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}
