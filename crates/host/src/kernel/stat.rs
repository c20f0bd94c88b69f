//! CPU time of the machine, from `/proc/stat`.

use crate::HostError;
use crate::kernel_files::KernelText;

/// Time of one CPU, or of all together, in ticks of 1/100 s since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CpuTimes {
    /// User and nice.
    pub(crate) user: u64,
    /// System and hard interrupts.
    pub(crate) system: u64,
    pub(crate) softirq: u64,
    /// Taken by the hypervisor for others.
    pub(crate) steal: u64,
    /// Idle and waiting for disks.
    pub(crate) idle: u64,
}

/// What `/proc/stat` says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MachineTimes {
    pub(crate) total: CpuTimes,
    /// By CPU number; a CPU that is off is absent.
    pub(crate) cpus: Vec<(u32, CpuTimes)>,
    pub(crate) context_switches: u64,
}

impl MachineTimes {
    pub(crate) fn parse(stat: &KernelText) -> Result<MachineTimes, HostError> {
        let mut times = MachineTimes {
            context_switches: stat.number_after("ctxt ")?,
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
            times.cpus.push((number, CpuTimes::parse(stat, rest)?));
        }
        Ok(times)
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
            system: system.saturating_add(irq),
            softirq,
            steal,
            idle: idle.saturating_add(iowait),
        })
    }

    /// Time since `earlier`. Counters may step back a little (iowait does); that counts as nothing.
    pub(crate) fn since(&self, earlier: &CpuTimes) -> CpuTimes {
        CpuTimes {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            softirq: self.softirq.saturating_sub(earlier.softirq),
            steal: self.steal.saturating_sub(earlier.steal),
            idle: self.idle.saturating_sub(earlier.idle),
        }
    }

    pub(crate) fn total(&self) -> u64 {
        [self.user, self.system, self.softirq, self.steal, self.idle]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}
