//! A file without a name for intervals that are more than memory holds.

use control::{IntervalStore, StoredPlace};
use proto::Bytes;
use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate, open, unlink};
use rustix::io::Errno;
use secret::random;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// What the file may hold. At 64 KiB a second and a run that is eighteen hours long.
const SPOOL_MAX_BYTES: u64 = 4 << 30;

/// Made with the first interval that goes there, readable by this user alone, and gone with the
/// process however that ends: no directory names it.
#[derive(Debug)]
pub(super) struct Spool {
    folder: PathBuf,
    file: Option<File>,
    /// Where the next interval goes.
    end: u64,
    kept_bytes: u64,
}

impl Spool {
    pub(super) fn new(folder: PathBuf) -> Spool {
        Spool {
            folder,
            file: None,
            end: 0,
            kept_bytes: 0,
        }
    }

    fn write(&mut self, encoded: &[u8]) -> io::Result<StoredPlace> {
        if self.kept_bytes + encoded.len() as u64 > SPOOL_MAX_BYTES {
            return Err(io::Error::other("it holds 4 GiB already"));
        }
        let file = match self.file.take() {
            Some(file) => file,
            None => nameless(&self.folder)?,
        };
        let file = self.file.insert(file);
        let place = StoredPlace {
            offset: self.end,
            bytes: encoded.len(),
        };
        file.write_all_at(encoded, self.end)?;
        self.end += encoded.len() as u64;
        self.kept_bytes += encoded.len() as u64;
        Ok(place)
    }

    fn read(&self, place: StoredPlace) -> io::Result<Bytes> {
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let mut encoded = vec![0; place.bytes];
        file.read_exact_at(&mut encoded, place.offset)?;
        Ok(encoded.into())
    }
}

impl IntervalStore for Spool {
    fn put(&mut self, encoded: &[u8]) -> Result<StoredPlace, String> {
        let folder = self.folder.display().to_string();
        self.write(encoded).map_err(|error| {
            format!(
                "cannot write a temporary file in {folder}: {error}; name another folder by --spool"
            )
        })
    }

    fn get(&mut self, place: StoredPlace) -> Result<Bytes, String> {
        let folder = self.folder.display().to_string();
        self.read(place)
            .map_err(|error| format!("cannot read the temporary file in {folder} again: {error}"))
    }

    fn free(&mut self, place: StoredPlace) {
        self.kept_bytes -= place.bytes as u64;
        let Some(file) = &self.file else { return };
        if self.kept_bytes == 0 {
            // What cannot be given back now is overwritten next.
            let _ = file.set_len(0);
            self.end = 0;
        } else if place.bytes > 0 {
            // A file system that cannot make holes keeps the space until all is delivered.
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let _ = fallocate(file, hole, place.offset, place.bytes as u64);
        }
    }
}

/// A file that no directory names.
fn nameless(folder: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    match open(folder, flags | OFlags::TMPFILE, mode) {
        Ok(file) => Ok(File::from(file)),
        // Some file systems must be given a name for a moment.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
            let number = u64::from_ne_bytes(random().map_err(io::Error::other)?);
            let path = folder.join(format!(".cannonade-{number:016x}"));
            let file = open(&path, flags | OFlags::CREATE | OFlags::EXCL, mode)?;
            unlink(&path)?;
            Ok(File::from(file))
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt as _;

    fn spool() -> Spool {
        Spool::new(std::env::temp_dir())
    }

    #[test]
    fn intervals_come_back_in_any_order_and_no_directory_names_the_file() {
        let mut spool = spool();
        let contents: Vec<Vec<u8>> = [0, 1, 5_000, 100_000]
            .into_iter()
            .map(|size| vec![size as u8; size])
            .collect();
        let places: Vec<StoredPlace> = contents
            .iter()
            .map(|content| spool.put(content).unwrap())
            .collect();
        for (content, place) in contents.iter().zip(&places).rev() {
            assert_eq!(spool.get(*place).unwrap(), *content);
        }
        let metadata = spool.file.as_ref().unwrap().metadata().unwrap();
        assert_eq!((metadata.nlink(), metadata.mode() & 0o777), (0, 0o600));
    }

    #[test]
    fn space_is_given_back_and_the_file_begins_anew_when_all_is_free() {
        let mut spool = spool();
        let first = spool.put(&[1; 1 << 20]).unwrap();
        let second = spool.put(&[2; 1 << 20]).unwrap();
        spool.free(first);
        assert_eq!(spool.get(second).unwrap(), vec![2; 1 << 20]);
        spool.free(second);
        let file = spool.file.as_ref().unwrap();
        assert_eq!(file.metadata().unwrap().len(), 0);
        assert_eq!(spool.put(b"again").unwrap().offset, 0);
    }

    #[test]
    fn folder_that_is_not_there_is_said_with_the_cure() {
        let mut spool = Spool::new("/nowhere/at/all".into());
        let why = spool.put(b"x").unwrap_err();
        assert!(
            why.contains("/nowhere/at/all") && why.contains("--spool"),
            "{why}"
        );
        let place = StoredPlace {
            offset: 0,
            bytes: 1,
        };
        assert!(spool.get(place).is_err());
    }

    #[test]
    fn full_spool_takes_nothing_more() {
        let mut spool = spool();
        spool.kept_bytes = SPOOL_MAX_BYTES;
        assert!(spool.put(b"x").unwrap_err().contains("4 GiB"));
        assert!(spool.put(b"").is_ok());
    }
}
