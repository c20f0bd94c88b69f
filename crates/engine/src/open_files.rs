//! The open-files limit of an agent that takes over shares. The agent's own share is checked before
//! the run, by its caller.

use crate::prepare_error::PrepareError;
use plan::{Plan, Share};
use rustix::process::{Resource, getrlimit};

/// A generous bound on the files that an agent has open beside its connections.
pub const OPEN_FILES_BESIDE: u64 = 128;

/// Checks that the connections of virtual users, in all `shares` of the agent, fit the hard limit
/// of open files, with one of each to every origin.
pub(crate) fn check_open_files(plan: &Plan, shares: &[Share]) -> Result<(), PrepareError> {
    let users = shares.iter().filter_map(Share::connections_of_users);
    let users = users.fold(0, u32::saturating_add);
    let asked = users.saturating_mul(plan.target().destinations().count() as u32);
    match getrlimit(Resource::Nofile).maximum {
        Some(limit) if u64::from(asked) + OPEN_FILES_BESIDE > limit => {
            Err(PrepareError::OpenFiles {
                field: shares.first().map_or("load", Share::connections_field),
                asked,
                limit,
            })
        }
        _ => Ok(()),
    }
}
