//! Names and values of a peer's header fields, for plans that check them. Other connections keep
//! none: see [`DynamicTable`].

use super::dynamic_table::DynamicTable;
use super::field::OVERHEAD;
use super::hpack_error::BadBlock;
use super::hpack_string::HpackString;
use super::static_table::STATIC_TABLE;
use crate::response::MAX_HEAD;
use std::collections::VecDeque;

/// The fields of the latest block, and those that the dynamic table has. A block can name a long
/// field hundreds of thousands of times: of one that is refused as too large, only the latest
/// fields are kept.
#[derive(Debug, Default)]
pub(super) struct FieldTexts {
    block: Vec<FieldText>,
    /// Size of the block so far, with what is not kept.
    bytes: usize,
    /// As the entries of the [`DynamicTable`]: the newest first.
    table: VecDeque<FieldText>,
}

/// A field's name and value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct FieldText {
    name: Vec<u8>,
    value: Vec<u8>,
}

/// The name of a literal field.
#[derive(Debug, Clone, Copy)]
pub(super) enum LiteralName<'a> {
    /// That of the entry with this index, which exists.
    Index(usize),
    Text(HpackString<'a>),
}

impl FieldTexts {
    /// Begins another block.
    pub(super) fn begin(&mut self) {
        self.block.clear();
        self.bytes = 0;
    }

    /// Names and values of the latest block.
    pub(super) fn of_block(&self) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
        let fields = self.block.iter();
        fields.map(|field| (field.name.as_slice(), field.value.as_slice()))
    }

    /// Notes the field at this index, which exists.
    pub(super) fn note_index(&mut self, index: usize) {
        if self.bytes <= MAX_HEAD {
            self.push(self.at(index));
        }
    }

    /// Notes a literal field.
    pub(super) fn note(
        &mut self,
        name: LiteralName<'_>,
        value: HpackString<'_>,
    ) -> Result<(), BadBlock> {
        let mut field = match name {
            LiteralName::Index(index) => self.at(index),
            LiteralName::Text(name) => FieldText {
                name: name.decode()?,
                value: Vec::new(),
            },
        };
        field.value = value.decode()?;
        self.push(field);
        Ok(())
    }

    fn push(&mut self, field: FieldText) {
        let size = field.name.len() + field.value.len() + OVERHEAD;
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > MAX_HEAD {
            self.block.clear();
        }
        self.block.push(field);
    }

    /// Puts the latest field into the table, as `table` has just done, unless that had no room.
    pub(super) fn keep(&mut self, table: &DynamicTable) {
        if let Some(field) = self.block.last() {
            self.table.push_front(field.clone());
        }
        self.follow(table);
    }

    /// Drops what `table` no longer has.
    pub(super) fn follow(&mut self, table: &DynamicTable) {
        self.table.truncate(table.len());
    }

    fn at(&self, index: usize) -> FieldText {
        let of_static = || {
            let (name, value) = STATIC_TABLE.get(index.checked_sub(1)?)?;
            Some(FieldText {
                name: name.as_bytes().to_vec(),
                value: value.as_bytes().to_vec(),
            })
        };
        let behind = index.wrapping_sub(STATIC_TABLE.len() + 1);
        let field = of_static().or_else(|| self.table.get(behind).cloned());
        field.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http2::hpack;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        let pairs = digits
            .chunks(2)
            .map(|pair| std::str::from_utf8(pair).unwrap());
        pairs
            .map(|pair| u8::from_str_radix(pair, 16).unwrap())
            .collect()
    }

    /// The responses of RFC 7541 appendix C.6, whose table of 256 bytes drops entries.
    #[test]
    fn texts_are_those_of_the_standard() {
        let blocks = [
            "3fe101 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 \
             82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
            "4883 640e ffc1 c0bf",
            "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad \
             94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 \
             65c0 03ed 4ee5 b106 3d50 07",
        ];
        let cookie = "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";
        let expected = [
            [
                (":status", "302"),
                ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
            ]
            .to_vec(),
            [
                (":status", "307"),
                ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
            ]
            .to_vec(),
            [
                (":status", "200"),
                ("date", "Mon, 21 Oct 2013 20:13:22 GMT"),
                ("content-encoding", "gzip"),
                ("set-cookie", cookie),
            ]
            .to_vec(),
        ];
        let (mut table, mut texts) = (DynamicTable::default(), Some(Box::default()));
        for (block, expected) in blocks.into_iter().zip(expected) {
            hpack::read(&bytes(block), &mut table, &mut texts).unwrap();
            let texts: &FieldTexts = texts.as_deref().unwrap();
            let both = [
                ("cache-control", "private"),
                ("location", "https://www.example.com"),
            ];
            assert_eq!(texts.of_block().count(), expected.len() + both.len());
            for (name, value) in expected.into_iter().chain(both) {
                let mut fields = texts.of_block();
                let is_there = fields.any(|field| field == (name.as_bytes(), value.as_bytes()));
                assert!(is_there, "{name}: {value} of {texts:?}");
            }
            assert_eq!(texts.table.len(), table.len());
        }
        // A name of the dynamic table, with another value, that is not kept.
        hpack::read(b"\x0f\x2f\x01x", &mut table, &mut texts).unwrap();
        let texts = texts.unwrap();
        assert!(texts.of_block().eq([(&b"set-cookie"[..], &b"x"[..])]));
    }

    #[test]
    fn field_that_is_named_very_often_takes_no_more_memory_than_a_head_may_have() {
        let (mut table, mut texts) = (DynamicTable::default(), Some(Box::default()));
        // A literal of 3,900 bytes that is put into the table, and its index a thousand times.
        let mut block = b"\x40\x01a\x7f\xbd\x1d".to_vec();
        block.extend([b'x'; 3_900]);
        block.extend([0xbe; 1_000]);
        hpack::read(&block, &mut table, &mut texts).unwrap();
        let mut texts: Box<FieldTexts> = texts.unwrap();
        let bytes: usize = texts.of_block().map(|(_, value)| value.len()).sum();
        assert!((3_900..=MAX_HEAD).contains(&bytes), "{bytes}");
        texts.begin();
        texts.note_index(62);
        assert_eq!(texts.of_block().count(), 1, "the next block is whole");
    }
}
