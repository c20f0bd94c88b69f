//! The end of a run's record: its result, and failures to save it.

use analysis::Document;
use run_folder::name_of;
use std::path::{Path, PathBuf};

/// The end of a run's record.
#[derive(Debug)]
pub(crate) struct FinishedRecord {
    /// The run's result.
    pub(crate) document: Document,
    /// Whether everything that arrived is stored, or nothing was to be stored.
    pub(crate) is_stored: bool,
    /// Failures to save, each with its reason.
    pub(crate) unsaved: Vec<String>,
    /// The run's folder.
    pub(crate) folder: Option<PathBuf>,
    /// Whether the result in the folder is this one.
    pub(crate) has_result: bool,
}

impl FinishedRecord {
    /// The folder that holds the result; `None` if no result is there.
    pub(crate) fn saved_in(&self) -> Option<&Path> {
        self.folder.as_deref().filter(|_| self.has_result)
    }

    /// Name of the run's folder; empty if there is none.
    pub(crate) fn folder_name(&self) -> String {
        self.folder.as_deref().map(name_of).unwrap_or_default()
    }
}
