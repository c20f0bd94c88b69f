//! A file that only grows.

use crate::plan_file::in_words;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

/// A file that only grows. After a failure nothing is added any more, so that it has no hole in it.
#[derive(Debug)]
pub(super) struct Appended {
    file: File,
    failure: Option<String>,
}

impl Appended {
    pub(super) fn create(path: &Path) -> io::Result<Appended> {
        Ok(Appended {
            file: File::create(path)?,
            failure: None,
        })
    }

    pub(super) fn append(&mut self, text: &str) {
        if self.failure.is_none() && !text.is_empty() {
            self.failure = self
                .file
                .write_all(text.as_bytes())
                .err()
                .map(|error| in_words(&error));
        }
    }

    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }
}
