//! The CPU quota of this process's control group, version 2 or 1.

use crate::HostError;
use crate::kernel_files::{KernelFiles, KernelText};

/// CPUs' worth of time the control group may use: the smallest limit on the way to the root.
pub(crate) fn cpu_quota(files: &KernelFiles) -> Result<Option<f32>, HostError> {
    let Some(groups) = files.read_if_there("proc/self/cgroup")? else {
        return Ok(None);
    };
    // Version 2 has one hierarchy, whose line names no controller.
    let path = group(&groups, |controllers| controllers.is_empty());
    let unified = smallest(path, |folder| unified(files, folder))?;
    let path = group(&groups, |controllers| {
        controllers.split(',').any(|one| one == "cpu")
    });
    let legacy = smallest(path, |folder| legacy(files, folder))?;
    Ok([unified, legacy]
        .into_iter()
        .flatten()
        .min_by(f32::total_cmp))
}

/// Path of the group whose controllers `is_one` picks; a line is `number:controllers:path`.
fn group(groups: &KernelText, is_one: impl Fn(&str) -> bool) -> Option<&str> {
    let mut parts = groups
        .text
        .lines()
        .filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let (_, path) = parts.find(|(controllers, _)| is_one(controllers))?;
    Some(path)
}

/// The smallest limit of `path` and its parents. A container sees the host's path but its own group
/// at the root, so a folder that is not there is no error.
fn smallest(
    path: Option<&str>,
    limit: impl Fn(&str) -> Result<Option<f32>, HostError>,
) -> Result<Option<f32>, HostError> {
    let Some(path) = path else { return Ok(None) };
    let mut folder = path.trim_end_matches('/');
    let mut found = limit(folder)?;
    while let Some((parent, _)) = folder.rsplit_once('/') {
        folder = parent;
        found = [found, limit(folder)?]
            .into_iter()
            .flatten()
            .min_by(f32::total_cmp);
    }
    Ok(found)
}

/// `cpu.max`: `max 100000` or `150000 100000` (kernel: Documentation/admin-guide/cgroup-v2.rst).
fn unified(files: &KernelFiles, folder: &str) -> Result<Option<f32>, HostError> {
    let Some(max) = files.read_if_there(&format!("sys/fs/cgroup{folder}/cpu.max"))? else {
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
fn legacy(files: &KernelFiles, folder: &str) -> Result<Option<f32>, HostError> {
    let file =
        |name: &str| files.read_if_there(&format!("sys/fs/cgroup/cpu{folder}/cpu.cfs_{name}_us"));
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
                "3:cpuset:/\n1:cpuacct,cpu:/x\n0::/\n",
                &[
                    ("cpu/x/cpu.cfs_quota_us", "25000\n"),
                    ("cpu/x/cpu.cfs_period_us", "100000\n"),
                ],
                Some(0.25),
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

    fn quota(groups: &str, files: &[(&str, &str)]) -> Result<Option<f32>, HostError> {
        let root = tempfile::tempdir().unwrap();
        let all = files
            .iter()
            .map(|(file, text)| (format!("sys/fs/cgroup/{file}"), *text));
        for (file, text) in all.chain([("proc/self/cgroup".to_owned(), groups)]) {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        cpu_quota(&KernelFiles::new(root.path()))
    }
}
