//! Open files of an agent that takes over more: its own share is compared before the run, by who
//! prepares it.

use crate::prepare_error::PrepareError;
use plan::Share;
use rustix::process::{Resource, getrlimit};

/// Files an agent has open beside its connections, generously.
pub const OPEN_FILES_BESIDE: u64 = 128;

/// Compares the hard limit of open files with the virtual users of all `shares` of the agent.
pub(crate) fn check_open_files(shares: &[Share]) -> Result<(), PrepareError> {
    let users = shares.iter().filter_map(|share| share.peak_connections);
    let asked = users.fold(0, u32::saturating_add);
    match getrlimit(Resource::Nofile).maximum {
        Some(limit) if u64::from(asked) + OPEN_FILES_BESIDE > limit => {
            Err(PrepareError::OpenFiles { asked, limit })
        }
        _ => Ok(()),
    }
}
