//! A record that is made again from its log: of a run whose coordinator died, or to go on with it.

use super::recorded_run::RecordedRun;
use crate::planned_run::PlannedRun;
use crate::run_folder::{BegunRun, FactKind, LOG, LogError, LogReader, RunFolder, RunLog};
use crate::utc::Utc;
use analysis::{Document, RunState};
use plan::Sha256;
use std::fs;
use std::path::{Path, PathBuf};

/// Why no result can be made from a log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplayError {
    /// It cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// It holds no run.
    #[error(
        "{}: ends before the run began, so that there is nothing to show",
        path.display()
    )]
    NothingBegun {
        /// Of the log.
        path: PathBuf,
    },
    /// The plan in it is of another version.
    #[error("{}: the plan in it cannot be read: {problems}", path.display())]
    Plan {
        /// Of the log.
        path: PathBuf,
        /// What is wrong with it.
        problems: plan::Problems,
    },
    /// The files cannot be made again.
    #[error(transparent)]
    Folder(#[from] crate::run_folder::FolderError),
}

/// A record that was made from a log.
#[derive(Debug)]
pub(crate) struct ReplayedRun {
    /// All that is known.
    pub(crate) record: RecordedRun,
    /// When the run ended, and how; nothing where its coordinator died.
    pub(crate) end: Option<(Utc, RunState)>,
    /// Bytes at the end of the log that were never acknowledged.
    pub(crate) torn_bytes: u64,
}

impl ReplayedRun {
    /// Takes in all of a log; files of `folder`, where there is one, are made again.
    ///
    /// # Errors
    /// The log is damaged, or of another version.
    pub(crate) fn new(
        run: PlannedRun,
        folder: Option<RunFolder>,
        log: &mut LogReader,
    ) -> Result<ReplayedRun, LogError> {
        let mut replayed = ReplayedRun {
            record: RecordedRun::new(run, folder),
            end: None,
            torn_bytes: 0,
        };
        for fact in log.by_ref() {
            replayed.end = replayed.record.take_logged(fact?).or(replayed.end);
        }
        replayed.torn_bytes = log.tail().torn_bytes;
        Ok(replayed)
    }

    /// How the run ended, as far as the log says.
    fn state(&self) -> RunState {
        self.end.map_or(RunState::Incomplete, |(_, state)| state)
    }
}

/// What a log says that a run began with.
///
/// # Errors
/// It cannot be read, or nothing was stored.
pub(crate) fn begun(folder: &Path) -> Result<BegunRun, ReplayError> {
    let path = folder.join(LOG);
    let mut log = LogReader::open(&path)?;
    let run = log.run();
    match log.next().transpose()?.map(|fact| fact.what) {
        Some(FactKind::Begun(begun)) if begun.run == run.0 => Ok(begun),
        _ => Err(ReplayError::NothingBegun { path }),
    }
}

/// What the first run in `folder` that has a log began with, if there is one: the folder's own, or
/// that of a run in it.
pub(crate) fn first_begun(folder: &Path) -> Option<BegunRun> {
    if let Ok(begun) = begun(folder) {
        return Some(begun);
    }
    let mut parts: Vec<PathBuf> = fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .collect();
    parts.sort_unstable();
    parts.iter().find_map(|part| first_begun(part))
}

/// The result of the run in `folder`, of all that its log holds; nothing is written.
///
/// # Errors
/// The log or the plan in it cannot be read.
pub(crate) fn document(folder: &Path) -> Result<Document, ReplayError> {
    let replayed = replay(folder, None)?;
    Ok(replayed.record.document(replayed.state()))
}

/// Makes all files of the run in `folder` again from its log, which nobody else may be writing.
///
/// # Errors
/// As [`document`]; a file cannot be written.
pub(crate) fn remake(folder: &Path) -> Result<Document, ReplayError> {
    let (log, _) = RunLog::reopen(&folder.join(LOG))?;
    let replayed = replay(folder, Some(RunFolder::reopen(folder, &log)?))?;
    let state = replayed.state();
    let at = replayed.end.map_or_else(Utc::now, |(at, _)| at);
    Ok(replayed.record.finish(at, state).document)
}

fn replay(path: &Path, folder: Option<RunFolder>) -> Result<ReplayedRun, ReplayError> {
    let begun = begun(path)?;
    let run = PlannedRun::from_log(&begun).map_err(|problems| ReplayError::Plan {
        path: path.join(LOG),
        problems,
    })?;
    let mut log = LogReader::open(&path.join(LOG))?;
    let mut replayed = ReplayedRun::new(run, folder, &mut log)?;
    let digest = Sha256(begun.plan_digest).to_string();
    replayed.record.set_digest(digest);
    Ok(replayed)
}
