//! Our own binaries, built from this checkout.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

/// The binary `coordinator` or `agent` of this checkout, in the profile of the calling test. The
/// first call in a process lets cargo bring both up to date if they are not.
///
/// Those that `cargo test --workspace` builds have the features that any package asks for. Cargo,
/// asked for these two packages alone, would build nearly all of ours again without them.
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
    let is_built = |name: &str| is_current(&folder.join(name)).unwrap_or(false);
    if is_built("coordinator") && is_built("agent") {
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

/// Whether nothing that the binary was built from has changed since: its sources, which cargo lists
/// beside it as in a makefile, their manifests, and what the whole workspace is built with.
///
/// # Errors
/// If there is no binary or no list, or it names a file that is not there.
fn is_current(binary: &Path) -> std::io::Result<bool> {
    let changed_at = |path: &Path| -> std::io::Result<SystemTime> { path.metadata()?.modified() };
    let built_at = changed_at(binary)?;
    let list = std::fs::read_to_string(binary.with_extension("d"))?;
    let sources = list.split_whitespace().skip(1).map(PathBuf::from);
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let of_all =
        ["Cargo.toml", "Cargo.lock", ".cargo/config.toml"].map(|name| workspace.join(name));
    for path in sources.chain(of_all) {
        let manifest = path.ancestors().map(|folder| folder.join("Cargo.toml"));
        let manifest = manifest.skip(1).find(|manifest| manifest.is_file());
        for input in [Some(path.clone()), manifest].into_iter().flatten() {
            if changed_at(&input)? > built_at {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, write};
    use std::time::Duration;

    #[test]
    fn binary_is_current_until_a_source_or_a_manifest_is_newer() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let source = at("main.rs");
        for name in ["main.rs", "Cargo.toml", "program"] {
            write(at(name), "").unwrap();
        }
        assert!(is_current(&at("program")).is_err(), "there is no list");
        let list = format!("{}: {}\n", at("program").display(), source.display());
        write(at("program.d"), list).unwrap();
        assert!(is_current(&at("program")).unwrap());
        for name in ["main.rs", "Cargo.toml"] {
            let file = File::options().write(true).open(at(name)).unwrap();
            let built_at = at("program").metadata().unwrap().modified().unwrap();
            file.set_modified(built_at + Duration::from_secs(1))
                .unwrap();
            assert!(!is_current(&at("program")).unwrap(), "{name} is newer");
            file.set_modified(built_at).unwrap();
        }
        std::fs::remove_file(source).unwrap();
        assert!(is_current(&at("program")).is_err(), "a source is gone");
    }
}
