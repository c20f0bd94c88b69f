//! What can go wrong while sampling.

use std::path::PathBuf;

/// Why a file of the kernel could not be used. Sampling never panics on what it reads.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The file cannot be read.
    #[error("cannot read {}: {reason}; the figures need Linux with /proc mounted", path.display())]
    Unreadable {
        /// The file that cannot be read.
        path: PathBuf,
        /// The operating system's words.
        reason: std::io::Error,
    },
    /// The file's text is not what the kernel's documentation (proc(5)) promises.
    #[error(
        "{}: {what} is missing or malformed; this kernel writes it differently from proc(5)",
        path.display()
    )]
    Malformed {
        /// The file that is not understood.
        path: PathBuf,
        /// The part of it that is missing or malformed.
        what: String,
    },
    /// Received bytes are not an encoded `Facts`, `RunFigures` or `Observation`.
    #[error(
        "{what}: the bytes are no version this program knows; run the same version on every \
         machine"
    )]
    Undecodable {
        /// `facts` or `usage`.
        what: &'static str,
    },
}
