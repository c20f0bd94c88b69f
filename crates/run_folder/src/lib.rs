//! The folder of a run, written as the run goes, and that of several runs. It knows file names, how
//! to write safely, and the log that everything else in a folder is made from; what is in the other
//! files is decided elsewhere.

mod appended;
mod campaign_folder;
mod durable;
mod folder_name;
mod hold;
mod io_words;
mod latest;
mod regular;
mod run_log;
mod run_origin;
mod utc;

pub use campaign_folder::{CAMPAIGN, CampaignFolder, ResumeError};
pub use folder_name::{ChosenName, FolderName, NameError};
pub use io_words::in_words;
pub use latest::{LatestLink, behind_link};
pub use regular::open_regular;
pub use run_log::{
    BegunRun, FactError, FactKind, LogError, LogReader, LogTail, LoggedFact, ResumedRun, RunLog,
};
#[cfg(feature = "fuzzing")]
pub use run_log::{log_file, sealed_log};
pub use run_origin::{RunOrigin, STANDARD_INPUT};
pub use utc::Utc;

use appended::Appended;
use control::RunId;
use durable::{sync_folder, sync_parent};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The result document.
pub const RESULT: &str = "result.json";
/// The plan as given, without secrets.
pub const PLAN: &str = "plan.toml";
/// The result for a browser.
pub const PAGE: &str = "report.html";
/// Everything that the other files are made from.
pub const LOG: &str = "run.log";
const HISTOGRAMS: &str = "histograms.hlog";
const HISTOGRAMS_BY_AGENT: &str = "histograms-by-agent.hlog";
const EVENTS: &str = "events.jsonl";

/// How many runs of one name can begin in one second.
const SAME_SECOND_MAX: u32 = 100;

/// The folder of a run.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    histograms: Appended,
    /// `None` unless it was asked for.
    histograms_by_agent: Option<Appended>,
    events: Appended,
    /// Files whose last replacement failed, and why.
    failures: BTreeMap<&'static str, String>,
}

/// Why no folder can be written.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Something cannot be written.
    #[error(
        "cannot write {}: {why}; name a folder that this user may write by --output",
        path.display()
    )]
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        why: String,
    },
    /// There is a folder of the chosen name already.
    #[error(
        "{} exists; write another name after --run, or remove it",
        path.display()
    )]
    Exists {
        /// The folder.
        path: PathBuf,
    },
}

impl FolderError {
    fn unwritable(path: &Path, error: &io::Error) -> FolderError {
        FolderError::Unwritable {
            path: path.to_owned(),
            why: in_words(error),
        }
    }
}

/// One of the files that grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growing {
    /// The interval log of all agents together.
    Histograms,
    /// The interval log that keeps agents apart, if it was asked for.
    HistogramsByAgent,
    /// One JSON object per line.
    Events,
}

impl RunFolder {
    /// Makes a folder in `base` with the plan in it. What cannot be written shows here, before any
    /// load is sent.
    ///
    /// # Errors
    /// The folder or a file in it cannot be written.
    pub fn create(
        base: &Path,
        name: &FolderName,
        plan_text: &str,
    ) -> Result<RunFolder, FolderError> {
        RunFolder::begin(name.make(base)?, plan_text)
    }

    /// Makes `<parent>/<name>` with the plan in it, which must hold no secrets.
    ///
    /// # Errors
    /// The folder or a file in it cannot be written.
    pub fn within(parent: &Path, name: &str, plan_text: &str) -> Result<RunFolder, FolderError> {
        RunFolder::begin(new_folder(parent, name)?, plan_text)
    }

    fn begin(path: PathBuf, plan_text: &str) -> Result<RunFolder, FolderError> {
        let failed = |file: &str| {
            let path = path.join(file);
            move |error: io::Error| FolderError::unwritable(&path, &error)
        };
        write_whole(&path.join(PLAN), plan_text.as_bytes()).map_err(failed(PLAN))?;
        let histograms = Appended::create(&path.join(HISTOGRAMS)).map_err(failed(HISTOGRAMS))?;
        let events = Appended::create(&path.join(EVENTS)).map_err(failed(EVENTS))?;
        sync_folder(&path).map_err(failed(PLAN))?;
        Ok(RunFolder {
            path,
            histograms,
            histograms_by_agent: None,
            events,
            failures: BTreeMap::new(),
        })
    }

    /// Reopens the folder of an interrupted run with empty files: what they held is made again from
    /// the log. They are emptied only while the log is held, by [`RunLog::reopen`].
    ///
    /// # Errors
    /// A file in it cannot be written.
    pub fn reopen(path: &Path, _held: &RunLog) -> Result<RunFolder, FolderError> {
        let opened = |file: &str| {
            let path = path.join(file);
            Appended::create(&path).map_err(|error| FolderError::unwritable(&path, &error))
        };
        let had_agents = path.join(HISTOGRAMS_BY_AGENT).is_file();
        Ok(RunFolder {
            path: path.to_owned(),
            histograms: opened(HISTOGRAMS)?,
            histograms_by_agent: had_agents
                .then(|| opened(HISTOGRAMS_BY_AGENT))
                .transpose()?,
            events: opened(EVENTS)?,
            failures: BTreeMap::new(),
        })
    }

    /// Makes the log of the run.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin_log(&self, run: RunId) -> Result<RunLog, LogError> {
        RunLog::create(&self.path.join(LOG), run)
    }

    /// Adds a log that keeps agents apart.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn with_histograms_by_agent(mut self) -> Result<RunFolder, FolderError> {
        let path = self.path.join(HISTOGRAMS_BY_AGENT);
        let made = Appended::create(&path);
        self.histograms_by_agent =
            Some(made.map_err(|error| FolderError::unwritable(&path, &error))?);
        Ok(self)
    }

    /// Whether there is a log that keeps agents apart.
    #[must_use]
    pub fn has_histograms_by_agent(&self) -> bool {
        self.histograms_by_agent.is_some()
    }

    /// The folder's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds to a file. What finds no room is added later; a failure is remembered until then.
    pub fn append(&mut self, file: Growing, text: &str) {
        match file {
            Growing::Histograms => self.histograms.append(text),
            Growing::HistogramsByAgent => self
                .histograms_by_agent
                .iter_mut()
                .for_each(|file| file.append(text)),
            Growing::Events => self.events.append(text),
        }
    }

    /// Replaces the result in one step: a reader sees the old one or the new one. A failure is
    /// remembered until a later replacement succeeds.
    pub fn replace_result(&mut self, text: &str) {
        self.replace(RESULT, text);
    }

    /// Replaces the page in the same way.
    pub fn replace_page(&mut self, text: &str) {
        self.replace(PAGE, text);
    }

    fn replace(&mut self, file: &'static str, text: &str) {
        match replacement_failure(&self.path.join(file), text) {
            Some(why) => self.failures.insert(file, why),
            None => self.failures.remove(file),
        };
    }

    /// Writes a file that never changes.
    ///
    /// # Errors
    /// The file cannot be written; the message names it, with the reason.
    pub fn write_beside(&self, file: &str, text: &str) -> Result<(), String> {
        let path = self.path.join(file);
        let written = write_whole(&path, text.as_bytes());
        written.map_err(|error| format!("{}: {}", path.display(), in_words(&error)))
    }

    /// Writes what still waits for room, and syncs the files to the disk.
    pub fn finish(&mut self) {
        let files = [&mut self.histograms, &mut self.events];
        for file in files.into_iter().chain(&mut self.histograms_by_agent) {
            file.write();
            file.sync();
        }
    }

    /// Whether the folder has the result that was saved last.
    #[must_use]
    pub fn has_result(&self) -> bool {
        !self.failures.contains_key(RESULT) && self.path.join(RESULT).is_file()
    }

    /// Failures to save, each with its reason; empty if everything is saved.
    #[must_use]
    pub fn unsaved(&self) -> Vec<String> {
        let failures = [
            (RESULT, self.failures.get(RESULT).map(String::as_str)),
            (PAGE, self.failures.get(PAGE).map(String::as_str)),
            (HISTOGRAMS, self.histograms.failure()),
            (
                HISTOGRAMS_BY_AGENT,
                self.histograms_by_agent
                    .as_ref()
                    .and_then(Appended::failure),
            ),
            (EVENTS, self.events.failure()),
        ];
        let told = |(file, failure): (&str, Option<&str>)| {
            Some(format!("{}: {}", self.path.join(file).display(), failure?))
        };
        failures.into_iter().filter_map(told).collect()
    }
}

/// Name of a folder.
#[must_use]
pub fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Why a file cannot be replaced.
fn replacement_failure(path: &Path, text: &str) -> Option<String> {
    let replaced = replace(path, text);
    replaced.err().map(|error| in_words(&error))
}

/// Replaces a file in one step.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let draft = path.with_extension("json.tmp");
    let written = write_whole(&draft, text.as_bytes())
        .and_then(|()| fs::rename(&draft, path))
        .and_then(|()| sync_parent(path));
    if written.is_err() {
        // If even that fails, the draft does no harm.
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Makes a folder that was not there; if the name is taken, a numbered one.
fn new_folder(base: &Path, name: &str) -> Result<PathBuf, FolderError> {
    fs::create_dir_all(base).map_err(|error| FolderError::unwritable(base, &error))?;
    let mut path = base.join(name);
    for number in 2..=SAME_SECOND_MAX {
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                path = base.join(format!("{name}-{number}"))
            }
            Err(error) => return Err(FolderError::unwritable(&path, &error)),
            Ok(()) => {
                sync_parent(&path).map_err(|error| FolderError::unwritable(&path, &error))?;
                return Ok(path);
            }
        }
    }
    Err(FolderError::Unwritable {
        path,
        why: "it and its numbered neighbours exist".to_owned(),
    })
}

fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utc::Utc;
    use std::os::unix::fs::symlink;

    fn stamped(now: Utc) -> FolderName {
        FolderName::Stamped(now, "plan".to_owned())
    }

    fn folder(base: &Path) -> RunFolder {
        RunFolder::create(base, &stamped(Utc::now()), "name = \"plan\"\n").unwrap()
    }

    #[test]
    fn folder_holds_what_was_written() {
        let base = tempfile::tempdir().unwrap();
        let mut folder = folder(&base.path().join("runs/deep"));
        folder.append(Growing::Events, "{}\n");
        folder.append(Growing::Histograms, "#header\n");
        folder.append(Growing::Histograms, "line\n");
        folder.replace_result("1");
        folder.replace_result("2");
        let read = |file| fs::read_to_string(folder.path().join(file)).unwrap();
        assert_eq!(
            [PLAN, EVENTS, HISTOGRAMS, RESULT].map(read),
            ["name = \"plan\"\n", "{}\n", "#header\nline\n", "2"]
        );
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            4,
            "no draft is left behind"
        );
        assert_eq!(folder.unsaved(), Vec::<String>::new());
    }

    #[test]
    fn runs_of_one_second_do_not_share_a_folder() {
        let base = tempfile::tempdir().unwrap();
        let now = Utc::now();
        let create = || RunFolder::create(base.path(), &stamped(now), "").unwrap();
        let names = [create(), create()].map(|folder| {
            folder
                .path()
                .file_name()
                .unwrap()
                .to_owned()
                .into_string()
                .unwrap()
        });
        assert_eq!(
            names,
            [
                format!("{}-plan", now.stamp()),
                format!("{}-plan-2", now.stamp())
            ]
        );
    }

    #[test]
    fn folder_that_cannot_be_written_is_told_at_the_start() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = RunFolder::create(&file.path().join("runs"), &stamped(Utc::now()), "")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("not a directory") && error.contains("--output"),
            "{error}"
        );
    }

    #[test]
    fn disk_that_fills_up_in_the_middle_is_remembered() {
        let base = tempfile::tempdir().unwrap();
        let mut folder = folder(base.path());
        symlink("/dev/full", folder.path().join(format!("{RESULT}.tmp"))).unwrap();
        folder.histograms = Appended::create(Path::new("/dev/full")).unwrap();
        folder.append(Growing::Histograms, "line\n");
        folder.append(Growing::Events, "{}\n");
        folder.replace_result("1");
        let unsaved = folder.unsaved();
        assert_eq!(unsaved.len(), 2, "{unsaved:?}");
        assert!(
            unsaved[0].ends_with("result.json: no space left on device"),
            "{unsaved:?}"
        );
        assert!(
            unsaved[1].ends_with("histograms.hlog: no space left on device"),
            "{unsaved:?}"
        );
        folder.replace_result("2");
        assert_eq!(folder.unsaved().len(), 1, "the result was saved after all");
    }
}
