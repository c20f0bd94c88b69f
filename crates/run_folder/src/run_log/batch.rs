//! How the log is laid out on disk: a head, then batches. A batch is written in one go and is read
//! whole or not at all.
//!
//! ```text
//! head:   "cannlog\n"  version u32  run id 16 bytes  CRC-32 of all before u32
//! batch:  mark 4 bytes  number u64  length u32  CRC-32 of the content u32
//!         CRC-32 of all before u32  content: facts
//! fact:   kind u8  length u32  nanoseconds since 1970 u64  postcard
//! ```
//!
//! Numbers are little-endian. A batch begins only when the one before is on the disk. So a broken
//! batch with a whole one after it was damaged later, and a broken batch at the end was torn.

use control::RunId;

/// Version of what follows the head; to be raised if an older program could not read it.
pub(super) const VERSION: u32 = 1;

const MAGIC: &[u8; 8] = b"cannlog\n";

/// Begins a batch. It is not text, so that a plan in the log does not look like a batch.
pub(super) const MARK: [u8; 4] = [0xb7, b'B', 0xd1, 0x1e];

/// Length of the log's head.
pub(super) const HEAD_BYTES: usize = 32;

/// Length of a batch's head.
pub(super) const BATCH_HEAD_BYTES: usize = 24;

/// Length of a fact's head.
pub(super) const FACT_HEAD_BYTES: usize = 13;

/// Longest content of a batch that is believed: far above what is gathered, and the most memory
/// that a damaged length can ask for.
pub(super) const CONTENT_MAX_BYTES: usize = 256 << 20;

/// The meaning of the first bytes of a log.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LogHead {
    /// The log of this run.
    Known(RunId),
    /// Written by another version of the format.
    Version(u32),
    /// Not a log, or a damaged one.
    Unknown,
}

/// The head of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BatchHead {
    pub(super) number: u64,
    pub(super) length: usize,
    content_crc: u32,
}

/// The head of a log of `run`.
pub(super) fn head(run: RunId) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..8].copy_from_slice(MAGIC);
    head[8..12].copy_from_slice(&VERSION.to_le_bytes());
    head[12..28].copy_from_slice(&run.0);
    seal(&mut head);
    head
}

/// Reads the head of a log.
pub(super) fn read_head(head: &[u8; HEAD_BYTES]) -> LogHead {
    let version = u32_at(head, 8);
    if head[..8] != *MAGIC {
        return LogHead::Unknown;
    }
    // The head of another version may be sealed differently.
    if version != VERSION {
        return LogHead::Version(version);
    }
    if !is_sealed(head) {
        return LogHead::Unknown;
    }
    let mut run = [0; 16];
    run.copy_from_slice(&head[12..28]);
    LogHead::Known(RunId(run))
}

impl BatchHead {
    /// The head of a batch with this content.
    pub(super) fn new(number: u64, content: &[u8]) -> BatchHead {
        BatchHead {
            number,
            length: content.len(),
            content_crc: crc32fast::hash(content),
        }
    }

    pub(super) fn to_bytes(self) -> [u8; BATCH_HEAD_BYTES] {
        let mut bytes = [0; BATCH_HEAD_BYTES];
        bytes[..4].copy_from_slice(&MARK);
        bytes[4..12].copy_from_slice(&self.number.to_le_bytes());
        bytes[12..16].copy_from_slice(&(self.length as u32).to_le_bytes());
        bytes[16..20].copy_from_slice(&self.content_crc.to_le_bytes());
        seal(&mut bytes);
        bytes
    }

    /// `None` if it is not a whole head.
    pub(super) fn from_bytes(bytes: &[u8; BATCH_HEAD_BYTES]) -> Option<BatchHead> {
        let length = u32_at(bytes, 12) as usize;
        let is_head = bytes[..4] == MARK && is_sealed(bytes) && length <= CONTENT_MAX_BYTES;
        is_head.then(|| BatchHead {
            number: u64::from(u32_at(bytes, 4)) | (u64::from(u32_at(bytes, 8)) << 32),
            length,
            content_crc: u32_at(bytes, 16),
        })
    }

    /// Whether this is the content that was written.
    pub(super) fn fits(&self, content: &[u8]) -> bool {
        content.len() == self.length && crc32fast::hash(content) == self.content_crc
    }
}

/// Writes the checksum of everything before it at the end.
fn seal(bytes: &mut [u8]) {
    let end = bytes.len() - 4;
    let crc = crc32fast::hash(&bytes[..end]);
    bytes[end..].copy_from_slice(&crc.to_le_bytes());
}

fn is_sealed(bytes: &[u8]) -> bool {
    let end = bytes.len() - 4;
    crc32fast::hash(&bytes[..end]) == u32_at(bytes, end)
}

/// The number that begins at `at`, which is within `bytes`.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}
