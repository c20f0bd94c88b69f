//! JSON as a plan writes it: a table of TOML, or a text with placeholders.

use crate::read::field::Field;
use crate::read::node::NodeValue;
use crate::{Piece, Template};
use data::Escape;
use std::fmt::Write as _;

/// Deepest nesting of a table.
const MAX_DEPTH: usize = 64;

/// Writes a table of TOML as JSON. Placeholders in its texts stay what they are.
pub(crate) fn write(field: &Field<'_>, value: &NodeValue) -> Option<String> {
    let mut text = String::new();
    put(field, value, 0, &mut text)?;
    Some(text)
}

fn put(field: &Field<'_>, value: &NodeValue, depth: usize, out: &mut String) -> Option<()> {
    if depth > MAX_DEPTH {
        field.problem(format_args!(
            "is nested more than {MAX_DEPTH} deep; write less"
        ));
        return None;
    }
    match value {
        NodeValue::Text(text) | NodeValue::Date(text) => put_string(text, out),
        NodeValue::Decimal(number) if !number.is_finite() => {
            field.problem("has a number that JSON has not; write one that is finite");
            return None;
        }
        NodeValue::Whole(_) | NodeValue::Decimal(_) | NodeValue::Flag(_) => {
            *out += &value.to_text()
        }
        NodeValue::List(nodes) => {
            out.push('[');
            for (index, node) in nodes.iter().enumerate() {
                *out += if index > 0 { "," } else { "" };
                put(field, &node.value, depth + 1, out)?;
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
                put(field, &entry.node.value, depth + 1, out)?;
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

/// Whether `template` is JSON whatever its placeholders stand for; the error is the parser's.
pub(crate) fn check(template: &Template) -> Result<(), String> {
    let mut text = String::new();
    for piece in &template.pieces {
        match piece {
            Piece::Literal(literal) => text += literal,
            // A number does within a string and outside.
            _ => text.push('1'),
        }
    }
    let parsed = serde_json::from_str::<serde::de::IgnoredAny>(&text);
    parsed.map(|_| ()).map_err(|error| {
        let said = error.to_string();
        let end = said.find(" at line ").unwrap_or(said.len());
        said[..end].to_owned()
    })
}
