//! Text with placeholders, there and back.

use crate::{Piece, Template};
use secret::Wipe;
use std::fmt;
use std::sync::Arc;

/// The placeholders and what they stand for.
const PLACEHOLDERS: [(&str, Piece); 3] = [
    ("{user}", Piece::User),
    ("{seq}", Piece::Seq),
    ("{random}", Piece::Random),
];

impl From<&str> for Template {
    fn from(text: &str) -> Template {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((at, word, piece)) = first_placeholder(rest) {
            pieces.extend(literal(&rest[..at]));
            pieces.push(piece);
            rest = &rest[at + word.len()..];
        }
        pieces.extend(literal(rest));
        Template { pieces }
    }
}

impl Template {
    /// Whether it says the same every time.
    #[must_use]
    pub fn is_literal(&self) -> bool {
        self.pieces
            .iter()
            .all(|piece| matches!(piece, Piece::Literal(_)))
    }
}

impl fmt::Display for Template {
    /// The text it was made from.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces.iter().try_for_each(|piece| match piece {
            Piece::Literal(text) => f.write_str(text),
            Piece::User => f.write_str("{user}"),
            Piece::Seq => f.write_str("{seq}"),
            Piece::Random => f.write_str("{random}"),
        })
    }
}

impl Wipe for Template {
    fn wipe(&mut self) {
        for piece in &mut self.pieces {
            if let Piece::Literal(text) = piece {
                text.wipe();
            }
        }
    }
}

fn first_placeholder(text: &str) -> Option<(usize, &'static str, Piece)> {
    let brace = |from: usize| text[from..].find('{').map(|at| from + at);
    let mut next = brace(0);
    while let Some(at) = next {
        let found = PLACEHOLDERS
            .iter()
            .find(|(word, _)| text[at..].starts_with(word));
        if let Some((word, piece)) = found {
            return Some((at, word, piece.clone()));
        }
        next = brace(at + 1);
    }
    None
}

fn literal(text: &str) -> Option<Piece> {
    (!text.is_empty()).then(|| Piece::Literal(Arc::from(text)))
}

#[cfg(test)]
mod tests {
    use super::{Piece, Template};

    #[test]
    fn only_the_exact_words_are_placeholders() {
        let template = Template::from("{\"a\":{user}}{seq}{ random}{random}{usér");
        let literal = |text: &str| Piece::Literal(text.into());
        let pieces = [
            literal("{\"a\":"),
            Piece::User,
            literal("}"),
            Piece::Seq,
            literal("{ random}"),
            Piece::Random,
            literal("{usér"),
        ];
        assert_eq!(template.pieces, pieces);
    }

    #[test]
    fn a_template_reads_what_it_writes() {
        for text in [
            "",
            "plain",
            "{user}",
            "{{user}}",
            "{seq}{seq}",
            "{us{user}er}",
            "{",
        ] {
            let template = Template::from(text);
            assert_eq!(template.to_string(), text);
            assert_eq!(Template::from(template.to_string().as_str()), template);
        }
        assert!(Template::from("{\"json\": 1}").is_literal());
        assert!(!Template::from("/{seq}").is_literal());
    }
}
