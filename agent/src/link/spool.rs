//! A file without a name, for intervals that exceed memory.

use control::{IntervalStore, StoredPlace};
use proto::Bytes;
use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate, open, unlink};
use rustix::io::Errno;
use secret::random;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// Most that the file can hold. At 64 KiB a second that is a run of eighteen hours.
const SPOOL_MAX_BYTES: u64 = 4 << 30;

/// A file that is created with the first interval that goes there. Only this user can read it, and
/// it is gone however the process ends, because no directory names it.
#[derive(Debug)]
pub(super) struct Spool {
    folder: PathBuf,
    file: Option<File>,
    space: FreeSpace,
}

/// What is free in the file below its end: bytes by offset. Gaps never touch each other, nor the
/// end.
///
/// Gaps are filled again, so that the size of the file is bounded by what is kept, even on a file
/// system that cannot punch holes.
#[derive(Debug, Default)]
struct FreeSpace {
    gaps: BTreeMap<u64, u64>,
    end: u64,
}

impl Spool {
    pub(super) fn new(folder: PathBuf) -> Spool {
        Spool {
            folder,
            file: None,
            space: FreeSpace::default(),
        }
    }

    fn write(&mut self, encoded: &[u8]) -> io::Result<StoredPlace> {
        let file = match self.file.take() {
            Some(file) => file,
            None => nameless(&self.folder)?,
        };
        let file = self.file.insert(file);
        let bytes = encoded.len() as u64;
        let too_much = || io::Error::other("it holds 4 GiB already");
        let offset = self.space.take(bytes).ok_or_else(too_much)?;
        if let Err(error) = file.write_all_at(encoded, offset) {
            self.give_back(offset, bytes);
            return Err(error);
        }
        Ok(StoredPlace {
            offset,
            bytes: encoded.len(),
        })
    }

    fn read(&self, place: StoredPlace) -> io::Result<Bytes> {
        let file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let mut encoded = vec![0; place.bytes];
        file.read_exact_at(&mut encoded, place.offset)?;
        Ok(encoded.into())
    }

    fn give_back(&mut self, offset: u64, bytes: u64) {
        let Some(file) = self.file.as_ref().filter(|_| bytes > 0) else {
            return; // nothing was stored
        };
        self.space.give_back(offset, bytes);
        // The disk gets back the space that it can take; the rest is overwritten later.
        let _ = if offset >= self.space.end {
            file.set_len(self.space.end)
        } else {
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            fallocate(file, hole, offset, bytes).map_err(io::Error::from)
        };
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
        self.give_back(place.offset, place.bytes as u64);
    }
}

impl FreeSpace {
    /// Takes `bytes` bytes from the first gap that has room, or at the end. Returns their offset,
    /// or `None` if the file would exceed its limit.
    fn take(&mut self, bytes: u64) -> Option<u64> {
        if bytes == 0 {
            return Some(self.end); // an empty interval is nowhere, and gives nothing back
        }
        let fitting = self.gaps.iter().find(|&(_, &room)| room >= bytes);
        let Some((&offset, &room)) = fitting else {
            let offset = self.end;
            self.end = offset
                .checked_add(bytes)
                .filter(|&end| end <= SPOOL_MAX_BYTES)?;
            return Some(offset);
        };
        self.gaps.remove(&offset);
        if room > bytes {
            self.gaps.insert(offset + bytes, room - bytes);
        }
        Some(offset)
    }

    /// Frees these bytes, and joins them with the gaps beside them.
    fn give_back(&mut self, mut offset: u64, mut bytes: u64) {
        if let Some(after) = self.gaps.remove(&(offset + bytes)) {
            bytes += after;
        }
        let before = self.gaps.range(..offset).next_back();
        if let Some((&start, &room)) = before.filter(|&(start, room)| start + room == offset) {
            (offset, bytes) = (start, bytes + room);
        }
        if offset + bytes == self.end {
            self.gaps.remove(&offset);
            self.end = offset;
        } else {
            self.gaps.insert(offset, bytes);
        }
    }
}

/// Opens a file that no directory names.
fn nameless(folder: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    match open(folder, flags | OFlags::TMPFILE, mode) {
        Ok(file) => Ok(File::from(file)),
        // Some file systems need a name for a moment.
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
    use std::collections::VecDeque;
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
        spool.space.end = SPOOL_MAX_BYTES;
        assert!(spool.put(b"x").unwrap_err().contains("4 GiB"));
        assert!(spool.put(b"").is_ok());
        spool.free(StoredPlace {
            offset: 7,
            bytes: 3,
        });
        assert_eq!(spool.put(b"abc").unwrap().offset, 7);
    }

    #[test]
    fn file_stays_as_small_as_what_is_kept_however_long_it_is_used() {
        let mut spool = spool();
        let mut kept: VecDeque<(StoredPlace, Vec<u8>)> = VecDeque::new();
        let mut state = 7_u64;
        let mut draw = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for round in 0..5_000_u32 {
            let content = vec![round as u8; draw(9_000) as usize];
            kept.push_back((spool.put(&content).unwrap(), content));
            // As with runs, mostly the oldest goes first.
            if kept.len() > 20 {
                let which = if draw(4) == 0 { draw(20) as usize } else { 0 };
                let (place, content) = kept.remove(which).unwrap();
                assert_eq!(spool.get(place).unwrap(), content);
                spool.free(place);
            }
        }
        let length = spool.file.as_ref().unwrap().metadata().unwrap().len();
        assert!(length < 40 * 9_000, "{length} bytes for 20 intervals");
        for (place, content) in kept {
            assert_eq!(spool.get(place).unwrap(), content);
            spool.free(place);
        }
        assert!(spool.space.gaps.is_empty() && spool.space.end == 0);
    }

    #[test]
    fn full_disk_is_said_and_what_was_kept_before_is_still_there() {
        let mut spool = spool();
        let before = spool.put(b"kept").unwrap();
        let disk = spool
            .file
            .replace(File::options().write(true).open("/dev/full").unwrap());
        for _ in 0..3 {
            let why = spool.put(&[1; 5_000]).unwrap_err();
            assert!(
                why.contains("No space left") && why.contains("--spool"),
                "{why}"
            );
        }
        spool.file = disk;
        assert_eq!(spool.get(before).unwrap(), &b"kept"[..]);
        assert_eq!(
            spool.put(b"again").unwrap().offset,
            4,
            "what failed takes no room"
        );
    }
}
