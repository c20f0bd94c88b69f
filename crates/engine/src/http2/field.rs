//! Fields of a response: the relevant ones, and rules for all of them (RFC 9113 §8.2, §8.3).

use super::hpack_error::BadBlock;
use super::hpack_string::HpackString;
use measure::HttpViolation;

/// The overhead of a field beyond its name and value, in a table (RFC 7541 §4.1) and in a list (RFC
/// 9113 §6.5.2).
pub(super) const OVERHEAD: usize = 32;

/// The relevant part of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HeaderField {
    pub(super) name: FieldName,
    /// Length of the name in bytes.
    pub(super) name_length: usize,
    pub(super) value_length: usize,
    pub(super) meaning: FieldMeaning,
}

/// The name of a field, as far as it is relevant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldName {
    Status,
    ContentLength,
    /// Its value may only be `trailers` (RFC 9113 §8.2.2).
    Te,
    Other,
    /// A name that no response may have.
    Forbidden(HttpViolation),
}

/// The meaning of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldMeaning {
    Status(u16),
    ContentLength(u64),
    /// Nothing relevant.
    Other,
    Broken(HttpViolation),
}

impl HeaderField {
    /// Creates a field with this name, of `name_length` bytes, and this value.
    pub(super) fn new(
        (name, name_length): (FieldName, usize),
        value: HpackString<'_>,
    ) -> Result<HeaderField, BadBlock> {
        let (value_length, is_sound) = look_at(value)?;
        let meaning = match name {
            FieldName::Forbidden(rule) => FieldMeaning::Broken(rule),
            _ if !is_sound => FieldMeaning::Broken(HttpViolation::FieldValue),
            FieldName::Other => FieldMeaning::Other,
            FieldName::Status => match value.number()? {
                // HTTP/2 has no upgrade, hence no 101 (RFC 9113 §8.6).
                Some(status @ (100 | 102..=999)) if value_length == 3 => {
                    FieldMeaning::Status(status as u16)
                }
                _ => FieldMeaning::Broken(HttpViolation::Status),
            },
            FieldName::ContentLength => match value.number()? {
                Some(length) => FieldMeaning::ContentLength(length),
                None => FieldMeaning::Broken(HttpViolation::ContentLength),
            },
            FieldName::Te if is_trailers(value)? => FieldMeaning::Other,
            FieldName::Te => FieldMeaning::Broken(HttpViolation::ConnectionField),
        };
        Ok(HeaderField {
            name,
            name_length,
            value_length,
            meaning,
        })
    }

    /// The field's size in bytes, in a table and in a list.
    pub(super) fn size(&self) -> usize {
        self.name_length + self.value_length + OVERHEAD
    }
}

impl FieldName {
    /// Reads a name. Also returns its length in bytes.
    pub(super) fn read(name: HpackString<'_>) -> Result<(FieldName, usize), BadBlock> {
        // As long as the longest name that is compared below.
        let mut known = [0; 17];
        let (mut length, mut is_sound) = (0, true);
        name.each(|byte| {
            if let Some(place) = known.get_mut(length) {
                *place = byte;
            }
            // A colon starts the name of a pseudo-field, and is forbidden elsewhere.
            is_sound &= matches!(byte, 0x21..=0x39 | 0x3b..=0x40 | 0x5b..=0x7e);
            length += 1;
        })?;
        let name = match known.get(..length).unwrap_or_default() {
            b":status" => FieldName::Status,
            _ if known[0] == b':' => FieldName::Forbidden(HttpViolation::PseudoField),
            _ if !is_sound || length == 0 => FieldName::Forbidden(HttpViolation::FieldName),
            b"content-length" => FieldName::ContentLength,
            b"connection" | b"proxy-connection" | b"keep-alive" | b"transfer-encoding"
            | b"upgrade" => FieldName::Forbidden(HttpViolation::ConnectionField),
            b"te" => FieldName::Te,
            _ => FieldName::Other,
        };
        Ok((name, length))
    }
}

/// The length of a value in bytes, and whether it is valid.
fn look_at(value: HpackString<'_>) -> Result<(usize, bool), BadBlock> {
    let (mut length, mut first, mut last, mut is_sound) = (0, 0, 0, true);
    value.each(|byte| {
        if length == 0 {
            first = byte;
        }
        last = byte;
        is_sound &= !matches!(byte, 0 | b'\r' | b'\n');
        length += 1;
    })?;
    let is_blank = |byte| matches!(byte, b' ' | b'\t');
    Ok((length, is_sound && !is_blank(first) && !is_blank(last)))
}

fn is_trailers(value: HpackString<'_>) -> Result<bool, BadBlock> {
    Ok(value.decode()?.eq_ignore_ascii_case(b"trailers"))
}
