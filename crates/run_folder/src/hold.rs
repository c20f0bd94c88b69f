//! Keeps two coordinators from writing the same run or campaign.

use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, Instant};

/// A command that this process has just started holds copies of its files until exec(2), so a file
/// that was closed meanwhile can stay locked for a moment.
const LEFT_BY_A_COMMAND: Duration = Duration::from_millis(200);

/// Linux gives out the list of locks in pieces. If a lock of the first piece goes before the second
/// is read, the list moves up and one of the others is in neither.
const LOOKS_FOR_THE_HOLDER: usize = 10;

/// Why a file is not held.
#[derive(Debug)]
pub(super) enum HoldError {
    /// Another process holds it, with this id if the system reports it.
    Taken(Option<u32>),
    Failed(io::Error),
}

/// Keeps every other coordinator out until the file is closed, however this one ends.
pub(super) fn hold(file: &File) -> Result<(), HoldError> {
    hold_within(file, LEFT_BY_A_COMMAND)
}

/// The same, for as long as another holder may take to go.
fn hold_within(file: &File, longest: Duration) -> Result<(), HoldError> {
    let since = Instant::now();
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK) if since.elapsed() < longest => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(HoldError::Taken(holder(file))),
            Err(error) => return Err(HoldError::Failed(error.into())),
        }
    }
}

/// For example ` (pid 2711)`; empty if it is unknown.
pub(super) fn in_words(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
}

/// The process that holds the lock, from /proc/locks (proc_locks(5)).
fn holder(file: &File) -> Option<u32> {
    let inode = file.metadata().ok()?.ino().to_string();
    // 1: FLOCK  ADVISORY  WRITE 2711 08:01:1234 0 EOF
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_it = words.get(1) == Some(&"FLOCK")
            && words.get(5)?.rsplit(':').next() == Some(inode.as_str());
        is_it.then(|| words.get(4)?.parse().ok()).flatten()
    };
    let look = || {
        let locks = std::fs::read_to_string("/proc/locks").ok()?;
        locks.lines().find_map(of_line)
    };
    (0..LOOKS_FOR_THE_HOLDER).find_map(|_| look())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_that_is_closed_soon_takes_nothing() {
        let path = tempfile::NamedTempFile::new().unwrap();
        let open = || File::open(path.path()).unwrap();
        let held = open();
        hold(&held).unwrap();
        assert!(matches!(hold(&open()), Err(HoldError::Taken(_))));
        let copy = held.try_clone().unwrap();
        drop(held);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(20));
                drop(copy);
            });
            hold_within(&open(), Duration::from_secs(60)).unwrap();
        });
    }
}
