//! Character references in the values of HTML attributes.

/// Names of references that are replaced.
const NAMES: [(&[u8], char); 5] = [
    (b"amp", '&'),
    (b"apos", '\''),
    (b"gt", '>'),
    (b"lt", '<'),
    (b"quot", '"'),
];

/// What references to the control characters from 0x80 on stand for (HTML §13.2.5.80); `\0` for
/// themselves.
const OF_CONTROLS: [char; 32] = [
    '€', '\0', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\0', 'Ž', '\0', '\0', '‘',
    '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\0', 'ž', 'Ÿ',
];

/// The value with references by number replaced, and the five by name that every author knows,
/// which end with a semicolon. Others stay as they are.
pub(super) fn decode(value: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = memchr::memchr(b'&', rest) {
        text.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let (character, length) = reference(&rest[1..]).unwrap_or(('&', 0));
        text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        rest = &rest[1 + length..];
    }
    text.extend_from_slice(rest);
    text
}

/// The character of the reference behind a `&`, and how many bytes it has.
fn reference(rest: &[u8]) -> Option<(char, usize)> {
    let Some(number) = rest.strip_prefix(b"#") else {
        let mut names = NAMES.iter();
        let named = |(name, _): &&(&[u8], char)| {
            rest.strip_prefix(*name)
                .is_some_and(|after| after.starts_with(b";"))
        };
        return names
            .find(named)
            .map(|(name, character)| (*character, name.len() + 1));
    };
    let (radix, digits) = match number {
        [b'x' | b'X', digits @ ..] => (16, digits),
        digits => (10, digits),
    };
    let is_digit = |byte: &&u8| char::from(**byte).is_digit(radix);
    let length = digits.iter().take_while(is_digit).count();
    let code = digits[..length].iter().fold(0_u32, |code, &byte| {
        let digit = char::from(byte).to_digit(radix).unwrap_or(0);
        code.saturating_mul(radix).saturating_add(digit)
    });
    let ends = usize::from(digits.get(length) == Some(&b';'));
    let all = rest.len() - digits.len() + length + ends;
    (length > 0).then(|| (character(code), all))
}

/// The character of a number, or U+FFFD if there is none.
fn character(code: u32) -> char {
    let of_control = code
        .checked_sub(0x80)
        .and_then(|place| OF_CONTROLS.get(place as usize));
    match (of_control, code) {
        (Some(&replaced), _) if replaced != '\0' => replaced,
        (_, 0) => char::REPLACEMENT_CHARACTER,
        _ => char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn references_are_replaced_by_number_and_by_five_names() {
        for (value, text) in [
            ("", ""),
            ("a&amp;b", "a&b"),
            ("&lt;&gt;&quot;&apos;&amp;amp;", "<>\"'&amp;"),
            ("&#65;&#x41;&#X2f;&#66", "AA/B"),
            (
                "&#128;&#x99;&#0;&#xd800;&#x110000;&#99999999999;",
                "€™\u{fffd}\u{fffd}\u{fffd}\u{fffd}",
            ),
            ("&eacute;&amp &AMP;&", "&eacute;&amp &AMP;&"),
            ("&#;&#x;&#xg;é", "&#;&#x;&#xg;é"),
        ] {
            assert_eq!(
                String::from_utf8(decode(value.as_bytes())).unwrap(),
                text,
                "{value}"
            );
        }
        assert_eq!(decode(b"\xff&#65;\x00"), b"\xffA\x00");
    }
}
