//! Reassembles the files of a plan and checks them against their hashes.

use crate::{Digest, PlanFile};
use proto::{FilePart, PART_MAX_BYTES};
use secret::Secret;
use sha2::Digest as _;
use std::iter::repeat_n;
use std::sync::Arc;

/// Total size of the files of one plan that an agent accepts; they are held in memory.
pub const FILES_MAX_BYTES: u64 = 1 << 30;

/// Number of files of one plan that an agent accepts.
pub const FILES_MAX: u32 = 10_000;

/// The files of a run, while they arrive.
#[derive(Debug)]
pub(crate) struct FileInbox {
    wanted: u64,
    left_bytes: u64,
    whole: Vec<PlanFile>,
    current: Option<Current>,
}

/// A file that has arrived in part.
#[derive(Debug)]
struct Current {
    sha256: Digest,
    size_bytes: u64,
    /// Room for all of it, so that it is not copied when it is whole.
    content: Secret<Arc<[u8]>>,
    filled: usize,
    /// Hashed part by part: a large file at once would keep the agent from its next beat.
    hash: sha2::Sha256,
}

/// Why files cannot be accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FileProblem {
    #[error(
        "the plan's files are {bytes} bytes in {files} files; an agent takes at most \
         {FILES_MAX_BYTES} in {FILES_MAX}: name smaller or fewer files"
    )]
    TooMuch { files: u32, bytes: u64 },
    #[error(
        "a part of a file came that does not follow what came before; both sides must run the \
         same version"
    )]
    OutOfPlace,
    #[error(
        "file {sha256} arrived with other content than its hash says; check it again on the \
         coordinator"
    )]
    WrongContent { sha256: Digest },
}

impl FileInbox {
    /// Waits for `files` files of `bytes` bytes in total, besides those that are already here.
    pub(crate) fn new(
        files: u32,
        bytes: u64,
        here: Vec<PlanFile>,
    ) -> Result<FileInbox, FileProblem> {
        if files > FILES_MAX || bytes > FILES_MAX_BYTES {
            return Err(FileProblem::TooMuch { files, bytes });
        }
        Ok(FileInbox {
            wanted: u64::from(files) + here.len() as u64,
            left_bytes: bytes,
            whole: here,
            current: None,
        })
    }

    /// Takes the next part.
    pub(crate) fn take(&mut self, part: &FilePart) -> Result<(), FileProblem> {
        let sha256 = Digest::from_wire(&part.sha256).ok_or(FileProblem::OutOfPlace)?;
        let mut file = match self.current.take() {
            Some(file) if file.sha256 == sha256 && file.size_bytes == part.size_bytes => file,
            None if !self.is_complete() && part.size_bytes <= self.left_bytes => {
                Current::new(sha256, part.size_bytes)
            }
            _ => return Err(FileProblem::OutOfPlace),
        };
        self.append(&mut file, part)?;
        if file.filled as u64 == file.size_bytes {
            self.whole.push(check(file)?);
        } else {
            self.current = Some(file);
        }
        Ok(())
    }

    /// Whether every file has arrived.
    pub(crate) fn is_complete(&self) -> bool {
        self.whole.len() as u64 >= self.wanted
    }

    pub(crate) fn into_files(self) -> Vec<PlanFile> {
        self.whole
    }

    fn append(&mut self, file: &mut Current, part: &FilePart) -> Result<(), FileProblem> {
        let bytes = part.content.len() as u64;
        let fits = bytes <= self.left_bytes && bytes <= file.size_bytes - file.filled as u64;
        let goes_on = bytes > 0 || file.size_bytes == 0;
        if part.offset_bytes != file.filled as u64
            || part.content.len() > PART_MAX_BYTES
            || !fits
            || !goes_on
        {
            return Err(FileProblem::OutOfPlace);
        }
        self.left_bytes -= bytes;
        file.append(&part.content);
        Ok(())
    }
}

impl Current {
    fn new(sha256: Digest, size_bytes: u64) -> Current {
        // No more than an agent takes of all files.
        let room: Arc<[u8]> = repeat_n(0, size_bytes as usize).collect();
        Current {
            sha256,
            size_bytes,
            content: Secret::new(room),
            filled: 0,
            hash: sha2::Sha256::default(),
        }
    }

    fn append(&mut self, part: &[u8]) {
        let content = Arc::get_mut(self.content.reveal_mut());
        let content = content.expect("a file is shared only once it is whole");
        let end = self.filled + part.len();
        content[self.filled..end].copy_from_slice(part);
        self.filled = end;
        self.hash.update(part);
    }
}

fn check(file: Current) -> Result<PlanFile, FileProblem> {
    if Digest(file.hash.finalize().into()) != file.sha256 {
        return Err(FileProblem::WrongContent {
            sha256: file.sha256,
        });
    }
    Ok(PlanFile {
        sha256: file.sha256,
        content: file.content,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileParts, RunId};
    use proto::Bytes;

    const RUN: RunId = RunId([1; 16]);

    fn contents() -> Vec<Bytes> {
        let sizes = [
            0,
            1,
            PART_MAX_BYTES - 1,
            PART_MAX_BYTES,
            PART_MAX_BYTES + 1,
            3 * PART_MAX_BYTES,
        ];
        sizes
            .into_iter()
            .map(|size| Bytes::from(vec![size as u8; size]))
            .collect()
    }

    fn parts(contents: &[Bytes]) -> FileParts {
        FileParts::new(
            RUN,
            contents
                .iter()
                .map(|content| (Digest::from_content(content), content.clone()))
                .collect(),
        )
    }

    #[test]
    fn files_of_every_size_come_back_whole_and_in_order() {
        let contents = contents();
        let bytes = contents.iter().map(|content| content.len() as u64).sum();
        let mut inbox = FileInbox::new(contents.len() as u32, bytes, vec![]).unwrap();
        for part in parts(&contents) {
            assert!(!inbox.is_complete());
            inbox.take(&part).unwrap();
        }
        assert!(inbox.is_complete());
        let came: Vec<Bytes> = inbox
            .into_files()
            .into_iter()
            .map(|file| Bytes::copy_from_slice(file.content.reveal()))
            .collect();
        assert_eq!(came, contents);
    }

    #[test]
    fn content_of_a_file_is_not_in_the_debug_text_of_the_inbox() {
        let mut inbox = FileInbox::new(2, 30, vec![]).unwrap();
        inbox
            .take(&parts(&[Bytes::from_static(b"PRIVATE KEY")]).next().unwrap())
            .unwrap();
        let half = Bytes::from_static(b"ANOTHER KEY");
        let part = parts(std::slice::from_ref(&half)).next().unwrap();
        inbox
            .take(&FilePart {
                size_bytes: 12,
                ..part
            })
            .unwrap();
        let text = format!("{inbox:?}");
        assert!(
            text.contains(&format!(
                "Current {{ sha256: {:?}, size_bytes: 12, content: ***, ",
                Digest::from_content(&half)
            )),
            "{text}"
        );
        assert!(
            !text.contains("KEY") && !text.contains("75, 69, 89"),
            "{text}"
        );
    }

    #[test]
    fn parts_that_do_not_follow_are_refused() {
        let content = [Bytes::from(vec![1; PART_MAX_BYTES + 1])];
        let [first, second]: [FilePart; 2] =
            parts(&content).collect::<Vec<_>>().try_into().unwrap();
        let lying = FilePart {
            size_bytes: 1,
            ..first.clone()
        };
        let endless = FilePart {
            content: Bytes::new(),
            ..first.clone()
        };
        let nameless = FilePart {
            sha256: Bytes::new(),
            ..first.clone()
        };
        for sequence in [
            vec![&second],
            vec![&first, &first],
            vec![&lying],
            vec![&endless],
            vec![&nameless],
        ] {
            let mut inbox = FileInbox::new(1, content[0].len() as u64, vec![]).unwrap();
            let last = sequence
                .into_iter()
                .map(|part| inbox.take(part))
                .last()
                .unwrap();
            assert_eq!(last, Err(FileProblem::OutOfPlace));
        }
    }

    #[test]
    fn more_bytes_than_announced_are_refused() {
        let mut inbox = FileInbox::new(1, 3, vec![]).unwrap();
        let part = parts(&[Bytes::from_static(b"four")]).next().unwrap();
        assert_eq!(inbox.take(&part), Err(FileProblem::OutOfPlace));
    }

    #[test]
    fn content_that_does_not_match_its_hash_is_refused() {
        let mut inbox = FileInbox::new(1, 4, vec![]).unwrap();
        let sha256 = Digest::from_content(b"else");
        let part = FileParts::new(RUN, vec![(sha256, Bytes::from_static(b"four"))])
            .next()
            .unwrap();
        assert_eq!(inbox.take(&part), Err(FileProblem::WrongContent { sha256 }));
    }

    #[test]
    fn more_than_an_agent_takes_is_refused_before_it_comes() {
        assert!(FileInbox::new(1, FILES_MAX_BYTES + 1, vec![]).is_err());
        assert!(FileInbox::new(FILES_MAX + 1, 1, vec![]).is_err());
    }
}
