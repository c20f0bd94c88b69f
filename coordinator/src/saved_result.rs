//! The result of a saved run: as it was written, or made from the log of a run whose coordinator
//! did not finish it. Folders may come from elsewhere, so nothing in them is trusted.

use crate::record::replay::{self, ReplayError};
use analysis::{CampaignDocument, Document, RunState};
use report::ReadError;
use run_folder::{CAMPAIGN, LOG, RESULT, in_words, open_regular};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

/// Largest file that is read, far above what the limits of a run allow.
const RESULT_MAX_BYTES: u64 = 1 << 30;

/// The result of a saved run.
#[derive(Debug)]
pub(crate) struct SavedResult {
    /// The result with all that is stored.
    pub(crate) document: Document,
    /// A remark on its source, for the reader.
    pub(crate) remark: Option<String>,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ResultError {
    /// There is no file with a result.
    #[error(
        "{}: {why}; write the folder of a run that this user may read, such as \
         runs/20260101T120000Z-plan",
        path.display()
    )]
    Missing {
        /// The path that was tried.
        path: PathBuf,
        /// The system's reason.
        why: String,
    },
    /// This version cannot read it.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The result's path.
        path: PathBuf,
        /// The problem with it.
        error: ReadError,
    },
    /// A campaign that we did not write.
    #[error(
        "{}: names the run {name:?}, which is not in its folder; bring the file again from where \
         it was copied",
        path.display()
    )]
    Outside {
        /// Path of the file that names it.
        path: PathBuf,
        /// The folder that is named.
        name: String,
    },
    /// There is only the log, and it cannot be read.
    #[error(transparent)]
    Log(#[from] ReplayError),
}

/// Reads the result in a run's folder, or in a file.
pub(crate) fn read(path: &Path) -> Result<SavedResult, ResultError> {
    if path.is_dir() {
        return in_folder(path);
    }
    // A user who names a file may name a pipe.
    let document = document(path, |path| File::open(path))?;
    Ok(as_saved(document))
}

/// Reads the result of a campaign's run; `name` is that of its folder within the campaign's.
pub(crate) fn read_part(campaign: &Path, name: &str) -> Result<SavedResult, ResultError> {
    // A file from elsewhere must not lead out of the campaign's folder.
    let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_));
    if name.is_empty() || !Path::new(name).components().all(is_inside) {
        return Err(ResultError::Outside {
            path: campaign.join(CAMPAIGN),
            name: name.to_owned(),
        });
    }
    in_folder(&campaign.join(name))
}

/// Reads the result of all runs in a campaign's folder; `None` for another folder.
pub(crate) fn campaign(folder: &Path) -> Result<Option<CampaignDocument>, ResultError> {
    let path = folder.join(CAMPAIGN);
    if !path.exists() {
        return Ok(None);
    }
    let campaign = report::read_campaign(&bytes(&path, open_regular)?);
    campaign
        .map(Some)
        .map_err(|error| ResultError::Unreadable { path, error })
}

fn in_folder(path: &Path) -> Result<SavedResult, ResultError> {
    let file = document(&path.join(RESULT), open_regular);
    let is_finished = |document: &Document| document.run.state != RunState::Incomplete;
    if file.as_ref().is_ok_and(is_finished) || !path.join(LOG).is_file() {
        return file.map(as_saved);
    }
    match (replay::document(path), file) {
        (Ok(document), _) => Ok(SavedResult {
            document,
            remark: None,
        }),
        // The last result that was written is better than none.
        (Err(error), Ok(document)) => Ok(SavedResult {
            document,
            remark: Some(format!(
                "{error}; this is {RESULT} as it was written last, which may lack the last seconds"
            )),
        }),
        (Err(error), Err(_)) => Err(error.into()),
    }
}

fn as_saved(document: Document) -> SavedResult {
    SavedResult {
        document,
        remark: None,
    }
}

type Open = fn(&Path) -> io::Result<File>;

fn document(path: &Path, open: Open) -> Result<Document, ResultError> {
    report::read(&bytes(path, open)?).map_err(|error| ResultError::Unreadable {
        path: path.to_owned(),
        error,
    })
}

fn bytes(path: &Path, open: Open) -> Result<Vec<u8>, ResultError> {
    let missing = |why: String| ResultError::Missing {
        path: path.to_owned(),
        why,
    };
    let mut bytes = Vec::new();
    let read = open(path)
        .and_then(|file| file.take(RESULT_MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| missing(in_words(&error)))?;
    if read as u64 > RESULT_MAX_BYTES {
        return Err(missing(
            "it has more than 1 GiB, and no result is so large".to_owned(),
        ));
    }
    Ok(bytes)
}
