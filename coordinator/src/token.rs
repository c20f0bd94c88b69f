//! `coordinator token`: prints what agents join with, before a coordinator is started or while one
//! waits.

use crate::exit::Exit;
use crate::fleet::Enrolment;
use crate::{terminal, token_file};
use anyhow::Context as _;
use clap::Args;
use std::path::{Path, PathBuf};

/// `coordinator token`, as typed.
#[derive(Debug, Args)]
pub struct TokenArgs {
    /// Folder of the coordinator's certificate and secret, as `start --state` names it; both are
    /// made if there are none [default: $XDG_STATE_HOME/cannonade, or ~/.local/state/cannonade]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Write the token to this file (mode 0600) instead of printing it
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// Prints the token, or writes it to a file.
///
/// # Errors
/// There is no state folder, or the token cannot be written.
pub fn token(args: &TokenArgs) -> anyhow::Result<Exit> {
    let enrolment = Enrolment::open(&state_folder(args.state.as_deref())?)?;
    match &args.file {
        Some(file) => token_file::write(file, enrolment.token())
            .with_context(|| format!("cannot write the token into {}", file.display()))?,
        None => terminal::print(&format!("{}\n", enrolment.token().reveal()))?,
    }
    Ok(Exit::Passed)
}

/// Returns the named folder, or this user's own.
pub(crate) fn state_folder(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let folder = named
        .map(Path::to_owned)
        .or_else(command_line::state_folder);
    folder.ok_or_else(|| {
        anyhow::anyhow!("neither XDG_STATE_HOME nor HOME is set; name a folder by --state")
    })
}
