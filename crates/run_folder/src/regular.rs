//! Opens files in folders that may come from elsewhere.

use rustix::fs::OFlags;
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Opens a file to read it. Refuses a pipe, whose other end may never come, and a device, which may
/// never end.
///
/// # Errors
/// It cannot be opened, or is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Do not wait for the other end of a pipe; for a file the flag changes nothing.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    check_regular(file)
}

/// The same for a file that was opened.
///
/// # Errors
/// It is not a regular file.
pub(super) fn check_regular(file: File) -> io::Result<File> {
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        Ok(file)
    } else if kind.is_dir() {
        Err(io::ErrorKind::IsADirectory.into())
    } else {
        Err(io::Error::other("it is a pipe or a device, no file"))
    }
}
