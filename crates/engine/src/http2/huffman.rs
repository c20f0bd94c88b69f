//! HPACK's Huffman code (RFC 7541 appendix B), as far as it is needed: numbers, and how long a
//! string is.

/// Lengths of codes, each with how many symbols have it. The code is canonical, so that no more is
/// needed to step over it; the last code of 30 bits ends a string, and must not occur in one.
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
/// All ones: the end of a string, whose first bits fill its last byte.
const END: u32 = (1 << 30) - 1;

/// A cursor over bits.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn left(&self) -> usize {
        self.bytes.len() * 8 - self.at
    }

    /// The next 30 bits, filled with ones behind the end.
    fn next(&self) -> u32 {
        let first = self.at / 8;
        let mut five_bytes = 0_u64;
        for index in first..first + 5 {
            five_bytes = five_bytes << 8 | u64::from(self.byte(index));
        }
        // 40 bits, at most 7 of them before the cursor: 30 are always left.
        (five_bytes >> (10 - self.at % 8)) as u32 & END
    }

    /// A byte; behind the end all ones, as the filling is (RFC 7541 §5.2).
    fn byte(&self, index: usize) -> u8 {
        self.bytes.get(index).copied().unwrap_or(0xff)
    }

    /// Whether what is left only fills the last byte.
    fn is_filling(&self) -> bool {
        self.left() < 8 && self.next() == END
    }
}

/// Symbols of a string; `None` where it is none.
pub(super) fn symbols(bytes: &[u8]) -> Option<usize> {
    let mut bits = Bits { bytes, at: 0 };
    let mut number = 0;
    while !bits.is_filling() {
        let length = code_length(bits.next())?;
        if length > bits.left() {
            return None;
        }
        bits.at += length;
        number += 1;
    }
    Some(number)
}

/// Bits of the code that `next` begins with.
fn code_length(next: u32) -> Option<usize> {
    // Codes of a length follow one another, behind those that are shorter: the first code beyond
    // them, in 30 bits.
    let mut end = 0;
    for (length, symbols) in LENGTHS {
        end += symbols << (30 - length);
        if next < end && next != END {
            return Some(length as usize);
        }
    }
    None
}

/// The decimal number that a string is: 0 to 2 are the 5-bit codes of those values, 3 to 9 the
/// 6-bit codes from 25 on.
pub(super) fn number(bytes: &[u8]) -> Option<u64> {
    let mut bits = Bits { bytes, at: 0 };
    let mut number = None;
    while !bits.is_filling() {
        let next = bits.next();
        // The first 5 of the 30 bits, then the first 6.
        let (length, digit) = match (next >> 25, next >> 24) {
            (code @ 0..=2, _) => (5, code),
            (_, code @ 25..=31) => (6, code - 22),
            _ => return None,
        };
        if length > bits.left() {
            return None;
        }
        bits.at += length;
        let before: u64 = number.unwrap_or(0);
        number = Some(before.checked_mul(10)?.checked_add(digit.into())?);
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes of the digits as the appendix lists them, each with its length.
    const DIGITS: [(u32, u32); 10] = [
        (0x0, 5),
        (0x1, 5),
        (0x2, 5),
        (0x19, 6),
        (0x1a, 6),
        (0x1b, 6),
        (0x1c, 6),
        (0x1d, 6),
        (0x1e, 6),
        (0x1f, 6),
    ];

    fn in_huffman(number: u64) -> Vec<u8> {
        let mut bits = String::new();
        for digit in number.to_string().bytes() {
            let (code, length) = DIGITS[usize::from(digit - b'0')];
            bits += &format!("{code:0width$b}", width = length as usize);
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
    fn digits_in_huffman_code_are_read() {
        for value in (0..3000).chain([356, 1_900_544, 9_876_543_210, u64::MAX]) {
            assert_eq!(number(&in_huffman(value)), Some(value), "{value}");
            assert_eq!(
                symbols(&in_huffman(value)),
                Some(value.to_string().len()),
                "{value}"
            );
        }
        assert_eq!(number(&[0xff]), None);
        assert_eq!(number(&[]), None);
        assert_eq!(number(&[0x64, 0x02, 0xff]), None);
    }

    #[test]
    fn code_is_whole_and_strings_of_the_rfc_have_their_lengths() {
        assert_eq!(
            LENGTHS
                .iter()
                .map(|(length, symbols)| symbols << (30 - length))
                .sum::<u32>(),
            END + 1
        );
        assert_eq!(LENGTHS.iter().map(|(_, symbols)| symbols).sum::<u32>(), 257);
        let cases: [(&[u8], Option<usize>); 7] = [
            (
                b"\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff",
                Some("www.example.com".len()),
            ),
            (
                b"\xd0\x7a\xbe\x94\x10\x54\xd4\x44\xa8\x20\x05\x95\x04\x0b\x81\x66\xe0\x82\xa6\x2d\
                \x1b\xff",
                Some(29),
            ),
            (
                b"\x9d\x29\xad\x17\x18\x63\xc7\x8f\x0b\x97\xc8\xe9\xae\x82\xae\x43\xd3",
                Some("https://www.example.com".len()),
            ),
            (b"", Some(0)),
            (b"\xff", None),             // eight bits of filling
            (b"\x00\x00", None),         // filled with zeros
            (b"\xff\xff\xff\xff", None), // the end within a string
        ];
        for (bytes, expected) in cases {
            assert_eq!(symbols(bytes), expected, "{bytes:02x?}");
        }
    }
}
