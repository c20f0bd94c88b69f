//! How text is written where some bytes mean something else.

/// Where a cell goes, which decides the bytes that are escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// As it is.
    None,
    /// A segment of a path: all but `pchar` is percent-encoded (RFC 3986 §3.3).
    Segment,
    /// A path that may have slashes: all but `unreserved` and `/` is percent-encoded.
    Path,
    /// Bytes of a [`Escape::Segment`], encoded once more like a part of a query.
    SegmentTwice,
    /// A part of a query or of a form: all but `unreserved` is percent-encoded (RFC 3986 §2.3).
    Query,
    /// Within a JSON string (RFC 8259 §7).
    Json,
}

/// Bytes that a character stands for once it is escaped: 1 as it is, by table.
type Widths = [u8; 256];

/// What a segment keeps beside letters and digits: `pchar`.
const PCHAR: &[u8] = b"-._~!$&'()*+,;=:@";
/// What a query keeps: `unreserved`.
const UNRESERVED: &[u8] = b"-._~";

static SEGMENT: Widths = percent(PCHAR);
static PATH: Widths = percent(b"-._~/");
static SEGMENT_TWICE: Widths = twice();
static QUERY: Widths = percent(UNRESERVED);
static JSON: Widths = json();

const HEX: &[u8; 16] = b"0123456789ABCDEF";

impl Escape {
    fn widths(self) -> Option<&'static Widths> {
        match self {
            Escape::None => None,
            Escape::Segment => Some(&SEGMENT),
            Escape::Path => Some(&PATH),
            Escape::SegmentTwice => Some(&SEGMENT_TWICE),
            Escape::Query => Some(&QUERY),
            Escape::Json => Some(&JSON),
        }
    }

    /// Bytes of `text` once it is escaped.
    #[must_use]
    pub fn length(self, text: &[u8]) -> usize {
        match self.widths() {
            None => text.len(),
            Some(widths) => {
                let widths = text
                    .iter()
                    .map(|&byte| usize::from(widths[usize::from(byte)]));
                widths.sum()
            }
        }
    }

    /// Appends `text` to `out`, escaped.
    pub fn put(self, text: &[u8], out: &mut Vec<u8>) {
        let Some(widths) = self.widths() else {
            return out.extend_from_slice(text);
        };
        let mut rest = text;
        while let Some(at) = rest.iter().position(|&byte| widths[usize::from(byte)] != 1) {
            out.extend_from_slice(&rest[..at]);
            self.put_byte(rest[at], out);
            rest = &rest[at + 1..];
        }
        out.extend_from_slice(rest);
    }

    fn put_byte(self, byte: u8, out: &mut Vec<u8>) {
        let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
        match (self, byte) {
            (Escape::Json, b'"' | b'\\') => out.extend_from_slice(&[b'\\', byte]),
            (Escape::Json, b'\n') => out.extend_from_slice(b"\\n"),
            (Escape::Json, b'\r') => out.extend_from_slice(b"\\r"),
            (Escape::Json, b'\t') => out.extend_from_slice(b"\\t"),
            (Escape::Json, _) => {
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&digits);
            }
            (Escape::SegmentTwice, byte) if SEGMENT[usize::from(byte)] != 1 => {
                out.extend_from_slice(b"%25");
                out.extend_from_slice(&digits);
            }
            _ => {
                out.push(b'%');
                out.extend_from_slice(&digits);
            }
        }
    }
}

/// Letters, digits and the bytes of `others` stay as they are.
const fn percent(others: &[u8]) -> Widths {
    let mut widths = [3; 256];
    let mut byte = 0;
    while byte < 128 {
        if (byte as u8).is_ascii_alphanumeric() {
            widths[byte] = 1;
        }
        byte += 1;
    }
    let mut other = 0;
    while other < others.len() {
        widths[others[other] as usize] = 1;
        other += 1;
    }
    widths
}

/// A byte that a segment encodes has its `%` encoded too.
const fn twice() -> Widths {
    let (mut widths, segment, mut byte) = (percent(UNRESERVED), percent(PCHAR), 0);
    while byte < 256 {
        if segment[byte] != 1 {
            widths[byte] = 5;
        }
        byte += 1;
    }
    widths
}

const fn json() -> Widths {
    let mut widths = [1; 256];
    let mut byte = 0;
    while byte < 0x20 {
        widths[byte] = 6;
        byte += 1;
    }
    let short = b"\"\\\n\r\t";
    let mut at = 0;
    while at < short.len() {
        widths[short[at] as usize] = 2;
        at += 1;
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::Escape;
    use proptest::prelude::*;

    fn put(escape: Escape, text: &str) -> String {
        let mut out = Vec::new();
        escape.put(text.as_bytes(), &mut out);
        assert_eq!(out.len(), escape.length(text.as_bytes()), "{text:?}");
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_place_has_its_own_bytes() {
        let text = "a/b c?&=+\"\\\n\u{1}é%";
        assert_eq!(put(Escape::None, text), text);
        assert_eq!(
            put(Escape::Segment, text),
            "a%2Fb%20c%3F&=+%22%5C%0A%01%C3%A9%25"
        );
        assert_eq!(
            put(Escape::Query, text),
            "a%2Fb%20c%3F%26%3D%2B%22%5C%0A%01%C3%A9%25"
        );
        assert_eq!(
            put(Escape::Path, text),
            "a/b%20c%3F%26%3D%2B%22%5C%0A%01%C3%A9%25"
        );
        assert_eq!(
            put(Escape::SegmentTwice, text),
            "a%252Fb%2520c%253F%26%3D%2B%2522%255C%250A%2501%25C3%25A9%2525"
        );
        assert_eq!(put(Escape::Json, text), "a/b c?&=+\\\"\\\\\\n\\u0001é%");
    }

    proptest! {
        #[test]
        fn json_is_read_as_it_was_given(text in any::<String>()) {
            let quoted = format!("\"{}\"", put(Escape::Json, &text));
            prop_assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), text);
        }

        #[test]
        fn percent_encoding_is_read_as_it_was_given(text in any::<String>()) {
            for escape in [Escape::Segment, Escape::Query] {
                let put = put(escape, &text);
                prop_assert!(put.bytes().all(|byte| byte.is_ascii_graphic()));
                prop_assert!(!put.contains(['/', '?', '#']));
                prop_assert_eq!(decode(put.as_bytes()), text.as_bytes());
            }
        }
    }

    /// Percent-decoding as RFC 3986 §2.1 has it.
    fn decode(text: &[u8]) -> Vec<u8> {
        let mut decoded = Vec::new();
        let mut rest = text;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            if byte != b'%' {
                decoded.push(byte);
                continue;
            }
            let digits = std::str::from_utf8(&rest[..2]).unwrap();
            decoded.push(u8::from_str_radix(digits, 16).unwrap());
            rest = &rest[2..];
        }
        decoded
    }
}
