//! The chunked coding (RFC 9112 §7.1), read byte by byte except for the data.

use super::unreadable::Unreadable::{self, BadFraming, TooLarge};

/// Longest chunk-size line with its extensions, and longest trailer line.
const MAX_LINE: u32 = 16 * 1024;

/// Position within the chunked coding (RFC 9112 §7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chunk {
    /// In a size line: value so far, digits so far, whether an extension has begun, bytes of the
    /// line.
    Size {
        value: u64,
        digits: u8,
        extension: bool,
        length: u32,
    },
    Data(u64),
    /// CR LF after data: how many of the two have arrived.
    DataEnd(u8),
    /// In the trailer section: bytes of the current line without CR, bytes of all lines.
    Trailer {
        line: u32,
        all: u32,
    },
}

pub(super) const SIZE_LINE: Chunk = Chunk::Size {
    value: 0,
    digits: 0,
    extension: false,
    length: 0,
};

impl Chunk {
    /// The state after one more byte of framing; `None` at the end of the body.
    pub(super) fn after(self, byte: u8) -> Result<Option<Chunk>, Unreadable> {
        match self {
            Chunk::Size {
                value,
                digits,
                extension,
                length,
            } => Chunk::after_size(byte, value, digits, extension, length),
            Chunk::Data(_) => Err(BadFraming),
            Chunk::DataEnd(0) if byte == b'\r' => Ok(Some(Chunk::DataEnd(1))),
            Chunk::DataEnd(1) if byte == b'\n' => Ok(Some(SIZE_LINE)),
            Chunk::DataEnd(_) => Err(BadFraming),
            Chunk::Trailer { line, all } => match byte {
                _ if all >= MAX_LINE => Err(TooLarge),
                b'\n' if line == 0 => Ok(None),
                b'\n' => Ok(Some(Chunk::Trailer {
                    line: 0,
                    all: all + 1,
                })),
                b'\r' => Ok(Some(Chunk::Trailer { line, all: all + 1 })),
                _ => Ok(Some(Chunk::Trailer {
                    line: line + 1,
                    all: all + 1,
                })),
            },
        }
    }

    fn after_size(
        byte: u8,
        value: u64,
        digits: u8,
        extension: bool,
        length: u32,
    ) -> Result<Option<Chunk>, Unreadable> {
        let length = length + 1;
        match byte {
            _ if length > MAX_LINE => Err(TooLarge),
            // A bare LF ends a line too (RFC 9112 §2.2).
            b'\n' if digits == 0 => Err(BadFraming),
            b'\n' if value == 0 => Ok(Some(Chunk::Trailer { line: 0, all: 0 })),
            b'\n' => Ok(Some(Chunk::Data(value))),
            b'\r' if digits > 0 => Ok(Some(Chunk::Size {
                value,
                digits,
                extension: true,
                length,
            })),
            b';' | b' ' | b'\t' if digits > 0 => Ok(Some(Chunk::Size {
                value,
                digits,
                extension: true,
                length,
            })),
            // Extensions are skipped, whatever they contain (RFC 9112 §7.1.1).
            _ if extension => Ok(Some(Chunk::Size {
                value,
                digits,
                extension,
                length,
            })),
            // 16 digits are 64 bits; a 17th would overflow.
            _ if digits >= 16 => Err(BadFraming),
            _ => {
                let digit = (byte as char).to_digit(16).ok_or(BadFraming)?;
                Ok(Some(Chunk::Size {
                    value: value << 4 | u64::from(digit),
                    digits: digits + 1,
                    extension,
                    length,
                }))
            }
        }
    }
}
