//! What bounds a load on this machine, read once before it.

use crate::facts::local_ports;
use crate::kernel::{Conntrack, ControlGroup, KernelFiles, MemoryState, SocketCounts};
use crate::kernel::{KernelText, most_open_files};
use crate::{HostError, MachineRoute};
use std::time::Duration;

/// What bounds a load on this machine. What a kernel does not tell bounds nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineLimits {
    /// Most open files this process may raise itself to (hard limit); `None` without one.
    pub open_files: Option<u64>,
    /// Local ports, and how long closed connections keep them.
    pub ports: PortLimits,
    /// Memory this process can still get without swapping: of the machine, and of every control
    /// group it is in.
    pub memory_bytes: u64,
    /// CPUs' worth of time that the control group may use; `None` without a limit.
    pub cpu_quota: Option<f32>,
    /// What the kernel tells time by, such as `tsc`; empty where it does not say.
    pub clock_source: String,
    /// The table of tracked connections; `None` where nothing is tracked.
    pub conntrack: Option<Conntrack>,
    /// The interface that leads to each address asked for, in their order.
    pub routes: Vec<Option<MachineRoute>>,
}

/// Ports that connections are made from, of one network namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortLimits {
    /// Ports of each pair of a source address and a target's address with its port.
    pub number: u64,
    /// Sockets in TIME_WAIT now, whatever they were connected to.
    pub time_wait: u64,
    /// Most of them that are kept; above it they are ended at once.
    pub time_wait_max: u64,
    /// Whether a port in TIME_WAIT is taken again before its minute is over.
    pub reuse: PortReuse,
    /// After this long, if it is limited.
    pub reuse_after: Duration,
}

/// `tcp_tw_reuse` (kernel: Documentation/networking/ip-sysctl.rst).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortReuse {
    /// Nowhere; also where TCP has no time stamps, without which the kernel takes none again.
    Never,
    /// On the loopback interface only; the kernel's default since 4.19.
    Loopback,
    /// Everywhere.
    Always,
}

/// `tcp_tw_reuse_delay`; before Linux 6.14 it was fixed.
const REUSE_AFTER_MS: u64 = 1_000;

impl MachineLimits {
    pub(crate) fn read(
        files: &KernelFiles,
        process: &str,
        routes: Vec<Option<MachineRoute>>,
    ) -> Result<MachineLimits, HostError> {
        let group = ControlGroup::read(files, process)?;
        let meminfo = files.read("proc/meminfo")?;
        let memory = MemoryState::parse(&meminfo, &files.read("proc/vmstat")?)?;
        let room = group.memory_room(files)?.unwrap_or(u64::MAX);
        let clock = "sys/devices/system/clocksource/clocksource0/current_clocksource";
        let clock = files.read_if_there(clock)?;
        Ok(MachineLimits {
            open_files: most_open_files(&files.read(&format!("proc/{process}/limits"))?)?,
            ports: PortLimits::read(files, process)?,
            memory_bytes: memory.available_bytes.min(room),
            cpu_quota: group.cpu_quota(files)?,
            clock_source: clock.map_or_else(String::new, |text| text.text.trim().to_owned()),
            conntrack: Conntrack::read(files, process)?,
            routes,
        })
    }
}

impl PortLimits {
    fn read(files: &KernelFiles, process: &str) -> Result<PortLimits, HostError> {
        let setting = |name: &str| -> Result<Option<u64>, HostError> {
            let text = files.read_if_there(&format!("proc/sys/net/ipv4/{name}"))?;
            text.map(|text| text.number(Some(text.text.trim()), name))
                .transpose()
        };
        let has_stamps = setting("tcp_timestamps")? != Some(0);
        let sockets = SocketCounts::read(files, process)?;
        let reuse_after = setting("tcp_tw_reuse_delay")?.unwrap_or(REUSE_AFTER_MS);
        Ok(PortLimits {
            number: ports_to_connect_from(files)?,
            time_wait: sockets.map_or(0, |sockets| sockets.time_wait),
            time_wait_max: setting("tcp_max_tw_buckets")?.unwrap_or(u64::MAX),
            reuse: match setting("tcp_tw_reuse")? {
                _ if !has_stamps => PortReuse::Never,
                Some(0) => PortReuse::Never,
                Some(1) => PortReuse::Always,
                _ => PortReuse::Loopback,
            },
            reuse_after: Duration::from_millis(reuse_after),
        })
    }
}

/// Ports of a pair of addresses: `ip_local_port_range` without `ip_local_reserved_ports`.
pub(crate) fn ports_to_connect_from(files: &KernelFiles) -> Result<u64, HostError> {
    let range = local_ports(&files.read("proc/sys/net/ipv4/ip_local_port_range")?)?;
    let reserved = files.read_if_there("proc/sys/net/ipv4/ip_local_reserved_ports")?;
    let reserved = reserved.map_or(Ok(0), |reserved| count_reserved(range, &reserved))?;
    Ok(ports_from(range).saturating_sub(reserved))
}

fn ports_from((first, last): (u16, u16)) -> u64 {
    (u64::from(last) + 1).saturating_sub(u64::from(first))
}

/// How many ports of `range` are reserved; the list is as `8080,9148-9150`, or an empty line.
fn count_reserved(range: (u16, u16), reserved: &KernelText) -> Result<u64, HostError> {
    let parts = reserved
        .text
        .trim()
        .split(',')
        .filter(|part| !part.is_empty());
    let mut number = 0;
    for part in parts {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u16 = reserved.number(Some(first), "a reserved port")?;
        let last: u16 = reserved.number(Some(last), "a reserved port")?;
        number += ports_from((first.max(range.0), last.min(range.1)));
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sampler;
    use std::path::Path;

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// A kernel that tells only what every one does.
    fn plain() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            (
                "proc/meminfo",
                "MemTotal: 900 kB\nMemAvailable: 700 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
            ),
            (
                "proc/vmstat",
                "pgmajfault 0\npswpin 0\npswpout 0\noom_kill 0\n",
            ),
            (
                "proc/self/limits",
                "Max open files            1024   4099   files\n",
            ),
            ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
        ] {
            put(root.path(), path, text);
        }
        root
    }

    fn limits(root: &tempfile::TempDir) -> MachineLimits {
        Sampler::at(root.path()).limits(&[]).unwrap()
    }

    #[test]
    fn what_a_kernel_does_not_tell_bounds_nothing() {
        let expected = MachineLimits {
            open_files: Some(4099),
            ports: PortLimits {
                number: 28_232,
                time_wait: 0,
                time_wait_max: u64::MAX,
                reuse: PortReuse::Loopback,
                reuse_after: Duration::from_secs(1),
            },
            memory_bytes: 700 << 10,
            cpu_quota: None,
            clock_source: String::new(),
            conntrack: None,
            routes: Vec::new(),
        };
        assert_eq!(limits(&plain()), expected);
    }

    #[test]
    fn ports_are_those_of_the_range_that_nobody_reserved() {
        for (range, reserved, number) in [
            ("40000 40199", "\n", 200),
            ("40000 40199", "39999-40000,40199-50000\n", 198),
            ("40000 40199", "8080,9148-9150\n", 200),
            ("1024 65535", "65535\n", 64_511),
            ("7 7", "1-65535\n", 0),
        ] {
            let root = plain();
            let folder = "proc/sys/net/ipv4";
            put(root.path(), &format!("{folder}/ip_local_port_range"), range);
            put(
                root.path(),
                &format!("{folder}/ip_local_reserved_ports"),
                reserved,
            );
            assert_eq!(limits(&root).ports.number, number, "{range} {reserved}");
        }
    }

    #[test]
    fn ports_are_taken_again_as_the_kernel_is_told() {
        for (reuse, stamps, expected) in [
            ("0", "1", PortReuse::Never),
            ("1", "1", PortReuse::Always),
            ("2", "1", PortReuse::Loopback),
            ("1", "0", PortReuse::Never),
            ("1", "2", PortReuse::Always),
        ] {
            let root = plain();
            put(root.path(), "proc/sys/net/ipv4/tcp_tw_reuse", reuse);
            put(root.path(), "proc/sys/net/ipv4/tcp_timestamps", stamps);
            put(root.path(), "proc/sys/net/ipv4/tcp_tw_reuse_delay", "250\n");
            put(
                root.path(),
                "proc/sys/net/ipv4/tcp_max_tw_buckets",
                "131072\n",
            );
            let ports = limits(&root).ports;
            assert_eq!(ports.reuse, expected, "{reuse} {stamps}");
            assert_eq!(ports.reuse_after, Duration::from_millis(250));
            assert_eq!(ports.time_wait_max, 131_072);
        }
    }

    /// (limit, in use, cache that is given back) of a group and the one around it.
    #[test]
    fn memory_is_that_of_the_narrowest_group() {
        for (inner, outer, room) in [
            (("max", 0, 0), ("max", 0, 0), 700 << 10),
            (("400000", 100_000, 30_000), ("max", 0, 0), 330_000),
            (("400000", 100_000, 0), ("350000", 300_001, 0), 49_999),
            (("100", 200, 0), ("max", 0, 0), 0),
        ] {
            let root = plain();
            put(root.path(), "proc/self/cgroup", "0::/a/b\n");
            for (folder, (limit, current, cache)) in [("a/b", inner), ("a", outer)] {
                let file = |name: &str| format!("sys/fs/cgroup/{folder}/memory.{name}");
                put(root.path(), &file("max"), limit);
                put(root.path(), &file("current"), &current.to_string());
                put(root.path(), &file("events"), "high 0\nmax 0\noom_kill 0\n");
                put(
                    root.path(),
                    &file("stat"),
                    &format!("inactive_file {cache}\n"),
                );
            }
            assert_eq!(limits(&root).memory_bytes, room, "{inner:?} {outer:?}");
        }
    }
}
