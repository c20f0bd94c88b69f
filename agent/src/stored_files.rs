//! Files of plans that stay on this machine's disk (`agent join --cache DIR`), so that they are
//! sent once, and not for each run.

use anyhow::Context as _;
use control::{Digest, StoredFiles};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// A folder with files under the names of their hashes, which only this user can read. Several
/// agents may share it.
#[derive(Debug, Clone)]
pub struct CacheFolder {
    folder: PathBuf,
    /// Bytes of all files together.
    max_bytes: u64,
}

impl CacheFolder {
    /// Opens the folder, and makes it if there is none.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open(folder: &Path, max_bytes: u64) -> anyhow::Result<CacheFolder> {
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(folder);
        made.with_context(|| format!("making the folder {} of --cache", folder.display()))?;
        Ok(CacheFolder {
            folder: folder.to_owned(),
            max_bytes,
        })
    }

    /// The content of a file, if it is stored and still has its hash. Counts as a use. A file with
    /// another content is removed.
    pub(crate) fn read(&self, wanted: Digest) -> Option<Arc<[u8]>> {
        let path = self.path(wanted);
        let file = File::open(&path).ok()?;
        let size = file.metadata().ok()?.len();
        let read = plan::read_held(&file, size, self.max_bytes).ok();
        let Some(content) = read.filter(|content| Digest::from_content(content) == wanted) else {
            let _ = fs::remove_file(&path);
            return None;
        };
        // If the time stays as it was, the file makes room sooner, and is sent again.
        let _ = File::options()
            .append(true)
            .open(&path)
            .and_then(|file| file.set_modified(SystemTime::now()));
        Some(content)
    }

    /// Stores a file, in place of those that were not used for longest if there is no room. A
    /// larger one than the folder may hold is not stored.
    ///
    /// # Errors
    /// The system's reason; the file is then sent again.
    pub(crate) fn keep(&self, sha256: Digest, content: &[u8]) -> io::Result<()> {
        let bytes = content.len() as u64;
        if bytes > self.max_bytes || self.has(sha256) {
            return Ok(());
        }
        self.make_room(bytes)?;
        // Without a name until it is whole; tempfile lets only this user read it.
        let mut file = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempfile_in(&self.folder)?;
        file.write_all(content)?;
        file.persist(self.path(sha256))?;
        Ok(())
    }

    fn make_room(&self, bytes: u64) -> io::Result<()> {
        let mut stored = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            // Other files are not ours to remove, but for what a killed agent did not finish.
            let is_ours = is_name(&entry.file_name().to_string_lossy());
            if is_ours && metadata.is_file() {
                stored.push((metadata.modified()?, metadata.len(), entry.path()));
            }
        }
        stored.sort();
        let mut held: u64 = stored.iter().map(|(_, size, _)| size).sum();
        for (_, size, path) in stored {
            if held + bytes <= self.max_bytes {
                break;
            }
            fs::remove_file(path)?;
            held -= size;
        }
        Ok(())
    }

    fn path(&self, sha256: Digest) -> PathBuf {
        self.folder.join(plan::Sha256(sha256.0).to_string())
    }
}

/// How the names of files begin that are being written.
const UNFINISHED: &str = "unfinished-";

/// Whether a file of this name was written here.
fn is_name(name: &str) -> bool {
    name.starts_with(UNFINISHED) || name.parse::<plan::Sha256>().is_ok()
}

impl StoredFiles for CacheFolder {
    fn has(&self, sha256: Digest) -> bool {
        self.path(sha256).is_file()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Duration;

    fn content(number: u8) -> (Digest, Vec<u8>) {
        let content = vec![number; 100];
        (Digest::from_content(&content), content)
    }

    #[test]
    fn file_that_was_not_used_for_longest_makes_room() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CacheFolder::open(&folder.path().join("a/b"), 301).unwrap();
        for (age, number) in [(3, 1), (2, 2), (1, 3)] {
            let (sha256, content) = content(number);
            cache.keep(sha256, &content).unwrap();
            let file = File::options()
                .append(true)
                .open(cache.path(sha256))
                .unwrap();
            let used = SystemTime::now() - Duration::from_secs(age * 60);
            file.set_modified(used).unwrap();
            let mode = file.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        std::fs::write(folder.path().join("a/b/notes.txt"), [0; 1000]).unwrap();
        assert_eq!(cache.read(content(1).0).unwrap()[..], content(1).1[..]);
        let (sha256, fourth) = content(4);
        cache.keep(sha256, &fourth).unwrap();
        let kept = [1, 2, 3, 4].map(|number| cache.has(content(number).0));
        assert_eq!(kept, [true, false, true, true]);
        assert!(folder.path().join("a/b/notes.txt").exists());
        let large = vec![5; 302];
        cache.keep(Digest::from_content(&large), &large).unwrap();
        assert!(!cache.has(Digest::from_content(&large)));
    }

    #[test]
    fn file_with_another_content_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CacheFolder::open(folder.path(), 1000).unwrap();
        for damaged in [&b"short"[..], &[0; 2000]] {
            let (sha256, content) = content(1);
            cache.keep(sha256, &content).unwrap();
            std::fs::write(cache.path(sha256), damaged).unwrap();
            assert!(cache.has(sha256) && cache.read(sha256).is_none());
            assert!(!cache.has(sha256));
        }
    }
}
