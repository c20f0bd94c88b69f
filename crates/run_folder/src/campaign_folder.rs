//! The folder of several runs: the file as given, the result of all runs, and a folder for each
//! run.

use super::durable::sync_parent;
use super::hold::{self, HoldError, hold};
use super::write_whole;
use super::{
    FolderError, FolderName, PAGE, PLAN, RESULT, RunFolder, new_folder, replacement_failure,
};
use crate::io_words::in_words;
use analysis::{CampaignDocument, Document, RunState, Verdict};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The result of all runs.
pub const CAMPAIGN: &str = "campaign.json";

/// The folder of several runs.
#[derive(Debug)]
pub struct CampaignFolder {
    path: PathBuf,
    /// Keeps other coordinators out; `None` for a folder within one that does.
    _held: Option<File>,
    /// Why the last writing failed.
    failure: Option<String>,
}

/// Why a campaign cannot go on in a folder.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// It has no readable plan.
    #[error(
        "{}: {why}; write the folder of runs that were interrupted, such as \
         runs/20260101T120000Z-plan",
        path.display()
    )]
    NoCampaign {
        /// Path of the plan in it.
        path: PathBuf,
        /// The system's reason.
        why: String,
    },
    /// Another coordinator is making its runs.
    #[error(
        "{}: another coordinator is making the runs of this campaign{}; wait for its end, or \
         end it",
        path.display(),
        hold::in_words(*pid)
    )]
    Taken {
        /// The folder's path.
        path: PathBuf,
        /// The coordinator's process id, if the system reports it.
        pid: Option<u32>,
    },
    /// Runs of two plans cannot be compared.
    #[error(
        "{}: differs from the plan that is given, and runs of two plans are no repeats of each \
         other; give the same plan, or start anew without --resume",
        path.display()
    )]
    OtherPlan {
        /// Path of the plan in it.
        path: PathBuf,
    },
}

impl CampaignFolder {
    /// Makes a folder in `base` with the plan in it.
    ///
    /// # Errors
    /// The folder or the plan in it cannot be written.
    pub fn create(
        base: &Path,
        name: &FolderName,
        plan_text: &str,
    ) -> Result<CampaignFolder, FolderError> {
        let path = name.make(base)?;
        let plan = path.join(PLAN);
        write_whole(&plan, plan_text.as_bytes())
            .and_then(|()| sync_parent(&plan))
            .map_err(|error| FolderError::unwritable(&plan, &error))?;
        let held = hold_folder(&path).map_err(|error| FolderError::Unwritable {
            why: match error {
                HoldError::Taken(pid) => format!("it is in use{}", hold::in_words(pid)),
                HoldError::Failed(error) => in_words(&error),
            },
            path: path.clone(),
        })?;
        Ok(CampaignFolder {
            path,
            _held: Some(held),
            failure: None,
        })
    }

    /// Reopens the folder of interrupted runs of the same plan. `plan_text` has no secrets; the
    /// saved plan may have some if an earlier version wrote it.
    ///
    /// # Errors
    /// There is none at `path`, it is of another plan, or another coordinator is making its runs.
    pub fn resume(path: &Path, plan_text: &str) -> Result<CampaignFolder, ResumeError> {
        let plan = path.join(PLAN);
        let none = |error: &io::Error| ResumeError::NoCampaign {
            path: plan.clone(),
            why: in_words(error),
        };
        let text = fs::read_to_string(&plan).map_err(|error| none(&error))?;
        if text != plan_text && plan::mask_secrets(&text) != plan_text {
            return Err(ResumeError::OtherPlan { path: plan });
        }
        let held = hold_folder(path).map_err(|error| match error {
            HoldError::Taken(pid) => ResumeError::Taken {
                path: path.to_owned(),
                pid,
            },
            HoldError::Failed(error) => none(&error),
        })?;
        Ok(CampaignFolder {
            path: path.to_owned(),
            _held: Some(held),
            failure: None,
        })
    }

    /// The folder's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the folder of a run in it; a numbered one if an interruption left one of this name.
    ///
    /// # Errors
    /// See [`RunFolder::within`].
    pub fn run(&self, name: &str, plan_text: &str) -> Result<RunFolder, FolderError> {
        RunFolder::within(&self.path, name, plan_text)
    }

    /// Makes a folder for several runs in it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn part(&self, name: &str) -> Result<CampaignFolder, FolderError> {
        Ok(CampaignFolder {
            path: new_folder(&self.path, name)?,
            _held: None,
            failure: None,
        })
    }

    /// The folder for several runs in it with a name that begins with `prefix`, if there is one.
    #[must_use]
    pub fn part_named(&self, prefix: &str) -> Option<CampaignFolder> {
        let path = self.parts(prefix).into_iter().next()?;
        Some(CampaignFolder {
            path,
            _held: None,
            failure: None,
        })
    }

    /// Folders whose names begin with `prefix`, in order.
    #[must_use]
    pub fn parts(&self, prefix: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.path)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()));
        let is_part = |path: &PathBuf| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(prefix))
        };
        let mut parts: Vec<PathBuf> = entries.filter(is_part).collect();
        parts.sort_unstable();
        parts
    }

    /// The result of the runs that were made in it before.
    #[must_use]
    pub fn before(&self) -> Option<CampaignDocument> {
        report::read_campaign(&fs::read(self.path.join(CAMPAIGN)).ok()?).ok()
    }

    /// The folder and the result of a complete run with a name that begins with `prefix`: of the
    /// first that is valid, if there is one. An interruption may have left others of the same name,
    /// and a run that it made invalid was made anew.
    #[must_use]
    pub fn completed(&self, prefix: &str) -> Option<(PathBuf, Document)> {
        complete_of(self.parts(prefix))
    }

    /// Like [`CampaignFolder::completed`], for the run of exactly this name. Numbered folders
    /// count, since an interruption may have left a run of the name.
    #[must_use]
    pub fn completed_run(&self, name: &str) -> Option<(PathBuf, Document)> {
        let mut parts = self.parts(name);
        parts.retain(|path| {
            let folder = super::name_of(path);
            let number = folder.strip_prefix(name);
            number.is_some_and(|number| number.is_empty() || number.starts_with('-'))
        });
        complete_of(parts)
    }

    /// Removes the folders of runs of `name`, which are no longer of use; one that cannot be
    /// removed does no harm.
    pub fn discard(&self, name: &str) {
        for path in self.parts(name) {
            let _ = fs::remove_dir_all(path);
        }
    }

    /// Replaces [`CAMPAIGN`] and [`PAGE`], each in one step. A failure is remembered until a later
    /// replacement succeeds.
    pub fn replace(&mut self, text: &str, page: &str) {
        let failure = |(file, text): (&str, &str)| {
            let path = self.path.join(file);
            let why = replacement_failure(&path, text)?;
            Some(format!("{}: {why}", path.display()))
        };
        self.failure = [(CAMPAIGN, text), (PAGE, page)]
            .into_iter()
            .find_map(failure);
    }

    /// The failure to save, with its reason.
    #[must_use]
    pub fn unsaved(&self) -> Option<&str> {
        self.failure.as_deref()
    }
}

/// Opens the folder and holds it.
fn hold_folder(path: &Path) -> Result<File, HoldError> {
    let folder = File::open(path).map_err(HoldError::Failed)?;
    hold(&folder)?;
    Ok(folder)
}

/// The first complete run of these folders that is valid, or else the first complete one.
fn complete_of(parts: Vec<PathBuf>) -> Option<(PathBuf, Document)> {
    let mut invalid = None;
    for path in parts {
        let result = fs::read(path.join(RESULT));
        let Some(document) = result.ok().and_then(|result| report::read(&result).ok()) else {
            continue;
        };
        if document.run.state != RunState::Complete {
            continue;
        }
        if document.verdict.verdict != Verdict::Invalid {
            return Some((path, document));
        }
        invalid = invalid.or(Some((path, document)));
    }
    invalid
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name_of;
    use crate::utc::Utc;
    use analysis::{CollectorSetup, ResultCollector};
    use plan::{NoFiles, Plan};
    use report::{Format, Style};

    fn folder(base: &Path) -> CampaignFolder {
        CampaignFolder::create(
            base,
            &FolderName::Stamped(Utc::now(), "plan".to_owned()),
            "a = 1",
        )
        .unwrap()
    }

    #[test]
    fn each_run_has_a_folder_of_its_own() {
        let base = tempfile::tempdir().unwrap();
        let mut folder = folder(base.path());
        for (name, made) in [
            ("01-a-1", "01-a-1"),
            ("02-b-1", "02-b-1"),
            ("01-a-1", "01-a-1-2"),
        ] {
            assert_eq!(
                folder.run(name, "").unwrap().path(),
                folder.path().join(made)
            );
        }
        assert_eq!(
            folder.parts("01-"),
            ["01-a-1", "01-a-1-2"].map(|name| folder.path().join(name))
        );
        folder.replace("{}", "");
        assert_eq!(
            fs::read_to_string(folder.path().join(CAMPAIGN)).unwrap(),
            "{}"
        );
        assert_eq!(folder.unsaved(), None);
        assert!(folder.completed("01-").is_none(), "nothing was measured");
    }

    /// Saves a run's result in a folder of this name.
    fn save(folder: &CampaignFolder, name: &str, state: RunState, verdict: Verdict) {
        let text = "target.builtin = true\nload = { connections = 1, requests = 1 }";
        let plan = Plan::parse(text, &mut NoFiles).unwrap();
        let mut document = ResultCollector::new(CollectorSetup::default(), &plan).document(state);
        document.verdict.verdict = verdict;
        let run = folder.path().join(name);
        fs::create_dir(&run).unwrap();
        let text = Format::Json.render(&document, Style::PLAIN);
        fs::write(run.join(RESULT), text).unwrap();
    }

    #[test]
    fn run_that_was_made_anew_counts_if_the_one_before_it_is_invalid() {
        let base = tempfile::tempdir().unwrap();
        let folder = folder(base.path());
        let found = |folder: &CampaignFolder| {
            let prefix = folder.completed("01-").map(|(path, _)| name_of(&path));
            let exact = folder.completed_run("01-1").map(|(path, _)| name_of(&path));
            assert_eq!(prefix, exact);
            prefix.unwrap_or_default()
        };
        save(&folder, "01-1", RunState::Complete, Verdict::Invalid);
        save(&folder, "01-1-2", RunState::Interrupted, Verdict::LoadMet);
        assert_eq!(found(&folder), "01-1");
        save(&folder, "01-1-3", RunState::Complete, Verdict::Degraded);
        save(&folder, "01-1-4", RunState::Complete, Verdict::LoadMet);
        assert_eq!(found(&folder), "01-1-3");
        // Another amount of the same step.
        save(&folder, "01-10", RunState::Complete, Verdict::LoadMet);
        assert!(folder.completed_run("01-100").is_none());
        assert_eq!(found(&folder), "01-1-3");
    }

    #[test]
    fn two_coordinators_do_not_make_the_runs_of_one_campaign() {
        let base = tempfile::tempdir().unwrap();
        let first = folder(base.path());
        let path = first.path().to_owned();
        let second = CampaignFolder::resume(&path, "a = 1").unwrap_err();
        let said = format!(
            "{}: another coordinator is making the runs of this campaign (pid {}); wait for its \
             end, or end it",
            path.display(),
            std::process::id()
        );
        assert_eq!(second.to_string(), said);
        drop(first);
        let second = CampaignFolder::resume(&path, "a = 1").unwrap();
        assert!(CampaignFolder::resume(&path, "a = 1").is_err());
        drop(second);
    }

    #[test]
    fn only_the_same_plan_is_resumed() {
        let base = tempfile::tempdir().unwrap();
        let path = folder(base.path()).path().to_owned();
        assert!(CampaignFolder::resume(&path, "a = 1").is_ok());
        let changed = CampaignFolder::resume(&path, "a = 2")
            .unwrap_err()
            .to_string();
        assert!(
            changed.contains("plan.toml: differs") && changed.contains("--resume"),
            "{changed}"
        );
        let none = CampaignFolder::resume(base.path(), "a = 1")
            .unwrap_err()
            .to_string();
        assert!(none.contains("no such file"), "{none}");
    }
}
