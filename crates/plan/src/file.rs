//! A file that a plan names: read when the plan is checked, then identified by its content's
//! SHA-256.

use secret::Secret;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A file's name in the plan, and its content. The canonical text contains only name and hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// The name as the plan writes it, for messages.
    pub name: String,
    /// SHA-256 of the content.
    pub sha256: Sha256,
    /// All bytes of the file.
    pub content: Arc<[u8]>,
}

/// A file that is not for every agent: a client's certificate or key. Agents that do not need it
/// know only its hash.
#[derive(Debug, Clone)]
pub struct PrivateFile {
    /// The name as the plan writes it, for messages.
    pub name: String,
    /// SHA-256 of the content.
    pub sha256: Sha256,
    /// The content, if it is available here.
    pub content: Option<Secret<Arc<[u8]>>>,
}

impl PartialEq for PrivateFile {
    /// The hash identifies the content, whether it is available or not.
    fn eq(&self, other: &PrivateFile) -> bool {
        self.name == other.name && self.sha256 == other.sha256
    }
}

impl Eq for PrivateFile {}

impl PrivateFile {
    /// The content, if it is available here.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        self.content.as_ref().map(|content| &content.reveal()[..])
    }
}

/// A SHA-256 of a file's content, or of a canonical text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha256(pub [u8; 32]);

impl Sha256 {
    /// Computes the hash of `bytes`.
    #[must_use]
    pub fn hash(bytes: &[u8]) -> Sha256 {
        use sha2::Digest as _;
        Sha256(sha2::Sha256::digest(bytes).into())
    }
}

/// Why a text is not a SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not a SHA-256; write 64 hexadecimal digits")]
pub struct Sha256Error;

impl FromStr for Sha256 {
    type Err = Sha256Error;

    fn from_str(text: &str) -> Result<Sha256, Sha256Error> {
        let mut sha256 = [0; 32];
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(Sha256Error);
        }
        for (byte, pair) in sha256.iter_mut().zip(text.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| Sha256Error)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| Sha256Error)?;
        }
        Ok(Sha256(sha256))
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
