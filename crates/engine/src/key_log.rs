//! The file with connections' secrets, written by a thread of its own so that no worker ever waits
//! for a disk. The workers decide what goes into it, see `tls::Keys`.

use crate::prepare_error::PrepareError;
use plan::KeyLog;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Connections whose secrets may wait for the disk, about 1 KiB each. Further ones are dropped and
/// counted.
const WAITING: usize = 4096;

/// How long the collector waits for the disk at the end of a run.
const LAST_WRITE_MAX: Duration = Duration::from_secs(5);

/// The outcome of a key log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeysWritten {
    /// The file.
    pub path: PathBuf,
    /// Connections whose secrets are in it.
    pub connections: u64,
    /// Connections whose secrets should be in it but are not, because the disk was too slow or
    /// failed.
    pub dropped: u64,
    /// Why the disk failed; `None` if it did not.
    pub failure: Option<String>,
}

/// The workers' end of the key log. Clones share what is left of the sample.
#[derive(Debug, Clone)]
pub(crate) struct KeySink {
    handover: SyncSender<String>,
    quota: Arc<Quota>,
}

/// How many connections are still wanted, over all workers. Only read for connections that are
/// candidates.
#[derive(Debug)]
struct Quota {
    log: KeyLog,
    failed: AtomicU32,
    slow: AtomicU32,
    dropped: AtomicU64,
}

/// How an operation ended, as far as it matters to the sample of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OperationEnding {
    /// As the plan expects, with this service time.
    Ok(Duration),
    /// In any other way.
    Failed,
    /// In either way, before the measured part.
    WarmUp,
}

/// The file and what is to be written to it. If it is dropped before its run begins, the file is
/// removed.
#[derive(Debug)]
pub(crate) struct KeyFile {
    /// Taken once the run begins.
    file: Option<File>,
    path: PathBuf,
    handed: Receiver<String>,
    quota: Arc<Quota>,
}

/// Creates the key log of a plan that asks for one. The file must be new, and is readable by its
/// owner only.
pub(crate) fn open(
    log: KeyLog,
    path: Option<&Path>,
) -> Result<Option<(KeyFile, KeySink)>, PrepareError> {
    let (failed, slow) = match log {
        KeyLog::Off => return Ok(None),
        KeyLog::All => (0, 0),
        KeyLog::Sampled { failed, slow, .. } => (failed, slow),
    };
    let path = path.ok_or(PrepareError::KeysNotAllowed)?;
    let refused = |error: std::io::Error| PrepareError::KeyFile {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(refused)?;
    let (handover, handed) = sync_channel(WAITING);
    let quota = Arc::new(Quota {
        log,
        failed: failed.into(),
        slow: slow.into(),
        dropped: AtomicU64::new(0),
    });
    let sink = KeySink {
        handover,
        quota: Arc::clone(&quota),
    };
    Ok(Some((
        KeyFile {
            file: Some(file),
            path: path.to_owned(),
            handed,
            quota,
        },
        sink,
    )))
}

impl KeySink {
    /// Whether any connection is still wanted, so that secrets are worth keeping.
    pub(crate) fn is_open(&self) -> bool {
        let Quota {
            log, failed, slow, ..
        } = &*self.quota;
        *log == KeyLog::All || failed.load(Relaxed) > 0 || slow.load(Relaxed) > 0
    }

    /// Whether the connection of an operation with this ending is wanted; if so, it counts as
    /// taken.
    pub(crate) fn wants(&self, ending: OperationEnding) -> bool {
        let take = |left: &AtomicU32| {
            left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1))
                .is_ok()
        };
        match (self.quota.log, ending) {
            (KeyLog::All, _) => true,
            (KeyLog::Sampled { .. }, OperationEnding::Failed) => take(&self.quota.failed),
            (KeyLog::Sampled { over, .. }, OperationEnding::Ok(service_time)) => {
                service_time > over && take(&self.quota.slow)
            }
            (KeyLog::Off, _) | (_, OperationEnding::WarmUp) => false,
        }
    }

    /// Hands over one connection's lines. If the disk does not keep up they are dropped and
    /// counted.
    pub(crate) fn give(&self, lines: String) {
        if self.handover.try_send(lines).is_err() {
            self.quota.dropped.fetch_add(1, Relaxed);
        }
    }
}

impl KeyFile {
    /// Starts the thread that writes until all workers have ended and then reports the outcome.
    pub(crate) fn write(mut self) -> std::io::Result<Receiver<KeysWritten>> {
        let (tell, told) = sync_channel(1);
        let write = move || {
            let written = self
                .file
                .take()
                .map(|file| self.write_to(BufWriter::new(file)));
            // The receiver is gone if the collector has stopped waiting.
            let _ = tell.send(written.unwrap_or_default());
        };
        std::thread::Builder::new()
            .name("key-log".into())
            .spawn(write)?;
        Ok(told)
    }

    fn write_to(&self, mut file: impl Write) -> KeysWritten {
        let mut written = KeysWritten {
            path: self.path.clone(),
            ..KeysWritten::default()
        };
        while let Ok(first) = self.handed.recv() {
            // Whatever is waiting is written together and then flushed, so that the file can be
            // read during the run.
            let batch: Vec<String> = std::iter::once(first)
                .chain(self.handed.try_iter())
                .collect();
            let result = batch
                .iter()
                .try_for_each(|lines| file.write_all(lines.as_bytes()))
                .and_then(|()| file.flush());
            match result {
                Ok(()) => written.connections += batch.len() as u64,
                Err(error) => {
                    written.dropped += batch.len() as u64;
                    written.failure.get_or_insert(error.to_string());
                }
            }
        }
        written.dropped += self.quota.dropped.load(Relaxed);
        written
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        if self.file.is_some() {
            // A file that cannot be removed stays behind, empty.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Waits for the outcome, once all workers have ended.
pub(crate) fn outcome(told: &Receiver<KeysWritten>) -> KeysWritten {
    told.recv_timeout(LAST_WRITE_MAX)
        .unwrap_or_else(|error| KeysWritten {
            failure: Some(match error {
                RecvTimeoutError::Timeout => {
                    format!("the disk took longer than {LAST_WRITE_MAX:?}")
                }
                RecvTimeoutError::Disconnected => "the thread that writes has died".to_owned(),
            }),
            ..KeysWritten::default()
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    const SLOW: OperationEnding = OperationEnding::Ok(Duration::from_secs(2));
    const FAST: OperationEnding = OperationEnding::Ok(Duration::from_secs(1));

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("key-log-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn sample_takes_the_first_of_each_kind_and_then_closes() {
        let folder = folder("sample");
        let log = KeyLog::Sampled {
            failed: 1,
            slow: 2,
            over: Duration::from_secs(1),
        };
        let (file, sink) = open(log, Some(&folder.join("a.keys"))).unwrap().unwrap();
        let endings = [
            FAST,
            SLOW,
            OperationEnding::Failed,
            OperationEnding::WarmUp,
            OperationEnding::Failed,
            SLOW,
            SLOW,
        ];
        assert_eq!(
            endings.map(|ending| sink.clone().wants(ending)),
            [false, true, true, false, false, true, false]
        );
        assert!(!sink.is_open());
        drop(file);
        assert!(!folder.join("a.keys").exists(), "nothing was begun");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn lines_are_written_for_their_owner_alone_and_counted() {
        let folder = folder("write");
        let path = folder.join("a.keys");
        let (file, sink) = open(KeyLog::All, Some(&path)).unwrap().unwrap();
        assert!(sink.is_open() && sink.wants(OperationEnding::WarmUp) && sink.wants(FAST));
        let told = file.write().unwrap();
        ["A 1 2\n", "B 3 4\nC 3 5\n"]
            .into_iter()
            .for_each(|lines| sink.give(lines.to_owned()));
        drop(sink);
        assert_eq!(
            outcome(&told),
            KeysWritten {
                path: path.clone(),
                connections: 2,
                dropped: 0,
                failure: None
            }
        );
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "A 1 2\nB 3 4\nC 3 5\n"
        );
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(
            matches!(
                open(KeyLog::All, Some(&path)),
                Err(PrepareError::KeyFile { .. })
            ),
            "a file that is there is left alone"
        );
        assert!(matches!(
            open(KeyLog::All, None),
            Err(PrepareError::KeysNotAllowed)
        ));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_the_disk_does_not_take_is_dropped_and_counted() {
        let folder = folder("full");
        let (file, sink) = open(KeyLog::All, Some(&folder.join("a.keys")))
            .unwrap()
            .unwrap();
        (0..WAITING + 3).for_each(|_| sink.give("A 1 2\n".to_owned()));
        drop(sink);
        let written = outcome(&file.write().unwrap());
        assert_eq!((written.connections, written.dropped), (WAITING as u64, 3));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
