//! An encoded message as parts: texts that have placeholders stand apart, and what holds one says
//! its length only once it is sent.

use plan::{MessagePart, PLACEHOLDER_MARK};
use prost_reflect::{Kind, MessageDescriptor};

/// Wire types (Protocol Buffers, "Encoding").
mod wire {
    pub(super) const VARINT: u64 = 0;
    pub(super) const FIXED64: u64 = 1;
    pub(super) const DELIMITED: u64 = 2;
    pub(super) const FIXED32: u64 = 5;
}

/// Splits a message with this descriptor, which the encoder has written. The error says which text
/// cannot have a placeholder.
pub(crate) fn split(
    message: &[u8],
    descriptor: &MessageDescriptor,
) -> Result<Vec<MessagePart<String>>, String> {
    let (mut parts, mut rest) = (Vec::new(), message);
    if !is_marked(message) {
        put(&mut parts, message);
        return Ok(parts);
    }
    while !rest.is_empty() {
        let field = WireField::first(rest).ok_or_else(|| no_place(descriptor, "a group"))?;
        let (whole, behind) = rest.split_at(field.end);
        rest = behind;
        let content = &whole[field.content..];
        if field.wire != wire::DELIMITED || !is_marked(content) {
            put(&mut parts, whole);
            continue;
        }
        let kind = kind_of(descriptor, field.number);
        let inner = match kind {
            Some(Kind::Message(inner)) => split(content, &inner)?,
            Some(Kind::String) => {
                // The encoder had it as a text.
                vec![MessagePart::Text(String::from_utf8_lossy(content).into())]
            }
            _ => return Err(no_place(descriptor, "a field of another type")),
        };
        put(&mut parts, &whole[..field.tag]);
        parts.push(MessagePart::Delimited(inner));
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
        "has a placeholder in {what} of {}; placeholders can stand in fields of the type string",
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
