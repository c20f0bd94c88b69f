//! Makes a record again from its log, to show a run whose coordinator died or to resume it.

use super::decode_pool::DecodePool;
use super::finished_record::FinishedRecord;
use super::kept_run::KeptRun;
use super::stored_fact::StoredFact;
use crate::planned_run::PlannedRun;
use analysis::{Document, RunState};
use plan::Sha256;
use run_folder::{
    BegunRun, CAMPAIGN, FactKind, LOG, LogError, LogReader, LoggedFact, PLAN, RunFolder, RunLog,
    Utc, behind_link,
};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// How far reading may be ahead of merging, so that all CPUs have something to decode. Far less
/// than the decode pool takes without blocking: one thread both reads and merges.
const AHEAD_MAX_BYTES: usize = 8 << 20;

/// Why no result can be made from a log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplayError {
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The log holds no run.
    #[error(
        "{}: ends before the run began, so that there is nothing to show",
        path.display()
    )]
    NothingBegun {
        /// The log's path.
        path: PathBuf,
    },
    /// The plan in the log is of another version.
    #[error("{}: the plan in it cannot be read: {problems}", path.display())]
    Plan {
        /// The log's path.
        path: PathBuf,
        /// The plan's problems.
        problems: plan::Problems,
    },
    /// The files cannot be made again.
    #[error(transparent)]
    Folder(#[from] run_folder::FolderError),
    /// There is no thread to decode with.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
}

/// A record that was made from a log.
#[derive(Debug)]
struct ReplayedRun {
    /// The record with all that the log holds.
    record: KeptRun,
    /// When the run ended, and how; `None` if its coordinator died.
    end: Option<(Utc, RunState)>,
}

impl ReplayedRun {
    /// How the run ended, as far as the log says.
    fn state(&self) -> RunState {
        self.end.map_or(RunState::Incomplete, |(_, state)| state)
    }
}

/// Facts of a log whose intervals are being decoded.
#[derive(Default)]
struct ReadAhead {
    facts: VecDeque<StoredFact>,
    bytes: usize,
}

/// Takes in all of a log, including what precedes a place that cannot be read. Returns when and how
/// the run ended, if the log says so.
///
/// # Errors
/// The log is damaged, or of another version.
pub(super) fn take_in(
    record: &mut KeptRun,
    log: &mut LogReader,
    decoders: &DecodePool,
) -> Result<Option<(Utc, RunState)>, LogError> {
    let mut ahead = ReadAhead::default();
    let mut end = None;
    let mut read = Ok(());
    for fact in log {
        match fact {
            Ok(fact) => ahead.add(fact, decoders),
            Err(error) => {
                read = Err(error);
                break;
            }
        }
        while ahead.bytes > AHEAD_MAX_BYTES {
            ahead.take_next(record, &mut end);
        }
    }
    while !ahead.facts.is_empty() {
        ahead.take_next(record, &mut end);
    }
    read.map(|()| end)
}

/// A replay of bytes, for `fuzz`.
#[cfg(feature = "fuzzing")]
pub(crate) struct RehearsedReplay(KeptRun);

#[cfg(feature = "fuzzing")]
impl RehearsedReplay {
    /// Replays a log that can be read.
    pub(crate) fn new(run: PlannedRun, bytes: &[u8]) -> RehearsedReplay {
        let mut log = LogReader::from_bytes(bytes).expect("it was read before");
        let decoders = DecodePool::start().expect("the system has threads");
        let mut record = KeptRun::new(run, None);
        // Facts before one that cannot be read are taken in.
        let _ = take_in(&mut record, &mut log, &decoders);
        RehearsedReplay(record)
    }

    /// The result as it is known now.
    pub(crate) fn document(&self) -> Document {
        self.0.document(RunState::Complete)
    }
}

impl ReadAhead {
    fn add(&mut self, fact: LoggedFact, decoders: &DecodePool) {
        let fact = StoredFact::new(fact, decoders);
        self.bytes += fact.bytes();
        self.facts.push_back(fact);
    }

    /// Takes in the next fact, and updates the run's end: a run that was resumed had not ended yet.
    fn take_next(&mut self, record: &mut KeptRun, end: &mut Option<(Utc, RunState)>) {
        let Some(fact) = self.facts.pop_front() else {
            return; // there is none
        };
        self.bytes -= fact.bytes();
        if fact.is_resumption() {
            *end = None;
        }
        *end = record.take(fact).or(*end);
    }
}

/// Reads from a log what its run began with.
///
/// # Errors
/// The log cannot be read, or nothing was stored.
pub(crate) fn begun(folder: &Path) -> Result<BegunRun, ReplayError> {
    let path = folder.join(LOG);
    let mut log = LogReader::open(&path)?;
    let run = log.run();
    match log.next().transpose()?.map(|fact| fact.what) {
        Some(FactKind::Begun(begun)) if begun.run == run.0 => Ok(begun),
        _ => Err(ReplayError::NothingBegun { path }),
    }
}

/// Returns the beginning of the first run in `folder` that has a log, if there is one: the folder's
/// own run, or one in a folder within it.
pub(crate) fn first_begun(folder: &Path) -> Option<BegunRun> {
    if let Ok(begun) = begun(folder) {
        return Some(begun);
    }
    let mut parts: Vec<PathBuf> = fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            // A link could lead back here.
            entry.file_type().ok()?.is_dir().then(|| entry.path())
        })
        .collect();
    parts.sort_unstable();
    parts.iter().find_map(|part| first_begun(part))
}

/// The file of the plan that was run, if `saved` is its copy in the folder of a run or campaign.
pub(crate) fn origin_of_plan(saved: &Path) -> Option<PathBuf> {
    let folder = saved.parent()?;
    // Other folders with a plan may have folders of runs in them.
    let is_of_runs = [LOG, CAMPAIGN]
        .iter()
        .any(|file| folder.join(file).is_file());
    let is_copy = is_of_runs && saved.ends_with(PLAN);
    let begun = is_copy.then(|| first_begun(folder)).flatten()?;
    begun.origin.plan_file().map(Path::to_owned)
}

/// Makes the result of the run in `folder` from all that its log holds; writes nothing.
///
/// # Errors
/// The log or the plan in it cannot be read.
pub(crate) fn document(folder: &Path) -> Result<Document, ReplayError> {
    let replayed = replay(folder, None)?;
    Ok(replayed.record.document(replayed.state()))
}

/// Makes all files of the run in `folder` again from its log, which no other process may be
/// writing. The result says which of them could not be saved.
///
/// # Errors
/// See [`document`]; or a file cannot be opened.
pub(crate) fn remake(folder: &Path) -> Result<FinishedRecord, ReplayError> {
    let folder = &behind_link(folder);
    let (log, _) = RunLog::reopen(&folder.join(LOG))?;
    // A log that cannot be read is refused before a file is replaced.
    replay(folder, None)?;
    let replayed = replay(folder, Some(RunFolder::reopen(folder, &log)?))?;
    let state = replayed.state();
    let at = replayed.end.map_or_else(Utc::now, |(at, _)| at);
    Ok(replayed.record.finish(at, state, None))
}

/// Takes in all of a log, and makes the files of `folder` again, if there is one.
fn replay(path: &Path, folder: Option<RunFolder>) -> Result<ReplayedRun, ReplayError> {
    let begun = begun(path)?;
    let run = PlannedRun::from_log(&begun).map_err(|problems| ReplayError::Plan {
        path: path.join(LOG),
        problems,
    })?;
    let mut log = LogReader::open(&path.join(LOG))?;
    let decoders = DecodePool::start().map_err(ReplayError::Thread)?;
    let mut record = KeptRun::new(run, folder);
    let end = take_in(&mut record, &mut log, &decoders)?;
    record.set_digest(Sha256(begun.plan_digest).to_string());
    Ok(ReplayedRun { record, end })
}
