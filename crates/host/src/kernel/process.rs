//! CPU time, memory and context switches of a process and its threads, from `/proc/PID`.

use super::{KernelFiles, KernelText, difference};
use crate::HostError;
use std::collections::BTreeMap;
use std::time::Duration;

/// Nanoseconds of one tick of `/proc`: `USER_HZ` is 100 on every architecture this runs on
/// (time(7)).
const TICK_NS: u64 = 10_000_000;

/// Bytes of one kB of `/proc`.
const KIB: u64 = 1024;

/// A process since its start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessTimes {
    /// On CPUs, outside of the kernel; of threads that have ended too. Nanoseconds, in steps of
    /// 10 ms.
    pub user_ns: u64,
    /// On CPUs, in the kernel; likewise.
    pub system_ns: u64,
    /// Page faults that waited for a disk.
    pub major_faults: u64,
    /// Memory now; 0 for a process that has ended and was not waited for.
    pub rss_bytes: u64,
    /// Its threads.
    pub threads: Vec<ThreadTimes>,
}

/// One thread since its start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadTimes {
    /// The kernel's number of it.
    pub tid: u32,
    /// Its name, which the kernel cuts to 15 bytes.
    pub name: String,
    /// On a CPU, user and system.
    pub cpu_ns: u64,
    /// Ready to run but not on a CPU; 0 where the kernel does not say.
    pub waiting_ns: u64,
    /// It gave the CPU up.
    pub voluntary_switches: u64,
    /// The CPU was taken away from it.
    pub involuntary_switches: u64,
}

impl ProcessTimes {
    /// Reads `process` (an id, or `self`).
    pub(crate) fn read(files: &KernelFiles, process: &str) -> Result<ProcessTimes, HostError> {
        let stat = ProcessStat::parse(&files.read(&format!("proc/{process}/stat"))?)?;
        let status = files.read(&format!("proc/{process}/status"))?;
        let rss_bytes = resident_bytes(&status)?;
        let mut threads = Vec::new();
        for tid in files.numbers_in(&format!("proc/{process}/task"))? {
            threads.extend(ThreadTimes::read(files, process, tid)?);
        }
        Ok(ProcessTimes {
            user_ns: stat.user_ns,
            system_ns: stat.system_ns,
            major_faults: stat.major_faults,
            rss_bytes,
            threads,
        })
    }

    /// What was spent since `earlier`. A thread that was not there then counts from zero, and one
    /// that has ended since is left out.
    #[must_use]
    pub fn since(&self, earlier: &ProcessTimes) -> ProcessTimes {
        let then: BTreeMap<u32, &ThreadTimes> = earlier
            .threads
            .iter()
            .map(|thread| (thread.tid, thread))
            .collect();
        let thread = |now: &ThreadTimes| match then.get(&now.tid) {
            Some(then) => now.since(then),
            None => now.clone(),
        };
        ProcessTimes {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            rss_bytes: self.rss_bytes,
            threads: self.threads.iter().map(thread).collect(),
        }
    }
}

/// CPU time of another process since its start, user and system, of threads that have ended too.
pub(crate) fn cpu_time_of(files: &KernelFiles, pid: u32) -> Result<Duration, HostError> {
    let stat = files.read(&format!("proc/{pid}/stat"))?;
    Ok(Duration::from_nanos(ProcessStat::parse(&stat)?.cpu_ns()))
}

impl ThreadTimes {
    /// `None` where the thread has ended since the folder was listed.
    fn read(
        files: &KernelFiles,
        process: &str,
        tid: u32,
    ) -> Result<Option<ThreadTimes>, HostError> {
        let file = |name: &str| files.read_if_there(&format!("proc/{process}/task/{tid}/{name}"));
        let (Some(stat), Some(status)) = (file("stat")?, file("status")?) else {
            return Ok(None);
        };
        let stat = ProcessStat::parse(&stat)?;
        // Nanoseconds, where the kernel keeps them (CONFIG_SCHED_INFO); ticks of 10 ms anywhere.
        let exact = file("schedstat")?.map(|text| schedule(&text)).transpose()?;
        let (cpu_ns, waiting_ns) = exact.unwrap_or((stat.cpu_ns(), 0));
        Ok(Some(ThreadTimes {
            tid,
            name: stat.name,
            cpu_ns,
            waiting_ns,
            voluntary_switches: status.number_after("voluntary_ctxt_switches:")?,
            involuntary_switches: status.number_after("nonvoluntary_ctxt_switches:")?,
        }))
    }

    /// What it spent since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &ThreadTimes) -> ThreadTimes {
        difference!(self - earlier: cpu_ns, waiting_ns, voluntary_switches, involuntary_switches;
            tid, name)
    }
}

/// What is of interest in a `stat` file, of a process or of a thread.
pub(crate) struct ProcessStat {
    pub(crate) name: String,
    /// The process that it is a child of.
    pub(crate) parent: u32,
    /// Whether it waits where nothing can wake it: for a disk, mostly.
    pub(crate) is_blocked: bool,
    pub(crate) major_faults: u64,
    pub(crate) user_ns: u64,
    system_ns: u64,
    /// Above 0 it yields to others; below, others to it.
    pub(crate) nice: i64,
    /// When it began, in ticks since boot. With its number this names a process for good.
    pub(crate) started: Option<u64>,
    /// The CPU that it ran on last.
    pub(crate) processor: Option<u32>,
}

impl ProcessStat {
    /// The name stands in parentheses and may hold any byte, so the fields are counted from the
    /// last closing one (proc(5): state is field 3, ppid 4, majflt 12, utime 14, stime 15, nice 19,
    /// starttime 22, processor 39).
    pub(crate) fn parse(stat: &KernelText) -> Result<ProcessStat, HostError> {
        let name = stat
            .text
            .find('(')
            .zip(stat.text.rfind(')'))
            .filter(|(open, close)| open < close);
        let (open, close) = name.ok_or_else(|| stat.malformed("the name in parentheses"))?;
        let mut fields = stat.text[close + 1..].split_whitespace();
        let is_blocked = fields.next() == Some("D");
        let parent = stat.number(fields.next(), "ppid")?;
        let major_faults = stat.number(fields.nth(7), "majflt")?;
        let user: u64 = stat.number(fields.nth(1), "utime")?;
        let system: u64 = stat.number(fields.next(), "stime")?;
        let nice = fields.nth(3).and_then(|word| word.parse().ok());
        Ok(ProcessStat {
            name: stat.text[open + 1..close].to_owned(),
            parent,
            is_blocked,
            major_faults,
            user_ns: user.saturating_mul(TICK_NS),
            system_ns: system.saturating_mul(TICK_NS),
            nice: nice.unwrap_or(0),
            started: fields.nth(2).and_then(|word| word.parse().ok()),
            processor: fields.nth(16).and_then(|word| word.parse().ok()),
        })
    }

    /// Time on CPUs, user and system.
    pub(crate) fn cpu_ns(&self) -> u64 {
        self.user_ns.saturating_add(self.system_ns)
    }
}

/// Resident memory, of a `status` file; 0 of a process that has ended and was not waited for.
pub(crate) fn resident_bytes(status: &KernelText) -> Result<u64, HostError> {
    match status.after("VmRSS:") {
        Some(_) => Ok(status.number_after::<u64>("VmRSS:")?.saturating_mul(KIB)),
        None => Ok(0),
    }
}

/// Nanoseconds on a CPU and waiting for one (kernel: Documentation/scheduler/sched-stats.rst).
/// Finer than the ticks.
pub(crate) fn schedule(schedstat: &KernelText) -> Result<(u64, u64), HostError> {
    let mut words = schedstat.text.split_whitespace();
    Ok((
        schedstat.number(words.next(), "time on a CPU")?,
        schedstat.number(words.next(), "time waiting for a CPU")?,
    ))
}
