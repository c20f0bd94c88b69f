//! Watches a machine, second by second, as the processes of interest see it.

mod accept_queues;
mod blocked_looks;
mod network_reading;
mod process_reading;
mod process_table;

pub use process_table::ProcessChoice;

use crate::facts::cpus_allowed;
use crate::kernel::{
    ControlGroup, CpuTimes, GroupBandwidth, GroupCounters, GroupMemory, KernelFiles, MachineTimes,
    MemoryState, StallTime, StallTotals,
};
use crate::limits::ports_to_connect_from;
use crate::{
    BeforeLoad, GroupSecond, HostError, Observation, ProcessBeforeLoad, ProcessSecond, Sampler,
};
use accept_queues::AcceptQueues;
use blocked_looks::BlockedLooks;
use network_reading::NetworkReading;
use process_reading::{IsWorker, ProcessReading, ThreadNames, name_busiest};
use process_table::ProcessTable;
use std::collections::BTreeMap;
use std::path::Path;

/// Processes of an observation: the busiest.
const PROCESSES_MAX: usize = 64;

/// A quota that stops a group in this share of the periods may be what holds it back.
const STOPPED_OFTEN: f32 = 0.05;

/// Nanoseconds of one tick of `/proc/stat` (time(7)).
const TICK_NS: f64 = 10_000_000.0;

/// Whose view of the machine counts, and whose work is reported.
#[derive(Debug, Clone)]
pub enum WatchedProcesses {
    /// This process; threads that this picks by name do its work.
    Own(fn(&str) -> bool),
    /// These, with their children; without any the machine as this process sees it.
    Chosen(Vec<ProcessChoice>),
}

/// Watches a machine. CPUs, control group and network namespace are those of the first watched
/// process, or of this one where none is there.
#[derive(Debug)]
pub struct MachineWatch {
    files: KernelFiles,
    watched: WatchedProcesses,
    /// Folder of the control group whose limits count, where that was chosen.
    group: Option<String>,
    table: ProcessTable,
    queues: AcceptQueues,
    blocked: BlockedLooks,
    /// Pairs of a source and a target address that this process connects, each with ports of its
    /// own.
    port_pairs: usize,
    last: Option<MachineReading>,
    /// The last reading within the second that began at `last`, if there was one.
    cut: Option<MachineReading>,
}

/// A thread that waits on its CPU instead of sleeping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpunThread {
    /// Its name.
    pub name: String,
    /// For how long it has done so since it began, nanoseconds.
    pub ns: u64,
}

/// Everything at one moment.
#[derive(Debug)]
struct MachineReading {
    at_ns: u64,
    machine: MachineTimes,
    stalls: StallTotals,
    memory: MemoryState,
    /// The control group whose limits count, and what they did.
    limited: ControlGroup,
    group: GroupCounters,
    network: NetworkReading,
    processes: Vec<ProcessReading>,
    cpus_allowed: Vec<u32>,
    spun: Vec<SpunThread>,
}

impl MachineWatch {
    /// Watches this machine.
    #[must_use]
    pub fn new(watched: WatchedProcesses) -> MachineWatch {
        MachineWatch::at(Path::new("/"), watched)
    }

    /// Watches by the files `proc/…` and `sys/…` below `root`.
    #[must_use]
    pub fn at(root: &Path, watched: WatchedProcesses) -> MachineWatch {
        MachineWatch {
            files: KernelFiles::new(root),
            watched,
            group: None,
            table: ProcessTable::default(),
            queues: AcceptQueues::default(),
            blocked: BlockedLooks::default(),
            port_pairs: 1,
            last: None,
            cut: None,
        }
    }

    /// For a process that connects `port_pairs` pairs of a source and a target address.
    #[must_use]
    pub fn with_port_pairs(self, port_pairs: usize) -> MachineWatch {
        MachineWatch { port_pairs, ..self }
    }

    /// Lets the limits of this control group count: a folder below `/sys/fs/cgroup`, or its path as
    /// `/proc/PID/cgroup` writes it.
    #[must_use]
    pub fn with_group(self, folder: String) -> MachineWatch {
        MachineWatch {
            group: Some(folder),
            ..self
        }
    }

    /// The next observation counts from here.
    ///
    /// # Errors
    /// A file cannot be read, or is not what proc(5) promises.
    pub fn begin(&mut self) -> Result<(), HostError> {
        self.last = None;
        self.last = Some(self.read(&[])?);
        Ok(())
    }

    /// Looks at what changes within milliseconds: accept queues, and which of the chosen processes
    /// wait for a disk.
    pub fn look(&mut self) {
        self.queues.look();
        if let (WatchedProcesses::Chosen(_), Some(last)) = (&self.watched, &self.last) {
            self.blocked.look(&self.files, &last.processes);
        }
    }

    /// What was done since [`MachineWatch::begin`], up to which there was no load. The next
    /// observation counts from here.
    ///
    /// # Errors
    /// As [`MachineWatch::begin`].
    pub fn observe_before_load(&mut self, spun: &[SpunThread]) -> Result<BeforeLoad, HostError> {
        let Observation {
            elapsed_ns,
            cpu_busy,
            processes,
            ..
        } = self.observe(spun)?;
        let process = |process: ProcessSecond| ProcessBeforeLoad {
            pid: process.pid,
            cpus: process.cpus,
            busiest_thread_share: process.busiest_thread_share,
        };
        Ok(BeforeLoad {
            elapsed_ns,
            cpu_busy,
            processes: processes.into_iter().map(process).collect(),
        })
    }

    /// What was done since the last observation. The time that threads of this process have only
    /// `spun` is no work. A few dozen small files: about a millisecond, so once a second.
    ///
    /// # Errors
    /// As [`MachineWatch::begin`]; the next one covers the time then.
    pub fn observe(&mut self, spun: &[SpunThread]) -> Result<Observation, HostError> {
        self.look();
        let now = self.read(spun)?;
        self.cut = None;
        let Some(earlier) = self.last.take() else {
            self.last = Some(now);
            return Ok(Observation::default());
        };
        let mut observation = self.compare(&now, &earlier);
        let pids: Vec<u32> = now.processes.iter().map(|process| process.pid).collect();
        observation.accept_queues = self.queues.queues(&self.files, &pids);
        observation.ports = self.ports(&now);
        self.blocked = BlockedLooks::default();
        self.last = Some(now);
        Ok(observation)
    }

    /// What was done since the last observation or the last cut, without the queues, for a part of
    /// the run that ends within a second. The observation of that second still covers all of it.
    ///
    /// # Errors
    /// As [`MachineWatch::begin`]; the next cut covers the time then.
    pub fn cut(&mut self, spun: &[SpunThread]) -> Result<Observation, HostError> {
        let now = self.read(spun)?;
        let earlier = self.cut.as_ref().or(self.last.as_ref());
        let observation = earlier.map(|earlier| self.compare(&now, earlier));
        self.cut = Some(now);
        Ok(observation.unwrap_or_default())
    }

    /// The processes that are watched, as they are now, by number.
    ///
    /// # Errors
    /// As [`MachineWatch::begin`].
    pub fn pids(&mut self) -> Result<Vec<u32>, HostError> {
        match &self.watched {
            WatchedProcesses::Own(_) => Ok(vec![std::process::id()]),
            WatchedProcesses::Chosen(choices) if choices.is_empty() => Ok(Vec::new()),
            WatchedProcesses::Chosen(choices) => {
                self.table.look(&self.files)?;
                Ok(self.table.select(choices))
            }
        }
    }

    /// The processes that were chosen.
    #[must_use]
    pub fn choices(&self) -> &[ProcessChoice] {
        match &self.watched {
            WatchedProcesses::Own(_) => &[],
            WatchedProcesses::Chosen(choices) => choices,
        }
    }

    /// Those of which there was none when it was looked last.
    #[must_use]
    pub fn missing(&self) -> Vec<&ProcessChoice> {
        let chosen = self.choices().iter();
        chosen.filter(|choice| !self.table.has(choice)).collect()
    }

    /// The control group that was chosen, if there is no such folder now.
    #[must_use]
    pub fn missing_group(&self) -> Option<&str> {
        let folder = self.group.as_deref();
        folder.filter(|folder| ControlGroup::at(&self.files, folder).is_none())
    }

    fn read(&mut self, spun: &[SpunThread]) -> Result<MachineReading, HostError> {
        let names = match self.watched {
            WatchedProcesses::Own(_) => ThreadNames::Read,
            WatchedProcesses::Chosen(_) => ThreadNames::Left,
        };
        let mut processes = Vec::new();
        for pid in self.pids()? {
            processes.extend(ProcessReading::read(&self.files, pid, names)?);
        }
        // The first may have ended meanwhile; this process is always there.
        let first = processes.first().map(|process| process.pid.to_string());
        let reading = match first {
            Some(first) => self.read_as(&first).or_else(|_| self.read_as("self"))?,
            None => self.read_as("self")?,
        };
        let allowed = processes.iter().flat_map(|process| &process.cpus_allowed);
        let mut cpus_allowed: Vec<u32> = allowed.copied().collect();
        if cpus_allowed.is_empty() {
            cpus_allowed = reading.cpus_allowed;
        }
        cpus_allowed.sort_unstable();
        cpus_allowed.dedup();
        Ok(MachineReading {
            processes,
            cpus_allowed,
            spun: spun.to_vec(),
            ..reading
        })
    }

    /// All but the processes, as `process` (an id, or `self`) sees it.
    fn read_as(&mut self, process: &str) -> Result<MachineReading, HostError> {
        let files = &self.files;
        let sampler = Sampler::on(files.clone(), process);
        let network = NetworkReading::read(files, process)?;
        let limited = match &self.group {
            // It may come later, and anew with each start of what is in it.
            Some(folder) => ControlGroup::at(files, folder),
            None => Some(ControlGroup::read(files, process)?),
        };
        let group = match &limited {
            Some(limited) => limited.counters(files)?,
            None => GroupCounters::default(),
        };
        let reading = MachineReading {
            at_ns: Sampler::now(),
            machine: sampler.machine_times()?,
            stalls: sampler.stalls()?,
            memory: sampler.memory()?,
            limited: limited.unwrap_or_default(),
            group,
            network,
            processes: Vec::new(),
            cpus_allowed: cpus_allowed(&files.read(&format!("proc/{process}/status"))?)?,
            spun: Vec::new(),
        };
        let namespace = &reading.network.namespace;
        self.queues.aim(&self.files, namespace, process);
        Ok(reading)
    }

    /// What was done between two readings, queues and ports left out.
    fn compare(&self, now: &MachineReading, earlier: &MachineReading) -> Observation {
        let spun = now.spins_since(earlier);
        Observation {
            processes: self.processes_since(now, earlier, &spun),
            ..now.since(earlier, &spun)
        }
    }

    fn processes_since(
        &self,
        now: &MachineReading,
        earlier: &MachineReading,
        spun: &[SpunThread],
    ) -> Vec<ProcessSecond> {
        let is_worker: IsWorker = match self.watched {
            WatchedProcesses::Own(is_worker) => is_worker,
            WatchedProcesses::Chosen(_) => |_| true,
        };
        let elapsed_ns = now.at_ns.saturating_sub(earlier.at_ns);
        let second = |process: &ProcessReading| {
            process.since(&earlier.processes, elapsed_ns, spun, is_worker)
        };
        let mut seconds: Vec<ProcessSecond> = now.processes.iter().map(second).collect();
        seconds.sort_by(|a, b| b.cpus.total_cmp(&a.cpus));
        seconds.truncate(PROCESSES_MAX);
        for second in &mut seconds {
            name_busiest(&self.files, second);
            second.blocked = self.blocked.share(second.pid);
        }
        seconds
    }

    /// Local ports in use by how many there are. Only of this process, which opens connections: a
    /// server's sockets are mostly accepted, and these take no port of their own. Its open files
    /// are the most that it can use, and those of a server beside it are not counted.
    fn ports(&self, now: &MachineReading) -> Option<f32> {
        let WatchedProcesses::Own(_) = self.watched else {
            return None;
        };
        let each = ports_to_connect_from(&self.files).ok()?;
        let sockets = now.network.sockets?;
        let open = now.processes.first()?.open_files()?;
        let used = sockets.in_use.min(open).saturating_add(sockets.time_wait);
        let all = each as f32 * self.port_pairs as f32;
        Some((used as f32 / all).min(1.0))
    }
}

impl MachineReading {
    /// For how long each thread spun since `earlier`. One that was not there then began since.
    fn spins_since(&self, earlier: &MachineReading) -> Vec<SpunThread> {
        let before = |name: &str| earlier.spun.iter().find(|thread| thread.name == name);
        let since = |thread: &SpunThread| SpunThread {
            name: thread.name.clone(),
            ns: thread
                .ns
                .saturating_sub(before(&thread.name).map_or(0, |before| before.ns)),
        };
        self.spun.iter().map(since).collect()
    }

    /// What was done since `earlier`, processes and queues left out.
    fn since(&self, earlier: &MachineReading, spun: &[SpunThread]) -> Observation {
        let elapsed_ns = self.at_ns.saturating_sub(earlier.at_ns);
        let network = self.network.since(&earlier.network);
        let memory = self.memory.since(&earlier.memory);
        let stalls = self.stalls.since(&earlier.stalls);
        let stall = |time: Option<StallTime>| Some(share(time?.some_ns, elapsed_ns).min(1.0));
        // If the first process has ended, the next one may be in another group.
        let is_same_group = self.limited == earlier.limited;
        let before = if is_same_group {
            &earlier.group
        } else {
            &self.group
        };
        let observation = Observation {
            elapsed_ns,
            running: self.machine.running.saturating_sub(1) as u32,
            cpu_stall: stall(stalls.cpu),
            memory_stall: stall(stalls.memory),
            io_stall: stall(stalls.io),
            group: group(&self.group.since(before)),
            memory_available_bytes: memory.available_bytes,
            swapped_pages: memory.swapped_in.saturating_add(memory.swapped_out),
            major_faults: memory.major_faults,
            interfaces: network.interfaces,
            backlog_drops: network.backlog_drops,
            squeezed: network.squeezed,
            tcp: network.tcp,
            conntrack: self.network.conntrack_fill(),
            conntrack_drops: network.conntrack_drops,
            ..Observation::default()
        };
        self.with_cpus(observation, earlier, spun)
    }

    fn with_cpus(
        &self,
        observation: Observation,
        earlier: &MachineReading,
        spun: &[SpunThread],
    ) -> Observation {
        let spent = self.machine.since(&earlier.machine);
        let all = || spent.cpus.iter();
        let waited = self.spun_by_cpu(earlier, spun);
        let is_allowed =
            |&(number, _): &(&u32, &CpuTimes)| self.cpus_allowed.binary_search(number).is_ok();
        let sum = |part: fn(&CpuTimes) -> u64| {
            let parts = all().filter(is_allowed).map(|(_, times)| part(times));
            parts.fold(0, u64::saturating_add) as f64
        };
        let niced = sum(|times| times.niced) - self.niced_ns(earlier) as f64 / TICK_NS;
        let waiting_for_disk = sum(|times| times.waiting_for_disk);
        let allowed: Vec<(u32, f64, f64)> = all()
            .filter(is_allowed)
            .map(|(number, times)| {
                let waited = waited.get(number).map_or(0.0, |ns| *ns as f64 / TICK_NS);
                let busy = times.total().saturating_sub(times.idle) as f64;
                (*number, (busy - waited).max(0.0), times.total() as f64)
            })
            .collect();
        let of = |part: f64, whole: f64| {
            if whole > 0.0 {
                (part / whole) as f32
            } else {
                0.0
            }
        };
        let busy: f64 = allowed.iter().map(|(_, busy, _)| busy).sum();
        let whole: f64 = allowed.iter().map(|(_, _, whole)| whole).sum();
        let shares = allowed
            .iter()
            .map(|&(number, busy, whole)| (number, of(busy, whole)));
        let busiest = shares.max_by(|a, b| a.1.total_cmp(&b.1));
        let (busiest_cpu_number, busiest_cpu) = busiest.unwrap_or_default();
        let total = spent.total.total();
        let all_busy = total.saturating_sub(spent.total.idle) as f64;
        let all_waited = waited.values().sum::<u64>() as f64 / TICK_NS;
        let most = |part: fn(&CpuTimes) -> u64| {
            let shares = all().map(|(_, times)| share(part(times), times.total()));
            shares.fold(0.0, f32::max)
        };
        Observation {
            cpu_busy: of(busy, whole),
            machine_busy: of((all_busy - all_waited).max(0.0), total as f64),
            cpus: allowed.len() as u32,
            cpu_niced: of(niced.max(0.0), whole),
            cpu_waiting_for_disk: of(waiting_for_disk, whole),
            busiest_cpu,
            busiest_cpu_number,
            softirq: share(spent.total.softirq, total),
            busiest_softirq: most(|times| times.softirq),
            steal: share(spent.total.steal, total),
            worst_steal: most(|times| times.steal),
            ..observation
        }
    }

    /// The watched processes, which count at any priority.
    fn niced_ns(&self, earlier: &MachineReading) -> u64 {
        let processes = self.processes.iter();
        let niced = processes.map(|process| process.niced_ns_since(&earlier.processes));
        niced.fold(0, u64::saturating_add)
    }

    /// How long threads only waited, by the CPU that they last ran on. Those that have ended since
    /// `earlier` ran there.
    fn spun_by_cpu(&self, earlier: &MachineReading, spun: &[SpunThread]) -> BTreeMap<u32, u64> {
        let readings = || self.processes.iter().chain(&earlier.processes);
        let mut by_cpu = BTreeMap::new();
        for thread in spun {
            if let Some(cpu) = readings().find_map(|process| process.cpu_of_thread(&thread.name)) {
                *by_cpu.entry(cpu).or_default() += thread.ns;
            }
        }
        by_cpu
    }
}

/// `None` where nothing is limited, and nothing was killed or read again.
fn group(counted: &GroupCounters) -> Option<GroupSecond> {
    let stopped = |group: &GroupBandwidth| share(group.throttled_periods, group.periods);
    // If none stopped it often, the smallest quota is the nearest limit.
    let often = |group: &GroupBandwidth| match stopped(group) {
        share if share < STOPPED_OFTEN => 0.0,
        share => share,
    };
    let narrowest = counted.bandwidth.iter().max_by(|one, other| {
        let by_quota = other.quota.total_cmp(&one.quota);
        often(one).total_cmp(&often(other)).then(by_quota)
    });
    let fill = |group: &GroupMemory| {
        // A cache fills what it gets, which is no lack of memory.
        let needed = group.current_bytes.saturating_sub(group.idle_cache_bytes);
        Some(share(needed, group.limit_bytes?))
    };
    let memory = &counted.memory;
    let hits = memory.iter().map(|group| group.limit_hits);
    // Processes are killed in a group without a limit too: for one around it, or for the machine.
    let own = memory.first().copied().unwrap_or_default();
    let second = GroupSecond {
        quota: narrowest.map(|group| group.quota),
        throttled: narrowest.map_or(0.0, stopped),
        throttled_ns: narrowest.map_or(0, |group| group.throttled_ns),
        memory: memory.iter().filter_map(fill).reduce(f32::max),
        memory_limit_hits: hits.max().unwrap_or(0),
        oom_kills: own.oom_kills,
        refaults: own.refaults,
    };
    (second != GroupSecond::default()).then_some(second)
}

/// A part of a whole; 0 of nothing.
fn share(part: u64, whole: u64) -> f32 {
    if whole == 0 {
        0.0
    } else {
        (part as f64 / whole as f64) as f32
    }
}
