//! Keeps two coordinators from writing the same run or campaign.

use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;

/// Why a file is not held.
#[derive(Debug)]
pub(super) enum HoldError {
    /// Another process holds it, with this id if the system reports it.
    Taken(Option<u32>),
    Failed(io::Error),
}

/// Keeps every other coordinator out until the file is closed, however this one ends.
pub(super) fn hold(file: &File) -> Result<(), HoldError> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(HoldError::Taken(holder(file))),
        Err(error) => Err(HoldError::Failed(error.into())),
    }
}

/// For example ` (pid 2711)`; empty if it is unknown.
pub(super) fn in_words(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
}

/// The process that holds the lock, from /proc/locks (proc_locks(5)).
fn holder(file: &File) -> Option<u32> {
    let inode = file.metadata().ok()?.ino().to_string();
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    // 1: FLOCK  ADVISORY  WRITE 2711 08:01:1234 0 EOF
    let pid = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_it = words.get(1) == Some(&"FLOCK")
            && words.get(5)?.rsplit(':').next() == Some(inode.as_str());
        is_it.then(|| words.get(4)?.parse().ok()).flatten()
    };
    locks.lines().find_map(pid)
}
