//! JSON as a plan writes it: a table of TOML, or a text with placeholders.

use crate::read::field::Field;
use crate::read::node::{Node, NodeValue};
use crate::{Piece, Template};
use data::Escape;
use serde::de::IgnoredAny;
use std::fmt::Write as _;

/// Deepest nesting of a table.
const MAX_DEPTH: usize = 64;

/// Writes a table of TOML as JSON. Placeholders in its texts stay what they are.
pub(crate) fn write(field: &Field<'_>) -> Option<String> {
    let mut text = String::new();
    put(field, field.node, 0, &mut text)?;
    Some(text)
}

fn put(field: &Field<'_>, node: &Node, depth: usize, out: &mut String) -> Option<()> {
    if depth > MAX_DEPTH {
        field.problem(format_args!(
            "is nested more than {MAX_DEPTH} deep; write less"
        ));
        return None;
    }
    // A variable stands within quotes, so it is a text whatever it looks like.
    if let Some(text) = &node.variable {
        put_string(text, out);
        return Some(());
    }
    match &node.value {
        NodeValue::Text(text) | NodeValue::Date(text) => put_string(text, out),
        NodeValue::Decimal(number) if !number.is_finite() => {
            field.problem("has a number that JSON has not; write one that is finite");
            return None;
        }
        NodeValue::Whole(_) | NodeValue::Decimal(_) | NodeValue::Flag(_) => {
            *out += &node.value.to_text()
        }
        NodeValue::List(nodes) => {
            out.push('[');
            for (index, node) in nodes.iter().enumerate() {
                *out += if index > 0 { "," } else { "" };
                put(field, node, depth + 1, out)?;
            }
            out.push(']');
        }
        NodeValue::Table(table) => {
            let mut entries: Vec<_> = table.iter().collect();
            entries.sort_by_key(|(_, entry)| entry.at);
            out.push('{');
            for (index, (name, entry)) in entries.into_iter().enumerate() {
                *out += if index > 0 { "," } else { "" };
                put_string(name, out);
                out.push(':');
                put(field, &entry.node, depth + 1, out)?;
            }
            out.push('}');
        }
    }
    Some(())
}

fn put_string(text: &str, out: &mut String) {
    let mut escaped = Vec::with_capacity(text.len());
    Escape::Json.put(text.as_bytes(), &mut escaped);
    // Escapes are ASCII, and the rest stays as it is.
    let _ = write!(out, "\"{}\"", String::from_utf8_lossy(&escaped));
}

/// Checks that `template` is JSON whatever its placeholders stand for; the error is the parser's,
/// which shows nothing of the text.
pub(crate) fn check(template: &Template) -> Result<(), String> {
    let (mut text, mut quotes) = (String::new(), Quotes::default());
    for piece in &template.pieces {
        match piece {
            Piece::Literal(literal) => {
                quotes.are_open_after(literal);
                text += literal;
            }
            // Its digits are hexadecimal, so it is no number.
            Piece::Random if !quotes.are_open => text.push('x'),
            // One that is no value by itself could end what stands around it.
            Piece::Secret { value, .. } if !quotes.are_open && !is_json(value.reveal()) => {
                text.push('x');
            }
            // A number does within a string and outside, but not two of them in a row.
            _ => text += " 1 ",
        }
    }
    let parsed = serde_json::from_str::<IgnoredAny>(&text);
    parsed.map(|_| ()).map_err(|error| {
        let said = error.to_string();
        let end = said.find(" at line ").unwrap_or(said.len());
        said[..end].to_owned()
    })
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Whether a text of JSON is within a string.
#[derive(Default)]
pub(crate) struct Quotes {
    are_open: bool,
    is_escaped: bool,
}

impl Quotes {
    /// Goes through the next part of the text. Returns whether it ends within a string.
    pub(crate) fn are_open_after(&mut self, text: &str) -> bool {
        for byte in text.bytes() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.are_open => self.is_escaped = true,
                b'"' => self.are_open = !self.are_open,
                _ => {}
            }
        }
        self.are_open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_of_json_are_followed_across_texts() {
        let mut quotes = Quotes::default();
        for (text, are_open) in [
            ("{\"a\": ", false),
            ("\"", true),
            ("x\\\"y", true),
            ("\\", true),
            ("\"", true),
            ("\", \"", true),
            ("\"}", false),
        ] {
            assert_eq!(quotes.are_open_after(text), are_open, "{text}");
        }
    }
}
