//! HPACK (RFC 7541): blocks of requests are written once, of responses only what counts is read.
//!
//! We use no dynamic table, so that a block of ours means the same on every connection and can be
//! built before the run. A server may use one, of the default size. Of a response the status and
//! the length matter; other fields are stepped over.

use super::dynamic_table::{DynamicTable, FieldName, HeaderField};
use super::hpack_error::BadBlock;
use super::huffman;

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

/// Lengths of the names in the static table, from index 1 on.
const NAME_LENGTHS: [u8; 61] = [
    10, 7, 7, 5, 5, 7, 7, 7, 7, 7, 7, 7, 7, 7, 14, 15, 15, 13, 6, 27, 3, 5, 13, 13, 19, 16, 16, 14,
    16, 13, 12, 6, 4, 4, 6, 7, 4, 4, 8, 17, 13, 8, 19, 13, 4, 8, 12, 18, 19, 5, 7, 7, 11, 6, 10,
    25, 17, 10, 4, 3, 16,
];
/// Last entry of the static table.
const STATIC: usize = NAME_LENGTHS.len();
/// A size update to 0 (RFC 7541 §6.3), for a peer whose table is smaller than the default: ours is
/// empty anyway.
pub(super) const NO_TABLE: u8 = 0x20;
/// Entries of the static table for `:status` and the statuses of them; and the one for
/// `content-length`.
const STATUSES: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];
const FIRST_STATUS: usize = 8;
const CONTENT_LENGTH: usize = 28;

/// The two names as literals, plain and in Huffman code, which is unique.
const STATUS_NAMES: [&[u8]; 2] = [b":status", b"\xb8\x84\x8d\x36\xa3"];
const LENGTH_NAMES: [&[u8]; 2] = [
    b"content-length",
    b"\x21\xea\x49\x6a\x4a\xd4\x16\xa9\x93\x3f",
];

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
pub(super) struct ResponseFields {
    pub(super) status: Option<u16>,
    pub(super) content_length: Option<u64>,
}

/// Puts the name of a literal field that is not to be indexed into `out`; its value follows as a
/// string. A name with an index of the static table is at most 61, which takes one more byte from
/// 15 on (RFC 7541 §5.1, §6.2.2).
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
    let Some(mut rest) = length.checked_sub(0x7f) else {
        return out.push(length as u8);
    };
    out.push(0x7f);
    while rest >= 0x80 {
        out.push(0x80 | (rest & 0x7f) as u8);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Reads a block that was written with `table`, and follows what it does to that.
pub(super) fn read(mut block: &[u8], table: &mut DynamicTable) -> Result<ResponseFields, BadBlock> {
    let mut fields = ResponseFields::default();
    let mut is_beginning = true;
    while let Some(&first) = block.first() {
        match first {
            0x80..=0xff => match integer(&mut block, 7)? {
                index @ FIRST_STATUS..15 => {
                    fields.take_status(Some(STATUSES[index - FIRST_STATUS]))?
                }
                1..=STATIC => {} // any other field as it stands in the static table
                index => {
                    fields.take(table.entry(index.checked_sub(STATIC + 1).ok_or(BadBlock)?)?)?
                }
            },
            // Before all fields (RFC 7541 §4.2).
            0x20..=0x3f if is_beginning => {
                table.resize(integer(&mut block, 5)?)?;
                continue;
            }
            0x20..=0x3f => return Err(BadBlock),
            0x40..=0x7f => {
                let (entry, value) = literal(&mut block, 6, table)?;
                let value_length = value.length()?;
                table.keep(HeaderField {
                    value_length,
                    ..entry
                });
                fields.take(entry)?;
            }
            0x00..=0x1f => fields.take(literal(&mut block, 4, table)?.0)?,
        }
        is_beginning = false;
    }
    Ok(fields)
}

/// Takes a literal field, but for the length of its value, which costs time and matters only for
/// those that are kept.
fn literal<'a>(
    block: &mut &'a [u8],
    prefix: u32,
    table: &DynamicTable,
) -> Result<(HeaderField, HpackString<'a>), BadBlock> {
    let (name, name_length) = match integer(block, prefix)? {
        0 => {
            let name = string(block)?;
            // Only a field that is kept (prefix 6) needs the length of its name.
            let length = if prefix == 6 { name.length()? } else { 0 };
            (literal_name(name.bytes), length)
        }
        index @ 1..=STATIC => (static_name(index), usize::from(NAME_LENGTHS[index - 1])),
        index => {
            let entry = table.entry(index - STATIC - 1)?;
            (entry.name, entry.name_length)
        }
    };
    let value = string(block)?;
    let number = if name == FieldName::Other {
        None
    } else {
        value.number()
    };
    Ok((
        HeaderField {
            name,
            name_length,
            value_length: 0,
            number,
        },
        value,
    ))
}

impl ResponseFields {
    fn take(&mut self, entry: HeaderField) -> Result<(), BadBlock> {
        match entry.name {
            FieldName::Status => {
                self.take_status(entry.number.and_then(|number| u16::try_from(number).ok()))
            }
            FieldName::ContentLength => self.take_length(entry.number.ok_or(BadBlock)?),
            FieldName::Other => Ok(()),
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

fn static_name(index: usize) -> FieldName {
    match index {
        FIRST_STATUS..15 => FieldName::Status,
        CONTENT_LENGTH => FieldName::ContentLength,
        _ => FieldName::Other,
    }
}

fn literal_name(bytes: &[u8]) -> FieldName {
    match bytes {
        _ if STATUS_NAMES.contains(&bytes) => FieldName::Status,
        _ if LENGTH_NAMES.contains(&bytes) => FieldName::ContentLength,
        _ => FieldName::Other,
    }
}

/// Takes an integer with a prefix of so many bits (RFC 7541 §5.1); what is beyond 2^28 is no length
/// or index of ours.
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
struct HpackString<'a> {
    bytes: &'a [u8],
    is_huffman: bool,
}

fn string<'a>(block: &mut &'a [u8]) -> Result<HpackString<'a>, BadBlock> {
    // One bit says Huffman, the other seven begin the length (RFC 7541 §5.2).
    let first = *block.first().ok_or(BadBlock)?;
    let is_huffman = first & 0x80 != 0;
    let length = integer(block, 7)?;
    let (bytes, rest) = block.split_at_checked(length).ok_or(BadBlock)?;
    *block = rest;
    Ok(HpackString { bytes, is_huffman })
}

impl HpackString<'_> {
    /// The decimal number it is, if it is one.
    fn number(&self) -> Option<u64> {
        if self.is_huffman {
            return huffman::number(self.bytes);
        }
        let digits = std::str::from_utf8(self.bytes)
            .ok()
            .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
        digits.parse().ok()
    }

    /// Bytes of what it says.
    fn length(&self) -> Result<usize, BadBlock> {
        if self.is_huffman {
            huffman::symbols(self.bytes).ok_or(BadBlock)
        } else {
            Ok(self.bytes.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(status: u16, content_length: Option<u64>) -> Result<ResponseFields, BadBlock> {
        Ok(ResponseFields {
            status: Some(status),
            content_length,
        })
    }

    #[test]
    fn blocks_of_real_servers_are_read() {
        let cases: [(&[u8], Result<ResponseFields, BadBlock>); 7] = [
            (b"\x88", fields(200, None)),
            // nginx: indexed status, literal length with an indexed name, plain.
            (b"\x88\x0f\x0d\x03356", fields(200, Some(356))),
            // RFC 7541 appendix C.6.1, whose ":status: 302" is a literal in Huffman code; then the
            // rest of that block.
            (
                b"\x48\x82\x64\x02\x58\x85\xae\xc3\x77\x1a\x4b",
                fields(302, None),
            ),
            // A size update first, as RFC 7541 §4.2 wants after our settings.
            (b"\x20\x8d", fields(404, None)),
            // Names as literals, plain and in Huffman code.
            (b"\x00\x07:status\x03204", fields(204, None)),
            (
                b"\x00\x85\xb8\x84\x8d\x36\xa3\x03503\x00\x8a\x21\xea\x49\x6a\x4a\xd4\x16\xa9\x93\
                \x3f\x820\x00",
                Err(BadBlock),
            ),
            (b"\x88\x10\x03foo\x03bar\x5c\x0212", fields(200, Some(12))),
        ];
        for (block, expected) in cases {
            assert_eq!(
                read(block, &mut DynamicTable::default()),
                expected,
                "{block:02x?}"
            );
        }
    }

    #[test]
    fn broken_blocks_are_refused() {
        let cases: [&[u8]; 12] = [
            b"\x80",                     // index 0
            b"\xbe",                     // index 62: a table that is empty
            b"\x7f\x00\x011",            // a name from there
            b"\x3f\xe2\x1f",             // a table of 4097 bytes
            b"\x88\x20",                 // a size update behind a field
            b"\x88\x89",                 // two statuses
            b"\x48\x0299",               // no status
            b"\x48\x03abc",              // no number
            b"\x88\x5c\x011\x5c\x012",   // two lengths
            b"\x88\x00\x05abc",          // cut
            b"\xff\xff\xff\xff\xff\x0f", // too large an integer
            b"\x40",                     // nothing follows
        ];
        for block in cases {
            assert_eq!(
                read(block, &mut DynamicTable::default()),
                Err(BadBlock),
                "{block:02x?}"
            );
        }
    }

    /// The three responses of RFC 7541 appendix C.6, and the size of the table behind each.
    #[test]
    fn responses_of_the_rfc_are_read_and_fill_the_table_as_it_says() {
        const SIZE_256: &[u8] = b"\x3f\xe1\x01";
        let mut table = DynamicTable::default();
        let cases: [(&[u8], u16, usize); 3] = [
            (
                b"\x48\x82\x64\x02\x58\x85\xae\xc3\x77\x1a\x4b\x61\x96\xd0\x7a\xbe\x94\x10\x54\xd4\
                \x44\xa8\x20\x05\x95\x04\x0b\x81\x66\xe0\x82\xa6\x2d\x1b\xff\x6e\x91\x9d\x29\xad\
                \x17\x18\x63\xc7\x8f\x0b\x97\xc8\xe9\xae\x82\xae\x43\xd3",
                302,
                222,
            ),
            (b"\x48\x83\x64\x0e\xff\xc1\xc0\xbf", 307, 222),
            (
                b"\x88\xc1\x61\x96\xd0\x7a\xbe\x94\x10\x54\xd4\x44\xa8\x20\x05\x95\x04\x0b\x81\x66\
                \xe0\x84\xa6\x2d\x1b\xff\xc0\x5a\x83\x9b\xd9\xab\x77\xad\x94\xe7\x82\x1d\xd7\xf2\
                \xe6\xc7\xb3\x35\xdf\xdf\xcd\x5b\x39\x60\xd5\xaf\x27\x08\x7f\x36\x72\xc1\xab\x27\
                \x0f\xb5\x29\x1f\x95\x87\x31\x60\x65\xc0\x03\xed\x4e\xe5\xb1\x06\x3d\x50\x07",
                200,
                215,
            ),
        ];
        for (index, (block, status, size)) in cases.into_iter().enumerate() {
            let block = if index == 0 {
                [SIZE_256, block].concat()
            } else {
                block.to_vec()
            };
            assert_eq!(read(&block, &mut table), fields(status, None), "{index}");
            assert_eq!(table.size(), size, "{index}");
        }
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
