//! CPU profiles that monitors took: puts their parts together, and names their files.

use analysis::{HotFunction, ProfileResult};
use host::{CpuProfile, HostError, ProfileOutcome};
use std::collections::{BTreeMap, BTreeSet};

/// Most functions in the result.
const HOTTEST: usize = 10;

/// Longest name in the result, in characters.
const NAME_MAX: usize = 100;

/// How much of a monitor's name a file's name can have, in characters.
const FILE_NAME_MAX: usize = 64;

/// Profiles of a run, by the number of the monitor.
#[derive(Debug, Default)]
pub(super) struct Profiles {
    coming: BTreeMap<u32, Vec<u8>>,
    /// Names of files in use, in lower case.
    names: BTreeSet<String>,
}

impl Profiles {
    /// Takes the next part; with the last one, returns the outcome of the profile.
    pub(super) fn take(
        &mut self,
        (monitor, part, parts): (u32, u32, u32),
        content: &[u8],
    ) -> Option<Result<ProfileOutcome, HostError>> {
        self.coming
            .entry(monitor)
            .or_default()
            .extend_from_slice(content);
        if part.saturating_add(1) < parts {
            return None;
        }
        let encoded = self.coming.remove(&monitor)?;
        Some(ProfileOutcome::decode(&encoded))
    }

    /// What the result shows of a profile, with the names of its files.
    pub(super) fn result(
        &mut self,
        (number, monitor): (u32, &str),
        profile: &CpuProfile,
    ) -> ProfileResult {
        let name = self.file_name(number, monitor);
        let samples = profile.samples();
        let hot = |(name, count): &(&str, u64)| HotFunction {
            name: name.chars().take(NAME_MAX).collect(),
            share: *count as f64 / samples.max(1) as f64,
        };
        ProfileResult {
            process: profile.process.chars().take(NAME_MAX).collect(),
            seconds: profile.duration.as_secs_f64(),
            samples,
            left_out: profile.left_out,
            folded: format!("{name}.folded"),
            svg: format!("{name}.svg"),
            hottest: profile.hottest().iter().take(HOTTEST).map(hot).collect(),
        }
    }

    /// A name that cannot lead out of the folder, and that no other monitor of the run has.
    fn file_name(&mut self, number: u32, monitor: &str) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let plain = |c: char| if is_plain(c) { c } else { '_' };
        let name: String = monitor.chars().take(FILE_NAME_MAX).map(plain).collect();
        let mut name = format!("profile-{name}");
        while !self.names.insert(name.to_ascii_lowercase()) {
            name = format!("{name}-{number}");
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::record_files::RecordFiles;
    use crate::record::recorded_run::RecordChange;
    use crate::sample_run::folder;
    use std::time::Duration;

    fn profile() -> CpuProfile {
        CpuProfile {
            process: "nginx".to_owned(),
            duration: Duration::from_millis(30_004),
            left_out: 2,
            stacks: vec![("nginx;a;mul".into(), 6), ("nginx;a".into(), 2)],
        }
    }

    #[test]
    fn profile_stands_in_two_files_and_is_put_together_of_its_parts() {
        let base = tempfile::tempdir().unwrap();
        let folder = folder(base.path());
        let encoded = ProfileOutcome::Taken(profile()).encode(1 << 20);
        let (first, second) = encoded.split_at(9);
        let mut profiles = Profiles::default();
        assert!(profiles.take((3, 0, 2), first).is_none());
        let Some(Ok(ProfileOutcome::Taken(taken))) = profiles.take((3, 1, 2), second) else {
            panic!("it is whole")
        };
        let result = profiles.result((3, "edge"), &taken);
        assert_eq!((result.samples, result.left_out), (8, 2));
        assert_eq!(result.hottest[0].name, "mul");
        assert_eq!(result.hottest[0].share, 0.75);
        let mut files = RecordFiles::new(folder);
        files.follow(&RecordChange::Profile {
            profile: taken,
            folded: result.folded.clone(),
            svg: result.svg.clone(),
        });
        let read = |name: &str| std::fs::read_to_string(files.path().join(name)).unwrap();
        assert_eq!(read(&result.folded), "nginx;a;mul 6\nnginx;a 2\n");
        assert!(read(&result.svg).contains("nginx: 8 samples in 30 s"));
        assert_eq!(files.unsaved(), Vec::<String>::new());
        assert!(profiles.take((4, 0, 1), b"rubbish").unwrap().is_err());
    }

    #[test]
    fn names_of_monitors_leave_the_folder_nowhere_and_stay_apart() {
        let mut profiles = Profiles::default();
        for (number, monitor, expected) in [
            (0, "edge", "profile-edge"),
            (1, "edge", "profile-edge-1"),
            (2, "EDGE", "profile-EDGE-2"),
            (3, "../../etc/passwd", "profile-.._.._etc_passwd"),
            (4, "a/b\\c\0d\n", "profile-a_b_c_d_"),
            (5, "", "profile-"),
            (1, "edge", "profile-edge-1-1"),
        ] {
            assert_eq!(profiles.file_name(number, monitor), expected);
        }
        let long = profiles.file_name(6, &"é".repeat(1_000));
        assert!(long.len() < 100, "{long}");
    }
}
