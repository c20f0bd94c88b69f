//! Saved runs, by variant: a result, a run folder, or the folder of several runs.

use crate::plan_file::in_words;
use crate::run_folder::{CAMPAIGN, RESULT};
use analysis::{Document, State};
use std::path::{Path, PathBuf};

/// A saved run.
#[derive(Debug)]
pub(super) struct SavedRun {
    pub(super) folder: String,
    pub(super) document: Document,
}

/// What was found at a path.
#[derive(Debug)]
pub(super) struct Saved {
    path: PathBuf,
    /// In the order of their first runs; never empty.
    variants: Vec<(String, Vec<SavedRun>)>,
}

/// Runs that belong together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair<'s> {
    /// Nothing where there is only one.
    pub(super) variant: Option<&'s str>,
    pub(super) first: &'s [SavedRun],
    pub(super) other: &'s [SavedRun],
}

/// Why there is nothing to compare.
#[derive(Debug, thiserror::Error)]
pub(super) enum SavedError {
    /// There is no run at all.
    #[error("{}: {why}; write the folder of a run or of several, such as runs/20260101T120000Z-plan", path.display())]
    Missing { path: PathBuf, why: String },
    /// It is not what this version writes.
    #[error("{}: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    /// It holds no run that was complete.
    #[error("{}: no run in it was complete, and nothing else can be compared", path.display())]
    Nothing { path: PathBuf },
    /// It holds searches.
    #[error("{}: holds searches, and their holds carry different loads; compare the folders of two single holds", path.display())]
    Searches { path: PathBuf },
    /// Nobody can tell what belongs together.
    #[error("{} and {} have no variant in common; name the folders of two single runs", first.display(), other.display())]
    NothingInCommon { first: PathBuf, other: PathBuf },
}

impl Saved {
    /// Reads what stands at `path`.
    pub(super) fn read(path: &Path) -> Result<Saved, SavedError> {
        let variants = if path.join(CAMPAIGN).is_file() { campaign(path)? } else { vec![single(path)?] };
        Ok(Saved { path: path.to_owned(), variants })
    }

    /// The runs that belong together: variants of one name, or all there is where each side has only one.
    pub(super) fn beside<'s>(&'s self, other: &'s Saved) -> Result<Vec<Pair<'s>>, SavedError> {
        if let ([(_, first)], [(_, other)]) = (self.variants.as_slice(), other.variants.as_slice()) {
            return Ok(vec![Pair { variant: None, first, other }]);
        }
        let pair = |(name, first): &'s (String, Vec<SavedRun>)| {
            let (_, other) = other.variants.iter().find(|(known, _)| known == name)?;
            Some(Pair { variant: Some(name), first, other })
        };
        let pairs: Vec<Pair<'s>> = self.variants.iter().filter_map(pair).collect();
        let (first, other) = (self.path.clone(), other.path.clone());
        if pairs.is_empty() { Err(SavedError::NothingInCommon { first, other }) } else { Ok(pairs) }
    }
}

fn single(path: &Path) -> Result<(String, Vec<SavedRun>), SavedError> {
    let file = if path.is_dir() { path.join(RESULT) } else { path.to_owned() };
    let document = document(&file)?;
    Ok((String::new(), vec![SavedRun { folder: path.display().to_string(), document }]))
}

fn document(file: &Path) -> Result<Document, SavedError> {
    let unreadable = |error: report::ReadError| SavedError::Unreadable { path: file.to_owned(), why: error.to_string() };
    report::read(&bytes(file)?).map_err(unreadable)
}

fn bytes(file: &Path) -> Result<Vec<u8>, SavedError> {
    std::fs::read(file).map_err(|error| SavedError::Missing { path: file.to_owned(), why: in_words(&error) })
}

/// The complete runs of several, by variant.
fn campaign(path: &Path) -> Result<Vec<(String, Vec<SavedRun>)>, SavedError> {
    let file = path.join(CAMPAIGN);
    let unreadable = |error: report::ReadError| SavedError::Unreadable { path: file.clone(), why: error.to_string() };
    let campaign = report::read_campaign(&bytes(&file)?).map_err(unreadable)?;
    if campaign.runs.is_empty() && !(campaign.searches.is_empty() && campaign.scalings.is_empty()) {
        return Err(SavedError::Searches { path: path.to_owned() });
    }
    let mut variants: Vec<(String, Vec<SavedRun>)> = Vec::new();
    for run in campaign.runs.into_iter().filter(|run| run.state == State::Complete) {
        let saved = SavedRun { document: document(&path.join(&run.folder).join(RESULT))?, folder: run.folder };
        match variants.iter_mut().find(|(name, _)| *name == run.variant) {
            Some((_, runs)) => runs.push(saved),
            None => variants.push((run.variant, vec![saved])),
        }
    }
    if variants.is_empty() { Err(SavedError::Nothing { path: path.to_owned() }) } else { Ok(variants) }
}
