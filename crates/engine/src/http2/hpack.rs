//! HPACK without a dynamic table (RFC 7541): blocks of requests are written once, of responses only what counts is read.
//!
//! Our settings forbid the server a dynamic table, and we use none, so that a block means the same on every connection and
//! can be built before the run. Of a response the status and the length matter; other fields are stepped over.

/// Names of the static table that requests use, by index (RFC 7541 appendix A).
const NAMES: [(&str, u8); 32] = [
    ("accept-charset", 15),
    ("accept-encoding", 16),
    ("accept-language", 17),
    ("accept-ranges", 18),
    ("accept", 19),
    ("allow", 22),
    ("authorization", 23),
    ("cache-control", 24),
    ("content-disposition", 25),
    ("content-encoding", 26),
    ("content-language", 27),
    ("content-length", 28),
    ("content-location", 29),
    ("content-range", 30),
    ("content-type", 31),
    ("cookie", 32),
    ("date", 33),
    ("expect", 35),
    ("expires", 36),
    ("from", 37),
    ("if-match", 39),
    ("if-modified-since", 40),
    ("if-none-match", 41),
    ("if-range", 42),
    ("if-unmodified-since", 43),
    ("last-modified", 44),
    ("max-forwards", 47),
    ("range", 50),
    ("referer", 51),
    ("user-agent", 58),
    ("via", 60),
    ("proxy-authorization", 49),
];

/// Last entry of the static table.
const STATIC: usize = 61;
/// Entries of the static table for `:status` and the statuses of them; and the one for `content-length`.
const STATUSES: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];
const FIRST_STATUS: usize = 8;
const CONTENT_LENGTH: usize = 28;

/// The two names as literals, plain and in Huffman code, which is unique.
const STATUS_NAMES: [&[u8]; 2] = [b":status", b"\xb8\x84\x8d\x36\xa3"];
const LENGTH_NAMES: [&[u8]; 2] = [b"content-length", b"\x21\xea\x49\x6a\x4a\xd4\x16\xa9\x93\x3f"];

/// A field that every block may use as it stands in the static table.
pub(super) mod indexed {
    pub(crate) const METHOD_GET: u8 = 0x82;
    pub(crate) const METHOD_POST: u8 = 0x83;
    pub(crate) const PATH_ROOT: u8 = 0x84;
    pub(crate) const SCHEME_HTTP: u8 = 0x86;
    pub(crate) const SCHEME_HTTPS: u8 = 0x87;
}

/// Static indices of pseudo-fields that take a literal value.
pub(super) mod name {
    pub(crate) const AUTHORITY: u8 = 1;
    pub(crate) const METHOD: u8 = 2;
    pub(crate) const PATH: u8 = 4;
}

/// What a response's header block says, as far as it counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) status: Option<u16>,
    pub(super) content_length: Option<u64>,
}

/// The block breaks RFC 7541, or uses a dynamic table that it may not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BadBlock;

/// Which field a representation is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Status,
    ContentLength,
    Other,
}

/// Puts the name of a literal field that is not to be indexed into `out`; its value follows as a string. A name with an
/// index of the static table is at most 61, which takes one more byte from 15 on (RFC 7541 §5.1, §6.2.2).
pub(super) fn put_name(out: &mut Vec<u8>, name: &str) {
    match NAMES.iter().find(|(known, _)| *known == name) {
        Some(&(_, index)) => put_name_index(out, index),
        None => {
            out.push(0);
            put_length(out, name.len());
            out.extend_from_slice(name.as_bytes());
        }
    }
}

/// See [`put_name`], for a name by its index.
pub(super) fn put_name_index(out: &mut Vec<u8>, index: u8) {
    match index {
        0..=14 => out.push(index),
        _ => out.extend_from_slice(&[0x0f, index - 15]),
    }
}

/// Puts the head of a string into `out` that is not in Huffman code (RFC 7541 §5.2).
pub(super) fn put_length(out: &mut Vec<u8>, length: usize) {
    let Some(mut rest) = length.checked_sub(0x7f) else { return out.push(length as u8) };
    out.push(0x7f);
    while rest >= 0x80 {
        out.push(0x80 | (rest & 0x7f) as u8);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Reads a block.
pub(super) fn read(mut block: &[u8]) -> Result<Fields, BadBlock> {
    let mut fields = Fields::default();
    while let Some(&first) = block.first() {
        match first {
            0x80..=0xff => match integer(&mut block, 7)? {
                index @ FIRST_STATUS..15 => fields.take_status(Some(STATUSES[index - FIRST_STATUS]))?,
                1..=STATIC => {}
                _ => return Err(BadBlock),
            },
            0x20..=0x3f => _ = integer(&mut block, 5)?, // a new size for a table that holds nothing
            0x40..=0x7f => fields.take_literal(&mut block, 6)?,
            0x00..=0x1f => fields.take_literal(&mut block, 4)?,
        }
    }
    Ok(fields)
}

impl Fields {
    fn take_literal(&mut self, block: &mut &[u8], prefix: u32) -> Result<(), BadBlock> {
        let name = match integer(block, prefix)? {
            0 => literal_name(string(block)?.bytes),
            FIRST_STATUS..15 => Name::Status,
            CONTENT_LENGTH => Name::ContentLength,
            1..=STATIC => Name::Other,
            _ => return Err(BadBlock),
        };
        let value = string(block)?;
        match name {
            Name::Status => self.take_status(value.number().and_then(|number| u16::try_from(number).ok())),
            Name::ContentLength => self.take_length(value.number().ok_or(BadBlock)?),
            Name::Other => Ok(()),
        }
    }

    fn take_status(&mut self, status: Option<u16>) -> Result<(), BadBlock> {
        match (self.status, status) {
            (None, Some(100..=999)) => self.status = status,
            _ => return Err(BadBlock),
        }
        Ok(())
    }

    fn take_length(&mut self, length: u64) -> Result<(), BadBlock> {
        match self.content_length.replace(length) {
            Some(before) if before != length => Err(BadBlock),
            _ => Ok(()),
        }
    }
}

fn literal_name(bytes: &[u8]) -> Name {
    match bytes {
        _ if STATUS_NAMES.contains(&bytes) => Name::Status,
        _ if LENGTH_NAMES.contains(&bytes) => Name::ContentLength,
        _ => Name::Other,
    }
}

/// Takes an integer with a prefix of so many bits (RFC 7541 §5.1); what is beyond 2^28 is no length or index of ours.
fn integer(block: &mut &[u8], prefix: u32) -> Result<usize, BadBlock> {
    let (&first, rest) = block.split_first().ok_or(BadBlock)?;
    *block = rest;
    let mask = (1 << prefix) - 1;
    let mut value = usize::from(first) & mask;
    if value < mask {
        return Ok(value);
    }
    for shift in [0, 7, 14, 21] {
        let (&byte, rest) = block.split_first().ok_or(BadBlock)?;
        *block = rest;
        value += usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(BadBlock)
}

/// A string of a block, still as it was written.
struct Text<'a> {
    bytes: &'a [u8],
    is_huffman: bool,
}

fn string<'a>(block: &mut &'a [u8]) -> Result<Text<'a>, BadBlock> {
    let is_huffman = block.first().ok_or(BadBlock)? & 0x80 != 0;
    let length = integer(block, 7)?;
    let (bytes, rest) = block.split_at_checked(length).ok_or(BadBlock)?;
    *block = rest;
    Ok(Text { bytes, is_huffman })
}

impl Text<'_> {
    /// The decimal number it is, if it is one.
    fn number(&self) -> Option<u64> {
        if self.is_huffman {
            return huffman_number(self.bytes);
        }
        let digits = std::str::from_utf8(self.bytes).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
        digits.parse().ok()
    }
}

/// Digits in Huffman code (RFC 7541 appendix B): 0 to 2 are the 5-bit codes of those values, 3 to 9 the 6-bit codes from
/// 25 on; fewer than 8 ones fill the last byte.
fn huffman_number(bytes: &[u8]) -> Option<u64> {
    let bits = bytes.len() * 8;
    let bit = |at: usize| u64::from(bytes[at / 8] >> (7 - at % 8) & 1);
    let take = |at: usize, count: usize| (at + count <= bits).then(|| (at..at + count).fold(0, |code, at| code << 1 | bit(at)));
    let (mut at, mut number) = (0, None);
    loop {
        let digit = match (take(at, 5), take(at, 6)) {
            (Some(code @ 0..=2), _) => {
                at += 5;
                code
            }
            (_, Some(code @ 25..=31)) => {
                at += 6;
                code - 22
            }
            _ => break,
        };
        number = Some(u64::checked_add(u64::checked_mul(number.unwrap_or(0), 10)?, digit)?);
    }
    let is_filling = bits - at < 8 && (at..bits).all(|at| bit(at) == 1);
    number.filter(|_| is_filling)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(status: u16, content_length: Option<u64>) -> Result<Fields, BadBlock> {
        Ok(Fields { status: Some(status), content_length })
    }

    #[test]
    fn blocks_of_real_servers_are_read() {
        let cases: [(&[u8], Result<Fields, BadBlock>); 7] = [
            (b"\x88", fields(200, None)),
            // nginx: indexed status, literal length with an indexed name, plain.
            (b"\x88\x0f\x0d\x03356", fields(200, Some(356))),
            // RFC 7541 appendix C.6.1, whose ":status: 302" is a literal in Huffman code; then the rest of that block.
            (b"\x48\x82\x64\x02\x58\x85\xae\xc3\x77\x1a\x4b", fields(302, None)),
            // A size update first, as RFC 7541 §4.2 wants after our settings.
            (b"\x20\x8d", fields(404, None)),
            // Names as literals, plain and in Huffman code.
            (b"\x00\x07:status\x03204", fields(204, None)),
            (b"\x00\x85\xb8\x84\x8d\x36\xa3\x03503\x00\x8a\x21\xea\x49\x6a\x4a\xd4\x16\xa9\x93\x3f\x820\x00", Err(BadBlock)),
            (b"\x88\x10\x03foo\x03bar\x5c\x0212", fields(200, Some(12))),
        ];
        for (block, expected) in cases {
            assert_eq!(read(block), expected, "{block:02x?}");
        }
    }

    #[test]
    fn broken_blocks_are_refused() {
        let cases: [&[u8]; 9] = [
            b"\x80",                     // index 0
            b"\xbe",                     // index 62: a dynamic table
            b"\x88\x89",                 // two statuses
            b"\x48\x0299",               // no status
            b"\x48\x03abc",              // no number
            b"\x88\x5c\x011\x5c\x012",   // two lengths
            b"\x88\x00\x05abc",          // cut
            b"\xff\xff\xff\xff\xff\x0f", // too large an integer
            b"\x40",                     // nothing follows
        ];
        for block in cases {
            assert_eq!(read(block), Err(BadBlock), "{block:02x?}");
        }
    }

    /// Codes of the digits as the appendix lists them, each with its length.
    const DIGITS: [(u32, u32); 10] =
        [(0x0, 5), (0x1, 5), (0x2, 5), (0x19, 6), (0x1a, 6), (0x1b, 6), (0x1c, 6), (0x1d, 6), (0x1e, 6), (0x1f, 6)];

    fn in_huffman(number: u64) -> Vec<u8> {
        let mut bits = String::new();
        for digit in number.to_string().bytes() {
            let (code, length) = DIGITS[usize::from(digit - b'0')];
            bits += &format!("{code:0width$b}", width = length as usize);
        }
        while !bits.len().is_multiple_of(8) {
            bits.push('1');
        }
        bits.as_bytes().chunks(8).map(|byte| byte.iter().fold(0, |value, bit| value << 1 | (bit - b'0'))).collect()
    }

    #[test]
    fn digits_in_huffman_code_are_read() {
        for number in (0..3000).chain([356, 1_900_544, 9_876_543_210, u64::MAX]) {
            assert_eq!(huffman_number(&in_huffman(number)), Some(number), "{number}");
        }
        assert_eq!(huffman_number(&[0xff]), None);
        assert_eq!(huffman_number(&[]), None);
        assert_eq!(huffman_number(&[0x64, 0x02, 0xff]), None);
    }

    #[test]
    fn lengths_are_written_as_they_are_read() {
        for length in [0, 1, 126, 127, 128, 254, 255, 16_383, 70_000] {
            let mut out = Vec::new();
            put_length(&mut out, length);
            assert_eq!(integer(&mut out.as_slice(), 7), Ok(length));
        }
    }

    #[test]
    fn names_of_the_static_table_take_its_index() {
        let mut out = Vec::new();
        put_name(&mut out, "user-agent");
        put_name(&mut out, "x-a");
        assert_eq!(out, b"\x0f\x2b\x00\x03x-a");
    }
}
