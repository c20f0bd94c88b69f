//! Which characters of a text from elsewhere are not shown.

/// Whether showing `character` would change more than its own place: control characters move the
/// cursor, bidirectional ones turn the text around them (Unicode UAX #9, 2), and the two separators
/// begin a line. A name that holds one can look like another name.
#[must_use]
pub fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::is_unprintable;

    #[test]
    fn characters_that_move_others_are_not_shown() {
        for character in "\0\n\x1b\u{7f}\u{9b}\u{202e}\u{2066}\u{2069}\u{200f}\u{2028}".chars() {
            assert!(is_unprintable(character), "{character:?}");
        }
        // Letters that are written from the right are letters.
        for character in "a é ß 東 א ע ش 🚀\u{200d}".chars() {
            assert!(!is_unprintable(character), "{character:?}");
        }
    }
}
