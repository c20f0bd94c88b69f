//! The open-files limit of an agent that takes over shares. The agent's own share is checked before
//! the run, by its caller.

use crate::prepare_error::PrepareError;
use plan::Share;
use rustix::process::{Resource, getrlimit};

/// A generous bound on the files that an agent has open beside its connections.
pub const OPEN_FILES_BESIDE: u64 = 128;

/// Checks that the virtual users of all `shares` of the agent fit the hard limit of open files.
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
