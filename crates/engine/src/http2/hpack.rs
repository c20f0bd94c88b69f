//! HPACK (RFC 7541): request blocks are written once; of response blocks only the relevant fields
//! are read.
//!
//! We use no dynamic table, so that a block of ours means the same on every connection and can be
//! built before the run. A server may use one, of the default size. Of a response, status and
//! length matter; other fields are only checked for being allowed.

use super::dynamic_table::DynamicTable;
use super::field::{FieldMeaning, FieldName, HeaderField};
use super::field_texts::{FieldTexts, LiteralName};
use super::hpack_error::BadBlock;
use super::hpack_string::HpackString;
use super::response_fields::ResponseFields;
use super::static_table::STATIC_TABLE;
use measure::HttpViolation;

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

/// Index of the last entry of the static table.
const STATIC: usize = STATIC_TABLE.len();
/// A size update to 0 (RFC 7541 §6.3), for a peer whose table is smaller than the default: we leave
/// it empty anyway.
pub(super) const NO_TABLE: u8 = 0x20;
/// The values of the static table's `:status` entries; then the indices of the first of these, of
/// `accept-encoding`, which is the last entry with a value, of `content-length` and of
/// `transfer-encoding`.
const STATUSES: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];
const FIRST_STATUS: usize = 8;
const ACCEPT_ENCODING: usize = 16;
const CONTENT_LENGTH: usize = 28;
const TRANSFER_ENCODING: usize = 57;

/// Fields that can be used as they are in the static table.
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

/// Appends the name of a literal field that is not to be indexed to `out`; its value follows as a
/// string. An index of the static table is at most 61, which takes one more byte from 15 on (RFC
/// 7541 §5.1, §6.2.2).
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

/// Like [`put_name`], for the index of a name.
pub(super) fn put_name_index(out: &mut Vec<u8>, index: u8) {
    match index {
        0..=14 => out.push(index),
        _ => out.extend_from_slice(&[0x0f, index - 15]),
    }
}

/// Appends the length of a string that is not Huffman-coded to `out` (RFC 7541 §5.2).
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

/// Reads a block that was encoded with `table`, and applies its changes to the table. Its fields go
/// to `texts` too, if the connection keeps them.
pub(super) fn read(
    mut block: &[u8],
    table: &mut DynamicTable,
    texts: &mut Option<Box<FieldTexts>>,
) -> Result<ResponseFields, BadBlock> {
    let mut fields = ResponseFields::default();
    let mut is_beginning = true;
    if let Some(texts) = texts {
        texts.begin();
    }
    while let Some(&first) = block.first() {
        match first {
            0x80..=0xff => fields.take(table_field(&mut block, table, texts)?),
            // Only before all fields (RFC 7541 §4.2).
            0x20..=0x3f if is_beginning => {
                table.resize(integer(&mut block, 5)?)?;
                if let Some(texts) = texts {
                    texts.follow(table);
                }
                continue;
            }
            0x20..=0x3f => return Err(BadBlock),
            0x40..=0x7f => {
                let field = literal(&mut block, 6, table, texts)?;
                table.keep(field);
                if let Some(texts) = texts {
                    texts.keep(table);
                }
                fields.take(field);
            }
            0x00..=0x1f => fields.take(literal(&mut block, 4, table, texts)?),
        }
        is_beginning = false;
    }
    Ok(fields)
}

/// Takes a field that stands in a table.
fn table_field(
    block: &mut &[u8],
    table: &DynamicTable,
    texts: &mut Option<Box<FieldTexts>>,
) -> Result<HeaderField, BadBlock> {
    let index = integer(block, 7)?;
    let field = match index {
        0 => return Err(BadBlock),
        1..=STATIC => static_field(index),
        _ => table.entry(index - STATIC - 1)?,
    };
    if let Some(texts) = texts {
        texts.note_index(index);
    }
    Ok(field)
}

/// Takes a literal field.
fn literal(
    block: &mut &[u8],
    prefix: u32,
    table: &DynamicTable,
    texts: &mut Option<Box<FieldTexts>>,
) -> Result<HeaderField, BadBlock> {
    let index = integer(block, prefix)?;
    let mut text = LiteralName::Index(index);
    let name = match index {
        0 => {
            let name = string(block)?;
            text = LiteralName::Text(name);
            FieldName::read(name)?
        }
        1..=STATIC => static_name(index),
        _ => {
            let entry = table.entry(index - STATIC - 1)?;
            (entry.name, entry.name_length)
        }
    };
    let value = string(block)?;
    if let Some(texts) = texts {
        texts.note(text, value)?;
    }
    HeaderField::new(name, value)
}

/// The name at this index of the static table, and its length.
fn static_name(index: usize) -> (FieldName, usize) {
    let name = match index {
        // Only requests have these (RFC 9113 §8.3.1).
        1..FIRST_STATUS => FieldName::Forbidden(HttpViolation::PseudoField),
        FIRST_STATUS..15 => FieldName::Status,
        CONTENT_LENGTH => FieldName::ContentLength,
        TRANSFER_ENCODING => FieldName::Forbidden(HttpViolation::ConnectionField),
        _ => FieldName::Other,
    };
    (name, STATIC_TABLE[index - 1].0.len())
}

/// The field at this index of the static table.
fn static_field(index: usize) -> HeaderField {
    let (name, name_length) = static_name(index);
    let (meaning, value_length) = match name {
        FieldName::Status => (FieldMeaning::Status(STATUSES[index - FIRST_STATUS]), 3),
        FieldName::ContentLength => (FieldMeaning::Broken(HttpViolation::ContentLength), 0),
        FieldName::Forbidden(rule) => (FieldMeaning::Broken(rule), 0),
        FieldName::Te | FieldName::Other if index == ACCEPT_ENCODING => {
            (FieldMeaning::Other, "gzip, deflate".len())
        }
        FieldName::Te | FieldName::Other => (FieldMeaning::Other, 0),
    };
    HeaderField {
        name,
        name_length,
        value_length,
        meaning,
    }
}

/// Takes an integer with a prefix of `prefix` bits (RFC 7541 §5.1). Lengths and indices beyond 2^28
/// are never valid here.
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

fn string<'a>(block: &mut &'a [u8]) -> Result<HpackString<'a>, BadBlock> {
    // One bit marks Huffman coding, the other seven start the length (RFC 7541 §5.2).
    let first = *block.first().ok_or(BadBlock)?;
    let is_huffman = first & 0x80 != 0;
    let length = integer(block, 7)?;
    let (bytes, rest) = block.split_at_checked(length).ok_or(BadBlock)?;
    *block = rest;
    Ok(HpackString { bytes, is_huffman })
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Kind;

    type Said = Result<(Option<u16>, Option<u64>, Option<Kind>), BadBlock>;

    /// Reads a block. Returns status, length, and what is wrong with it.
    fn read_with(block: &[u8], table: &mut DynamicTable) -> Said {
        let fields = read(block, table, &mut None)?;
        Ok((fields.status, fields.content_length, fields.fault()))
    }

    fn fields(status: u16, content_length: Option<u64>) -> Said {
        Ok((Some(status), content_length, None))
    }

    #[test]
    fn blocks_of_real_servers_are_read() {
        let cases: [(&[u8], Said); 6] = [
            (b"\x88", fields(200, None)),
            // nginx: indexed status, literal length with an indexed name, not Huffman-coded.
            (b"\x88\x0f\x0d\x03356", fields(200, Some(356))),
            // RFC 7541 appendix C.6.1, whose ":status: 302" is a Huffman-coded literal; then the
            // rest of that block.
            (
                b"\x48\x82\x64\x02\x58\x85\xae\xc3\x77\x1a\x4b",
                fields(302, None),
            ),
            // A size update first, as RFC 7541 §4.2 requires after our settings.
            (b"\x20\x8d", fields(404, None)),
            // Names as literals, without and with Huffman coding.
            (b"\x00\x07:status\x03204", fields(204, None)),
            (b"\x88\x10\x03foo\x03bar\x5c\x0212", fields(200, Some(12))),
        ];
        for (block, expected) in cases {
            assert_eq!(
                read_with(block, &mut DynamicTable::default()),
                expected,
                "{block:02x?}"
            );
        }
    }

    #[test]
    fn fields_that_no_response_has_make_it_malformed_and_the_block_is_read_on() {
        use HttpViolation::{
            ConnectionField, ContentLength, FieldName, FieldValue, PseudoField, Status,
        };
        let cases: [(&str, &[u8], HttpViolation); 32] = [
            ("two statuses", b"\x88\x89", Status),
            ("two equal ones", b"\x88\x88", Status),
            ("two digits", b"\x08\x0299", Status),
            ("four digits", b"\x08\x040200", Status),
            ("below 100", b"\x08\x03099", Status),
            ("no number", b"\x08\x03abc", Status),
            ("switching protocols", b"\x08\x03101", Status),
            (
                "in Huffman code",
                b"\x00\x85\xb8\x84\x8d\x36\xa3\x0299",
                Status,
            ),
            ("late", b"\x5c\x010\x88", PseudoField),
            ("behind any field", b"\x61\x01x\x88", PseudoField),
            (":path of the static table", b"\x88\x84", PseudoField),
            (":authority by its name", b"\x88\x01\x01a", PseudoField),
            ("unknown", b"\x88\x00\x05:what\x01a", PseudoField),
            ("two lengths", b"\x88\x5c\x011\x5c\x012", ContentLength),
            ("no length", b"\x88\x5c\x00", ContentLength),
            ("as it stands in the table", b"\x88\x9c", ContentLength),
            ("negative", b"\x88\x5c\x02-1", ContentLength),
            (
                "too large",
                b"\x88\x5c\x1418446744073709551616",
                ContentLength,
            ),
            ("a byte behind it", b"\x88\x5c\x031 2", ContentLength),
            ("upper case", b"\x88\x00\x03X-a\x01b", FieldName),
            ("a space", b"\x88\x00\x03x a\x01b", FieldName),
            ("a colon", b"\x88\x00\x03x:a\x01b", FieldName),
            ("no name", b"\x88\x00\x00\x01b", FieldName),
            // "Date", Huffman-coded.
            (
                "in Huffman code",
                b"\x88\x00\x83\xbe\x34\x97\x01b",
                FieldName,
            ),
            ("NUL", b"\x88\x61\x03a\0b", FieldValue),
            ("CR", b"\x88\x61\x02\ra", FieldValue),
            ("a space before it", b"\x88\x61\x02 a", FieldValue),
            ("a tab behind it", b"\x88\x61\x02a\t", FieldValue),
            // "a\n", Huffman-coded.
            ("LF", b"\x88\x61\x85\x1f\xff\xff\xff\x9f", FieldValue),
            (
                "connection",
                b"\x88\x00\x0aconnection\x05close",
                ConnectionField,
            ),
            (
                "transfer-encoding of the static table",
                b"\x88\x0f\x2a\x07chunked",
                ConnectionField,
            ),
            ("te", b"\x88\x00\x02te\x04gzip", ConnectionField),
        ];
        for (what, block, rule) in cases {
            let mut table = DynamicTable::default();
            let (.., fault) = read_with(block, &mut table).unwrap();
            assert_eq!(fault, Some(Kind::Violation(rule)), "{what}: {block:02x?}");
            // A field stored in the table is refused by its index too.
            let kept = [block, b"\x40\x01k\x01v\xbe"].concat();
            assert_eq!(
                read_with(&kept, &mut table).map(|(.., fault)| fault),
                Ok(Some(Kind::Violation(rule))),
                "{what}"
            );
        }
        let sound: [&[u8]; 5] = [
            b"\x88\x00\x02te\x08trailers",
            b"\x88\x61\x00",
            b"\x88\x61\x03a b",
            b"\x88\x61\x03a\xff\x7f",
            b"\x88\x00\x0bx-~!#$%&'*+\x01b",
        ];
        for block in sound {
            assert_eq!(
                read_with(block, &mut DynamicTable::default()),
                fields(200, None),
                "{block:02x?}"
            );
        }
    }

    #[test]
    fn broken_fields_of_the_table_stay_broken() {
        let mut table = DynamicTable::default();
        let broken = Some(Kind::Violation(HttpViolation::FieldName));
        read_with(b"\x88\x40\x03X-a\x01b", &mut table).unwrap();
        for block in [&b"\x88\xbe"[..], b"\x88\x7e\x01c", b"\x88\x0f\x2f\x01c"] {
            let (.., fault) = read_with(block, &mut table).unwrap();
            assert_eq!(fault, broken, "{block:02x?}");
        }
    }

    #[test]
    fn fields_count_as_often_as_they_are_named() {
        let large = [&b"\x40\x01a\x7f\xa1\x1e"[..], &[b'x'; 4000]].concat();
        let mut table = DynamicTable::default();
        read_with(&large, &mut table).unwrap();
        for (times, fault) in [(64, None), (66, Some(Kind::HeadTooLarge))] {
            let block = [&[0x88][..], &vec![0xbe; times]].concat();
            let read = read_with(&block, &mut table);
            assert_eq!(read, Ok((Some(200), None, fault)), "{times}");
        }
        let many = [&[0x88][..], &vec![0x90; 4_400]].concat();
        let (.., fault) = read_with(&many, &mut table).unwrap();
        assert_eq!(
            fault,
            Some(Kind::HeadTooLarge),
            "fields of the static table"
        );
    }

    #[test]
    fn broken_blocks_are_refused() {
        let cases: [&[u8]; 12] = [
            b"\x80",                             // index 0
            b"\xbe",                             // index 62: an empty table
            b"\x7f\x00\x011",                    // a name from there
            b"\x3f\xe2\x1f",                     // a table of 4097 bytes
            b"\x88\x20",                         // a size update after a field
            b"\x88\x61\x81\xff",                 // a string of padding
            b"\x88\x61\x82\x1f\xff",             // as much after a letter
            b"\x88\x61\x81\x18",                 // padded with zeros
            b"\x88\x00\x84\xff\xff\xff\xff\x00", // the end symbol within a name
            b"\x88\x00\x05abc",                  // truncated
            b"\xff\xff\xff\xff\xff\x0f",         // too large an integer
            b"\x40",                             // nothing follows
        ];
        for block in cases {
            assert_eq!(
                read_with(block, &mut DynamicTable::default()),
                Err(BadBlock),
                "{block:02x?}"
            );
        }
    }

    /// The three responses of RFC 7541 appendix C.6, and the size of the table after each.
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
            assert_eq!(
                read_with(&block, &mut table),
                fields(status, None),
                "{index}"
            );
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
