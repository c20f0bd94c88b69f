//! Answers that RFC 9112 forbids, as bytes. One case per rule a client has to enforce.

/// A way to break RFC 9112. Each answer has only this one fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BadFraming {
    /// No status line at all.
    GarbageHead,
    /// A version that is not HTTP's.
    BadVersion,
    /// A status that is no number.
    BadStatus,
    /// A header line without a colon.
    HeaderWithoutColon,
    /// A space between a header's name and its colon (§5.1).
    SpaceBeforeColon,
    /// One header of 256 KiB.
    HeaderTooLarge,
    /// 10,000 headers.
    TooManyHeaders,
    /// Two different `Content-Length` (§6.3).
    TwoLengths,
    /// A negative `Content-Length`.
    NegativeLength,
    /// A `Content-Length` that is no number.
    LengthNotANumber,
    /// A `Content-Length` above 2⁶⁴.
    LengthOverflow,
    /// A chunk size that is not hexadecimal (§7.1).
    ChunkSizeNotHex,
    /// A chunk size above 2⁶⁴.
    ChunkSizeOverflow,
    /// Chunk data longer than its size says: no CRLF where it has to be.
    ChunkWithoutEnd,
    /// Bytes after the end of the body that belong to no answer.
    SurplusBytes,
}

impl BadFraming {
    /// All kinds, in their order above.
    pub const ALL: [BadFraming; 15] = [
        BadFraming::GarbageHead,
        BadFraming::BadVersion,
        BadFraming::BadStatus,
        BadFraming::HeaderWithoutColon,
        BadFraming::SpaceBeforeColon,
        BadFraming::HeaderTooLarge,
        BadFraming::TooManyHeaders,
        BadFraming::TwoLengths,
        BadFraming::NegativeLength,
        BadFraming::LengthNotANumber,
        BadFraming::LengthOverflow,
        BadFraming::ChunkSizeNotHex,
        BadFraming::ChunkSizeOverflow,
        BadFraming::ChunkWithoutEnd,
        BadFraming::SurplusBytes,
    ];

    /// The whole answer.
    pub(crate) fn bytes(self) -> Vec<u8> {
        match self {
            BadFraming::GarbageHead => b"\x00\x01\x02 this is no answer\r\n\r\n".to_vec(),
            BadFraming::BadVersion => b"HTTQ/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok".to_vec(),
            BadFraming::BadStatus => b"HTTP/1.1 2x0 OK\r\ncontent-length: 2\r\n\r\nok".to_vec(),
            BadFraming::HeaderWithoutColon => answer_with("no colon here\r\ncontent-length: 2"),
            BadFraming::SpaceBeforeColon => answer_with("content-length : 2"),
            BadFraming::HeaderTooLarge => answer_with(&format!(
                "x-large: {}\r\ncontent-length: 2",
                "x".repeat(256 * 1024)
            )),
            BadFraming::TooManyHeaders => answer_with(&format!(
                "{}content-length: 2",
                "x-many: x\r\n".repeat(10_000)
            )),
            BadFraming::TwoLengths => answer_with("content-length: 2\r\ncontent-length: 3"),
            BadFraming::NegativeLength => answer_with("content-length: -2"),
            BadFraming::LengthNotANumber => answer_with("content-length: two"),
            BadFraming::LengthOverflow => answer_with("content-length: 18446744073709551618"),
            BadFraming::ChunkSizeNotHex => answer_in_chunks("zz\r\nok\r\n0\r\n\r\n"),
            BadFraming::ChunkSizeOverflow => {
                answer_in_chunks("10000000000000002\r\nok\r\n0\r\n\r\n")
            }
            BadFraming::ChunkWithoutEnd => answer_in_chunks("2\r\nokok\r\n0\r\n\r\n"),
            BadFraming::SurplusBytes => {
                [answer_with("content-length: 2"), b"surplus".to_vec()].concat()
            }
        }
    }
}

fn answer_with(headers: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\nok").into_bytes()
}

fn answer_in_chunks(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{body}").into_bytes()
}
