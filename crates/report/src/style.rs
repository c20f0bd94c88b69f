//! What a terminal can show.

/// What a terminal can show. The caller detects it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// It understands ANSI escape sequences for colours.
    pub colour: bool,
    /// Width in columns; values below 20 count as 20.
    pub width: usize,
    /// It can show characters beyond ASCII.
    pub unicode: bool,
}

/// The meaning of a piece of text, shown as a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Title,
    Good,
    Bad,
    Doubtful,
    Faint,
}

/// Replacements for terminals that only show ASCII.
const PLAIN: [(char, &str); 11] = [
    ('µ', "u"),
    ('≤', "<="),
    ('≥', ">="),
    ('±', "+-"),
    ('·', "-"),
    ('—', "-"),
    ('→', "->"),
    ('✓', "ok  "),
    ('✗', "FAIL"),
    ('█', "#"),
    ('…', "..."),
];

impl Style {
    /// The style of files: 80 columns, no colours.
    pub const PLAIN: Style = Style {
        colour: false,
        width: 80,
        unicode: true,
    };

    pub(crate) fn columns(self) -> usize {
        self.width.max(20)
    }

    /// `text` in characters that the terminal can show. Names come from other machines, so control
    /// characters are replaced: they could move the cursor.
    #[must_use]
    pub fn text(self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        for character in text.chars() {
            match PLAIN.iter().find(|&&(known, _)| known == character) {
                _ if measure::is_unprintable(character) => shown.push('?'),
                Some((_, plain)) if !self.unicode => shown.push_str(plain),
                _ if !self.unicode && !character.is_ascii() => shown.push('?'),
                _ => shown.push(character),
            }
        }
        shown
    }

    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        let code = match paint {
            Paint::Plain => return text.to_owned(),
            Paint::Title => "1",
            Paint::Good => "1;32",
            Paint::Bad => "1;31",
            Paint::Doubtful => "1;33",
            Paint::Faint => "2",
        };
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_holds_only_what_the_terminal_has() {
        let ascii = Style {
            unicode: false,
            ..Style::PLAIN
        };
        assert_eq!(ascii.text("≥ 12 µs ± ñ"), ">= 12 us +- ?");
        assert_eq!(Style::PLAIN.text("≥ 12 µs\x1b[2J\n"), "≥ 12 µs?[2J?");
    }

    #[test]
    fn colour_is_there_only_where_asked_for() {
        assert_eq!(Style::PLAIN.paint(Paint::Bad, "x"), "x");
        assert_eq!(
            Style {
                colour: true,
                ..Style::PLAIN
            }
            .paint(Paint::Bad, "x"),
            "\x1b[1;31mx\x1b[0m"
        );
    }
}
