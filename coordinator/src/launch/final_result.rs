//! What a job leaves for its user: a document, where it is saved, and what went wrong beside it.

use crate::job::JobStanding;
use analysis::{CampaignDocument, Document};
use report::{Format, Style};
use std::path::PathBuf;

/// What a job leaves for its user.
#[derive(Debug)]
pub(crate) struct FinalResult {
    /// Sentences to be read before the document.
    pub(crate) problems: Vec<String>,
    /// `None` if nothing was measured.
    pub(crate) document: Option<JobDocument>,
    /// Sentences about what could not be saved, unless the document has them.
    pub(crate) unsaved: Vec<String>,
    pub(crate) place: ResultPlace,
    /// How the job stands by its document and by what could not be saved.
    pub(crate) standing: JobStanding,
}

/// The document of a job.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub(crate) enum JobDocument {
    /// The result of the only run.
    Run(Document),
    /// The result of several runs, or of a search.
    Campaign(CampaignDocument),
}

/// Where a result is.
#[derive(Debug)]
pub(crate) enum ResultPlace {
    /// Saving was not asked for.
    NotAsked,
    Folder(PathBuf),
    /// It should have been saved there, but was not.
    NotIn(PathBuf),
}

impl FinalResult {
    /// The outcome in a few words.
    pub(crate) fn headline(&self) -> String {
        match &self.document {
            None => "nothing was measured".to_owned(),
            Some(JobDocument::Run(document)) => report::headline(document),
            Some(JobDocument::Campaign(document)) => report::campaign_headline(document),
        }
    }
}

impl JobDocument {
    /// The document as text.
    pub(crate) fn render(&self, format: Format, style: Style) -> String {
        match self {
            JobDocument::Run(document) => format.render(document, style),
            JobDocument::Campaign(document) => format.render_campaign(document, style),
        }
    }
}

impl ResultPlace {
    /// Returns the place of a result in `folder`, which may have gone since it was written.
    pub(super) fn of_folder(folder: PathBuf) -> ResultPlace {
        match folder.is_dir() {
            true => ResultPlace::Folder(folder),
            false => ResultPlace::NotIn(folder),
        }
    }
}
