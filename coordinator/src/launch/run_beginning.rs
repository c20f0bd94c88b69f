//! How far a run is when this coordinator begins with it.

use super::interrupted_run::InterruptedRun;
use control::RunModel;
use run_folder::RunFolder;
use std::path::Path;

/// How far a run is when this coordinator begins with it.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub(super) enum RunBeginning {
    /// Not begun; recorded in this folder, if there is one.
    New(Option<RunFolder>),
    /// Begun by another coordinator.
    Interrupted(InterruptedRun),
}

impl RunBeginning {
    /// The run's folder.
    pub(super) fn folder(&self) -> Option<&Path> {
        match self {
            RunBeginning::New(folder) => folder.as_ref().map(RunFolder::path),
            RunBeginning::Interrupted(before) => Some(before.folder()),
        }
    }

    /// The run so far.
    pub(super) fn past(&self) -> RunModel {
        match self {
            RunBeginning::New(_) => RunModel::default(),
            RunBeginning::Interrupted(before) => before.past().clone(),
        }
    }
}
