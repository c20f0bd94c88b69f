//! The escapes that servers write into their logs.

use std::borrow::Cow;

/// Removes the escapes of a value: `\xHH` of nginx and Apache, `\uHHHH` of nginx's `escape=json`,
/// and those of a single character. These servers escape the backslash itself, so that one reading
/// serves them all. What is no escape stays as it is.
pub(crate) fn unescape(value: &[u8]) -> Cow<'_, [u8]> {
    if !value.contains(&b'\\') {
        return Cow::Borrowed(value);
    }
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((&first, after)) = rest.split_first() {
        let (length, byte) = match (first, after.first()) {
            (b'\\', Some(b'x')) => hexadecimal(after, 2),
            (b'\\', Some(b'u')) => hexadecimal(after, 4),
            (b'\\', Some(&letter)) => single(letter).map(|byte| (2, byte)),
            _ => None,
        }
        .unwrap_or((1, first));
        bytes.push(byte);
        rest = &rest[length..];
    }
    Cow::Owned(bytes)
}

/// Length of the whole escape, and its byte. nginx writes control characters only as `\uHHHH`, so
/// that a larger number is no escape of a log.
fn hexadecimal(after: &[u8], digits: usize) -> Option<(usize, u8)> {
    let text = after.get(1..=digits)?;
    let is_number = text.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(text).ok().filter(|_| is_number)?;
    let byte = u8::from_str_radix(text, 16).ok()?;
    Some((2 + digits, byte))
}

fn single(letter: u8) -> Option<u8> {
    Some(match letter {
        b'"' | b'\\' | b'/' => letter,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'f' => 0x0c,
        b'v' => 0x0b,
        _ => return None,
    })
}

/// The first place of `sought` in `text` that is not within an escape.
pub(crate) fn find_unescaped(text: &[u8], sought: &[u8]) -> Option<usize> {
    let &first = sought.first()?;
    let mut at = 0;
    while at < text.len() {
        if text[at] == first && text[at..].starts_with(sought) {
            return Some(at);
        }
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{find_unescaped, unescape};

    #[test]
    fn escapes_of_each_server_are_read() {
        for (escaped, value) in [
            (r"plain", &b"plain"[..]),
            (r"\x22a\x22 \x5C \xE4", b"\"a\" \\ \xe4"),
            (
                r#"\"a\" \\ \/ \n\r\t\b\f\v"#,
                b"\"a\" \\ / \n\r\t\x08\x0c\x0b",
            ),
            (r"\u001F", b"\x1f"),
            (r"\xZZ \x2 \q \u1234 \", br"\xZZ \x2 \q \u1234 \"),
        ] {
            assert_eq!(&*unescape(escaped.as_bytes()), value, "{escaped}");
        }
    }

    #[test]
    fn quotation_mark_within_an_escape_ends_nothing() {
        let find = |text: &str| find_unescaped(text.as_bytes(), b"\" ");
        assert_eq!(find(r#"a\" b" c"#), Some(5));
        assert_eq!(find(r#"a\\" c"#), Some(3));
        assert_eq!(find(r#"a\"#), None);
    }
}
