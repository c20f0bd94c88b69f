//! What `--version` says of both programs: reports of faults begin with it.

use std::env::consts::{ARCH, OS};
use std::sync::LazyLock;

/// The commit, if this is the build of a package: `.ci/package` sets it. A build from source does
/// not know its commit, since it would have to begin anew with each one.
const COMMIT: Option<&str> = option_env!("CANNONADE_COMMIT");

/// The C library, which resolves names and holds the allocator that the load runs on; empty where
/// the system has one only.
const LIBC: &str = if cfg!(target_env = "musl") {
    ", musl"
} else if cfg!(target_env = "gnu") {
    ", glibc"
} else {
    ""
};

/// Returns which build this is: version, commit, machine and C library.
#[must_use]
pub fn build_words() -> &'static str {
    static WORDS: LazyLock<String> = LazyLock::new(|| {
        let version = env!("CARGO_PKG_VERSION");
        let origin = COMMIT.map_or("built from source".to_owned(), |it| format!("commit {it}"));
        format!("{version} ({origin}, {ARCH} {OS}{LIBC})")
    });
    &WORDS
}
