//! Names that survive a power cut: a name in a folder is on the disk only once the folder itself
//! was synced (fsync(2)).

use std::fs::File;
use std::io;
use std::path::Path;

/// Makes the names in a folder survive a power cut.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    // A bare name has an empty parent.
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    File::open(folder)?.sync_all()
}

/// Makes the name of a file or folder survive a power cut.
pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), sync_folder)
}
