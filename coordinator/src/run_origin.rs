//! Where a run was asked for: what going on with it needs beside its log.

use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Where a run was asked for. Paths are absolute, so that they hold from any folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunOrigin {
    /// The plan's file; nothing, where there was none.
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
            plan: Some(absolute(plan)),
            ..RunOrigin::default()
        }
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
