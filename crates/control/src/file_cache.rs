//! Plan files that an agent keeps across the runs of a campaign, so that they are sent only once.

use crate::file_inbox::FILES_MAX_BYTES;
use crate::{Digest, PlanFile};
use std::collections::VecDeque;

/// Total size of the files that are kept: those of a whole plan.
const CACHE_MAX_BYTES: usize = FILES_MAX_BYTES as usize;

/// The most recently used files. Their content is shared with the run that uses it, and can be a
/// key: it is wiped with its last owner.
#[derive(Debug)]
pub(crate) struct FileCache {
    max_bytes: usize,
    /// The most recently used one is last.
    files: VecDeque<PlanFile>,
    bytes: usize,
}

impl FileCache {
    pub(crate) fn new() -> FileCache {
        FileCache::with_room(CACHE_MAX_BYTES)
    }

    fn with_room(max_bytes: usize) -> FileCache {
        FileCache {
            max_bytes,
            files: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Returns the file if it is kept, and counts that as a use.
    pub(crate) fn get(&mut self, sha256: Digest) -> Option<PlanFile> {
        let place = self.files.iter().position(|file| file.sha256 == sha256)?;
        let file = self.files.remove(place)?;
        self.files.push_back(file.clone());
        Some(file)
    }

    /// Keeps a file, in place of the least recently used ones if there is no room.
    pub(crate) fn keep(&mut self, file: &PlanFile) {
        let bytes = file.content.reveal().len();
        if bytes > self.max_bytes || self.get(file.sha256).is_some() {
            return;
        }
        self.bytes += bytes;
        self.files.push_back(file.clone());
        while self.bytes > self.max_bytes {
            let Some(oldest) = self.files.pop_front() else {
                return;
            };
            self.bytes -= oldest.content.reveal().len();
        }
    }

    /// Forgets all files.
    pub(crate) fn clear(&mut self) {
        *self = FileCache::with_room(self.max_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn file(number: u8, size: usize) -> PlanFile {
        PlanFile {
            sha256: Digest([number; 32]),
            content: Arc::<[u8]>::from(vec![number; size]).into(),
        }
    }

    #[test]
    fn file_that_was_not_used_for_longest_makes_room() {
        let third = 100;
        let mut cache = FileCache::with_room(301);
        (1..=3).for_each(|number| cache.keep(&file(number, third)));
        assert!(cache.get(Digest([1; 32])).is_some());
        cache.keep(&file(4, third));
        let kept = [1, 2, 3, 4].map(|number| cache.get(Digest([number; 32])).is_some());
        assert_eq!(kept, [true, false, true, true]);
        assert_eq!(cache.bytes, 3 * third);
    }

    #[test]
    fn file_larger_than_the_cache_is_not_kept_and_drives_no_other_out() {
        let mut cache = FileCache::with_room(10);
        cache.keep(&file(1, 5));
        cache.keep(&file(1, 5));
        cache.keep(&file(2, 11));
        assert_eq!(cache.bytes, 5);
        assert_eq!(cache.get(Digest([1; 32])), Some(file(1, 5)));
        cache.clear();
        assert_eq!((cache.get(Digest([1; 32])), cache.bytes), (None, 0));
    }
}
