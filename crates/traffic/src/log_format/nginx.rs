//! nginx's `log_format` (<https://nginx.org/en/docs/http/ngx_http_log_module.html#log_format>).

use super::{FormatPart, LogFormatError};
use crate::variable::Variable;

/// Parts of a format, and whether values have escapes.
pub(super) fn parse(text: &str) -> Result<(Vec<FormatPart>, bool), LogFormatError> {
    let (text, has_escapes) = directive(text)?;
    let mut parts = Vec::new();
    let mut rest = text.as_str();
    while let Some(dollar) = rest.find('$') {
        push_literal(&mut parts, &rest[..dollar]);
        let (name, after) = variable_name(&rest[dollar + 1..]).ok_or_else(|| {
            let from = &rest[dollar..];
            LogFormatError(format!("{from:?} does not begin with a variable's name"))
        })?;
        push_field(&mut parts, name);
        rest = after;
    }
    push_literal(&mut parts, rest);
    Ok((parts, has_escapes))
}

fn push_literal(parts: &mut Vec<FormatPart>, text: &str) {
    if !text.is_empty() {
        parts.push(FormatPart::Literal(text.as_bytes().to_vec()));
    }
}

/// `$uri$is_args$args` stand side by side in many formats: together they are a path with query.
fn push_field(parts: &mut Vec<FormatPart>, name: &str) {
    let is_of_query = matches!(name, "is_args" | "args" | "query_string");
    if is_of_query
        && let Some(FormatPart::Field(before)) = parts.last_mut()
        && matches!(before, Variable::Path | Variable::Target)
    {
        *before = Variable::Target;
        return;
    }
    parts.push(FormatPart::Field(Variable::from_nginx(name)));
}

/// A variable's name, as in `name` or `{name}`, and the text behind it.
fn variable_name(text: &str) -> Option<(&str, &str)> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (name, after) = match text.strip_prefix('{') {
        Some(braced) => braced.split_once('}')?,
        None => text.split_at(text.find(|c| !is_of_name(c)).unwrap_or(text.len())),
    };
    (!name.is_empty() && name.chars().all(is_of_name)).then_some((name, after))
}

/// The format in a directive `log_format name escape=json '…' '…';`, in its quoted pieces alone, or
/// as it stands; and whether values have escapes.
fn directive(text: &str) -> Result<(String, bool), LogFormatError> {
    let Some(mut rest) = text.strip_prefix("log_format") else {
        let is_quoted = text.starts_with('\'') && text.trim_end_matches(';').ends_with('\'');
        return Ok((
            if is_quoted {
                pieces(text)?
            } else {
                text.to_owned()
            },
            true,
        ));
    };
    let mut has_escapes = true;
    let first_quote = rest.find(['\'', '"']).unwrap_or(rest.len());
    for word in rest[..first_quote].split_whitespace() {
        has_escapes &= word != "escape=none";
    }
    rest = &rest[first_quote..];
    Ok((pieces(rest)?, has_escapes))
}

/// Puts quoted pieces together. A backslash protects the character behind it.
fn pieces(text: &str) -> Result<String, LogFormatError> {
    let mut whole = String::new();
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (None, ';') => return Ok(whole),
            (None, _) if c.is_whitespace() => {}
            (None, _) => {
                let why = format!("{c:?} stands between its quoted pieces");
                return Err(LogFormatError(why));
            }
            (Some(open), _) if c == open => quote = None,
            (Some(_), '\\') => match characters.next() {
                Some('t') => whole.push('\t'),
                Some('n') => whole.push('\n'),
                Some(protected) if "'\"\\".contains(protected) => whole.push(protected),
                Some(other) => whole.extend(['\\', other]),
                None => whole.push('\\'),
            },
            (Some(_), _) => whole.push(c),
        }
    }
    if quote.is_some() {
        let why = "a quotation mark is not closed; quote the whole format for the shell";
        return Err(LogFormatError(why.to_owned()));
    }
    Ok(whole)
}
