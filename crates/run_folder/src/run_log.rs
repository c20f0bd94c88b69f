//! `run.log`: everything that a run's record is made from, in order, on the disk before it is
//! acknowledged. The other files of the folder can be made from it at any time.

mod batch;
mod log_reader;
mod logged_fact;
#[cfg(test)]
mod tests;

pub use log_reader::{LogError, LogReader, LogTail};
pub use logged_fact::{BegunRun, FactError, FactKind, LoggedFact, ResumedRun};

use super::durable;
use super::hold::{HoldError, hold};
use super::io_words::in_words;
use super::regular::check_regular;
use batch::{BATCH_HEAD_BYTES, BatchHead, HEAD_BYTES};
use control::RunId;
use log_reader::unreadable;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// The log of a run, held by one coordinator.
///
/// What is staged becomes one batch: it is written in one go, and is read whole or not at all.
/// After a failure the same batch is written again, over what was torn.
#[derive(Debug)]
pub struct RunLog {
    path: PathBuf,
    /// Locked as long as it is open.
    file: File,
    /// Where whole batches end.
    good_bytes: u64,
    batches: u64,
    /// The next batch, with room for its head.
    staged: Vec<u8>,
    /// Whether the file may be longer than `good_bytes`.
    is_torn: bool,
}

impl RunLog {
    /// Creates the log of a run, which holds nothing yet.
    ///
    /// # Errors
    /// The file cannot be written, or another coordinator holds it.
    pub fn create(path: &Path, run: RunId) -> Result<RunLog, LogError> {
        let failed = |error: io::Error| unreadable(path, &error);
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)
            .and_then(check_regular)
            .map_err(failed)?;
        lock(path, &file)?;
        let begun = file
            .write_all_at(&batch::head(run), 0)
            .and_then(|()| file.sync_all())
            .and_then(|()| durable::sync_parent(path));
        if let Err(error) = begun {
            // Without its head it could never be read, and would be in the way of --resume.
            let _ = std::fs::remove_file(path);
            return Err(LogError::Unwritable {
                path: path.to_owned(),
                why: in_words(&error),
            });
        }
        Ok(RunLog::at(path, file, HEAD_BYTES as u64, 0))
    }

    /// Opens the log of an interrupted run to go on with it. Also returns how many bytes of a torn
    /// batch were cut off its end.
    ///
    /// # Errors
    /// It is damaged, of another version, or held by another coordinator.
    pub fn reopen(path: &Path) -> Result<(RunLog, u64), LogError> {
        let failed = |error: io::Error| unreadable(path, &error);
        let file = File::options()
            .read(true)
            .write(true)
            .open(path)
            .and_then(check_regular)
            .map_err(failed)?;
        lock(path, &file)?;
        let read = file.try_clone().map_err(failed)?;
        let tail = LogReader::new(path, read)?.skip_to_end()?;
        if tail.torn_bytes > 0 {
            file.set_len(tail.good_bytes).map_err(failed)?;
        }
        // What a killed coordinator wrote last may be in memory only, and agents learn next what is
        // stored.
        file.sync_all().map_err(failed)?;
        let log = RunLog::at(path, file, tail.good_bytes, tail.batches);
        Ok((log, tail.torn_bytes))
    }

    fn at(path: &Path, file: File, good_bytes: u64, batches: u64) -> RunLog {
        RunLog {
            path: path.to_owned(),
            file,
            good_bytes,
            batches,
            staged: vec![0; BATCH_HEAD_BYTES],
            is_torn: false,
        }
    }

    /// The log's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads what is stored by now, and nothing that is stored later.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn stored(&self) -> Result<LogReader, LogError> {
        Ok(LogReader::open(&self.path)?.until(self.good_bytes))
    }

    /// Adds to the next batch.
    pub fn stage(&mut self, fact: &LoggedFact) {
        fact.encode(&mut self.staged);
    }

    /// Bytes of the next batch.
    #[must_use]
    pub fn staged_bytes(&self) -> usize {
        self.staged.len() - BATCH_HEAD_BYTES
    }

    /// Writes what is staged, and returns once it is on the disk. After an error it is still
    /// staged.
    ///
    /// # Errors
    /// The system's error; the log is as before.
    pub fn commit(&mut self) -> io::Result<()> {
        if self.staged_bytes() == 0 {
            return Ok(());
        }
        if self.is_torn {
            self.file.set_len(self.good_bytes)?;
        }
        // Until the sync succeeds, any part of this batch may be in the file.
        self.is_torn = true;
        let head = BatchHead::new(self.batches, &self.staged[BATCH_HEAD_BYTES..]);
        self.staged[..BATCH_HEAD_BYTES].copy_from_slice(&head.to_bytes());
        self.file.write_all_at(&self.staged, self.good_bytes)?;
        self.file.sync_data()?;
        self.is_torn = false;
        self.good_bytes += self.staged.len() as u64;
        self.batches += 1;
        self.staged.truncate(BATCH_HEAD_BYTES);
        Ok(())
    }

    /// Checks that the file is still where it was made: what is written to a removed file can never
    /// be read.
    ///
    /// # Errors
    /// It is gone, or another file is in its place.
    pub fn check_place(&self) -> io::Result<()> {
        let here = std::fs::metadata(&self.path)?;
        let held = self.file.metadata()?;
        if (here.dev(), here.ino()) == (held.dev(), held.ino()) {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::NotFound,
            "another file stands in its place",
        ))
    }
}

fn lock(path: &Path, file: &File) -> Result<(), LogError> {
    hold(file).map_err(|error| match error {
        HoldError::Taken(pid) => LogError::Taken {
            path: path.to_owned(),
            pid,
        },
        HoldError::Failed(error) => unreadable(path, &error),
    })
}

/// The bytes of a log whose only batch has this content.
#[cfg(feature = "fuzzing")]
#[must_use]
pub fn sealed_log(content: &[u8]) -> Vec<u8> {
    let head = BatchHead::new(0, content).to_bytes();
    [&batch::head(RunId([1; 16]))[..], &head, content].concat()
}

/// The bytes of a log that holds these facts.
#[cfg(feature = "fuzzing")]
#[must_use]
pub fn log_file(facts: &[LoggedFact]) -> Vec<u8> {
    let mut content = Vec::new();
    facts.iter().for_each(|fact| fact.encode(&mut content));
    sealed_log(&content)
}
