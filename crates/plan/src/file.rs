//! A file that a plan names: read at check, known by its content's SHA-256 from then on.

use std::fmt;
use std::sync::Arc;

/// A file's name in the plan and its content. The canonical text holds name and hash only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// As the plan writes it, for messages.
    pub name: String,
    /// Hash of the content.
    pub sha256: Sha256,
    /// The content.
    pub content: Arc<[u8]>,
}

/// A SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha256(pub [u8; 32]);

impl Sha256 {
    /// Hash of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Sha256 {
        use sha2::Digest as _;
        Sha256(sha2::Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
