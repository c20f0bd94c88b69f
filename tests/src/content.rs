//! What every fixture serves, so that one plan fits all of them.

use std::path::Path;

/// Bytes of the body of `/`.
pub const BODY_BYTES: usize = 356;

/// Bytes of the body of `/big`.
pub const BIG_BYTES: usize = 1_900_000;

/// The body of `/`.
pub(crate) fn body() -> String {
    "x".repeat(BODY_BYTES)
}

/// Writes the body of `/big`, in which no two parts are alike.
pub(crate) fn write_big(path: &Path) {
    let numbers: String = (0..)
        .map(|number: u32| format!("{number:07}\n"))
        .take(BIG_BYTES.div_ceil(8))
        .collect();
    std::fs::write(path, &numbers.as_bytes()[..BIG_BYTES]).unwrap();
}
