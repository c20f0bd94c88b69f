//! Limits of a process's control group, and how often they were hit: version 2 (kernel:
//! Documentation/admin-guide/cgroup-v2.rst), version 1, or both beside one another.

use super::{KernelFiles, KernelText, StallTotals, difference};
use crate::HostError;
use std::path::Path;

/// Where version 2 is mounted: alone, or beside version 1.
const UNIFIED: [&str; 2] = ["sys/fs/cgroup", "sys/fs/cgroup/unified"];

/// Where version 1 mounts its controller `cpu`.
const CPU: &str = "sys/fs/cgroup/cpu";

/// Where version 1 mounts its controller `memory`.
const MEMORY: &str = "sys/fs/cgroup/memory";

/// The groups of a process in the hierarchies of both versions, as paths in them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ControlGroup {
    /// The group in version 2.
    unified: Option<String>,
    /// The group of version 1's controller `cpu`.
    cpu: Option<String>,
    /// The group of version 1's controller `memory`.
    memory: Option<String>,
}

/// What the limits of a control group did, and those of the groups around it: each one holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GroupCounters {
    /// The quotas of CPU time on the way to the root, from the group on.
    pub bandwidth: Vec<GroupBandwidth>,
    /// Memory of the group, if that is counted, and of those around it that have a limit.
    pub memory: Vec<GroupMemory>,
    /// How long the group's threads waited; version 2 only.
    pub stalls: StallTotals,
}

/// How often a group's quota of CPU time was used up.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GroupBandwidth {
    /// CPUs' worth of time it may use.
    pub quota: f32,
    /// Periods in which something ran (`nr_periods`).
    pub periods: u64,
    /// Those of them that ended before their time (`nr_throttled`).
    pub throttled_periods: u64,
    /// Time for which something was held back, nanoseconds.
    pub throttled_ns: u64,
}

/// Memory of a group and those in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupMemory {
    /// In use now, with the page cache.
    pub current_bytes: u64,
    /// The part of it that holds files not used lately: given back when anything else needs room.
    pub idle_cache_bytes: u64,
    /// Most that it may use; `None` without a limit of its own.
    pub limit_bytes: Option<u64>,
    /// Times that the limit was hit (`max`, or version 1's `failcnt`).
    pub limit_hits: u64,
    /// Times that the group was slowed down above `memory.high`; 0 in version 1.
    pub high_hits: u64,
    /// Processes killed for want of memory.
    pub oom_kills: u64,
    /// Pages read again soon after they had to make room (`workingset_refault`).
    pub refaults: u64,
}

impl ControlGroup {
    /// Finds the groups of `process` (an id, or `self`); none if the kernel has none.
    pub(crate) fn read(files: &KernelFiles, process: &str) -> Result<ControlGroup, HostError> {
        let Some(groups) = files.read_if_there(&format!("proc/{process}/cgroup"))? else {
            return Ok(ControlGroup::default());
        };
        let own = files.read_if_there("proc/self/cgroup")?;
        let seen = |mounts: &[&str], is_one: fn(&str) -> bool| {
            let path = group(&groups, is_one)?;
            // A container sees the host's paths but its own group at the root, so that one which is
            // not there is within that group, or within another container's.
            let own = own.as_ref().and_then(|own| group(own, is_one));
            let is_seen = is_there(files, mounts, &path)
                || own.is_some_and(|own| Path::new(&path).starts_with(own));
            is_seen.then_some(path)
        };
        // A version 1 line names its controllers; that of version 2 names none.
        Ok(ControlGroup {
            unified: seen(&UNIFIED, str::is_empty),
            cpu: seen(&[CPU], |names| names.split(',').any(|one| one == "cpu")),
            memory: seen(&[MEMORY], |names| {
                names.split(',').any(|one| one == "memory")
            }),
        })
    }

    /// The group whose folder this is, below `/sys/fs/cgroup` or as `/proc/PID/cgroup` writes it;
    /// `None` where there is no such folder.
    pub(crate) fn at(files: &KernelFiles, folder: &str) -> Option<ControlGroup> {
        let path = folder.strip_prefix("/sys/fs/cgroup").unwrap_or(folder);
        let mounts = ["unified", "cpu,cpuacct", "cpu", "memory"];
        let is_mount = |first: &&str| mounts.contains(first);
        let path = path.trim_matches('/');
        let path = match path.split_once('/') {
            Some((first, rest)) if is_mount(&first) => rest,
            _ => path,
        };
        let path = format!("/{path}");
        let group = |mounts: &[&str]| is_there(files, mounts, &path).then(|| path.clone());
        let group = ControlGroup {
            unified: group(&UNIFIED),
            cpu: group(&[CPU]),
            memory: group(&[MEMORY]),
        };
        let ControlGroup {
            unified,
            cpu,
            memory,
        } = &group;
        let is_there = unified.is_some() || cpu.is_some() || memory.is_some();
        is_there.then_some(group)
    }

    /// CPUs' worth of time it may use: the smallest quota on the way to the root.
    pub(crate) fn cpu_quota(&self, files: &KernelFiles) -> Result<Option<f32>, HostError> {
        let quotas = self.bandwidth(files)?;
        let quotas = quotas.iter().map(|bandwidth| bandwidth.quota);
        Ok(quotas.min_by(f32::total_cmp))
    }

    /// What its limits did up to now.
    pub(crate) fn counters(&self, files: &KernelFiles) -> Result<GroupCounters, HostError> {
        Ok(GroupCounters {
            bandwidth: self.bandwidth(files)?,
            memory: self.memory(files)?,
            stalls: self.stalls(files)?,
        })
    }

    fn bandwidth(&self, files: &KernelFiles) -> Result<Vec<GroupBandwidth>, HostError> {
        let mut groups = Vec::new();
        for folder in self.unified_folders() {
            if let Some(quota) = unified_quota(files, &folder)? {
                groups.push(GroupBandwidth::read(files, &folder, quota)?);
            }
        }
        for folder in up_to_root(CPU, self.cpu.as_deref()) {
            if let Some(quota) = legacy_quota(files, &folder)? {
                groups.push(GroupBandwidth::read(files, &folder, quota)?);
            }
        }
        Ok(groups)
    }

    fn memory(&self, files: &KernelFiles) -> Result<Vec<GroupMemory>, HostError> {
        let mut groups: Vec<GroupMemory> = Vec::new();
        for folder in self.unified_folders() {
            // A group counts what happened in those in it too. For a group around this one only
            // its own limit matters, since others in it may hit limits of their own.
            let events = match groups.is_empty() {
                true => "events",
                false => "events.local",
            };
            groups.extend(GroupMemory::unified(files, &folder, events)?);
        }
        for folder in up_to_root(MEMORY, self.memory.as_deref()) {
            groups.extend(GroupMemory::legacy(files, &folder)?);
        }
        let mut is_first = true;
        groups.retain(|group| std::mem::take(&mut is_first) || group.limit_bytes.is_some());
        Ok(groups)
    }

    /// Bytes that those in it can still get, by the narrowest limit on the way to the root; `None`
    /// without one.
    pub(crate) fn memory_room(&self, files: &KernelFiles) -> Result<Option<u64>, HostError> {
        let groups = self.memory(files)?;
        Ok(groups.iter().filter_map(GroupMemory::room_bytes).min())
    }

    fn stalls(&self, files: &KernelFiles) -> Result<StallTotals, HostError> {
        for folder in self.unified_folders() {
            let stalls = StallTotals::of_group(files, &folder)?;
            if stalls != StallTotals::default() {
                return Ok(stalls);
            }
        }
        Ok(StallTotals::default())
    }

    fn unified_folders(&self) -> Vec<String> {
        let mounts = UNIFIED.iter();
        mounts
            .flat_map(|mount| up_to_root(mount, self.unified.as_deref()))
            .collect()
    }
}

impl GroupCounters {
    /// What happened since `earlier`; sizes and limits are those of now. Nothing has happened in a
    /// group that was not there then: what it counted before it was seen is of another time.
    #[must_use]
    pub fn since(&self, earlier: &GroupCounters) -> GroupCounters {
        GroupCounters {
            bandwidth: each_since(&self.bandwidth, &earlier.bandwidth, GroupBandwidth::since),
            memory: each_since(&self.memory, &earlier.memory, GroupMemory::since),
            stalls: self.stalls.since(&earlier.stalls),
        }
    }
}

/// What happened in each group since `earlier`. Nothing if there are more or fewer of them now: one
/// got a limit or lost it, and which one is not known.
fn each_since<T>(now: &[T], earlier: &[T], since: fn(&T, &T) -> T) -> Vec<T> {
    let is_same = now.len() == earlier.len();
    let earlier = if is_same { earlier } else { now };
    let pairs = now.iter().zip(earlier);
    pairs.map(|(now, earlier)| since(now, earlier)).collect()
}

impl GroupBandwidth {
    /// Reads what became of this quota. Version 2 counts microseconds, version 1 nanoseconds.
    fn read(files: &KernelFiles, folder: &str, quota: f32) -> Result<GroupBandwidth, HostError> {
        let unused = GroupBandwidth {
            quota,
            ..GroupBandwidth::default()
        };
        let Some(stat) = files.read_if_there(&format!("{folder}/cpu.stat"))? else {
            return Ok(unused);
        };
        if stat.after("nr_periods ").is_none() {
            return Ok(unused);
        }
        let throttled_ns = match stat.after("throttled_usec ") {
            Some(us) => stat
                .number::<u64>(Some(us), "throttled_usec")?
                .saturating_mul(1000),
            None => stat.number_after("throttled_time ")?,
        };
        Ok(GroupBandwidth {
            quota,
            periods: stat.number_after("nr_periods ")?,
            throttled_periods: stat.number_after("nr_throttled ")?,
            throttled_ns,
        })
    }

    /// What was counted since `earlier`; the quota is that of now.
    #[must_use]
    pub fn since(&self, earlier: &GroupBandwidth) -> GroupBandwidth {
        difference!(self - earlier: periods, throttled_periods, throttled_ns; quota)
    }
}

impl GroupMemory {
    /// Reads what the group's file `events` (`events` or `events.local`) and others say.
    fn unified(
        files: &KernelFiles,
        folder: &str,
        events: &str,
    ) -> Result<Option<GroupMemory>, HostError> {
        let file = |name: &str| files.read_if_there(&format!("{folder}/memory.{name}"));
        let (Some(current), Some(max), Some(all_events)) =
            (file("current")?, file("max")?, file("events")?)
        else {
            return Ok(None);
        };
        // Linux has had `events.local` since 5.2.
        let events = file(events)?.unwrap_or(all_events);
        let limit_bytes = match max.text.trim() {
            "max" => None,
            bytes => Some(max.number(Some(bytes), "memory.max")?),
        };
        let stat = file("stat")?;
        let idle_cache = stat
            .as_ref()
            .map(|stat| stat.number_after("inactive_file "));
        Ok(Some(GroupMemory {
            current_bytes: current.number(Some(current.text.trim()), "memory.current")?,
            idle_cache_bytes: idle_cache.transpose()?.unwrap_or(0),
            limit_bytes,
            limit_hits: events.number_after("max ")?,
            high_hits: events.number_after("high ")?,
            oom_kills: events.number_after("oom_kill ")?,
            refaults: stat.map_or(0, |stat| refaults(&stat, "")),
        }))
    }

    fn legacy(files: &KernelFiles, folder: &str) -> Result<Option<GroupMemory>, HostError> {
        let file = |name: &str| files.read_if_there(&format!("{folder}/memory.{name}"));
        let (Some(usage), Some(limit), Some(failures), Some(control)) = (
            file("usage_in_bytes")?,
            file("limit_in_bytes")?,
            file("failcnt")?,
            file("oom_control")?,
        ) else {
            return Ok(None);
        };
        let number = |text: &KernelText, what| text.number::<u64>(Some(text.text.trim()), what);
        let limit = number(&limit, "memory.limit_in_bytes")?;
        let stat = file("stat")?;
        let idle_cache = stat
            .as_ref()
            .map(|stat| stat.number_after("total_inactive_file "));
        Ok(Some(GroupMemory {
            current_bytes: number(&usage, "memory.usage_in_bytes")?,
            idle_cache_bytes: idle_cache.transpose()?.unwrap_or(0),
            limit_bytes: Some(limit).filter(|&limit| limit < UNLIMITED),
            limit_hits: number(&failures, "memory.failcnt")?,
            high_hits: 0,
            oom_kills: control.number_after("oom_kill ")?,
            refaults: stat.map_or(0, |stat| refaults(&stat, "total_")),
        }))
    }

    /// Up to the limit, where there is one: files that were not used lately make room.
    fn room_bytes(&self) -> Option<u64> {
        let used = self.current_bytes.saturating_sub(self.idle_cache_bytes);
        Some(self.limit_bytes?.saturating_sub(used))
    }

    /// What happened since `earlier`; sizes are those of now.
    #[must_use]
    pub fn since(&self, earlier: &GroupMemory) -> GroupMemory {
        difference!(self - earlier: limit_hits, high_hits, oom_kills, refaults;
            current_bytes, idle_cache_bytes, limit_bytes)
    }
}

/// Refaults of anonymous pages and of files; before Linux 5.9 one number is of both, and a kernel
/// may know none.
fn refaults(stat: &KernelText, prefix: &str) -> u64 {
    ["", "_anon", "_file"]
        .iter()
        .filter_map(|kind| {
            let key = format!("\n{prefix}workingset_refault{kind} ");
            stat.text
                .split(&key)
                .nth(1)?
                .lines()
                .next()?
                .parse::<u64>()
                .ok()
        })
        .fold(0, u64::saturating_add)
}

/// Version 1 writes no limit as the highest number of whole pages, which depends on their size.
const UNLIMITED: u64 = 1 << 62;

/// Path of the group whose controllers `is_one` picks; a line is `number:controllers:path`.
fn group(groups: &KernelText, is_one: impl Fn(&str) -> bool) -> Option<String> {
    let mut parts = groups
        .text
        .lines()
        .filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let (_, path) = parts.find(|(controllers, _)| is_one(controllers))?;
    // It lies outside of this process's namespace of control groups (cgroup_namespaces(7)), whose
    // root is another group.
    let is_outside = path == "/.." || path.starts_with("/../");
    (!is_outside).then(|| path.to_owned())
}

/// Whether one of the mounts has that group.
fn is_there(files: &KernelFiles, mounts: &[&str], path: &str) -> bool {
    let mut mounts = mounts.iter();
    mounts.any(|mount| files.path(&format!("{mount}{path}")).is_dir())
}

/// Folders of a group and its parents below `mount`. A container sees the host's path but its own
/// group at the root, so a folder that is not there is no error.
fn up_to_root(mount: &str, path: Option<&str>) -> Vec<String> {
    let Some(path) = path else { return Vec::new() };
    let mut rest = path.trim_end_matches('/');
    let mut folders = vec![format!("{mount}{rest}")];
    while let Some((parent, _)) = rest.rsplit_once('/') {
        rest = parent;
        folders.push(format!("{mount}{rest}"));
    }
    folders
}

/// `cpu.max`: `max 100000` or `150000 100000`.
fn unified_quota(files: &KernelFiles, folder: &str) -> Result<Option<f32>, HostError> {
    let Some(max) = files.read_if_there(&format!("{folder}/cpu.max"))? else {
        return Ok(None);
    };
    let mut words = max.text.split_whitespace();
    match words.next() {
        Some("max") => Ok(None),
        quota => ratio(
            max.number(quota, "quota")?,
            max.number(words.next(), "period")?,
            &max,
        ),
    }
}

/// `cpu.cfs_quota_us` (-1 is none) over `cpu.cfs_period_us`.
fn legacy_quota(files: &KernelFiles, folder: &str) -> Result<Option<f32>, HostError> {
    let file = |name: &str| files.read_if_there(&format!("{folder}/cpu.cfs_{name}_us"));
    let (Some(quota), Some(period)) = (file("quota")?, file("period")?) else {
        return Ok(None);
    };
    let quota_us: f32 = quota.number(Some(quota.text.trim()), "quota")?;
    let period_us: f32 = period.number(Some(period.text.trim()), "period")?;
    if quota_us < 0.0 {
        Ok(None)
    } else {
        ratio(quota_us, period_us, &period)
    }
}

fn ratio(quota: f32, period: f32, text: &KernelText) -> Result<Option<f32>, HostError> {
    let ratio = quota / period;
    if ratio.is_finite() && ratio > 0.0 {
        Ok(Some(ratio))
    } else {
        Err(text.malformed("a quota above 0"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_that_was_not_there_before_has_done_nothing_since() {
        let counters = |throttled: &[u64]| GroupCounters {
            bandwidth: throttled
                .iter()
                .map(|&throttled_periods| GroupBandwidth {
                    throttled_periods,
                    ..GroupBandwidth::default()
                })
                .collect(),
            ..GroupCounters::default()
        };
        let throttled = |now: &[u64], earlier: &[u64]| -> Vec<u64> {
            let since = counters(now).since(&counters(earlier)).bandwidth;
            let since = since.iter();
            since.map(|bandwidth| bandwidth.throttled_periods).collect()
        };
        assert_eq!(throttled(&[900, 70], &[898, 70]), [2, 0]);
        assert_eq!(throttled(&[900], &[]), [0]);
        assert_eq!(throttled(&[900, 70], &[70]), [0, 0], "which one is it?");
    }

    #[test]
    fn smallest_limit_on_the_way_to_the_root_holds() {
        type Case = (
            &'static str,
            &'static [(&'static str, &'static str)],
            Option<f32>,
        );
        let cases: &[Case] = &[
            ("0::/\n", &[("cpu.max", "max 100000\n")], None),
            ("0::/\n", &[("cpu.max", "150000 100000\n")], Some(1.5)),
            (
                "0::/a/b\n",
                &[
                    ("a/cpu.max", "50000 100000"),
                    ("a/b/cpu.max", "400000 100000"),
                ],
                Some(0.5),
            ),
            (
                "0::/not/there\n",
                &[("cpu.max", "200000 100000")],
                Some(2.0),
            ),
            (
                "0::/../../pods/web\n",
                &[("cpu.max", "10000 100000")],
                None, // that is the quota of the container that looks
            ),
            (
                "3:cpuset:/\n1:cpuacct,cpu:/x\n0::/\n",
                &[
                    ("cpu/x/cpu.cfs_quota_us", "25000\n"),
                    ("cpu/x/cpu.cfs_period_us", "100000\n"),
                ],
                Some(0.25),
            ),
            // Version 2 beside version 1.
            (
                "0::/x\n",
                &[("unified/x/cpu.max", "50000 100000")],
                Some(0.5),
            ),
            (
                "1:cpu:/\n",
                &[
                    ("cpu/cpu.cfs_quota_us", "-1\n"),
                    ("cpu/cpu.cfs_period_us", "100000\n"),
                ],
                None,
            ),
        ];
        for (groups, files, expected) in cases {
            assert_eq!(
                quota(groups, files).unwrap(),
                *expected,
                "{groups} {files:?}"
            );
        }
        for broken in ["", "x 100000", "100000", "100000 0", "0 100000"] {
            assert!(quota("0::/\n", &[("cpu.max", broken)]).is_err(), "{broken}");
        }
    }

    #[test]
    fn container_does_not_take_another_ones_group_for_its_own() {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "25000\n");
        put(
            root.path(),
            "sys/fs/cgroup/cpu/cpu.cfs_period_us",
            "100000\n",
        );
        put(root.path(), "proc/self/cgroup", "1:cpu:/docker/a\n");
        put(root.path(), "proc/7/cgroup", "1:cpu:/docker/a/worker\n");
        put(root.path(), "proc/8/cgroup", "1:cpu:/docker/ab\n");
        let files = KernelFiles::new(root.path());
        for (process, expected) in [("self", Some(0.25)), ("7", Some(0.25)), ("8", None)] {
            let group = ControlGroup::read(&files, process).unwrap();
            assert_eq!(group.cpu_quota(&files).unwrap(), expected, "{process}");
        }
    }

    fn quota(groups: &str, files: &[(&str, &str)]) -> Result<Option<f32>, HostError> {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in files {
            put(root.path(), &format!("sys/fs/cgroup/{file}"), text);
        }
        put(root.path(), "proc/self/cgroup", groups);
        let files = KernelFiles::new(root.path());
        ControlGroup::read(&files, "self")?.cpu_quota(&files)
    }

    fn put(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}
