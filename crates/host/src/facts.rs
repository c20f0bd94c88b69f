//! What does not change while a run lasts.

use crate::HostError;
use crate::kernel::{ControlGroup, KernelFiles, KernelText, open_files_limit};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// What does not change while a run lasts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The machine's name.
    pub hostname: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Model of the first CPU; empty where the kernel does not name it (ARM).
    pub cpu_model: String,
    /// CPUs this process may run on (`Cpus_allowed_list`).
    pub cpus_allowed: Vec<u32>,
    /// CPUs' worth of time that the control group may use; `None` without a limit.
    pub cpu_quota: Option<f32>,
    /// Memory installed in it.
    pub memory_total_bytes: u64,
    /// Open files this process may have (soft limit); `None` without one.
    pub open_files_limit: Option<u64>,
    /// First and last local port that connections are made from.
    pub local_ports: (u16, u16),
    /// Addresses of its own interfaces, loopback left out.
    pub addresses: Vec<IpAddr>,
}

impl Facts {
    /// Workers that make sense here: allowed CPUs, no more than the quota rounded up, at least one.
    #[must_use]
    pub fn usable_cpus(&self) -> usize {
        let quota = self
            .cpu_quota
            .map_or(usize::MAX, |quota| quota.ceil() as usize);
        self.cpus_allowed.len().min(quota).max(1)
    }

    /// A version byte and the facts.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        crate::encoding::encode(self)
    }

    /// Reads what [`Facts::encode`] wrote.
    ///
    /// # Errors
    /// The bytes are of another version, or broken.
    pub fn decode(bytes: &[u8]) -> Result<Facts, HostError> {
        crate::encoding::decode(bytes, "facts")
    }

    pub(crate) fn read(files: &KernelFiles) -> Result<Facts, HostError> {
        let line = |path| files.read(path).map(|text| text.text.trim().to_owned());
        let meminfo = files.read("proc/meminfo")?;
        Ok(Facts {
            hostname: line("proc/sys/kernel/hostname")?,
            kernel: line("proc/sys/kernel/osrelease")?,
            cpu_model: cpu_model(&files.read("proc/cpuinfo")?),
            cpus_allowed: cpus_allowed(&files.read("proc/self/status")?)?,
            cpu_quota: ControlGroup::read(files, "self")?.cpu_quota(files)?,
            memory_total_bytes: meminfo
                .number_after::<u64>("MemTotal:")?
                .saturating_mul(1024),
            open_files_limit: open_files_limit(&files.read("proc/self/limits")?)?,
            local_ports: local_ports(&files.read("proc/sys/net/ipv4/ip_local_port_range")?)?,
            addresses: crate::addresses::own(files),
        })
    }
}

fn cpu_model(cpuinfo: &KernelText) -> String {
    cpuinfo
        .after("model name")
        .map(|rest| rest.trim_start_matches([':', '\t', ' ']).to_owned())
        .unwrap_or_default()
}

/// Numbers and ranges: `0-3,8`.
pub(crate) fn cpus_allowed(status: &KernelText) -> Result<Vec<u32>, HostError> {
    const WHAT: &str = "Cpus_allowed_list";
    /// More than the kernel supports, so that a broken range cannot fill the memory.
    const HIGHEST: u32 = 65_535;
    let list = status
        .after("Cpus_allowed_list:")
        .ok_or_else(|| status.malformed(WHAT))?;
    let mut cpus = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u32 = status.number(Some(first), WHAT)?;
        let last: u32 = status.number(Some(last), WHAT)?;
        if last > HIGHEST {
            return Err(status.malformed(WHAT));
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}

pub(crate) fn local_ports(range: &KernelText) -> Result<(u16, u16), HostError> {
    let mut words = range.text.split_whitespace();
    Ok((
        range.number(words.next(), "first local port")?,
        range.number(words.next(), "last local port")?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn text(text: &str) -> KernelText {
        KernelText {
            path: PathBuf::from("file"),
            text: text.to_owned(),
        }
    }

    #[test]
    fn allowed_cpus_are_numbers_and_ranges() {
        for (list, cpus) in [
            ("0", vec![0]),
            ("0-2,5", vec![0, 1, 2, 5]),
            ("1,3-3", vec![1, 3]),
        ] {
            assert_eq!(
                cpus_allowed(&text(&format!("Name: x\nCpus_allowed_list:\t{list}\n"))).unwrap(),
                cpus,
                "{list}"
            );
        }
        for list in ["", "a", "0-", "0-99999999999", "0-4000000000"] {
            let error = cpus_allowed(&text(&format!("Cpus_allowed_list:\t{list}\n")))
                .unwrap_err()
                .to_string();
            assert!(error.contains("Cpus_allowed_list"), "{list}: {error}");
        }
    }

    #[test]
    fn usable_cpus_are_those_allowed_within_the_quota() {
        for (allowed, quota, usable) in [
            (4, None, 4),
            (4, Some(1.5), 2),
            (2, Some(8.0), 2),
            (0, None, 1),
            (4, Some(0.1), 1),
        ] {
            let facts = Facts {
                cpus_allowed: (0..allowed).collect(),
                cpu_quota: quota,
                ..Facts::default()
            };
            assert_eq!(facts.usable_cpus(), usable, "{allowed} {quota:?}");
        }
    }

    #[test]
    fn facts_survive_the_wire_and_other_versions_are_refused() {
        let addresses = vec![
            IpAddr::from([192, 0, 2, 7]),
            IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, 7]),
        ];
        let facts = Facts {
            hostname: "a".into(),
            cpus_allowed: vec![0, 3],
            addresses,
            ..Facts::default()
        };
        let mut bytes = facts.encode();
        assert_eq!(Facts::decode(&bytes).unwrap(), facts);
        assert!(Facts::decode(&bytes[..bytes.len() - 1]).is_err(), "cut");
        bytes.push(0);
        assert!(Facts::decode(&bytes).is_err(), "too long");
        bytes[0] = 9;
        assert!(
            Facts::decode(&bytes)
                .unwrap_err()
                .to_string()
                .contains("same version")
        );
        assert!(Facts::decode(&[]).is_err());
    }
}
