//! The result of a saved run: as it was written, or made from the log of a run whose coordinator
//! did not finish it.

use crate::plan_file::in_words;
use crate::record::replay::{self, ReplayError};
use crate::run_folder::{LOG, RESULT};
use analysis::{Document, RunState};
use report::ReadError;
use std::path::{Path, PathBuf};

/// The result of a saved run.
#[derive(Debug)]
pub(crate) struct SavedResult {
    /// All that is stored.
    pub(crate) document: Document,
    /// What its reader should know of where it is from.
    pub(crate) remark: Option<String>,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ResultError {
    /// No file with one.
    #[error(
        "{}: {why}; write the folder of a run, such as runs/20260101T120000Z-plan",
        path.display()
    )]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// Not what this version reads.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// Of the result.
        path: PathBuf,
        /// What is wrong with it.
        error: ReadError,
    },
    /// The log is all there is, and cannot be read.
    #[error(transparent)]
    Log(#[from] ReplayError),
}

/// The result in a run's folder, or in a file.
pub(crate) fn read(path: &Path) -> Result<SavedResult, ResultError> {
    if !path.is_dir() {
        return Ok(written(read_file(path)?));
    }
    let file = read_file(&path.join(RESULT));
    let is_finished = |document: &Document| document.run.state != RunState::Incomplete;
    if file.as_ref().is_ok_and(is_finished) || !path.join(LOG).is_file() {
        return file.map(written);
    }
    match (replay::document(path), file) {
        (Ok(document), _) => Ok(SavedResult {
            document,
            remark: None,
        }),
        // What was written last is better than nothing.
        (Err(error), Ok(document)) => Ok(SavedResult {
            document,
            remark: Some(format!(
                "{error}; this is {RESULT} as it was written last, which may lack the last seconds"
            )),
        }),
        (Err(error), Err(_)) => Err(error.into()),
    }
}

fn written(document: Document) -> SavedResult {
    SavedResult {
        document,
        remark: None,
    }
}

fn read_file(path: &Path) -> Result<Document, ResultError> {
    let bytes = std::fs::read(path).map_err(|error| ResultError::Missing {
        path: path.to_owned(),
        why: in_words(&error),
    })?;
    report::read(&bytes).map_err(|error| ResultError::Unreadable {
        path: path.to_owned(),
        error,
    })
}
