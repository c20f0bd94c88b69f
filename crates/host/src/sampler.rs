//! Takes samples.

use crate::kernel::{
    Conntrack, ControlGroup, Descriptors, GroupCounters, InterfaceCounters, KernelFiles,
    MachineTimes, MemoryState, ProcessTimes, SocketCounts, SoftnetCounters, StallTotals,
    TcpCounters, cpu_time_of, interfaces, softnet,
};
use crate::route::interface_to;
use crate::{Facts, HostError, MachineLimits, MachineRoute};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

/// Takes samples of this machine and a process: this one, or another.
#[derive(Debug, Clone)]
pub struct Sampler {
    files: KernelFiles,
    /// An id, or `self`.
    process: String,
}

impl Default for Sampler {
    fn default() -> Sampler {
        Sampler::new()
    }
}

impl Sampler {
    /// A sampler of this machine and this process.
    #[must_use]
    pub fn new() -> Sampler {
        Sampler::at(Path::new("/"))
    }

    /// A sampler of the files `proc/…` and `sys/…` below `root`.
    #[must_use]
    pub fn at(root: &Path) -> Sampler {
        Sampler {
            files: KernelFiles::new(root),
            process: "self".to_owned(),
        }
    }

    pub(crate) fn on(files: KernelFiles, process: &str) -> Sampler {
        Sampler {
            files,
            process: process.to_owned(),
        }
    }

    /// A sampler of another process with its threads, control group and network namespace.
    #[must_use]
    pub fn watching(self, pid: u32) -> Sampler {
        Sampler {
            process: pid.to_string(),
            ..self
        }
    }

    /// What does not change while a run lasts, of this process.
    ///
    /// # Errors
    /// A file cannot be read, or is not what proc(5) promises.
    pub fn facts(&self) -> Result<Facts, HostError> {
        Facts::read(&self.files)
    }

    /// What bounds a load on this machine, and by which interfaces it reaches these addresses, as
    /// far as the kernel tells.
    ///
    /// # Errors
    /// As [`Sampler::facts`].
    pub fn limits(&self, addresses: &[IpAddr]) -> Result<MachineLimits, HostError> {
        let interfaces = match addresses {
            [] => BTreeMap::new(),
            _ => self.interfaces()?,
        };
        let route = |address: &IpAddr| {
            let interface = interface_to(*address)?;
            let speed_mbit = interfaces.get(&interface)?.speed_mbit;
            Some(MachineRoute {
                interface,
                speed_mbit,
            })
        };
        let routes = addresses.iter().map(route).collect();
        MachineLimits::read(&self.files, &self.process, routes)
    }

    /// CPU time that another process has used since its start, in steps of 10 ms.
    ///
    /// # Errors
    /// As [`Sampler::facts`]; also where there is no such process any more.
    pub fn cpu_time_of(&self, pid: u32) -> Result<Duration, HostError> {
        cpu_time_of(&self.files, pid)
    }

    /// The monotonic clock, nanoseconds.
    pub(crate) fn now() -> u64 {
        let now = clock_gettime(ClockId::Monotonic);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }

    /// CPU time of the machine and its run queue.
    ///
    /// # Errors
    /// As [`Sampler::facts`].
    pub fn machine_times(&self) -> Result<MachineTimes, HostError> {
        MachineTimes::parse(&self.files.read("proc/stat")?)
    }

    /// How long work on this machine waited for resources.
    ///
    /// # Errors
    /// As [`Sampler::facts`].
    pub fn stalls(&self) -> Result<StallTotals, HostError> {
        StallTotals::read(&self.files)
    }

    /// Memory and swap of the machine.
    ///
    /// # Errors
    /// As [`Sampler::facts`].
    pub fn memory(&self) -> Result<MemoryState, HostError> {
        let meminfo = self.files.read("proc/meminfo")?;
        MemoryState::parse(&meminfo, &self.files.read("proc/vmstat")?)
    }

    /// CPU time of the process and its threads.
    ///
    /// # Errors
    /// As [`Sampler::facts`].
    pub fn process_times(&self) -> Result<ProcessTimes, HostError> {
        ProcessTimes::read(&self.files, &self.process)
    }

    /// Limits of the process's control group, and how often they were hit.
    ///
    /// # Errors
    /// As [`Sampler::facts`].
    pub fn group(&self) -> Result<GroupCounters, HostError> {
        ControlGroup::read(&self.files, &self.process)?.counters(&self.files)
    }

    /// Open files of the process; `None` where it is gone, or another user's.
    ///
    /// # Errors
    /// As [`Sampler::facts`].
    pub fn descriptors(&self) -> Result<Option<Descriptors>, HostError> {
        Descriptors::read(&self.files, &self.process)
    }

    /// What the interfaces of the process's network namespace carried and lost, by name.
    ///
    /// # Errors
    /// As [`Sampler::facts`].
    pub fn interfaces(&self) -> Result<BTreeMap<String, InterfaceCounters>, HostError> {
        interfaces(&self.files, &self.process)
    }

    /// How the CPUs took packets off the network; `None` where the kernel does not say.
    ///
    /// # Errors
    /// As [`Sampler::facts`].
    pub fn softnet(&self) -> Result<Option<SoftnetCounters>, HostError> {
        softnet(&self.files, &self.process)
    }

    /// Counters of TCP of the process's network namespace.
    ///
    /// # Errors
    /// As [`Sampler::facts`].
    pub fn tcp(&self) -> Result<TcpCounters, HostError> {
        let file = |name: &str| {
            self.files
                .read(&format!("proc/{}/net/{name}", self.process))
        };
        TcpCounters::parse(&file("snmp")?, &file("netstat")?)
    }

    /// Sockets of the process's network namespace; `None` where the kernel does not say.
    ///
    /// # Errors
    /// As [`Sampler::facts`].
    pub fn sockets(&self) -> Result<Option<SocketCounts>, HostError> {
        SocketCounts::read(&self.files, &self.process)
    }

    /// How full its table of tracked connections is; `None` where nothing is tracked.
    ///
    /// # Errors
    /// As [`Sampler::facts`].
    pub fn conntrack(&self) -> Result<Option<Conntrack>, HostError> {
        Conntrack::read(&self.files, &self.process)
    }
}

#[cfg(test)]
mod tests {
    use super::Sampler;
    use crate::{HostError, ProcessTimes};
    use std::path::Path;

    const FILES: &[(&str, &str)] = &[
        (
            "proc/stat",
            "cpu  10 0 10 80 0 0 0 0 0 0\n\
             cpu0 10 0 10 80 0 0 0 0 0 0\nctxt 5\nprocs_running 1\nprocs_blocked 0\n",
        ),
        (
            "proc/self/stat",
            "7 (a (b) c) S 1 1 1 0 -1 0 0 0 0 0 100 50 0 0",
        ),
        ("proc/self/status", "VmRSS:\t 10 kB\n"),
        (
            "proc/self/task/7/stat",
            "7 (w0) S 1 1 1 0 -1 0 0 0 0 0 1 1 0",
        ),
        (
            "proc/self/task/7/status",
            "voluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t2\n",
        ),
        ("proc/self/task/7/schedstat", "100000000 0 3\n"),
        (
            "proc/self/task/8/stat",
            "8 (w1) S 1 1 1 0 -1 0 0 0 0 0 10 10 0",
        ),
        (
            "proc/self/task/8/status",
            "voluntary_ctxt_switches:\t0\nnonvoluntary_ctxt_switches:\t0\n",
        ),
        (
            "proc/self/net/snmp",
            "Tcp: ActiveOpens PassiveOpens AttemptFails CurrEstab InSegs OutSegs RetransSegs \
             OutRsts\n\
             Tcp: 0 0 0 3 0 100 1 0\n",
        ),
        (
            "proc/self/net/netstat",
            "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPTimeouts TCPSynRetrans \
             TCPReqQFullDrop TCPReqQFullDoCookies TCPMemoryPressures TCPAbortOnMemory \
             TCPBacklogDrop\nTcpExt: 0 0 0 0 0 0 0 0 0 0\n",
        ),
    ];

    fn write(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn machine(root: &Path) -> Sampler {
        FILES
            .iter()
            .for_each(|(file, text)| write(root, file, text));
        Sampler::at(root)
    }

    #[test]
    fn another_process_is_known_by_its_id() {
        let root = tempfile::tempdir().unwrap();
        write(
            root.path(),
            "proc/7/stat",
            "7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 150 25 9 9 20 0 4 0 5\n",
        );
        let sampler = Sampler::at(root.path());
        assert_eq!(
            sampler.cpu_time_of(7).unwrap(),
            std::time::Duration::from_millis(1750)
        );
        assert!(
            sampler
                .cpu_time_of(8)
                .unwrap_err()
                .to_string()
                .contains("proc/8/stat")
        );
    }

    fn read(sampler: &Sampler) -> Result<ProcessTimes, HostError> {
        sampler.machine_times()?;
        sampler.tcp()?;
        sampler.process_times()
    }

    #[test]
    fn malformed_text_is_an_error_that_names_the_file() {
        for (file, text) in [
            ("proc/stat", ""),
            (
                "proc/stat",
                "cpu  1 2 3\nctxt 5\nprocs_running 1\nprocs_blocked 0\n",
            ),
            (
                "proc/stat",
                "cpu  1 2 3 4 5 6 7 8\ncpux 1\nctxt 5\nprocs_running 1\nprocs_blocked 0\n",
            ),
            (
                "proc/stat",
                "cpu  1 2 3 4 5 6 7 99999999999999999999\nctxt 5\n",
            ),
            ("proc/self/stat", "7 nothing in parentheses"),
            ("proc/self/stat", ")7(\n"),
            ("proc/self/stat", "7 (a) S 1"),
            ("proc/self/status", "VmRSS: lots\n"),
            ("proc/self/task/7/schedstat", "x"),
            ("proc/self/task/7/status", ""),
            ("proc/self/net/snmp", "Tcp: OutSegs\n"),
            (
                "proc/self/net/netstat",
                "TcpExt: ListenOverflows\nTcpExt: -\n",
            ),
        ] {
            let root = tempfile::tempdir().unwrap();
            let sampler = machine(root.path());
            write(root.path(), file, text);
            let error = read(&sampler).unwrap_err().to_string();
            assert!(
                error.contains(file) && error.contains("malformed"),
                "{file} {text:?}: {error}"
            );
        }
    }

    #[test]
    fn missing_file_is_an_error_and_an_ended_thread_is_not() {
        let root = tempfile::tempdir().unwrap();
        let sampler = machine(root.path());
        std::fs::remove_file(root.path().join("proc/self/task/8/status")).unwrap();
        assert_eq!(read(&sampler).unwrap().threads.len(), 1);
        std::fs::remove_file(root.path().join("proc/stat")).unwrap();
        assert!(
            read(&sampler)
                .unwrap_err()
                .to_string()
                .contains("cannot read")
        );
    }

    #[test]
    fn this_machine_can_be_sampled() {
        let sampler = Sampler::new();
        let facts = sampler.facts().unwrap();
        assert!(
            !facts.hostname.is_empty() && facts.usable_cpus() >= 1 && facts.memory_total_bytes > 0,
            "{facts:?}"
        );
        assert!(!read(&sampler).unwrap().threads.is_empty());
    }
}
