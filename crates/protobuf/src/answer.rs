//! Pointers into the JSON of an answer's message, as the fields that have to be read to follow
//! them on the wire.

use crate::descriptors::nearest;
use plan::{FieldKind, FieldLabel, MessageShape, ScalarType, ShapeField};
use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};

/// The fields of `message` that these pointers (RFC 6901) lead through. The error is the pointer
/// that leads nowhere, and why.
pub(crate) fn shape(
    message: &MessageDescriptor,
    pointers: &[&str],
) -> Result<MessageShape, (String, String)> {
    let mut shape = MessageShape::default();
    for pointer in pointers {
        let parts = pointer.split('/').skip(1);
        let parts: Vec<String> = parts
            .map(|part| part.replace("~1", "/").replace("~0", "~"))
            .collect();
        let added = match parts.len() {
            0..=MessageShape::MAX_DEPTH => add(&mut shape, message, &parts),
            parts => Err(format!(
                "it has {parts} parts; write at most {}",
                MessageShape::MAX_DEPTH
            )),
        };
        added.map_err(|why| ((*pointer).to_owned(), why))?;
    }
    Ok(shape)
}

/// Adds the fields on the way that `parts` lead.
fn add(
    shape: &mut MessageShape,
    message: &MessageDescriptor,
    parts: &[String],
) -> Result<(), String> {
    let Some((name, rest)) = parts.split_first() else {
        return Ok(());
    };
    let field = field(message, name)?;
    let label = label(&field);
    let rest = match (label, rest.split_first()) {
        (FieldLabel::Repeated | FieldLabel::Map, None) => rest,
        (FieldLabel::Repeated, Some((index, rest))) => {
            if index != "*" && index.parse::<u32>().is_err() {
                return Err(format!(
                    "{name} is repeated, and {index:?} is the number of none; write 0, 1 …, or *"
                ));
            }
            rest
        }
        (FieldLabel::Map, Some((_, rest))) => rest,
        (FieldLabel::Implicit | FieldLabel::Optional, _) => rest,
    };
    let at = match shape.fields.iter().position(|known| known.name == *name) {
        Some(at) => at,
        None => {
            let kind = match label {
                FieldLabel::Map => FieldKind::Message(entry(&field)?),
                _ => kind(&field)?,
            };
            let new = ShapeField::new(field.number(), name, label, kind);
            shape.fields.push(new);
            shape.fields.len() - 1
        }
    };
    let value = match (&mut shape.fields[at].kind, label) {
        (FieldKind::Message(entry), FieldLabel::Map) => {
            let mut fields = entry.fields.iter_mut();
            let value = fields.find(|field| field.number == ShapeField::MAP_VALUE);
            &mut value.expect("an entry has a value").kind
        }
        (kind, _) => kind,
    };
    match (value, value_of(&field).kind()) {
        (FieldKind::Message(inner), Kind::Message(message)) => add(inner, &message, rest),
        _ if rest.is_empty() => Ok(()),
        _ => Err(format!(
            "{name} is no message and has no {}; write a pointer that ends there",
            rest[0]
        )),
    }
}

fn field(message: &MessageDescriptor, name: &str) -> Result<FieldDescriptor, String> {
    let found = message.get_field_by_name(name);
    let found = found.or_else(|| message.get_field_by_json_name(name));
    found.ok_or_else(|| {
        let names: Vec<String> = message
            .fields()
            .map(|field| field.name().to_owned())
            .collect();
        let cure = match nearest(name, names.iter().map(String::as_str)) {
            Some(nearest) => format!("write {nearest}"),
            None => "it has none at all".to_owned(),
        };
        format!("{} has no field {name:?}; {cure}", message.full_name())
    })
}

fn label(field: &FieldDescriptor) -> FieldLabel {
    if field.is_map() {
        FieldLabel::Map
    } else if field.is_list() {
        FieldLabel::Repeated
    } else if field.supports_presence() {
        FieldLabel::Optional
    } else {
        FieldLabel::Implicit
    }
}

/// What has the type of one value: of a map, the field of its values.
fn value_of(field: &FieldDescriptor) -> FieldDescriptor {
    match field.kind() {
        Kind::Message(entry) if field.is_map() => entry.map_entry_value_field(),
        _ => field.clone(),
    }
}

/// The entries of a map. Where one lacks its key or its value, that is zero or empty.
fn entry(map: &FieldDescriptor) -> Result<MessageShape, String> {
    let Kind::Message(entry) = map.kind() else {
        return Err(format!("{} is no map", map.name()));
    };
    let fields = [entry.map_entry_key_field(), entry.map_entry_value_field()];
    let fields = fields.into_iter().map(|field| {
        let (number, label) = (field.number(), FieldLabel::Implicit);
        Ok(ShapeField::new(number, field.name(), label, kind(&field)?))
    });
    Ok(MessageShape {
        fields: fields.collect::<Result<_, String>>()?,
    })
}

fn kind(field: &FieldDescriptor) -> Result<FieldKind, String> {
    let kind = field.kind();
    if let Some(scalar) = scalar_type(&kind) {
        return Ok(FieldKind::Scalar(scalar));
    }
    if let Kind::Enum(names) = kind {
        // JSON has the first of several names of a number.
        let mut values: Vec<(i32, String)> = Vec::new();
        for value in names.values() {
            if values.iter().all(|(number, _)| *number != value.number()) {
                values.push((value.number(), value.name().to_owned()));
            }
        }
        return Ok(FieldKind::Enum(values));
    }
    if field.is_group() {
        return Err(format!(
            "{} is a group, which is not read; name another field",
            field.name()
        ));
    }
    Ok(FieldKind::Message(MessageShape::default()))
}

/// The type of a field that is no message and no enum.
pub(crate) fn scalar_type(kind: &Kind) -> Option<ScalarType> {
    Some(match kind {
        Kind::Message(_) | Kind::Enum(_) => return None,
        Kind::Double => ScalarType::Double,
        Kind::Float => ScalarType::Float,
        Kind::Int32 => ScalarType::Int32,
        Kind::Int64 => ScalarType::Int64,
        Kind::Uint32 => ScalarType::Uint32,
        Kind::Uint64 => ScalarType::Uint64,
        Kind::Sint32 => ScalarType::Sint32,
        Kind::Sint64 => ScalarType::Sint64,
        Kind::Fixed32 => ScalarType::Fixed32,
        Kind::Fixed64 => ScalarType::Fixed64,
        Kind::Sfixed32 => ScalarType::Sfixed32,
        Kind::Sfixed64 => ScalarType::Sfixed64,
        Kind::Bool => ScalarType::Bool,
        Kind::String => ScalarType::String,
        Kind::Bytes => ScalarType::Bytes,
    })
}
