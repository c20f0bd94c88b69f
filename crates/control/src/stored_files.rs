//! Which files of plans an agent has on its disk.

use crate::Digest;
use std::fmt;

/// The files that an agent has stored. Their content is read, and proved, by its runner, which may
/// wait for a disk.
pub trait StoredFiles: fmt::Debug + Send {
    /// Whether a file with this hash seems to be stored. Must not take long.
    fn has(&self, sha256: Digest) -> bool;
}

/// An agent that stores no files.
#[derive(Debug)]
pub(crate) struct NoStoredFiles;

impl StoredFiles for NoStoredFiles {
    fn has(&self, _sha256: Digest) -> bool {
        false
    }
}
