//! Writes a token to where agents on this machine read it, so that none of them sees a part of it.

use control::Token;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Writes the token to the file at `path`, with mode 0600. An existing file is replaced; a pipe or
/// a device is written to.
pub(crate) fn write(path: &Path, token: &Token) -> io::Result<()> {
    let line = format!("{}\n", token.reveal());
    match fs::metadata(path) {
        Ok(there) if !there.is_file() => OpenOptions::new()
            .write(true)
            .open(path)?
            .write_all(line.as_bytes()),
        // Replaces the file that a link leads to, so that the link stays.
        Ok(_) => replace(&path.canonicalize()?, &line),
        Err(_) => replace(path, &line),
    }
}

fn replace(path: &Path, line: &str) -> io::Result<()> {
    let draft = draft(path)?;
    let written = write_new(&draft, line).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // It may not exist; the first error is the one to report.
        let _ = fs::remove_file(&draft);
    }
    written
}

/// A name beside `path` that is not in use.
fn draft(path: &Path) -> io::Result<PathBuf> {
    let unique: [u8; 8] = secret::random().map_err(io::Error::other)?;
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let name = name.to_string_lossy();
    Ok(path.with_file_name(format!(".{name}.{:016x}", u64::from_be_bytes(unique))))
}

fn write_new(path: &Path, line: &str) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::write;
    use crate::fleet::Enrolment;
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    #[test]
    fn token_file_is_replaced_as_a_whole_and_is_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, "an older and much longer one".repeat(9)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let before = fs::metadata(&path).unwrap().ino();
        let reader = fs::File::open(&path).unwrap();
        let link = folder.path().join("link");
        symlink(&path, &link).unwrap();

        let enrolment = Enrolment::in_memory().unwrap();
        write(&link, enrolment.token()).unwrap();

        let after = fs::metadata(&path).unwrap();
        assert_eq!(after.permissions().mode() & 0o777, 0o600);
        assert_ne!(
            after.ino(),
            before,
            "who has the old one open sees no half of the new one"
        );
        assert!(reader.metadata().unwrap().len() > 200);
        let text = format!("{}\n", enrolment.token().reveal());
        assert_eq!(fs::read_to_string(&link).unwrap(), text);
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            2,
            "no draft is left"
        );
    }

    #[test]
    fn device_is_written_to() {
        write(
            "/dev/null".as_ref(),
            Enrolment::in_memory().unwrap().token(),
        )
        .unwrap();
        let refused = write(
            "/dev/full".as_ref(),
            Enrolment::in_memory().unwrap().token(),
        );
        assert!(refused.is_err());
    }
}
