//! Open files of a process against its limit, from `/proc/PID/fd` and `limits`.

use super::{KernelFiles, KernelText};
use crate::HostError;

/// Open files of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Descriptors {
    /// Open now.
    pub open: u64,
    /// Most that may be (soft limit); `None` without one.
    pub limit: Option<u64>,
}

impl Descriptors {
    /// Counts those of `process` (an id, or `self`). `None` if it is gone, or another user's.
    pub(crate) fn read(
        files: &KernelFiles,
        process: &str,
    ) -> Result<Option<Descriptors>, HostError> {
        let Ok(open) = files.count_in(&format!("proc/{process}/fd")) else {
            return Ok(None);
        };
        let limits = files.read_if_there(&format!("proc/{process}/limits"))?;
        let limit = |limits: KernelText| {
            Ok(Descriptors {
                open,
                limit: open_files_limit(&limits)?,
            })
        };
        limits.map(limit).transpose()
    }
}

/// The soft limit of open files; `None` without one.
pub(crate) fn open_files_limit(limits: &KernelText) -> Result<Option<u64>, HostError> {
    open_files(limits, 0)
}

/// The hard limit of open files, up to which a process may raise its own; `None` without one.
pub(crate) fn most_open_files(limits: &KernelText) -> Result<Option<u64>, HostError> {
    open_files(limits, 1)
}

fn open_files(limits: &KernelText, column: usize) -> Result<Option<u64>, HostError> {
    match limits
        .after("Max open files")
        .and_then(|rest| rest.split_whitespace().nth(column))
    {
        Some("unlimited") => Ok(None),
        word => limits.number(word, "Max open files").map(Some),
    }
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
    fn open_files_are_counted_as_they_are_listed() {
        let files = KernelFiles::new(std::path::Path::new("/"));
        let child = std::process::Command::new("sleep").arg("600").spawn();
        let mut child = child.unwrap();
        let folder = format!("proc/{}/fd", child.id());
        // Until the program has begun it has the test's files, which come and go.
        let same = (0..1_000).any(|_| {
            let listed = files.numbers_in(&folder).unwrap().len() as u64;
            std::thread::sleep(std::time::Duration::from_millis(10));
            listed > 0 && files.count_in(&folder).unwrap() == listed
        });
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(same);
    }

    #[test]
    fn limit_of_open_files_may_be_absent() {
        assert_eq!(
            open_files_limit(&text("Max open files            20000   30000   files\n")).unwrap(),
            Some(20000)
        );
        assert_eq!(
            most_open_files(&text("Max open files            20000   30000   files\n")).unwrap(),
            Some(30000)
        );
        assert_eq!(
            open_files_limit(&text(
                "Max open files            unlimited unlimited files\n"
            ))
            .unwrap(),
            None
        );
        assert!(open_files_limit(&text("Max locked memory 1 2 bytes\n")).is_err());
    }
}
