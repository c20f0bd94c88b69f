//! Path and query of a request in the form that is signed: AWS Signature Version 4, "Create a
//! canonical request".

use crate::{Piece, Template};
use data::Escape;

/// Path and query as they are signed.
#[derive(Debug, Default)]
pub(crate) struct CanonicalTarget {
    pub(crate) path: Vec<Piece>,
    /// Parameters in the order of their names, with `&` between.
    pub(crate) query: Vec<Piece>,
}

/// A parameter of the query: its name, encoded, and the pieces of its value.
type Parameter = (String, Vec<Piece>);

/// What a part of a target is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TargetPart {
    Path,
    Name,
    Value,
}

impl CanonicalTarget {
    /// The form of `target` that is signed; its path is encoded once, or once more. Fails with what
    /// is wrong with the target, and the cure.
    pub(crate) fn new(target: &Template, is_once: bool) -> Result<CanonicalTarget, &'static str> {
        let mut path = Vec::new();
        let mut parameters: Vec<Parameter> = Vec::new();
        let mut place = TargetPart::Path;
        for piece in &target.pieces {
            match piece {
                Piece::Literal(text) => {
                    check_literal(text, place, is_once)?;
                    add_literal(text, &mut place, is_once, (&mut path, &mut parameters));
                }
                piece => match (place, parameters.last_mut()) {
                    (TargetPart::Path, _) => path.push(in_path(piece, is_once)?),
                    (TargetPart::Value, Some((_, value))) => value.push(as_escaped(piece)?),
                    _ => {
                        return Err("has a placeholder in the name of a parameter, by which a \
                                    signed query is sorted; write the name itself");
                    }
                },
            }
        }
        let query = join(parameters)?;
        Ok(CanonicalTarget { path, query })
    }
}

fn check_literal(text: &str, place: TargetPart, is_once: bool) -> Result<(), &'static str> {
    let is_escape = |at: usize| {
        let digits = text.as_bytes().get(at + 1..at + 3);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !text.match_indices('%').all(|(at, _)| is_escape(at)) {
        return Err("has a % without two digits behind it; write %25");
    }
    let query = match place {
        TargetPart::Path => text.split_once('?').map_or("", |(_, query)| query),
        TargetPart::Name | TargetPart::Value => text,
    };
    // Ceph reads it as a space, AWS's own libraries as itself.
    if query.contains('+') {
        return Err(
            "has a + in the query, which servers sign as a space or as a +; write %20 or \
                    %2B",
        );
    }
    let path = text.split('?').next().unwrap_or_default();
    let is_odd = path.contains("//") || path.split('/').any(|part| matches!(part, "." | ".."));
    if place == TargetPart::Path && !is_once && is_odd {
        return Err(
            "has \"//\", \".\" or \"..\", which the service reads as a shorter path; \
                    write that",
        );
    }
    Ok(())
}

fn add_literal(
    text: &str,
    place: &mut TargetPart,
    is_once: bool,
    (path, parameters): (&mut Vec<Piece>, &mut Vec<Parameter>),
) {
    let mut rest = text;
    if *place == TargetPart::Path {
        let end = rest.find('?').unwrap_or(rest.len());
        path.push(literal(&encode_path(&rest[..end], is_once)));
        let Some(query) = rest.get(end + 1..) else {
            return;
        };
        rest = query;
        (*place, *parameters) = (TargetPart::Name, vec![Parameter::default()]);
    }
    while let Some((name, value)) = parameters.last_mut() {
        let ends = rest.find(|c| c == '&' || (c == '=' && *place == TargetPart::Name));
        let end = ends.unwrap_or(rest.len());
        let part = encode(&decode(&rest[..end]));
        match *place {
            TargetPart::Value => value.push(literal(&part)),
            TargetPart::Path | TargetPart::Name => name.push_str(&part),
        }
        let Some(separator) = rest[end..].chars().next() else {
            return;
        };
        rest = &rest[end + 1..];
        *place = if separator == '=' {
            TargetPart::Value
        } else {
            TargetPart::Name
        };
        if separator == '&' {
            parameters.push(Parameter::default());
        }
    }
}

/// A placeholder in the path.
fn in_path(piece: &Piece, is_once: bool) -> Result<Piece, &'static str> {
    let mut piece = as_escaped(piece)?;
    let signed = if is_once {
        Escape::Path
    } else {
        Escape::SegmentTwice
    };
    match &mut piece {
        Piece::Column(column) => column.escape = signed,
        Piece::Made(made) => made.escape = signed,
        Piece::Secret { escape, .. } => *escape = signed,
        _ => {}
    }
    Ok(piece)
}

/// A placeholder whose text is escaped where it is sent.
fn as_escaped(piece: &Piece) -> Result<Piece, &'static str> {
    let is_raw = match piece {
        Piece::Column(column) => column.is_raw,
        Piece::Made(made) => made.is_raw,
        _ => false,
    };
    if is_raw {
        return Err("has a placeholder with |raw, which cannot be signed; remove |raw");
    }
    Ok(piece.clone())
}

/// Sorts by name, then by value.
fn join(mut parameters: Vec<Parameter>) -> Result<Vec<Piece>, &'static str> {
    // `&&` and a `?` at the end are no parameters.
    parameters.retain(|(name, value)| !(name.is_empty() && value.is_empty()));
    let key = |(name, value): &Parameter| {
        let text = |piece: &Piece| match piece {
            Piece::Literal(text) => Some(text.to_string()),
            _ => None,
        };
        let value: Option<String> = value.iter().map(text).collect();
        (name.clone(), value)
    };
    parameters.sort_by_key(key);
    let is_open = |pair: &[Parameter]| pair[0].0 == pair[1].0 && key(&pair[0]).1.is_none();
    if parameters.windows(2).any(is_open) {
        return Err(
            "has a parameter twice, once with a placeholder, so that their order is not \
                    known; write another name",
        );
    }
    let mut query = Vec::new();
    for (name, value) in parameters {
        let separator = if query.is_empty() { "" } else { "&" };
        query.push(literal(&format!("{separator}{name}=")));
        query.extend(value);
    }
    Ok(query)
}

fn encode_path(path: &str, is_once: bool) -> String {
    let bytes = match is_once {
        true => decode(path),
        false => path.as_bytes().to_vec(),
    };
    escaped(Escape::Path, &bytes)
}

/// All but unreserved characters as `%XX` (RFC 3986 §2.3).
fn encode(bytes: &[u8]) -> String {
    escaped(Escape::Query, bytes)
}

fn escaped(escape: Escape, bytes: &[u8]) -> String {
    let mut escaped = Vec::new();
    escape.put(bytes, &mut escaped);
    String::from_utf8(escaped).expect("all other bytes are escaped")
}

fn decode(text: &str) -> Vec<u8> {
    let (bytes, mut decoded, mut at) = (text.as_bytes(), Vec::new(), 0);
    while at < bytes.len() {
        let digits = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    decoded
}

fn literal(text: &str) -> Piece {
    Piece::Literal(text.into())
}
