//! Cuts the files of a plan into messages, one at a time, so that a large file is never in memory
//! twice.

use crate::{Digest, RunId};
use proto::{Bytes, FilePart, PART_MAX_BYTES};
use secret::Secret;

/// What is still to be sent of an agent's files for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileParts {
    run: RunId,
    /// In reverse order: the next one is last.
    files: Vec<(Digest, Secret<Bytes>)>,
    sent_bytes: usize,
}

impl FileParts {
    /// All parts of `files`, in order.
    #[must_use]
    pub fn new(run: RunId, files: Vec<(Digest, Bytes)>) -> FileParts {
        let secret = |(sha256, content)| (sha256, Secret::new(content));
        FileParts {
            run,
            files: files.into_iter().rev().map(secret).collect(),
            sent_bytes: 0,
        }
    }
}

impl Iterator for FileParts {
    type Item = FilePart;

    fn next(&mut self) -> Option<FilePart> {
        let (sha256, content) = self.files.last()?;
        let content = content.reveal();
        let from = self.sent_bytes;
        let to = content.len().min(from + PART_MAX_BYTES);
        let part = FilePart {
            run_id: self.run.to_wire(),
            sha256: sha256.to_wire(),
            size_bytes: content.len() as u64,
            offset_bytes: from as u64,
            content: content.slice(from..to),
        };
        self.sent_bytes = to;
        if to == content.len() {
            self.files.pop();
            self.sent_bytes = 0;
        }
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_of_files_are_not_in_their_debug_text() {
        let contents = [
            Bytes::from_static(b"PRIVATE KEY"),
            Bytes::from_static(b"CERTIFICATE OF IT"),
        ];
        let [first, second] = [0, 1].map(|nth: usize| Digest::from_content(&contents[nth]));
        let parts = FileParts::new(
            RunId([1; 16]),
            contents
                .map(|content| (Digest::from_content(&content), content))
                .into(),
        );
        let wanted = format!(
            "FileParts {{ run: {:?}, files: [({second:?}, ***), ({first:?}, ***)], \
             sent_bytes: 0 }}",
            RunId([1; 16])
        );
        assert_eq!(format!("{parts:?}"), wanted);
    }
}
