//! Files for other programs: what they claim about themselves is true.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod ci_examples;
mod command_line;
mod earlier_folders;
mod fleet_script;
mod interval_log;
mod manifests;
mod reloaded_server;
mod schemas;

use std::path::{Path, PathBuf};

/// The path of a file in this repository.
fn of_the_repository(path: &str) -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap().join(path)
}

fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
