//! HPACK's Huffman code (RFC 7541 appendix B), decoded symbol by symbol: strings are examined but
//! not stored.

use super::hpack_error::BadBlock;

/// Code lengths, each with the number of symbols that have it. The code is canonical: codes of one
/// length follow one another, after the shorter ones. The last code of 30 bits ends a string, and
/// must not occur in one.
const LENGTHS: [(u32, u32); 21] = [
    (5, 10),
    (6, 26),
    (7, 32),
    (8, 6),
    (10, 5),
    (11, 3),
    (12, 2),
    (13, 6),
    (14, 2),
    (15, 3),
    (19, 3),
    (20, 8),
    (21, 13),
    (22, 26),
    (23, 29),
    (24, 12),
    (25, 4),
    (26, 15),
    (27, 19),
    (28, 29),
    (30, 4),
];
/// Symbols in the order of their codes; the 257th is the end symbol.
const SYMBOLS: [u8; 256] = [
    0x30, 0x31, 0x32, 0x61, 0x63, 0x65, 0x69, 0x6f, 0x73, 0x74, 0x20, 0x25, 0x2d, 0x2e, 0x2f, 0x33,
    0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3d, 0x41, 0x5f, 0x62, 0x64, 0x66, 0x67, 0x68, 0x6c, 0x6d,
    0x6e, 0x70, 0x72, 0x75, 0x3a, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x4b, 0x4c,
    0x4d, 0x4e, 0x4f, 0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x59, 0x6a, 0x6b, 0x71, 0x76,
    0x77, 0x78, 0x79, 0x7a, 0x26, 0x2a, 0x2c, 0x3b, 0x58, 0x5a, 0x21, 0x22, 0x28, 0x29, 0x3f, 0x27,
    0x2b, 0x7c, 0x23, 0x3e, 0x00, 0x24, 0x40, 0x5b, 0x5d, 0x7e, 0x5e, 0x7d, 0x3c, 0x60, 0x7b, 0x5c,
    0xc3, 0xd0, 0x80, 0x82, 0x83, 0xa2, 0xb8, 0xc2, 0xe0, 0xe2, 0x99, 0xa1, 0xa7, 0xac, 0xb0, 0xb1,
    0xb3, 0xd1, 0xd8, 0xd9, 0xe3, 0xe5, 0xe6, 0x81, 0x84, 0x85, 0x86, 0x88, 0x92, 0x9a, 0x9c, 0xa0,
    0xa3, 0xa4, 0xa9, 0xaa, 0xad, 0xb2, 0xb5, 0xb9, 0xba, 0xbb, 0xbd, 0xbe, 0xc4, 0xc6, 0xe4, 0xe8,
    0xe9, 0x01, 0x87, 0x89, 0x8a, 0x8b, 0x8c, 0x8d, 0x8f, 0x93, 0x95, 0x96, 0x97, 0x98, 0x9b, 0x9d,
    0x9e, 0xa5, 0xa6, 0xa8, 0xae, 0xaf, 0xb4, 0xb6, 0xb7, 0xbc, 0xbf, 0xc5, 0xe7, 0xef, 0x09, 0x8e,
    0x90, 0x91, 0x94, 0x9f, 0xab, 0xce, 0xd7, 0xe1, 0xec, 0xed, 0xc7, 0xcf, 0xea, 0xeb, 0xc0, 0xc1,
    0xc8, 0xc9, 0xca, 0xcd, 0xd2, 0xd5, 0xda, 0xdb, 0xee, 0xf0, 0xf2, 0xf3, 0xff, 0xcb, 0xcc, 0xd3,
    0xd4, 0xd6, 0xdd, 0xde, 0xdf, 0xf1, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe,
    0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x0b, 0x0c, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14,
    0x15, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f, 0x7f, 0xdc, 0xf9, 0x0a, 0x0d, 0x16,
];
/// All ones: the end symbol, whose first bits pad the last byte of a string.
const END: u32 = (1 << 30) - 1;
/// The symbol at the start of a byte and the length of its code, which is 0 if the code is longer
/// than a byte.
const SHORT: [(u8, u8); 256] = short_codes();

/// The symbols of a string.
pub(super) struct Symbols<'a> {
    /// Bytes that have not been read yet.
    rest: &'a [u8],
    /// Bits of the code, from the highest on, and how many of them are valid.
    bits: u64,
    filled: u32,
}

impl<'a> Symbols<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Symbols<'a> {
        Symbols {
            rest: bytes,
            bits: 0,
            filled: 0,
        }
    }

    fn fill(&mut self) {
        while self.filled <= 56
            && let Some((&byte, rest)) = self.rest.split_first()
        {
            self.bits |= u64::from(byte) << (56 - self.filled);
            self.filled += 8;
            self.rest = rest;
        }
    }

    /// Whether the rest only pads the last byte (RFC 7541 §5.2).
    fn is_filling(&self) -> bool {
        self.filled < 8 && self.bits.leading_ones() >= self.filled
    }
}

impl Iterator for Symbols<'_> {
    type Item = Result<u8, BadBlock>;

    #[inline]
    fn next(&mut self) -> Option<Result<u8, BadBlock>> {
        // No code is longer than 30 bits.
        if self.filled < 30 {
            self.fill();
        }
        let (symbol, length) = match SHORT[(self.bits >> 56) as usize] {
            (_, 0) => code_at((self.bits >> 34) as u32).unwrap_or((0, u8::MAX)),
            short => short,
        };
        let length = u32::from(length);
        if length > self.filled {
            return (!self.is_filling()).then_some(Err(BadBlock));
        }
        self.bits <<= length;
        self.filled -= length;
        Some(Ok(symbol))
    }
}

/// The symbol at the start of these 30 bits, and the length of its code; `None` for the end symbol.
const fn code_at(bits: u32) -> Option<(u8, u8)> {
    let (mut first, mut before, mut nth) = (0, 0, 0);
    while nth < LENGTHS.len() {
        let (length, symbols) = LENGTHS[nth];
        let end = first + (symbols << (30 - length));
        if bits < end && bits != END {
            let index = before + ((bits - first) >> (30 - length));
            return Some((SYMBOLS[index as usize], length as u8));
        }
        (first, before, nth) = (end, before + symbols, nth + 1);
    }
    None
}

const fn short_codes() -> [(u8, u8); 256] {
    let mut short = [(0, 0); 256];
    let mut byte = 0;
    while byte < short.len() {
        if let Some((symbol, length @ ..=8)) = code_at((byte as u32) << 22) {
            short[byte] = (symbol, length);
        }
        byte += 1;
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<u8>, BadBlock> {
        Symbols::new(bytes).collect()
    }

    /// Encodes with the codes that the appendix lists; they are canonical, so the lengths determine
    /// them.
    fn encode(text: &[u8]) -> Vec<u8> {
        let mut bits = String::new();
        for &byte in text {
            let index = SYMBOLS.iter().position(|&symbol| symbol == byte).unwrap() as u32;
            let (mut code, mut before) = (0, 0);
            for (length, symbols) in LENGTHS {
                if index < before + symbols {
                    code += (index - before) << (30 - length);
                    bits += &format!("{code:030b}")[..length as usize];
                    break;
                }
                code += symbols << (30 - length);
                before += symbols;
            }
        }
        while !bits.len().is_multiple_of(8) {
            bits.push('1');
        }
        bits.as_bytes()
            .chunks(8)
            .map(|byte| byte.iter().fold(0, |value, bit| value << 1 | (bit - b'0')))
            .collect()
    }

    #[test]
    fn code_is_whole() {
        let codes = LENGTHS.map(|(length, symbols)| symbols << (30 - length));
        assert_eq!(codes.iter().sum::<u32>(), END + 1);
        assert_eq!(LENGTHS.iter().map(|(_, symbols)| symbols).sum::<u32>(), 257);
        let (mut sorted, mut from) = (SYMBOLS, 0);
        sorted.sort_unstable();
        assert!(sorted.iter().copied().eq(0..=255), "each symbol once");
        for (_, symbols) in LENGTHS {
            let end = (from + symbols as usize).min(SYMBOLS.len());
            assert!(SYMBOLS[from..end].is_sorted(), "within a length by value");
            from = end;
        }
    }

    #[test]
    fn every_symbol_is_read_as_it_was_written() {
        let every: Vec<u8> = (0..=255).collect();
        assert_eq!(read(&encode(&every)), Ok(every.clone()));
        for &symbol in &every {
            let text = [b'a', symbol, b'0'];
            for length in 1..=3 {
                let text = &text[..length];
                assert_eq!(read(&encode(text)).as_deref(), Ok(text), "{text:02x?}");
            }
        }
    }

    #[test]
    fn strings_of_the_rfc_are_read_and_others_refused() {
        let cases: [(&[u8], Option<&str>); 9] = [
            (
                b"\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff",
                Some("www.example.com"),
            ),
            (
                b"\xd0\x7a\xbe\x94\x10\x54\xd4\x44\xa8\x20\x05\x95\x04\x0b\x81\x66\xe0\x82\xa6\x2d\
                \x1b\xff",
                Some("Mon, 21 Oct 2013 20:13:21 GMT"),
            ),
            (
                b"\x9d\x29\xad\x17\x18\x63\xc7\x8f\x0b\x97\xc8\xe9\xae\x82\xae\x43\xd3",
                Some("https://www.example.com"),
            ),
            (b"\x64\x02", Some("302")),
            (b"", Some("")),
            (b"\xff", None),             // eight bits of padding
            (b"\x64\x02\xff", None),     // as many after a string
            (b"\x00\x00", None),         // padded with zeros
            (b"\xff\xff\xff\xff", None), // the end symbol within a string
        ];
        for (bytes, expected) in cases {
            let read = read(bytes).ok();
            assert_eq!(read.as_deref(), expected.map(str::as_bytes), "{bytes:02x?}");
        }
    }
}
