//! What a server says of a call that failed: the field `grpc-message` as a text that can be shown.

use measure::{GrpcMessages, is_unprintable};
use std::fmt::Write as _;

/// The text of the field, which is UTF-8 with bytes as `%41` (gRPC over HTTP/2, "Responses"). What
/// is encoded wrongly stays as it came, as the source says; what is not UTF-8 becomes U+FFFD, and a
/// character that would move others is escaped.
pub(super) fn grpc_text(field: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(field.len().min(GrpcMessages::TEXT_MAX_BYTES));
    let mut rest = field;
    // Three bytes of the field make at least one of the text.
    while let (Some((&byte, behind)), true) = (
        rest.split_first(),
        bytes.len() < GrpcMessages::TEXT_MAX_BYTES,
    ) {
        let encoded = (byte == b'%').then(|| hex_byte(behind)).flatten();
        match encoded {
            Some(decoded) => {
                bytes.push(decoded);
                rest = &behind[2..];
            }
            None => {
                bytes.push(byte);
                rest = behind;
            }
        }
    }
    let mut text = String::with_capacity(bytes.len());
    for character in String::from_utf8_lossy(&bytes).chars() {
        if is_unprintable(character) {
            let _ = write!(text, "{}", character.escape_default());
        } else {
            text.push(character);
        }
    }
    let length = GrpcMessages::shorten(&text).len();
    text.truncate(length);
    text
}

/// The byte that two hexadecimal digits at the beginning stand for.
fn hex_byte(bytes: &[u8]) -> Option<u8> {
    let digit = |place: usize| char::from(*bytes.get(place)?).to_digit(16);
    let (high, low) = (digit(0)?, digit(1)?);
    u8::try_from(16 * high + low).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_decoded_and_nothing_in_it_moves_the_cursor() {
        for (field, text) in [
            ("no such item", "no such item"),
            ("100 %25 done", "100 % done"),
            ("gr%C3%BC%c3%9fe", "grüße"),
            ("50 % of %4 %zz %", "50 % of %4 %zz %"),
            ("a%0Ab%1b[2J", "a\\nb\\u{1b}[2J"),
            ("%E2%80%AE", "\\u{202e}"),
            ("%ff", "\u{fffd}"),
            ("", ""),
        ] {
            assert_eq!(grpc_text(field.as_bytes()), text, "{field}");
        }
    }

    #[test]
    fn long_text_is_cut() {
        for field in ["x".repeat(9000), "%0a".repeat(9000), "é".repeat(9000)] {
            let text = grpc_text(field.as_bytes());
            let range = GrpcMessages::TEXT_MAX_BYTES - 3..=GrpcMessages::TEXT_MAX_BYTES;
            assert!(range.contains(&text.len()), "{text}");
        }
    }
}
