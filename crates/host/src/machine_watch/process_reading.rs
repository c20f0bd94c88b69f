//! A watched process at one moment, and what it did between two.

use super::SpunThread;
use crate::facts::cpus_allowed;
use crate::kernel::{Descriptors, KernelFiles, ProcessStat, resident_bytes, schedule};
use crate::{HostError, ProcessSecond};
use std::collections::BTreeMap;

/// Tells by its name whether a thread does the work of its process.
pub(super) type IsWorker = fn(&str) -> bool;

/// A process at one moment.
#[derive(Debug)]
pub(super) struct ProcessReading {
    pub(super) pid: u32,
    name: String,
    started: Option<u64>,
    cpu_ns: u64,
    /// Outside of the kernel, of one with a lower priority (nice above 0).
    niced_ns: u64,
    major_faults: u64,
    rss_bytes: u64,
    pub(super) cpus_allowed: Vec<u32>,
    descriptors: Option<Descriptors>,
    threads: BTreeMap<u32, ThreadReading>,
}

/// A thread at one moment.
#[derive(Debug, Default)]
struct ThreadReading {
    cpu_ns: u64,
    waiting_ns: u64,
    named: Option<NamedThread>,
}

/// What is read of each thread only where workers are to be told from others.
#[derive(Debug)]
struct NamedThread {
    name: String,
    processor: Option<u32>,
}

/// What a thread spent between two readings, nanoseconds.
struct ThreadSpent {
    tid: u32,
    cpu_ns: u64,
    waiting_ns: u64,
    is_worker: bool,
}

impl ProcessReading {
    /// `None` where it has ended. Whether threads need a name depends on the caller.
    pub(super) fn read(
        files: &KernelFiles,
        pid: u32,
        names: ThreadNames,
    ) -> Result<Option<ProcessReading>, HostError> {
        let file = |name: &str| files.read_if_there(&format!("proc/{pid}/{name}"));
        let (Some(stat), Some(status)) = (file("stat")?, file("status")?) else {
            return Ok(None);
        };
        let stat = ProcessStat::parse(&stat)?;
        let mut threads = BTreeMap::new();
        // It may end at any moment, and then it has no threads.
        let tids = files.numbers_in(&format!("proc/{pid}/task"));
        for tid in tids.unwrap_or_default() {
            let thread = ThreadReading::read(files, &format!("proc/{pid}/task/{tid}"), names)?;
            threads.extend(thread.map(|thread| (tid, thread)));
        }
        Ok(Some(ProcessReading {
            pid,
            cpu_ns: stat.cpu_ns(),
            niced_ns: if stat.nice > 0 { stat.user_ns } else { 0 },
            major_faults: stat.major_faults,
            name: stat.name,
            started: stat.started,
            rss_bytes: resident_bytes(&status)?,
            cpus_allowed: cpus_allowed(&status)?,
            descriptors: Descriptors::read(files, &pid.to_string())?,
            threads,
        }))
    }

    /// Open files and sockets; `None` where they may not be counted.
    pub(super) fn open_files(&self) -> Option<u64> {
        Some(self.descriptors?.open)
    }

    /// Its threads, as paths of their files.
    pub(super) fn thread_files(&self) -> impl Iterator<Item = String> {
        let tids = self.threads.keys();
        tids.map(|tid| format!("proc/{}/task/{tid}/stat", self.pid))
    }

    /// What it used at a lower priority since the same process among `earlier`, nanoseconds.
    pub(super) fn niced_ns_since(&self, earlier: &[ProcessReading]) -> u64 {
        let same = self.same_among(earlier);
        same.map_or(0, |then| self.niced_ns.saturating_sub(then.niced_ns))
    }

    fn same_among<'r>(&self, earlier: &'r [ProcessReading]) -> Option<&'r ProcessReading> {
        let identity = |one: &ProcessReading| (one.pid, one.started);
        earlier.iter().find(|one| identity(one) == identity(self))
    }

    /// What it did since the reading of the same process among `earlier`. One that is new is not
    /// known to have done anything: it may have been there for long.
    pub(super) fn since(
        &self,
        earlier: &[ProcessReading],
        elapsed_ns: u64,
        spun: &[SpunThread],
        is_worker: IsWorker,
    ) -> ProcessSecond {
        let descriptors = self.descriptors.unwrap_or_default();
        let mut second = ProcessSecond {
            name: self.name.clone(),
            pid: self.pid,
            threads: self.threads.len() as u32,
            rss_bytes: self.rss_bytes,
            descriptors: descriptors.open,
            descriptors_limit: descriptors.limit,
            ..ProcessSecond::default()
        };
        let Some(earlier) = self.same_among(earlier) else {
            return second;
        };
        let share = |ns: u64| (ns as f64 / elapsed_ns.max(1) as f64) as f32;
        let waited: u64 = spun.iter().map(|thread| thread.ns).sum();
        let used = self.cpu_ns.saturating_sub(earlier.cpu_ns);
        second.cpus = share(used.saturating_sub(waited));
        second.major_faults = self.major_faults.saturating_sub(earlier.major_faults);
        let spent = self.threads_since(earlier, spun, is_worker);
        let longest = spent.iter().map(|thread| thread.waiting_ns).max();
        second.longest_waiting = share(longest.unwrap_or(0));
        let workers = spent.iter().filter(|thread| thread.is_worker);
        if let Some(busiest) = workers.max_by_key(|thread| thread.cpu_ns) {
            second.busiest_thread_share = share(busiest.cpu_ns);
            second.busiest_thread_waiting = share(busiest.waiting_ns);
            second.busiest_thread = busiest.tid.to_string();
        }
        second
    }

    fn threads_since(
        &self,
        earlier: &ProcessReading,
        spun: &[SpunThread],
        is_worker: IsWorker,
    ) -> Vec<ThreadSpent> {
        let new = ThreadReading::default();
        let spent = |(tid, now): (&u32, &ThreadReading)| {
            let then = earlier.threads.get(tid).unwrap_or(&new);
            let used = now.cpu_ns.saturating_sub(then.cpu_ns);
            ThreadSpent {
                tid: *tid,
                cpu_ns: used.saturating_sub(now.spun_ns(spun)),
                waiting_ns: now.waiting_ns.saturating_sub(then.waiting_ns),
                is_worker: now
                    .named
                    .as_ref()
                    .is_none_or(|named| is_worker(&named.name)),
            }
        };
        self.threads.iter().map(spent).collect()
    }

    /// The CPU that its thread of this name ran on last.
    pub(super) fn cpu_of_thread(&self, name: &str) -> Option<u32> {
        let mut named = self
            .threads
            .values()
            .filter_map(|thread| thread.named.as_ref());
        named.find(|thread| thread.name == name)?.processor
    }
}

/// Whether threads are told from one another by their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThreadNames {
    Read,
    Left,
}

impl ThreadReading {
    /// `None` where it has ended.
    fn read(
        files: &KernelFiles,
        folder: &str,
        names: ThreadNames,
    ) -> Result<Option<ThreadReading>, HostError> {
        let exact = files.read_if_there(&format!("{folder}/schedstat"))?;
        let exact = exact.map(|text| schedule(&text)).transpose()?;
        if let Some((cpu_ns, waiting_ns)) = exact
            && names == ThreadNames::Left
        {
            return Ok(Some(ThreadReading {
                cpu_ns,
                waiting_ns,
                named: None,
            }));
        }
        let Some(stat) = files.read_if_there(&format!("{folder}/stat"))? else {
            return Ok(None);
        };
        let stat = ProcessStat::parse(&stat)?;
        // Ticks of 10 ms where the kernel keeps nothing finer.
        let (cpu_ns, waiting_ns) = exact.unwrap_or((stat.cpu_ns(), 0));
        let named = (names == ThreadNames::Read).then_some(NamedThread {
            name: stat.name,
            processor: stat.processor,
        });
        Ok(Some(ThreadReading {
            cpu_ns,
            waiting_ns,
            named,
        }))
    }

    fn spun_ns(&self, spun: &[SpunThread]) -> u64 {
        let own = self.named.iter().flat_map(|named| {
            let of_it = |thread: &&SpunThread| thread.name == named.name;
            spun.iter().find(of_it)
        });
        own.map(|thread| thread.ns).sum()
    }
}

/// What is only read of the busiest thread: its name, and on how many CPUs it may run. `second`
/// has its number for a name so far.
pub(super) fn name_busiest(files: &KernelFiles, second: &mut ProcessSecond) {
    let (pid, tid) = (second.pid, std::mem::take(&mut second.busiest_thread));
    let status = files.read_if_there(&format!("proc/{pid}/task/{tid}/status"));
    if let Ok(Some(status)) = status {
        second.busiest_thread = status.after("Name:").unwrap_or_default().to_owned();
        let allowed = cpus_allowed(&status);
        second.busiest_thread_cpus = allowed.map_or(0, |cpus| cpus.len() as u32);
    }
}
