//! Saved runs and searches, by variant: a result, a run folder, or the folder of several runs.

use crate::saved_result::{self, ResultError};
use analysis::{CampaignDocument, Document, RunState, RunSummary, SearchRecord, VariantSearch};
use std::path::{Path, PathBuf};

/// A saved run.
#[derive(Debug)]
pub(super) struct SavedRun {
    pub(super) folder: String,
    pub(super) document: Document,
}

/// A saved search that found an answer.
#[derive(Debug)]
pub(super) struct SavedSearch {
    pub(super) record: SearchRecord,
    /// Its first hold, which shows what was measured and what was asked for.
    pub(super) hold: Document,
}

/// What was found at a path: runs or searches by variant, in the order of each variant's first;
/// never empty.
#[derive(Debug)]
pub(super) struct Saved {
    path: PathBuf,
    content: SavedContent,
}

#[derive(Debug)]
enum SavedContent {
    Runs(Vec<(String, Vec<SavedRun>)>),
    Searches(Vec<(String, Vec<SavedSearch>)>),
}

/// Runs or searches of two sides that belong together.
#[derive(Debug, Clone, Copy)]
pub(super) struct SavedPair<'s, T> {
    /// `None` if there is only one.
    pub(super) variant: Option<&'s str>,
    pub(super) first: &'s [T],
    pub(super) other: &'s [T],
}

/// Everything on two sides that belongs together.
#[derive(Debug)]
pub(super) enum Pairs<'s> {
    Runs(Vec<SavedPair<'s, SavedRun>>),
    Searches(Vec<SavedPair<'s, SavedSearch>>),
}

/// Why there is nothing to compare.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SavedError {
    /// A result cannot be read.
    #[error(transparent)]
    Result(#[from] ResultError),
    /// Nothing in it is complete.
    #[error("{}: nothing in it was complete, and nothing else can be compared", path.display())]
    Nothing { path: PathBuf },
    /// It holds runs with different numbers of agents.
    #[error(
        "{}: holds runs with different numbers of agents, which carry different loads; compare \
         the folders of two runs in it",
        path.display()
    )]
    Agents { path: PathBuf },
    /// There is a search on one side only.
    #[error(
        "{} holds searches and {} holds runs; name two of a kind, such as the folders of two \
         holds",
        searches.display(),
        runs.display()
    )]
    TwoKinds { searches: PathBuf, runs: PathBuf },
    /// It is unclear what belongs together.
    #[error(
        "{} and {} have no variant in common; name the folders of two single runs",
        first.display(),
        other.display()
    )]
    NothingInCommon { first: PathBuf, other: PathBuf },
}

impl Saved {
    /// Reads what is at `path`.
    pub(super) fn read(path: &Path) -> Result<Saved, SavedError> {
        let content = match saved_result::campaign(path)? {
            Some(document) => campaign(path, document)?,
            None => SavedContent::Runs(vec![single(path)?]),
        };
        Ok(Saved {
            path: path.to_owned(),
            content,
        })
    }

    /// Finds what belongs together: variants of the same name, or everything if each side has only
    /// one.
    pub(super) fn beside<'s>(&'s self, other: &'s Saved) -> Result<Pairs<'s>, SavedError> {
        let here = self.path.clone();
        let there = other.path.clone();
        let pairs = match (&self.content, &other.content) {
            (SavedContent::Runs(first), SavedContent::Runs(other)) => {
                pairs(first, other).map(Pairs::Runs)
            }
            (SavedContent::Searches(first), SavedContent::Searches(other)) => {
                pairs(first, other).map(Pairs::Searches)
            }
            (SavedContent::Searches(_), _) => {
                return Err(SavedError::TwoKinds {
                    searches: here,
                    runs: there,
                });
            }
            (_, SavedContent::Searches(_)) => {
                return Err(SavedError::TwoKinds {
                    searches: there,
                    runs: here,
                });
            }
        };
        pairs.ok_or(SavedError::NothingInCommon {
            first: here,
            other: there,
        })
    }
}

fn pairs<'s, T>(
    first: &'s [(String, Vec<T>)],
    other: &'s [(String, Vec<T>)],
) -> Option<Vec<SavedPair<'s, T>>> {
    if let ([(_, first)], [(_, other)]) = (first, other) {
        return Some(vec![SavedPair {
            variant: None,
            first,
            other,
        }]);
    }
    let pair = |(name, first): &'s (String, Vec<T>)| {
        let (_, other) = other.iter().find(|(known, _)| known == name)?;
        Some(SavedPair {
            variant: Some(name),
            first,
            other,
        })
    };
    Some(first.iter().filter_map(pair).collect::<Vec<_>>()).filter(|pairs| !pairs.is_empty())
}

fn single(path: &Path) -> Result<(String, Vec<SavedRun>), SavedError> {
    let document = saved_result::read(path)?.document;
    Ok((
        String::new(),
        vec![SavedRun {
            folder: path.display().to_string(),
            document,
        }],
    ))
}

/// The complete part of several runs or searches, by variant.
fn campaign(path: &Path, campaign: CampaignDocument) -> Result<SavedContent, SavedError> {
    let content = match campaign {
        _ if !campaign.searches.is_empty() => {
            SavedContent::Searches(searches(path, campaign.searches)?)
        }
        _ if !campaign.scalings.is_empty() => {
            return Err(SavedError::Agents {
                path: path.to_owned(),
            });
        }
        _ => SavedContent::Runs(runs(path, campaign.runs)?),
    };
    let is_empty = match &content {
        SavedContent::Runs(variants) => variants.is_empty(),
        SavedContent::Searches(variants) => variants.is_empty(),
    };
    if is_empty {
        Err(SavedError::Nothing {
            path: path.to_owned(),
        })
    } else {
        Ok(content)
    }
}

fn runs(path: &Path, runs: Vec<RunSummary>) -> Result<Vec<(String, Vec<SavedRun>)>, SavedError> {
    let mut variants = Vec::new();
    for run in runs
        .into_iter()
        .filter(|run| run.state == RunState::Complete)
    {
        let saved = SavedRun {
            document: saved_result::read_part(path, &run.folder)?.document,
            folder: run.folder,
        };
        add(&mut variants, run.variant, saved);
    }
    Ok(variants)
}

fn searches(
    path: &Path,
    searches: Vec<VariantSearch>,
) -> Result<Vec<(String, Vec<SavedSearch>)>, SavedError> {
    let mut variants = Vec::new();
    for searched in searches
        .into_iter()
        .filter(|searched| searched.search.answer.is_some())
    {
        // No version has written an answer without a hold.
        let Some(first) = searched.search.steps.first() else {
            continue;
        };
        let hold = saved_result::read_part(path, &first.result.run)?.document;
        add(
            &mut variants,
            searched.variant,
            SavedSearch {
                record: searched.search,
                hold,
            },
        );
    }
    Ok(variants)
}

fn add<T>(variants: &mut Vec<(String, Vec<T>)>, name: String, item: T) {
    match variants.iter_mut().find(|(known, _)| *known == name) {
        Some((_, items)) => items.push(item),
        None => variants.push((name, vec![item])),
    }
}
