//! When a coordinator was last alive: the modification time of the log, which is renewed as long as
//! the process lives, whether or not there is something to store.

use run_folder::Utc;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often the sign is renewed.
const EVERY: Duration = Duration::from_millis(500);

/// A busy machine can keep the thread off its CPU for this long while leases are granted.
const LATE_MAX: Duration = Duration::from_secs(2);

/// Renews the sign until dropped.
#[derive(Debug)]
pub(super) struct LifeSign {
    /// Dropped to end the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl LifeSign {
    /// Begins to renew the sign of the log at `path`.
    pub(super) fn start(path: &Path) -> io::Result<LifeSign> {
        LifeSign::renewed(path, EVERY)
    }

    fn renewed(path: &Path, every: Duration) -> io::Result<LifeSign> {
        let log = File::options().write(true).open(path)?;
        let (end, ended) = channel();
        let renew = move || {
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                // If that fails, the time of the log's last write stays, which is earlier.
                let _ = log.set_modified(SystemTime::now());
            }
        };
        let thread = std::thread::Builder::new().name("run-alive".to_owned());
        Ok(LifeSign {
            end: Some(end),
            thread: Some(thread.spawn(renew)?),
        })
    }
}

impl Drop for LifeSign {
    fn drop(&mut self) {
        self.end = None;
        // The thread returns nothing and never panics.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// By when the last coordinator that wrote the log at `path` had ended, if no process is writing it
/// now; `None` if the log cannot be reached.
pub(crate) fn left_by(path: &Path) -> Option<Utc> {
    let changed = path.metadata().and_then(|file| file.modified()).ok()?;
    let since = changed.duration_since(UNIX_EPOCH).ok()?;
    Some(Utc::after_1970(since + EVERY + LATE_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sign_is_renewed_until_its_owner_is_gone() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let long_ago = UNIX_EPOCH + Duration::from_secs(1_000);
        let age = || log.path().metadata().unwrap().modified().unwrap();
        log.as_file().set_modified(long_ago).unwrap();
        let sign = LifeSign::renewed(log.path(), Duration::from_millis(1)).unwrap();
        let begun = std::time::Instant::now();
        while age() == long_ago && begun.elapsed() < Duration::from_secs(30) {
            std::thread::yield_now();
        }
        assert_ne!(age(), long_ago);
        drop(sign);
        log.as_file().set_modified(long_ago).unwrap();
        assert_eq!(age(), long_ago, "the thread has ended");
        let left = left_by(log.path()).unwrap();
        assert_eq!(left, Utc::after_1970(Duration::from_millis(1_002_500)));
    }
}
