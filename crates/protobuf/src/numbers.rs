//! Placeholders in number fields. The encoder takes no text there, so each such field gets a
//! number of its own in the place of its text, which is found again in the encoded message.

use crate::answer::scalar_type;
use plan::{PLACEHOLDER_MARK, ScalarType};
use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};
use serde_json::{Number, Value};

/// The numbers that stand for texts.
#[derive(Debug, Default)]
pub(crate) struct StandIns {
    /// By the place of the stand-in: the text, and whether it was found.
    texts: Vec<(String, bool)>,
}

impl StandIns {
    /// Puts stand-ins into `json`, a message with this descriptor, in the place of marked texts in
    /// number fields. Returns `None` if it has none.
    pub(crate) fn put(&mut self, json: &str, descriptor: &MessageDescriptor) -> Option<String> {
        if !json.contains(PLACEHOLDER_MARK) {
            return None;
        }
        let mut value = serde_json::from_str(json).ok()?; // the encoder says what is wrong
        self.put_into_message(&mut value, descriptor);
        (!self.texts.is_empty()).then(|| value.to_string())
    }

    fn put_into_message(&mut self, value: &mut Value, descriptor: &MessageDescriptor) {
        // Those of Google have a JSON of their own.
        let is_common = descriptor.full_name().starts_with("google.protobuf.");
        let Some(fields) = value.as_object_mut().filter(|_| !is_common) else {
            return;
        };
        for (name, value) in fields {
            let by_json = descriptor.get_field_by_json_name(name);
            let Some(field) = by_json.or_else(|| descriptor.get_field_by_name(name)) else {
                continue;
            };
            self.put_into_field(value, &field);
        }
    }

    fn put_into_field(&mut self, value: &mut Value, field: &FieldDescriptor) {
        let kind = match field.kind() {
            Kind::Message(entry) if field.is_map() => entry.map_entry_value_field().kind(),
            kind => kind,
        };
        match value {
            Value::Array(values) if field.is_list() => {
                values
                    .iter_mut()
                    .for_each(|value| self.put_into(value, &kind));
            }
            Value::Object(values) if field.is_map() => {
                let values = values.iter_mut();
                values.for_each(|(_, value)| self.put_into(value, &kind));
            }
            value => self.put_into(value, &kind),
        }
    }

    fn put_into(&mut self, value: &mut Value, kind: &Kind) {
        if let Kind::Message(inner) = kind {
            return self.put_into_message(value, inner);
        }
        if let (Some(kind), Value::String(text)) = (number_type(kind), &*value)
            && text.contains(PLACEHOLDER_MARK)
        {
            let text = text.clone();
            *value = Value::Number(stand_in(kind, self.texts.len()));
            self.texts.push((text, false));
        }
    }

    /// The text for which a value on the wire stands, if it stands for one. The error is that a
    /// number of the message is a stand-in by chance.
    pub(crate) fn find(&mut self, kind: ScalarType, wire: &[u8]) -> Result<Option<String>, String> {
        for (place, (text, is_found)) in self.texts.iter_mut().enumerate() {
            let mut own = Vec::new();
            kind.put(stand_in(kind, place).to_string().as_bytes(), &mut own);
            if own != wire {
                continue;
            }
            if std::mem::replace(is_found, true) {
                return Err(format!(
                    "has the number {}, which stands for placeholders here; write another one",
                    stand_in(kind, place)
                ));
            }
            return Ok(Some(text.clone()));
        }
        Ok(None)
    }

    /// Whether each text has been found once.
    pub(crate) fn are_found(&self) -> bool {
        self.texts.iter().all(|(_, is_found)| *is_found)
    }

    /// Whether no text has one.
    pub(crate) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}

/// The number at `place` that stands for a text in a field of this type.
fn stand_in(kind: ScalarType, place: usize) -> Number {
    let place = place as u64;
    match kind {
        // One of whole numbers that both types of fractions have exactly.
        ScalarType::Float | ScalarType::Double => Number::from(15_790_320 - place),
        ScalarType::Int32
        | ScalarType::Uint32
        | ScalarType::Sint32
        | ScalarType::Fixed32
        | ScalarType::Sfixed32 => Number::from(1_592_590_336 + place),
        _ => Number::from(6_840_123_456_789_012_480 + place),
    }
}

/// The type of a number field; `None` of another one.
pub(crate) fn number_type(kind: &Kind) -> Option<ScalarType> {
    scalar_type(kind).filter(|scalar| scalar.is_number())
}
