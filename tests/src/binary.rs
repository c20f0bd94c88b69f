//! Our own binaries, built from this checkout.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The binary `coordinator` or `agent` of this checkout, in the profile of the calling test. The
/// first call in a process lets cargo bring both up to date.
///
/// # Panics
/// If they do not build.
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let path = FOLDER.get_or_init(build).join(name);
    assert!(path.is_file(), "{} has not been built", path.display());
    path
}

fn build() -> PathBuf {
    // A test is at <target folder>/<profile>/deps/<name>.
    let test = std::env::current_exe().unwrap();
    let folder = test
        .ancestors()
        .nth(2)
        .expect("tests are in deps")
        .to_owned();
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args([
        "build",
        "--quiet",
        "-p",
        "coordinator",
        "-p",
        "agent",
        "--bins",
        "--target-dir",
    ]);
    cargo
        .arg(folder.parent().expect("a profile is in a target folder"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")));
    if folder.ends_with("release") {
        cargo.arg("--release");
    }
    assert!(
        cargo.status().unwrap().success(),
        "cannot build the binaries: {cargo:?}"
    );
    folder
}
