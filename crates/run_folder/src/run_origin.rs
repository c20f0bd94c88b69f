//! Where a run was asked for: the facts that are needed to resume it, besides its log.

use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The path that stands for standard input.
pub const STANDARD_INPUT: &str = "-";

/// Where a run was asked for. Paths are absolute, so that they are valid in any folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOrigin {
    /// The plan's file, or [`STANDARD_INPUT`]; `None` if the plan came from the flags of `quick`.
    pub plan: Option<PathBuf>,
    /// Where agents join; `None` if they were this machine's own.
    pub listen: Option<SocketAddr>,
    /// Folder of the enrolment.
    pub state: Option<PathBuf>,
}

impl RunOrigin {
    /// The origin of a run with a plan file.
    #[must_use]
    pub fn from_plan_file(plan: &Path) -> RunOrigin {
        RunOrigin {
            plan: Some(if plan.as_os_str() == STANDARD_INPUT {
                plan.to_owned()
            } else {
                absolute(plan)
            }),
            ..RunOrigin::default()
        }
    }

    /// The plan's file, if it can be read again.
    #[must_use]
    pub fn plan_file(&self) -> Option<&Path> {
        let plan = self.plan.as_deref();
        plan.filter(|plan| plan.as_os_str() != STANDARD_INPUT)
    }

    /// Adds the address where agents join, and the folder of the enrolment.
    #[must_use]
    pub fn with_port(self, listen: SocketAddr, state: &Path) -> RunOrigin {
        RunOrigin {
            listen: Some(listen),
            state: Some(absolute(state)),
            ..self
        }
    }
}

/// An absolute path; the path as typed if this process has no folder.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
