//! Why an import ended early.

use crate::skip::LineError;
use std::io;

/// Why an import ended early.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The input cannot be read on.
    #[error("{place} {number}: {error}")]
    Read {
        /// `line` or `entry`.
        place: &'static str,
        /// The one that could not be read, from 1.
        number: u64,
        /// The system's reason.
        error: io::Error,
    },
    /// The replay cannot be written.
    #[error("cannot write the replay: {0}")]
    Write(io::Error),
    /// There is nothing in it.
    #[error("it is empty")]
    Empty,
    /// Its format is not known, or not one that can be read.
    #[error("{0}")]
    UnknownFormat(String),
    /// A line cannot be parsed, and lines must not be left out.
    #[error("{place} {number}, column {}: {}; without --strict it is left out and counted",
        error.column, error.why)]
    Unreadable {
        /// `line` or `entry`.
        place: &'static str,
        /// Its number, from 1.
        number: u64,
        /// What is wrong.
        error: LineError,
    },
    /// The JSON of an archive is broken, so that nothing behind can be read.
    #[error("line {line}, column {}: {}; an archive must be whole JSON", error.column, error.why)]
    BrokenArchive {
        /// Line, from 1.
        line: u64,
        /// What is wrong.
        error: LineError,
    },
    /// The log does not have a body, and no rule says what to do.
    #[error(
        "{place} {number}: the log does not have the body of this {method}; write --bodies skip to \
         leave such requests out, or --bodies empty to send them without"
    )]
    NoBody {
        /// `line` or `entry`.
        place: &'static str,
        /// Its number, from 1.
        number: u64,
        /// The request's method.
        method: String,
    },
    /// Targets have no instants, and no rate is given.
    #[error(
        "vegeta's targets have no instants; say how many are sent per second, such as --rate 100/s"
    )]
    NoRate,
}
