//! Tells the user how agents elsewhere join: where, and by which token.

use super::schedule::agents_in_words;
use super::start_request::JoinOptions;
use crate::machine_name::reached_at;
use crate::terminal;
use anyhow::Context as _;
use control::Token;
use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Shows the command for each load machine, and writes the token's file where one is asked for.
pub(super) fn give(
    options: &JoinOptions,
    address: SocketAddr,
    token: &Token,
    agents: u32,
    quiet: bool,
) -> anyhow::Result<()> {
    let token = token.reveal();
    if let Some(file) = &options.token_file {
        write(file, &token)
            .with_context(|| format!("cannot write the token into {}", file.display()))?;
    }
    if quiet {
        return Ok(());
    }
    let agents = agents_in_words(agents);
    let by = match &options.token_file {
        Some(file) => format!("--token-file {}", file.display()),
        None => format!("--token {token}"),
    };
    terminal::say(format_args!(
        "waiting for {agents} on {address}; on each load machine:\n  agent join {} {by}",
        reached_at(address)
    ));
    if options.token_file.is_some() {
        terminal::say("(with a copy of that file; it is a secret)");
    }
    Ok(())
}

/// Mode 0600 also where the file was there with another one.
fn write(path: &Path, token: &str) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    writeln!(file, "{token}")
}

#[cfg(test)]
mod tests {
    use super::write;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn token_file_is_for_its_owner_alone() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o644)).unwrap();
        write(file.path(), "cnn1_x").unwrap();
        assert_eq!(
            std::fs::metadata(file.path()).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "cnn1_x\n");
    }
}
