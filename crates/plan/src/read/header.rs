//! Reads `request.headers`: names and values as allowed by RFC 9110, without those that the engine
//! sets.

use crate::read::columns;
use crate::read::field::Field;
use crate::read::node::NodeValue;
use crate::read::section::PlanSection;
use crate::read::template::template;
use crate::{MASK, Piece, Template};
use secret::Secret;

const MAX_HEADERS: usize = 200;
const MAX_NAME_BYTES: usize = 256;
const MAX_VALUE_BYTES: usize = 16 << 10;

/// Fields that a plan must not set, with what to write instead.
const RESERVED: [(&str, &str); 4] = [
    ("content-length", "is counted from the body; remove it"),
    (
        "transfer-encoding",
        "frames the body; remove it, and write chunk_bytes to send the body in chunks",
    ),
    (
        "connection",
        "follows from connection.requests and connection.close; remove it and set those",
    ),
    (
        "upgrade",
        "would leave HTTP/1.1 in the midst of a connection; remove it",
    ),
];

/// Reads header fields in the file's order; a list of values becomes several fields of one name.
pub(crate) fn all(section: PlanSection<'_>) -> Vec<(String, Secret<Template>)> {
    let mut headers: Vec<(String, Secret<Template>)> = Vec::new();
    for (name, field) in section.all() {
        let repeats = headers
            .iter()
            .any(|(earlier, _)| earlier.eq_ignore_ascii_case(name));
        if repeats {
            field.problem(
                "given twice: header names are not case-sensitive; write one, with a list \
                 of values if it is to be sent twice",
            );
        } else if is_name(name, &field) {
            headers.extend(
                values(&field)
                    .into_iter()
                    .map(|value| (name.to_owned(), Secret::new(value))),
            );
        }
    }
    if headers.len() > MAX_HEADERS {
        section.problem(format_args!(
            "has {} fields; write at most {MAX_HEADERS}",
            headers.len()
        ));
    }
    headers
}

/// Whether `text` is a token (RFC 9110 §5.6.2).
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

fn is_name(name: &str, field: &Field<'_>) -> bool {
    if !is_token(name) || name.len() > MAX_NAME_BYTES {
        field.problem(
            "is not a header name (RFC 9110 §5.1); write letters, digits and hyphens, such as \
             accept-language",
        );
        return false;
    }
    let reserved = RESERVED
        .iter()
        .find(|(reserved, _)| name.eq_ignore_ascii_case(reserved));
    if let Some((_, cure)) = reserved {
        field.problem(cure);
    }
    reserved.is_none()
}

fn values(field: &Field<'_>) -> Vec<Template> {
    match field.node.value {
        NodeValue::List(_) => field
            .list_of("a value or a list of values", header_value)
            .unwrap_or_default(),
        _ => header_value(field).into_iter().collect(),
    }
}

fn header_value(field: &Field<'_>) -> Option<Template> {
    value(field, "the value in quotes")
}

/// Reads a text that becomes a field's value, or part of one.
pub(crate) fn value(field: &Field<'_>, example: &str) -> Option<Template> {
    let text = field.template_text(example)?;
    let whole = field.reveal(text)?;
    let whole = whole.reveal();
    if text == MASK && field.is_secret() && field.context.is_to_run() {
        field.problem(format_args!(
            "{MASK:?} stands for the value, which saved plans leave out; give the original file, \
             or write the value here"
        ));
    } else if let Some(character) = whole.chars().find(|&c| c.is_control() && c != '\t') {
        let shown = field.show_character(text, character);
        field.refuse(format_args!(
            "holds {shown}, which would end or break the header; remove it"
        ));
    } else if whole.trim() != whole {
        field.refuse("has spaces around it, which no server sees; remove them");
    } else if whole.len() > MAX_VALUE_BYTES {
        field.refuse(format_args!(
            "has {} bytes; write at most {MAX_VALUE_BYTES}",
            whole.len()
        ));
    } else {
        let value = template(field, text);
        columns::in_header(field, &value);
        return Some(value);
    }
    None
}

/// Reads a text that has something in it and becomes part of a field's value.
pub(crate) fn text(field: &Field<'_>, example: &str) -> Option<Template> {
    let value = value(field, example)?;
    let is_empty =
        |piece: &Piece| matches!(piece, Piece::Secret { value, .. } if value.reveal().is_empty());
    if value.pieces.iter().all(is_empty) {
        field.problem("is empty; write a text, or a variable that has one");
        return None;
    }
    Some(value)
}

/// Reads a text that is the same for every operation.
pub(crate) fn fixed(field: &Field<'_>, example: &str) -> Option<Template> {
    let fixed = text(field, example)?;
    if fixed.is_literal() {
        return Some(fixed);
    }
    field.problem(
        "has a placeholder that differs between operations, and is the same for all of them; write \
         a text, or a variable",
    );
    None
}
