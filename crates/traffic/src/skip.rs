//! Why a request of a log is not in the replay.

/// Why a line of a log was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// It is not of the log's format.
    Unreadable,
    /// It is too long.
    TooLong,
    /// It has no request: nginx logs bytes that were none as `-` or as they came.
    NoRequest,
    /// The request was for a tunnel, for `*`, or for another scheme than HTTP.
    NoPath,
    /// The connection became one of another protocol, such as WebSocket.
    Upgrade,
    /// The browser had the answer already, so that the server got no request.
    Cached,
    /// It says no instant.
    NoInstant,
    /// Its method is not wanted.
    OtherMethod,
    /// It was for a host that is not wanted.
    OtherHost,
    /// It arrived at a time that is not wanted.
    OtherTime,
    /// Its body is not in the log.
    NoBody,
    /// It arrived before a request that had to be written already.
    OutOfOrder,
}

impl SkipReason {
    /// The reason behind a count of lines.
    pub(crate) fn text(self) -> &'static str {
        match self {
            SkipReason::Unreadable => "cannot be parsed",
            SkipReason::TooLong => "longer than 16 MiB",
            SkipReason::NoRequest => "without an HTTP request",
            SkipReason::NoPath => "not for a path of a server (CONNECT, *, ws://, data: …)",
            SkipReason::Upgrade => "changed to another protocol (status 101)",
            SkipReason::Cached => "answered from the browser's cache",
            SkipReason::NoInstant => "without an instant",
            SkipReason::OtherMethod => "left out by --methods",
            SkipReason::OtherHost => "left out by --hosts",
            SkipReason::OtherTime => "left out by --from and --to",
            SkipReason::NoBody => "with a body that is not in the log",
            SkipReason::OutOfOrder => {
                "came too late to be sorted; give more --sort-memory, or sort the log before"
            }
        }
    }
}

/// Why a line cannot be parsed, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineError {
    /// Byte of the line, from 1.
    pub column: usize,
    /// What is wrong there.
    pub why: String,
}
