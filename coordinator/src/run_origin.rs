//! Where a run was asked for: what going on with it needs beside its log.

use crate::quick::in_flags;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The path that stands for standard input.
pub(crate) const STANDARD_INPUT: &str = "-";

/// Where a run was asked for. Paths are absolute, so that they hold from any folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunOrigin {
    /// The plan's file, or [`STANDARD_INPUT`]; nothing, where flags of `quick` were the plan.
    pub(crate) plan: Option<PathBuf>,
    /// Where agents join; nothing, where they were this machine's own.
    pub(crate) listen: Option<SocketAddr>,
    /// Folder of the enrolment.
    pub(crate) state: Option<PathBuf>,
}

impl RunOrigin {
    /// Of a plan's file.
    pub(crate) fn from_plan_file(plan: &Path) -> RunOrigin {
        RunOrigin {
            plan: Some(if plan.as_os_str() == STANDARD_INPUT {
                plan.to_owned()
            } else {
                absolute(plan)
            }),
            ..RunOrigin::default()
        }
    }

    /// A sentence about the plan, in the words of who asked for the run.
    pub(crate) fn in_its_words(&self, sentence: &str) -> String {
        match self.plan {
            Some(_) => sentence.to_owned(),
            None => in_flags(sentence),
        }
    }

    /// The plan's file, if it can be read again.
    pub(crate) fn plan_file(&self) -> Option<&Path> {
        let plan = self.plan.as_deref();
        plan.filter(|plan| plan.as_os_str() != STANDARD_INPUT)
    }

    /// The same with the place where agents join.
    pub(crate) fn with_port(self, listen: SocketAddr, state: &Path) -> RunOrigin {
        RunOrigin {
            listen: Some(listen),
            state: Some(absolute(state)),
            ..self
        }
    }
}

/// As it was typed, where this process has no folder.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
