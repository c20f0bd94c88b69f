//! CPU time, memory and context switches of this process and its threads.

use crate::HostError;
use crate::kernel_files::{KernelFiles, KernelText};
use std::time::Duration;

/// Nanoseconds of one tick of `/proc`: `USER_HZ` is 100 on every architecture this runs on
/// (time(7)).
const TICK_NS: u64 = 10_000_000;

/// Bytes of one kB of `/proc`.
const KIB: u64 = 1024;

/// This process since its start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProcessTimes {
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
    pub(crate) rss_bytes: u64,
    pub(crate) threads: Vec<ThreadTimes>,
}

/// One thread since its start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ThreadTimes {
    pub(crate) tid: u32,
    pub(crate) name: String,
    /// On a CPU, user and system.
    pub(crate) cpu_ns: u64,
    /// Ready to run but not on a CPU; 0 where the kernel does not say.
    pub(crate) waiting_ns: u64,
    /// It gave the CPU up.
    pub(crate) voluntary_switches: u64,
    /// The CPU was taken away from it.
    pub(crate) involuntary_switches: u64,
}

impl ProcessTimes {
    pub(crate) fn read(files: &KernelFiles) -> Result<ProcessTimes, HostError> {
        let (_, user_ns, system_ns) = times(&files.read("proc/self/stat")?)?;
        let status = files.read("proc/self/status")?;
        let mut threads = Vec::new();
        for tid in files.numbers_in("proc/self/task")? {
            threads.extend(ThreadTimes::read(files, tid)?);
        }
        Ok(ProcessTimes {
            user_ns,
            system_ns,
            rss_bytes: status.number_after::<u64>("VmRSS:")?.saturating_mul(KIB),
            threads,
        })
    }
}

/// CPU time of another process since its start, user and system, of threads that have ended too.
pub(crate) fn cpu_time_of(files: &KernelFiles, pid: u32) -> Result<Duration, HostError> {
    let stat = files.read(&format!("proc/{pid}/stat"))?;
    let (_, user_ns, system_ns) = times(&stat)?;
    Ok(Duration::from_nanos(user_ns.saturating_add(system_ns)))
}

impl ThreadTimes {
    /// `None` where the thread has ended since the folder was listed.
    fn read(files: &KernelFiles, tid: u32) -> Result<Option<ThreadTimes>, HostError> {
        let Some(stat) = files.read_if_there(&format!("proc/self/task/{tid}/stat"))? else {
            return Ok(None);
        };
        let Some(status) = files.read_if_there(&format!("proc/self/task/{tid}/status"))? else {
            return Ok(None);
        };
        let (name, user_ns, system_ns) = times(&stat)?;
        // Nanoseconds, where the kernel keeps them (CONFIG_SCHED_INFO); ticks of 10 ms anywhere.
        let exact = match files.read_if_there(&format!("proc/self/task/{tid}/schedstat"))? {
            Some(schedstat) => Some(schedule(&schedstat)?),
            None => None,
        };
        let (cpu_ns, waiting_ns) = exact.unwrap_or((user_ns.saturating_add(system_ns), 0));
        Ok(Some(ThreadTimes {
            tid,
            name,
            cpu_ns,
            waiting_ns,
            voluntary_switches: status.number_after("voluntary_ctxt_switches:")?,
            involuntary_switches: status.number_after("nonvoluntary_ctxt_switches:")?,
        }))
    }
}

/// Name, user and system time of a `stat` file. The name stands in parentheses and may hold any
/// byte, so the fields are counted from the last closing one (proc(5): utime is field 14, stime
/// 15).
fn times(stat: &KernelText) -> Result<(String, u64, u64), HostError> {
    let name = stat
        .text
        .find('(')
        .zip(stat.text.rfind(')'))
        .filter(|(open, close)| open < close);
    let (open, close) = name.ok_or_else(|| stat.malformed("the name in parentheses"))?;
    let mut fields = stat.text[close + 1..].split_whitespace().skip(11);
    let user: u64 = stat.number(fields.next(), "utime")?;
    let system: u64 = stat.number(fields.next(), "stime")?;
    Ok((
        stat.text[open + 1..close].to_owned(),
        user.saturating_mul(TICK_NS),
        system.saturating_mul(TICK_NS),
    ))
}

/// Nanoseconds on a CPU and waiting for one (kernel: Documentation/scheduler/sched-stats.rst).
/// Finer than the ticks.
fn schedule(schedstat: &KernelText) -> Result<(u64, u64), HostError> {
    let mut words = schedstat.text.split_whitespace();
    Ok((
        schedstat.number(words.next(), "time on a CPU")?,
        schedstat.number(words.next(), "time waiting for a CPU")?,
    ))
}
