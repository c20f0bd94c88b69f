//! Our own binaries, built from this checkout.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The binary `coordinator` or `agent` of this checkout, in the profile of the calling test. The
/// first call in a process lets cargo bring both up to date, unless it has just done so.
///
/// `cargo test --workspace` builds them with every feature that some package asks for. Asked for
/// these two packages alone, cargo would build nearly all of ours once more, without them.
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
    if cargo_has_built_all() {
        return folder;
    }
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

/// Whether this test was started by a cargo that builds all binaries before it.
fn cargo_has_built_all() -> bool {
    let parent = rustix::process::Pid::as_raw(rustix::process::getppid());
    let line = std::fs::read_to_string(format!("/proc/{parent}/cmdline")).unwrap_or_default();
    builds_all(line.split('\0').skip(1))
}

/// Whether cargo with these arguments builds the binaries of every package. Any argument that may
/// select less, such as `--test`, counts as if it did.
fn builds_all<'a>(arguments: impl Iterator<Item = &'a str>) -> bool {
    const NARROW_NOTHING: [&str; 9] = [
        "test",
        "--workspace",
        "--tests",
        "--locked",
        "--offline",
        "--release",
        "--no-fail-fast",
        "--quiet",
        "-q",
    ];
    let of_cargo = arguments.take_while(|word| !["", "--"].contains(word));
    let words: Vec<&str> = of_cargo.collect();
    words.contains(&"--workspace") && words.iter().all(|word| NARROW_NOTHING.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_test_of_the_whole_workspace_builds_all_binaries() {
        let builds = |line: &str| builds_all(line.split(' '));
        assert!(builds("test --workspace --no-fail-fast"));
        assert!(builds(
            "test --locked --workspace --tests -- --ignored name"
        ));
        assert!(!builds("test -p interop"));
        assert!(!builds("test"));
        assert!(!builds("test --workspace --test suite"));
        assert!(!builds("test --workspace --exclude coordinator"));
        assert!(!builds("test --workspace name_of_a_test"));
        assert!(!builds("nextest run --workspace"));
        assert!(!builds("test -p interop -- --workspace"));
    }
}
