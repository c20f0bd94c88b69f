//! Reads a log from its beginning, batch by batch: an hour of a large fleet does not fit into
//! memory.

use super::batch::{BATCH_HEAD_BYTES, BatchHead, HEAD_BYTES, LogHead, MARK, VERSION, read_head};
use super::logged_fact::{FactError, LoggedFact};
use crate::io_words::in_words;
use crate::{LOG, hold, open_regular};
use control::RunId;
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// How many bytes at a time are searched for a batch behind a broken one.
const SEARCH_BYTES: usize = 1 << 20;

/// Why a log cannot be read, or written.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The system cannot open, read or write it.
    #[error("{}: {why}; write the folder of a run that still has its {LOG}", path.display())]
    Unreadable {
        /// The log's path.
        path: PathBuf,
        /// The system's reason.
        why: String,
    },
    /// It cannot be begun.
    #[error("cannot write {}: {why}; make room, or name another folder", path.display())]
    Unwritable {
        /// The log's path.
        path: PathBuf,
        /// The system's reason.
        why: String,
    },
    /// The file is not a log.
    #[error(
        "{}: is no run log, or its head is damaged; write the folder of a run",
        path.display()
    )]
    NoLog {
        /// The file's path.
        path: PathBuf,
    },
    /// Written by another version.
    #[error(
        "{}: has log version {found}, and version {} of this program reads log version {VERSION}; \
         use the version that wrote it",
        path.display(),
        env!("CARGO_PKG_VERSION")
    )]
    Version {
        /// The log's path.
        path: PathBuf,
        /// The version that it states.
        found: u32,
    },
    /// Something that was stored is no longer there.
    #[error(
        "{}: is damaged at byte {at}: batch {batch} is not what was written, and batches that \
         were written after it follow; restore the file from a copy",
        path.display()
    )]
    Damaged {
        /// The log's path.
        path: PathBuf,
        /// Where the broken batch begins.
        at: u64,
        /// Its number.
        batch: u64,
    },
    /// A batch is whole, but not understood.
    #[error("{}: {error}", path.display())]
    Fact {
        /// The log's path.
        path: PathBuf,
        /// Why it is not understood.
        error: FactError,
    },
    /// Another coordinator is writing it.
    #[error(
        "{}: another coordinator is writing this run{}; wait for its end, or end it",
        path.display(),
        hold::in_words(*pid)
    )]
    Taken {
        /// The log's path.
        path: PathBuf,
        /// The coordinator's process id, if the system reports it.
        pid: Option<u32>,
    },
}

/// Where the whole batches of a log end, and what follows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogTail {
    /// Where whole batches end.
    pub good_bytes: u64,
    /// Bytes of a torn batch after them.
    pub torn_bytes: u64,
    /// Number of whole batches.
    pub batches: u64,
}

/// Reads a log from its beginning. As an iterator it returns what was stored, in order, and ends
/// after the last whole batch.
#[derive(Debug)]
pub struct LogReader {
    path: PathBuf,
    file: BufReader<File>,
    run: RunId,
    /// Nothing is read from here on.
    until: u64,
    tail: LogTail,
    batch: Vec<u8>,
    /// How much of the batch has been read.
    read: usize,
    is_over: bool,
}

impl LogReader {
    /// Opens the log at `path`.
    ///
    /// # Errors
    /// There is no log, or one of another version.
    pub fn open(path: &Path) -> Result<LogReader, LogError> {
        let opened = open_regular(path).map_err(|error| unreadable(path, &error))?;
        LogReader::new(path, opened)
    }

    /// Reads bytes as if they were a file.
    #[cfg(feature = "fuzzing")]
    pub fn from_bytes(bytes: &[u8]) -> Result<LogReader, LogError> {
        use rustix::fs::{MemfdFlags, memfd_create};
        let path = Path::new("(memory)");
        let failed = |error: io::Error| unreadable(path, &error);
        let made = memfd_create("run.log", MemfdFlags::CLOEXEC);
        let mut file = File::from(made.map_err(|error| failed(error.into()))?);
        io::Write::write_all(&mut file, bytes).map_err(failed)?;
        file.rewind().map_err(failed)?;
        LogReader::new(path, file)
    }

    /// Reads a file from its position, which must be its beginning.
    pub(super) fn new(path: &Path, file: File) -> Result<LogReader, LogError> {
        let path = path.to_owned();
        let mut file = BufReader::with_capacity(SEARCH_BYTES, file);
        let mut head = [0; HEAD_BYTES];
        let whole = fill(&mut file, &mut head).map_err(|error| unreadable(&path, &error))?;
        let run = match read_head(&head) {
            LogHead::Known(run) if whole => run,
            LogHead::Version(found) if whole => return Err(LogError::Version { path, found }),
            _ => return Err(LogError::NoLog { path }),
        };
        Ok(LogReader {
            path,
            file,
            run,
            until: u64::MAX,
            tail: LogTail {
                good_bytes: HEAD_BYTES as u64,
                torn_bytes: 0,
                batches: 0,
            },
            batch: Vec::new(),
            read: 0,
            is_over: false,
        })
    }

    /// Ends at this byte, where a batch ends: the file may be growing after it.
    pub(super) fn until(self, until: u64) -> LogReader {
        LogReader { until, ..self }
    }

    /// The run that the log is of.
    #[must_use]
    pub fn run(&self) -> RunId {
        self.run
    }

    /// Where whole batches end; known once the iterator has ended.
    #[cfg(any(test, feature = "fuzzing"))]
    #[must_use]
    pub fn tail(&self) -> LogTail {
        self.tail
    }

    /// Goes through all batches without decoding them.
    pub(super) fn skip_to_end(&mut self) -> Result<LogTail, LogError> {
        while self.next_batch()? {}
        Ok(self.tail)
    }

    /// Reads the next batch; `false` if there is no further whole batch.
    fn next_batch(&mut self) -> Result<bool, LogError> {
        let begins = self.tail.good_bytes;
        if begins >= self.until {
            self.is_over = true;
            return Ok(false);
        }
        let is_whole = self
            .read_batch()
            .map_err(|error| unreadable(&self.path, &error))?;
        if is_whole {
            self.tail.good_bytes += (BATCH_HEAD_BYTES + self.batch.len()) as u64;
            self.tail.batches += 1;
            self.read = 0;
            return Ok(true);
        }
        self.is_over = true;
        self.batch.clear();
        self.read = 0;
        let behind = self
            .look_behind(begins)
            .map_err(|error| unreadable(&self.path, &error))?;
        match behind {
            Behind::Torn(bytes) => {
                self.tail.torn_bytes = bytes;
                Ok(false)
            }
            Behind::LaterBatch => Err(LogError::Damaged {
                path: self.path.clone(),
                at: begins,
                batch: self.tail.batches,
            }),
        }
    }

    /// Reads the next bytes, and returns whether they are the next batch.
    fn read_batch(&mut self) -> io::Result<bool> {
        let mut head = [0; BATCH_HEAD_BYTES];
        if !fill(&mut self.file, &mut head)? {
            return Ok(false);
        }
        let Some(head) = BatchHead::from_bytes(&head) else {
            return Ok(false);
        };
        self.batch.resize(head.length, 0);
        let is_filled = fill(&mut self.file, &mut self.batch)?;
        Ok(is_filled && head.number == self.tail.batches && head.fits(&self.batch))
    }

    /// Looks for a batch that was written after the broken one at `from`.
    fn look_behind(&mut self, from: u64) -> io::Result<Behind> {
        let end = self.file.get_ref().metadata()?.len();
        let mut window = vec![0; SEARCH_BYTES];
        let mut at = from;
        while at < end {
            self.file.seek(SeekFrom::Start(at))?;
            let length = read_up_to(&mut self.file, &mut window)?;
            let heads = window[..length].windows(BATCH_HEAD_BYTES).enumerate();
            let candidates: Vec<(u64, BatchHead)> = heads
                .filter(|(_, bytes)| bytes[..4] == MARK)
                .filter_map(|(place, bytes)| {
                    let head = BatchHead::from_bytes(bytes.try_into().ok()?)?;
                    Some((at + place as u64, head))
                })
                .filter(|(_, head)| head.number > self.tail.batches)
                .collect();
            for (place, head) in candidates {
                if self.is_batch(place, head, end)? {
                    return Ok(Behind::LaterBatch);
                }
            }
            // A head may cross the end of this window.
            let step = length.saturating_sub(BATCH_HEAD_BYTES - 1).max(1);
            at += step as u64;
        }
        Ok(Behind::Torn(end.saturating_sub(from)))
    }

    fn is_batch(&mut self, place: u64, head: BatchHead, end: u64) -> io::Result<bool> {
        let begins = place + BATCH_HEAD_BYTES as u64;
        if begins + head.length as u64 > end {
            return Ok(false);
        }
        self.file.seek(SeekFrom::Start(begins))?;
        let mut content = vec![0; head.length];
        Ok(fill(&mut self.file, &mut content)? && head.fits(&content))
    }
}

/// The bytes after a broken batch.
enum Behind {
    /// This many bytes, and no batch.
    Torn(u64),
    LaterBatch,
}

impl Iterator for LogReader {
    type Item = Result<LoggedFact, LogError>;

    fn next(&mut self) -> Option<Result<LoggedFact, LogError>> {
        while self.read == self.batch.len() {
            if self.is_over {
                return None;
            }
            match self.next_batch() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
        let mut rest = &self.batch[self.read..];
        let fact = LoggedFact::decode(&mut rest);
        self.read = self.batch.len() - rest.len();
        if fact.is_err() {
            self.is_over = true;
            self.read = self.batch.len();
        }
        Some(fact.map_err(|error| LogError::Fact {
            path: self.path.clone(),
            error,
        }))
    }
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> LogError {
    LogError::Unreadable {
        path: path.to_owned(),
        why: in_words(error),
    }
}

/// Fills the buffer; `false` if the file ends before.
fn fill(file: &mut BufReader<File>, buffer: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn read_up_to(file: &mut BufReader<File>, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read(&mut buffer[length..])? {
            0 => break,
            more => length += more,
        }
    }
    Ok(length)
}
