//! Text files of the kernel below a root, with errors that name file and part.

use crate::HostError;
use rustix::io::Errno;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Where `/` is; elsewhere only in tests.
#[derive(Debug, Clone)]
pub(crate) struct KernelFiles {
    root: PathBuf,
}

/// A file's text and where it came from.
#[derive(Debug)]
pub(crate) struct KernelText {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

impl KernelFiles {
    pub(crate) fn new(root: &Path) -> KernelFiles {
        KernelFiles {
            root: root.to_path_buf(),
        }
    }

    /// Reads `path`, which is written without the leading slash. Bytes that are not UTF-8 (a
    /// process may choose its name) are replaced.
    pub(crate) fn read(&self, path: &str) -> Result<KernelText, HostError> {
        let path = self.root.join(path);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(KernelText {
                text: String::from_utf8_lossy(&bytes).into_owned(),
                path,
            }),
            Err(reason) => Err(HostError::Unreadable { path, reason }),
        }
    }

    /// As [`KernelFiles::read`], `None` where the file does not exist: an option of the kernel, or
    /// a thread that has ended.
    pub(crate) fn read_if_there(&self, path: &str) -> Result<Option<KernelText>, HostError> {
        match self.read(path) {
            Ok(text) => Ok(Some(text)),
            Err(HostError::Unreadable { reason, .. }) if is_gone(&reason) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Where a file of the kernel is.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// What a symbolic link says; `None` where it is gone, or may not be read.
    pub(crate) fn link(&self, path: &str) -> Option<PathBuf> {
        std::fs::read_link(self.root.join(path)).ok()
    }

    /// How many names a folder of numbers has. From Linux 6.2 on `/proc/PID/fd` says it as its
    /// size, which spares a list of each connection of a large server.
    pub(crate) fn count_in(&self, path: &str) -> Result<u64, HostError> {
        let place = self.root.join(path);
        if let Ok(folder) = place.metadata()
            && folder.len() > 0
            && is_in_proc(&place)
        {
            return Ok(folder.len());
        }
        Ok(self.numbers_in(path)?.len() as u64)
    }

    /// Names in a folder that are numbers, in ascending order.
    pub(crate) fn numbers_in(&self, path: &str) -> Result<Vec<u32>, HostError> {
        let path = self.root.join(path);
        let entries =
            std::fs::read_dir(&path).map_err(|reason| HostError::Unreadable { path, reason })?;
        let mut numbers: Vec<u32> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect();
        numbers.sort_unstable();
        Ok(numbers)
    }
}

#[cfg(target_os = "linux")]
fn is_in_proc(place: &Path) -> bool {
    use rustix::fs::{PROC_SUPER_MAGIC, statfs};

    statfs(place).is_ok_and(|system| system.f_type == PROC_SUPER_MAGIC)
}

#[cfg(not(target_os = "linux"))]
fn is_in_proc(_: &Path) -> bool {
    false
}

/// Also a thread that ends while it is read, and pressure that is turned off at boot (psi=0).
fn is_gone(reason: &std::io::Error) -> bool {
    let gone = [Errno::SRCH, Errno::OPNOTSUPP].map(Errno::raw_os_error);
    reason.kind() == ErrorKind::NotFound || reason.raw_os_error().is_some_and(|n| gone.contains(&n))
}

impl KernelText {
    /// The error that `what` is missing or malformed here.
    pub(crate) fn malformed(&self, what: &str) -> HostError {
        HostError::Malformed {
            path: self.path.clone(),
            what: what.to_owned(),
        }
    }

    /// A word as a number.
    pub(crate) fn number<T: std::str::FromStr>(
        &self,
        word: Option<&str>,
        what: &str,
    ) -> Result<T, HostError> {
        word.and_then(|word| word.parse().ok())
            .ok_or_else(|| self.malformed(what))
    }

    /// The rest of the line that begins with `key`, trimmed.
    pub(crate) fn after(&self, key: &str) -> Option<&str> {
        self.text
            .lines()
            .find_map(|line| line.strip_prefix(key))
            .map(str::trim)
    }

    /// First word after `key` as a number.
    pub(crate) fn number_after<T: std::str::FromStr>(&self, key: &str) -> Result<T, HostError> {
        self.number(
            self.after(key)
                .and_then(|rest| rest.split_whitespace().next()),
            key,
        )
    }
}
