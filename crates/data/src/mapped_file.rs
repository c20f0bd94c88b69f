//! Files that are mapped into memory. It knows neither folders nor what the files are for.

use bytes::Bytes;
use memmap2::Mmap;
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Write};
use std::sync::Arc;

/// A file in memory that no process can change or truncate any more. Clones share it.
///
/// A map of an ordinary file follows each change of it: load would be sent that was never checked,
/// and a file that becomes shorter kills the process that reads behind its new end (SIGBUS). So
/// only what the kernel keeps unchanged is mapped: a file with fs-verity where it lies, which takes
/// no memory beside the page cache, and otherwise a sealed copy in memory (memfd). The bytes that
/// are hashed are those that are sent. Systems other than Linux have neither: there it is a copy in
/// this process.
#[derive(Clone)]
pub struct MappedFile {
    text: Bytes,
    sha256: [u8; 32],
    /// What is mapped: the file itself, or its sealed copy.
    file: Arc<File>,
}

/// Why a file is not mapped. The messages continue a sentence that ends in a colon.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// It is a folder, a pipe or a device.
    #[error("it is no regular file; use one, or a link to one")]
    NotRegular,
    /// Its copy does not fit into memory.
    #[error(
        "it has {bytes} bytes, of which a copy is held in memory, and {room} are available; use \
         a smaller file or a machine with more memory, or run `fsverity enable` on the file: then \
         it is not copied"
    )]
    NoRoom {
        /// The file's size.
        bytes: u64,
        /// Bytes of memory that it may take.
        room: u64,
    },
    /// Its size was another one once it was read.
    #[error("it was changed while it was read; try again once it is whole")]
    Changed,
    /// The system refuses.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Bytes that are read, hashed and copied at once.
const CHUNK_BYTES: usize = 1 << 20;

impl MappedFile {
    /// Maps `file`, which is at its beginning, and computes its SHA-256. It is copied into at most
    /// `room` bytes of memory, unless fs-verity keeps it unchanged. Takes about a second for each
    /// GiB.
    ///
    /// # Errors
    /// It is no regular file, has no room, changes meanwhile, or cannot be read.
    pub fn map(file: File, room: u64) -> Result<MappedFile, MapError> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(MapError::NotRegular);
        }
        match Mmap::map_if_safe(&file) {
            Ok(map) => Ok(MappedFile::hash(map, file)),
            Err(error) if error.map_failed() => Err(MapError::Io(error.into())),
            Err(_) if metadata.len() > room => Err(MapError::NoRoom {
                bytes: metadata.len(),
                room,
            }),
            Err(_) => copy(file, metadata.len()),
        }
    }

    fn hash(map: Mmap, file: File) -> MappedFile {
        let mut hash = Sha256::new();
        map.chunks(CHUNK_BYTES).for_each(|chunk| hash.update(chunk));
        MappedFile {
            text: Bytes::from_owner(map),
            sha256: hash.finalize().into(),
            file: Arc::new(file),
        }
    }

    /// All bytes of the file.
    #[must_use]
    pub fn text(&self) -> &Bytes {
        &self.text
    }

    /// SHA-256 of its bytes.
    #[must_use]
    pub fn sha256(&self) -> [u8; 32] {
        self.sha256
    }

    /// What is mapped. A process of the same user that opens it anew, by `/proc/PID/fd/FD`, maps
    /// the same memory.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }
}

impl fmt::Debug for MappedFile {
    /// Without the content, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("MappedFile");
        debug
            .field("bytes", &self.text.len())
            .finish_non_exhaustive()
    }
}

/// Maps a sealed copy of `file`, which has `bytes` bytes.
#[cfg(target_os = "linux")]
fn copy(mut file: File, bytes: u64) -> Result<MappedFile, MapError> {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut copy = File::from(memfd_create("data", flags).map_err(io::Error::from)?);
    let sha256 = copy_into(&mut copy, &mut file, bytes)?;
    let seals = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    fcntl_add_seals(&copy, seals).map_err(io::Error::from)?;
    let map = Mmap::map_if_safe(&copy).map_err(io::Error::from)?;
    Ok(MappedFile {
        text: Bytes::from_owner(map),
        sha256,
        file: Arc::new(copy),
    })
}

/// Reads `file`, which has `bytes` bytes. There are no agents on such a machine to hand the copy
/// to.
#[cfg(not(target_os = "linux"))]
fn copy(mut file: File, bytes: u64) -> Result<MappedFile, MapError> {
    let mut text = Vec::new();
    let room = usize::try_from(bytes).unwrap_or(usize::MAX);
    let reserved = text.try_reserve_exact(room);
    reserved.map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    let sha256 = copy_into(&mut text, &mut file, bytes)?;
    Ok(MappedFile {
        text: text.into(),
        sha256,
        file: Arc::new(file),
    })
}

/// Copies all of `file`, which has `bytes` bytes, and returns its SHA-256.
fn copy_into(copy: &mut impl Write, file: &mut File, bytes: u64) -> Result<[u8; 32], MapError> {
    let (mut hash, mut copied) = (Sha256::new(), 0);
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let read = match file.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        copied += read as u64;
        if copied > bytes || (read == 0 && copied < bytes) {
            return Err(MapError::Changed);
        }
        if read == 0 {
            return Ok(hash.finalize().into());
        }
        hash.update(&chunk[..read]);
        copy.write_all(&chunk[..read])?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd as _;

    fn file_of(content: &[u8]) -> (tempfile::NamedTempFile, File) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), content).expect("its content");
        let opened = File::open(file.path()).expect("the file");
        (file, opened)
    }

    #[test]
    fn map_stays_as_it_was_hashed_whatever_becomes_of_the_file() {
        let content = b"login\nann\nbob\n".repeat(CHUNK_BYTES / 10);
        let (file, opened) = file_of(&content);
        let mapped = MappedFile::map(opened, content.len() as u64).expect("a map");
        std::fs::write(file.path(), b"x").expect("other content");
        assert!(mapped.text()[..] == content[..]);
        assert_eq!(mapped.sha256(), <[u8; 32]>::from(Sha256::digest(&content)));
        // Another process of this user finds the same memory, which no process can write to.
        let path = format!("/proc/self/fd/{}", mapped.file().as_raw_fd());
        let again = MappedFile::map(File::open(&path).expect("the copy"), 0).expect("no copy");
        assert_eq!(again.sha256(), mapped.sha256());
        let written = File::options().write(true).open(&path);
        let written = written.and_then(|mut copy| copy.write_all(b"x"));
        assert!(written.is_err(), "the copy is sealed");
    }

    #[test]
    fn what_cannot_be_mapped_says_why() {
        let (_kept, opened) = file_of(b"12345");
        let error = MappedFile::map(opened, 4).expect_err("no room");
        assert!(error.to_string().contains("has 5 bytes"), "{error}");
        let folder = tempfile::tempdir().expect("a folder");
        let opened = File::open(folder.path()).expect("the folder");
        let error = MappedFile::map(opened, u64::MAX).expect_err("a folder");
        assert!(matches!(error, MapError::NotRegular), "{error}");
        let (_kept, opened) = file_of(b"");
        let empty = MappedFile::map(opened, 0).expect("an empty map");
        assert_eq!(empty.text().len(), 0);
    }

    #[test]
    fn file_of_another_size_than_it_had_is_refused() {
        for said in [4, 6] {
            let (_kept, opened) = file_of(b"12345");
            let error = copy(opened, said).expect_err("another size");
            assert!(matches!(error, MapError::Changed), "{error}");
        }
    }

    #[test]
    fn content_is_not_in_the_debug_text() {
        let (_kept, opened) = file_of(b"PASSWORD");
        let mapped = MappedFile::map(opened, 8).expect("a map");
        assert_eq!(format!("{mapped:?}"), "MappedFile { bytes: 8, .. }");
    }
}
