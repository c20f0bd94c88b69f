//! What a finished `coordinator` leaves: its exit code, its output, and its run folder.

use crate::{Histograms, Pressure};
use analysis::{AgentResult, Document, RunState, Verdict};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;
use tempfile::TempDir;

/// How evidence of a client begins that was late or stood still. Agents can begin apart on a quiet
/// machine too.
const LATE: [&str; 4] = [
    "agents began ",
    "the schedule was missed",
    "the client's loop handled ",
    "a client's loop stood still ",
];

/// A `coordinator` that has ended.
pub struct Finished {
    /// Exit code, or 128 plus the number of the signal that ended it, as in shells.
    pub code: i32,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
    /// Time from its start to its end.
    pub took: Duration,
    /// How busy this machine was in that time.
    pressure: Pressure,
    folder: TempDir,
}

impl Finished {
    pub(crate) fn new(
        status: ExitStatus,
        stdout: String,
        stderr: String,
        (took, pressure): (Duration, Pressure),
        folder: TempDir,
    ) -> Finished {
        use std::os::unix::process::ExitStatusExt as _;
        let code = status
            .code()
            .or_else(|| Some(128 + status.signal()?))
            .expect("a process ends by itself or by a signal");
        Finished {
            code,
            stdout,
            stderr,
            took,
            pressure,
            folder,
        }
    }

    /// Returns itself if it ended with `code`, or with 3 because this machine was busy: agents that
    /// begin apart, or are late, have the same counts.
    ///
    /// # Panics
    /// If it ended otherwise; the message has all of its output.
    #[must_use]
    pub fn expect(self, code: i32) -> Finished {
        assert!(
            self.code == code || (code <= 1 && self.is_victim()),
            "{code} was to come; {self}"
        );
        self
    }

    fn is_victim(&self) -> bool {
        self.code == 3 && is_victim_of_pressure(self.folder.path(), &self.pressure)
    }

    /// Its result.
    ///
    /// # Panics
    /// If there is none, or this version cannot read it.
    #[must_use]
    pub fn document(&self) -> Document {
        document_in(&self.folder_of_run()).unwrap_or_else(|error| panic!("{error}; {self}"))
    }

    /// Its result, after checks that it is complete, that the totals of its `agents` match, and
    /// that the output is clean.
    ///
    /// # Panics
    /// If not.
    #[must_use]
    pub fn whole_document(&self, agents: usize) -> Document {
        let document = self.clean().document();
        assert_eq!(document.run.state, RunState::Complete, "{self}");
        let matching = document.agents.iter();
        let matching: Vec<_> = matching.map(|agent| agent.totals_match).collect();
        assert_eq!(matching, vec![Some(true); agents], "{self}");
        document
    }

    /// Its result as other programs read it: names and values.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn result(&self) -> serde_json::Value {
        serde_json::from_slice(&self.result_bytes())
            .unwrap_or_else(|error| panic!("result.json: {error}; {self}"))
    }

    fn result_bytes(&self) -> Vec<u8> {
        let path = self.folder_of_run().join("result.json");
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; {self}", path.display()))
    }

    fn folder_of_run(&self) -> PathBuf {
        self.run_folder()
            .unwrap_or_else(|| panic!("there is no run folder; {self}"))
    }

    /// Its histograms, with all agents added up.
    ///
    /// # Panics
    /// If there are none.
    #[must_use]
    pub fn histograms(&self) -> Histograms {
        self.histograms_in("histograms.hlog")
    }

    /// Its histograms by agent.
    ///
    /// # Panics
    /// If the run did not write them.
    #[must_use]
    pub fn histograms_by_agent(&self) -> Histograms {
        self.histograms_in("histograms-by-agent.hlog")
    }

    fn histograms_in(&self, log: &str) -> Histograms {
        Histograms::read(&self.folder_of_run().join(log))
    }

    /// Its run folder, if there is one.
    #[must_use]
    pub fn run_folder(&self) -> Option<PathBuf> {
        run_folder(self.folder.path())
    }

    /// The folder it ran in.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Checks that the output has no panic, no backtrace and no escape sequence, and returns itself
    /// for further checks.
    ///
    /// # Panics
    /// If it has.
    #[must_use]
    pub fn clean(&self) -> &Finished {
        for bad in ["panicked", "RUST_BACKTRACE", "\u{1b}"] {
            assert!(
                !self.stdout.contains(bad) && !self.stderr.contains(bad),
                "{bad:?} is in the output; {self}"
            );
        }
        self
    }
}

impl std::fmt::Display for Finished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Finished {
            code,
            stdout,
            stderr,
            took,
            ..
        } = self;
        write!(
            f,
            "it ended with {code} after {took:?}\n-- standard error\n{stderr}\n-- standard \
             output\n{stdout}"
        )
    }
}

/// Whether a busy machine is the only reason why the run that was made in `folder` ended with 3:
/// agents began apart, or what kept it busy also made the client the limit, late, or stand still. A
/// result without all counts of all agents has other reasons.
pub(crate) fn is_victim_of_pressure(folder: &Path, pressure: &Pressure) -> bool {
    let Some(document) = run_folder(folder).and_then(|folder| document_in(&folder).ok()) else {
        return false;
    };
    let is_busy = !pressure.is_quiet();
    let is_whole = |agent: &AgentResult| agent.totals_match == Some(true);
    let evidence = &document.verdict.evidence;
    let first = evidence.first().map_or("", String::as_str);
    let is_excused = match document.verdict.verdict {
        Verdict::ClientBound => is_busy,
        Verdict::Invalid if is_busy => LATE.into_iter().any(|late| first.starts_with(late)),
        Verdict::Invalid => evidence.iter().all(|line| line.starts_with(LATE[0])),
        _ => false,
    };
    is_excused && document.agents.iter().all(is_whole)
}

/// Reads the result in a run folder.
///
/// # Errors
/// If there is none, or this version cannot read it.
fn document_in(folder: &Path) -> Result<Document, String> {
    let path = folder.join("result.json");
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let bytes = std::fs::read(&path).map_err(|error| told(&error))?;
    report::read(&bytes).map_err(|error| told(&error))
}

/// The only run folder in `runs`, if there is one; the link to the latest one does not count.
pub(crate) fn run_folder(folder: &Path) -> Option<PathBuf> {
    let mut runs: Vec<PathBuf> = std::fs::read_dir(folder.join("runs"))
        .ok()?
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.is_symlink())
        .collect();
    assert!(runs.len() <= 1, "one run leaves one folder: {runs:?}");
    runs.pop()
}
