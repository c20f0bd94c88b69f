//! What a record leaves when its run is over.

use crate::run_folder::name_of;
use analysis::Document;
use std::path::{Path, PathBuf};

/// The end of a run's record.
#[derive(Debug)]
pub(crate) struct FinishedRecord {
    /// What is to be known of the run.
    pub(crate) document: Document,
    /// Everything that came is stored, or nothing was to be.
    pub(crate) is_stored: bool,
    /// What could not be saved, and why.
    pub(crate) unsaved: Vec<String>,
    /// The run's folder.
    pub(crate) folder: Option<PathBuf>,
    /// Its result is this one.
    pub(crate) has_result: bool,
}

impl FinishedRecord {
    /// Where the result is; `None` where it is not there.
    pub(crate) fn saved_in(&self) -> Option<&Path> {
        self.folder.as_deref().filter(|_| self.has_result)
    }

    /// Name of the run's folder; empty where there is none.
    pub(crate) fn folder_name(&self) -> String {
        self.folder.as_deref().map(name_of).unwrap_or_default()
    }
}
