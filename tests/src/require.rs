//! Finds the programs that fixtures need.

use std::path::{Path, PathBuf};

/// Folders of server programs, which are often missing from a user's `PATH`.
const SYSTEM_FOLDERS: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// The program's path. If it is missing, a line says so, and the test is to return.
///
/// # Panics
/// If it is missing and `CI=true`: in CI a skipped test would go unnoticed.
#[must_use]
pub fn require(program: &str) -> Option<PathBuf> {
    let found = find(program);
    if found.is_none() {
        skip(&format!("{program} is not installed"));
    }
    found
}

/// Does the same for a file of a package, such as a Java library.
///
/// # Panics
/// As [`require`].
#[must_use]
pub fn require_file(path: &str) -> Option<PathBuf> {
    let found = Some(PathBuf::from(path)).filter(|path| is_file(path));
    if found.is_none() {
        skip(&format!("{path} is missing"));
    }
    found
}

/// Does the same for a server that is large, or missing from some distributions: without it the
/// test is skipped in CI too, with a line that says so.
#[must_use]
pub fn require_optional(program: &str) -> Option<PathBuf> {
    let found = find(program);
    if found.is_none() {
        println!("skipped: {program} is not installed; it is optional, so that CI does without it");
    }
    found
}

/// Reports that a test is skipped.
///
/// # Panics
/// If `CI=true`.
pub(crate) fn skip(why: &str) {
    assert_ne!(
        std::env::var("CI").as_deref(),
        Ok("true"),
        "{why}, and in CI no test may be skipped"
    );
    println!("skipped: {why}");
}

fn find(program: &str) -> Option<PathBuf> {
    folders()
        .into_iter()
        .map(|folder| folder.join(program))
        .find(|path| is_file(path))
}

fn folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(SYSTEM_FOLDERS.map(PathBuf::from))
        .collect()
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file())
}
