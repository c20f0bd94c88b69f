//! A file that only grows.

use crate::io_words::in_words;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// Most text that waits for room. Newer text is dropped, and the file must be made again from the
/// log.
const WAITING_MAX_BYTES: usize = 16 << 20;

/// A file that only grows and has no holes: what finds no room waits, and is written over what was
/// torn, before anything that came later.
#[derive(Debug)]
pub(super) struct Appended {
    file: File,
    /// The bytes that were written whole; the file may be longer if a write was torn.
    good_bytes: u64,
    waiting: String,
    /// Whether some text was dropped.
    is_short: bool,
    failure: Option<String>,
}

impl Appended {
    pub(super) fn create(path: &Path) -> io::Result<Appended> {
        Ok(Appended {
            file: File::create(path)?,
            good_bytes: 0,
            waiting: String::new(),
            is_short: false,
            failure: None,
        })
    }

    pub(super) fn append(&mut self, text: &str) {
        if self.waiting.len() + text.len() > WAITING_MAX_BYTES {
            // A line after a dropped one would follow a hole.
            self.is_short = true;
        }
        if !self.is_short {
            self.waiting.push_str(text);
        }
        self.write();
    }

    /// Tries again to write what waits.
    pub(super) fn write(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let written = self.try_write();
        if written.is_ok() {
            self.good_bytes += self.waiting.len() as u64;
            self.waiting.clear();
        }
        self.failure = written.err().map(|error| in_words(&error));
    }

    fn try_write(&mut self) -> io::Result<()> {
        if self.failure.is_some() {
            self.file.set_len(self.good_bytes)?;
        }
        self.file
            .write_all_at(self.waiting.as_bytes(), self.good_bytes)
    }

    /// Syncs what is written to the disk.
    pub(super) fn sync(&mut self) {
        let synced = self.file.sync_all().err();
        let failure = self.failure.take();
        self.failure = failure.or(synced.map(|error| in_words(&error)));
    }

    /// Why some of the text is not in the file.
    pub(super) fn failure(&self) -> Option<&str> {
        let short = self
            .is_short
            .then_some("it was without room for too long; make it again by report --remake");
        self.failure.as_deref().or(short)
    }
}
