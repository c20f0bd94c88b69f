//! An encoded message as parts: texts and numbers that have placeholders stand apart, and what
//! holds one says its length only once it is sent.

use crate::numbers::{StandIns, number_type};
use plan::{MessagePart, PLACEHOLDER_MARK, ScalarType};
use prost_reflect::{Kind, MessageDescriptor};

/// Wire types (Protocol Buffers, "Encoding").
mod wire {
    pub(super) const VARINT: u64 = 0;
    pub(super) const FIXED64: u64 = 1;
    pub(super) const DELIMITED: u64 = 2;
    pub(super) const FIXED32: u64 = 5;
}

/// Splits a message with this descriptor, which the encoder has written with these stand-ins. The
/// error says which text cannot have a placeholder.
pub(crate) fn split(
    message: &[u8],
    descriptor: &MessageDescriptor,
    numbers: &mut StandIns,
) -> Result<Vec<MessagePart<String>>, String> {
    let (mut parts, mut rest) = (Vec::new(), message);
    if !is_marked(message) && numbers.is_empty() {
        put(&mut parts, message);
        return Ok(parts);
    }
    while !rest.is_empty() {
        let field = match WireField::first(rest) {
            Some(field) => field,
            None if is_marked(rest) => return Err(no_place(descriptor, "a group")),
            None => {
                put(&mut parts, rest);
                break;
            }
        };
        let (whole, behind) = rest.split_at(field.end);
        rest = behind;
        let content = &whole[field.content..];
        let kind = kind_of(descriptor, field.number);
        let inner = match (
            field.wire,
            kind.as_ref(),
            kind.as_ref().and_then(number_type),
        ) {
            (wire::DELIMITED, _, Some(number)) => packed(content, number, numbers)?,
            (_, _, Some(number)) => {
                match numbers.find(number, content)? {
                    Some(text) => {
                        put(&mut parts, &whole[..field.tag]);
                        parts.push(MessagePart::Number(text, number));
                    }
                    None => put(&mut parts, whole),
                }
                continue;
            }
            (wire::DELIMITED, Some(Kind::Message(inner)), _) => split(content, inner, numbers)?,
            // The encoder had it as a text.
            (wire::DELIMITED, Some(Kind::String), _) if is_marked(content) => {
                vec![MessagePart::Text(String::from_utf8_lossy(content).into())]
            }
            (wire::DELIMITED, _, _) if is_marked(content) => {
                return Err(no_place(descriptor, "a field of another type"));
            }
            _ => Vec::new(),
        };
        if inner
            .iter()
            .all(|part| matches!(part, MessagePart::Bytes(_)))
        {
            put(&mut parts, whole);
        } else {
            put(&mut parts, &whole[..field.tag]);
            parts.push(MessagePart::Delimited(inner));
        }
    }
    Ok(parts)
}

/// Splits the values of a field that has them one behind the other.
fn packed(
    content: &[u8],
    kind: ScalarType,
    numbers: &mut StandIns,
) -> Result<Vec<MessagePart<String>>, String> {
    let (mut parts, mut rest) = (Vec::new(), content);
    while !rest.is_empty() {
        let length = match kind {
            ScalarType::Fixed32 | ScalarType::Sfixed32 | ScalarType::Float => 4,
            ScalarType::Fixed64 | ScalarType::Sfixed64 | ScalarType::Double => 8,
            _ => varint(rest).map_or(rest.len(), |(_, length)| length),
        };
        let (value, behind) = rest.split_at(length.min(rest.len()));
        rest = behind;
        match numbers.find(kind, value)? {
            Some(text) => parts.push(MessagePart::Number(text, kind)),
            None => put(&mut parts, value),
        }
    }
    Ok(parts)
}

fn kind_of(descriptor: &MessageDescriptor, number: u64) -> Option<Kind> {
    let number = u32::try_from(number).ok()?;
    let field = descriptor.get_field(number).map(|field| field.kind());
    field.or_else(|| {
        let extension = descriptor.get_extension(number);
        extension.map(|extension| extension.kind())
    })
}

fn no_place(descriptor: &MessageDescriptor, what: &str) -> String {
    format!(
        "has a placeholder in {what} of {}; placeholders can stand in fields that are strings or \
         numbers",
        descriptor.full_name()
    )
}

fn is_marked(bytes: &[u8]) -> bool {
    let mut mark = [0; 4];
    let mark = PLACEHOLDER_MARK.encode_utf8(&mut mark).as_bytes();
    bytes.windows(mark.len()).any(|window| window == mark)
}

/// Appends bytes that are the same for every operation.
fn put(parts: &mut Vec<MessagePart<String>>, bytes: &[u8]) {
    match parts.last_mut() {
        _ if bytes.is_empty() => {}
        Some(MessagePart::Bytes(before)) => before.extend_from_slice(bytes),
        _ => parts.push(MessagePart::Bytes(bytes.to_vec())),
    }
}

/// A field at the beginning of bytes.
struct WireField {
    number: u64,
    wire: u64,
    /// Where its tag ends, its content begins, and it ends.
    tag: usize,
    content: usize,
    end: usize,
}

impl WireField {
    /// `None` if it is a group, or ends beyond `bytes`.
    fn first(bytes: &[u8]) -> Option<WireField> {
        let (key, tag) = varint(bytes)?;
        let (wire, after) = (key & 7, &bytes[tag..]);
        let (content, length) = match wire {
            wire::VARINT => (tag, varint(after)?.1),
            wire::FIXED64 => (tag, 8),
            wire::FIXED32 => (tag, 4),
            wire::DELIMITED => {
                let (length, before) = varint(after)?;
                (tag + before, usize::try_from(length).ok()?)
            }
            _ => return None,
        };
        let end = content.checked_add(length)?;
        (end <= bytes.len()).then_some(WireField {
            number: key >> 3,
            wire,
            tag,
            content,
            end,
        })
    }
}

/// The number at the beginning of `bytes`, and how many of them it takes.
fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut number = 0;
    for (place, byte) in bytes.iter().take(10).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some((number, place + 1));
        }
    }
    None
}
