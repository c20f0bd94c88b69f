//! Text with placeholders, parsed and written.

use crate::{Piece, Template};
use secret::Wipe;
use std::fmt;
use std::sync::Arc;

/// The placeholders in their written form.
const PLACEHOLDERS: [(&str, Piece); 3] = [
    ("{user}", Piece::User),
    ("{seq}", Piece::Seq),
    ("{random}", Piece::Random),
];

/// What the names of placeholders stand for, beyond those that every plan has.
pub(crate) trait Placeholders {
    /// The piece for `{name}`; `None` if that is no placeholder.
    fn piece(&self, name: &str) -> Option<Piece>;
}

impl Placeholders for () {
    fn piece(&self, _name: &str) -> Option<Piece> {
        None
    }
}

impl From<&str> for Template {
    fn from(text: &str) -> Template {
        Template::with(text, &())
    }
}

impl Template {
    /// A text without placeholders.
    pub(crate) fn literal(text: &str) -> Template {
        Template {
            pieces: literal(text).into_iter().collect(),
        }
    }

    /// Parses a text that may have placeholders of the plan's own.
    pub(crate) fn with(text: &str, placeholders: &dyn Placeholders) -> Template {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((at, length, piece)) = first_placeholder(rest, placeholders) {
            pieces.extend(literal(&rest[..at]));
            pieces.push(piece);
            rest = &rest[at + length..];
        }
        pieces.extend(literal(rest));
        Template { pieces }
    }

    /// A template of these pieces; adjacent literals are joined.
    pub(crate) fn of_pieces(pieces: Vec<Piece>) -> Template {
        let (mut joined, mut text) = (Vec::with_capacity(pieces.len()), String::new());
        for piece in pieces {
            if let Piece::Literal(more) = piece {
                text += &more;
            } else {
                joined.extend(literal(&std::mem::take(&mut text)));
                joined.push(piece);
            }
        }
        joined.extend(literal(&text));
        Template { pieces: joined }
    }

    /// Whether the text is the same for every operation.
    #[must_use]
    pub fn is_literal(&self) -> bool {
        self.pieces
            .iter()
            .all(|piece| matches!(piece, Piece::Literal(_) | Piece::Secret { .. }))
    }
}

impl fmt::Display for Template {
    /// The text that it was parsed from.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces.iter().try_for_each(|piece| match piece {
            Piece::Literal(text) => f.write_str(text),
            Piece::User => f.write_str("{user}"),
            Piece::Seq => f.write_str("{seq}"),
            Piece::Random => f.write_str("{random}"),
            Piece::Column(column) => column.fmt(f),
            Piece::Made(made) => made.fmt(f),
            Piece::Captured(captured) => captured.fmt(f),
            Piece::Token(name) => write!(f, "{{auth.{name}}}"),
            Piece::Secret { name, .. } => write!(f, "{{{name}}}"),
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

/// Longest name of a placeholder that is recognised.
pub(crate) const NAME_MAX_BYTES: usize = 64;

/// Most parts that are listed; a message names fewer.
const LOOK_ALIKES_MAX: usize = 100;

/// Finds parts of `text` that look like placeholders, of this or another program, but are sent as
/// they are, or with unintended text around the value: `{uuid}`, `${TOKEN}`, `{{seq}}`. Each is
/// listed once.
pub(crate) fn look_alikes(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find('{').map(|at| from + at) {
        if found.len() == LOOK_ALIKES_MAX {
            break;
        }
        from = at + 1;
        if let Some(part) = look_alike(text, at) {
            from = at + part.trim_start_matches('$').len();
            if !found.contains(&part) {
                found.push(part);
            }
        }
    }
    found
}

/// The look-alike that starts with the brace at `at`, or with a `$` before it.
fn look_alike(text: &str, at: usize) -> Option<&str> {
    let (open, close) = match &text[at..] {
        rest if rest.starts_with("{{") => ("{{", "}}"),
        _ => ("{", "}"),
    };
    let begin = at + open.len();
    // The window is limited, so that a text full of braces is not searched to its end for each of
    // them.
    let window = text.as_bytes()[begin..].iter().take(2 * NAME_MAX_BYTES);
    let window: Vec<u8> = window.copied().collect();
    let is_close = |bytes: &[u8]| bytes == close.as_bytes();
    let end = begin + window.windows(close.len()).position(is_close)?;
    let has_dollar = text[..at].ends_with('$');
    let inside = match open {
        "{{" => text[begin..end].trim().trim_start_matches('$'),
        _ => &text[begin..end],
    };
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
    let is_name = inside.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && inside.len() <= NAME_MAX_BYTES
        && inside.chars().all(is_of_name);
    let part = &text[at - usize::from(has_dollar)..end + close.len()];
    let is_placeholder = PLACEHOLDERS.iter().any(|(word, _)| *word == part);
    (is_name && !is_placeholder).then_some(part)
}

/// The name that stands in the braces at the start of `text`.
pub(crate) fn name_in_braces(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('{')?;
    // The window is limited, so that a text full of braces is not searched to its end for each.
    let mut window = inside.bytes().take(NAME_MAX_BYTES + 1);
    Some(&inside[..window.position(|byte| byte == b'}')?])
}

/// Where the first placeholder is, how many bytes it has, and what it stands for.
fn first_placeholder(text: &str, placeholders: &dyn Placeholders) -> Option<(usize, usize, Piece)> {
    let brace = |from: usize| text[from..].find('{').map(|at| from + at);
    let mut next = brace(0);
    while let Some(at) = next {
        let found = PLACEHOLDERS
            .iter()
            .find(|(word, _)| text[at..].starts_with(word));
        if let Some((word, piece)) = found {
            return Some((at, word.len(), piece.clone()));
        }
        let own = name_in_braces(&text[at..]);
        if let Some((name, piece)) = own.and_then(|name| Some((name, placeholders.piece(name)?))) {
            return Some((at, name.len() + 2, piece));
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
    use super::{Piece, Template, look_alikes};

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
    fn what_looks_like_a_placeholder_and_is_none_is_found() {
        for (text, found) in [
            (
                "/item/{uuid}?t=${TOKEN}&u={user}",
                &["{uuid}", "${TOKEN}"][..],
            ),
            (
                "{{seq}} {{ $randomInt }} ${seq}",
                &["{{seq}}", "{{ $randomInt }}", "${seq}"],
            ),
            ("#{id} {id} {id}", &["{id}"]),
            ("${HOST:-a.test}", &["${HOST:-a.test}"]),
            // JSON, a GraphQL query, an empty pair, an unclosed brace.
            ("{\"a\":1,\"b\":{\"c\":{}}}", &[]),
            ("{\"id\":{seq},\"u\":\"{random}\"}", &[]),
            ("query { user { name } }", &[]),
            ("{} {1} {a b} {a", &[]),
            ("{ä} é{x", &[]),
        ] {
            assert_eq!(look_alikes(text), found, "{text}");
        }
        assert!(look_alikes(&"{".repeat(100_000)).is_empty());
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
