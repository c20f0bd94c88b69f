//! The content that every fixture serves, so that one plan fits all of them.

use std::path::Path;

/// Bytes of the body of `/`.
pub const BODY_BYTES: usize = 356;

/// Bytes of the body of `/big`.
pub const BIG_BYTES: usize = 1_900_000;

/// The body of `/`.
pub(crate) fn body() -> String {
    "x".repeat(BODY_BYTES)
}

/// Writes the body of `/big`, which does not repeat itself.
pub(crate) fn write_big(path: &Path) {
    write_numbers(path, BIG_BYTES);
}

/// Writes the body of `/packed`, which is small enough that a server compresses it in some
/// milliseconds, and the same as brotli and `zstd --check --zstd=wlog=14` pack it, into a folder.
pub(crate) fn write_packed(folder: &Path) {
    write_numbers(&folder.join("packed"), 100_000);
    let brotli = include_bytes!("content/packed.br");
    std::fs::write(folder.join("packed.br"), brotli).unwrap();
    std::fs::write(folder.join("packed.bad"), &brotli[1..]).unwrap();
    std::fs::write(
        folder.join("packed.zst"),
        include_bytes!("content/packed.zst"),
    )
    .unwrap();
}

fn write_numbers(path: &Path, bytes: usize) {
    let numbers: String = (0..)
        .map(|number: u32| format!("{number:07}\n"))
        .take(bytes.div_ceil(8))
        .collect();
    std::fs::write(path, &numbers.as_bytes()[..bytes]).unwrap();
}
