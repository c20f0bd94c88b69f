//! Reads fields of a message of Protocol Buffers off the wire, as the values that its JSON has.
//! What the plan does not name is passed over. (Protocol Buffers, "Encoding", "ProtoJSON Format")

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plan::{FieldKind, FieldLabel, MessageShape, ScalarType, ShapeField};
use serde_json::{Map, Number, Value};

/// Most values that are read of a message: a byte of the wire can be a value of many.
const MAX_VALUES: u32 = 100_000;
/// Most groups within each other, which are passed over.
const MAX_GROUPS: u32 = 100;

/// Why a message cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WireFault {
    /// It breaks the rules of the encoding.
    Broken,
    /// It has more values than are read.
    TooLarge,
}

/// Bytes of a message that have not been read.
struct WireReader<'m> {
    rest: &'m [u8],
}

/// A field as the wire has it.
#[derive(Debug, Clone, Copy)]
enum WireValue<'m> {
    Varint(u64),
    Fixed64([u8; 8]),
    Fixed32([u8; 4]),
    Bytes(&'m [u8]),
    /// Passed over.
    Group,
}

/// The fields of `message` that `shape` names, as an object.
pub(super) fn read(message: &[u8], shape: &MessageShape) -> Result<Value, WireFault> {
    let mut object = Map::new();
    let mut left = MAX_VALUES;
    add(&mut object, message, shape, &mut left)?;
    Ok(Value::Object(object))
}

/// Adds the fields of a message, or of a further part of it: parts of one message may stand apart.
fn add(
    object: &mut Map<String, Value>,
    message: &[u8],
    shape: &MessageShape,
    left: &mut u32,
) -> Result<(), WireFault> {
    let mut wire = WireReader { rest: message };
    while let Some((number, value)) = wire.field()? {
        for field in shape.fields.iter().filter(|field| field.number == number) {
            match field.label {
                FieldLabel::Implicit | FieldLabel::Optional => set(object, field, value, left)?,
                FieldLabel::Repeated => append(object, field, value, left)?,
                FieldLabel::Map => insert(object, field, value, left)?,
            }
        }
    }
    for field in &shape.fields {
        if field.label == FieldLabel::Implicit && !object.contains_key(&field.name) {
            spend(left)?;
            object.insert(field.name.clone(), zero(&field.kind));
        }
    }
    Ok(())
}

/// Counts a value that is kept.
fn spend(left: &mut u32) -> Result<(), WireFault> {
    *left = left.checked_sub(1).ok_or(WireFault::TooLarge)?;
    Ok(())
}

/// Sets a field that has one value: the last one counts, and parts of a message are joined.
fn set(
    object: &mut Map<String, Value>,
    field: &ShapeField,
    value: WireValue<'_>,
    left: &mut u32,
) -> Result<(), WireFault> {
    if let (FieldKind::Message(shape), WireValue::Bytes(bytes)) = (&field.kind, value)
        && let Some(Value::Object(inner)) = object.get_mut(&field.name)
    {
        return add(inner, bytes, shape, left);
    }
    if let Some(value) = json(&field.kind, value, left)? {
        object.insert(field.name.clone(), value);
    }
    Ok(())
}

/// Appends a value, or several that are packed, to a list.
fn append(
    object: &mut Map<String, Value>,
    field: &ShapeField,
    value: WireValue<'_>,
    left: &mut u32,
) -> Result<(), WireFault> {
    let list = object
        .entry(field.name.as_str())
        .or_insert_with(|| Value::Array(Vec::new()));
    let Value::Array(list) = list else {
        return Ok(()); // another field of the same name, which no plan of descriptors has
    };
    if let (WireValue::Bytes(bytes), Some(packed)) = (value, packing(&field.kind)) {
        let mut wire = WireReader { rest: bytes };
        while !wire.rest.is_empty() {
            let value = wire.value(packed)?;
            list.extend(json(&field.kind, value, left)?);
        }
        return Ok(());
    }
    list.extend(json(&field.kind, value, left)?);
    Ok(())
}

/// Inserts an entry of a map.
fn insert(
    object: &mut Map<String, Value>,
    field: &ShapeField,
    value: WireValue<'_>,
    left: &mut u32,
) -> Result<(), WireFault> {
    let (FieldKind::Message(entry), WireValue::Bytes(bytes)) = (&field.kind, value) else {
        return Ok(());
    };
    let mut pair = Map::new();
    add(&mut pair, bytes, entry, left)?;
    let named = |number: u32| entry.fields.iter().find(|field| field.number == number);
    let mut take = |number: u32| pair.remove(&named(number)?.name);
    let (Some(key), Some(value)) = (take(1), take(ShapeField::MAP_VALUE)) else {
        return Ok(());
    };
    let key = match key {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let map = object
        .entry(field.name.as_str())
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(map) = map {
        map.insert(key, value);
    }
    Ok(())
}

/// A value as JSON has it; `None` if the wire has one of another type, which parsers pass over.
fn json(
    kind: &FieldKind,
    value: WireValue<'_>,
    left: &mut u32,
) -> Result<Option<Value>, WireFault> {
    let json = match (kind, value) {
        (FieldKind::Message(shape), WireValue::Bytes(bytes)) => {
            let mut object = Map::new();
            add(&mut object, bytes, shape, left)?;
            Value::Object(object)
        }
        (FieldKind::Enum(values), WireValue::Varint(number)) => name(values, number as i32),
        (FieldKind::Scalar(scalar), value) => match self::scalar(*scalar, value)? {
            Some(value) => value,
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    spend(left)?;
    Ok(Some(json))
}

/// A value of an enum: its name, or its number if it has none.
fn name(values: &[(i32, String)], number: i32) -> Value {
    let named = values.iter().find(|(known, _)| *known == number);
    named.map_or(number.into(), |(_, name)| Value::String(name.clone()))
}

fn scalar(scalar: ScalarType, value: WireValue<'_>) -> Result<Option<Value>, WireFault> {
    // Varints of 32 bits are cut to them, as parsers do.
    let unzigzag = |value: u64| (value >> 1) as i64 ^ -((value & 1) as i64);
    Ok(Some(match (scalar, value) {
        (ScalarType::Int32, WireValue::Varint(value)) => (value as i32).into(),
        (ScalarType::Int64, WireValue::Varint(value)) => (value as i64).into(),
        (ScalarType::Uint32, WireValue::Varint(value)) => (value as u32).into(),
        (ScalarType::Uint64, WireValue::Varint(value)) => value.into(),
        (ScalarType::Sint32, WireValue::Varint(value)) => unzigzag(u64::from(value as u32)).into(),
        (ScalarType::Sint64, WireValue::Varint(value)) => unzigzag(value).into(),
        (ScalarType::Bool, WireValue::Varint(value)) => (value != 0).into(),
        (ScalarType::Fixed32, WireValue::Fixed32(bytes)) => u32::from_le_bytes(bytes).into(),
        (ScalarType::Sfixed32, WireValue::Fixed32(bytes)) => i32::from_le_bytes(bytes).into(),
        (ScalarType::Fixed64, WireValue::Fixed64(bytes)) => u64::from_le_bytes(bytes).into(),
        (ScalarType::Sfixed64, WireValue::Fixed64(bytes)) => i64::from_le_bytes(bytes).into(),
        (ScalarType::Float, WireValue::Fixed32(bytes)) => {
            let value = f32::from_le_bytes(bytes);
            // Its shortest text, which that of the same number with 64 bits is not.
            let nearest = value.to_string().parse().unwrap_or(f64::from(value));
            float(nearest)
        }
        (ScalarType::Double, WireValue::Fixed64(bytes)) => float(f64::from_le_bytes(bytes)),
        (ScalarType::String, WireValue::Bytes(bytes)) => {
            let text = std::str::from_utf8(bytes).map_err(|_| WireFault::Broken)?;
            text.into()
        }
        (ScalarType::Bytes, WireValue::Bytes(bytes)) => STANDARD.encode(bytes).into(),
        _ => return Ok(None),
    }))
}

/// A floating-point number. JSON has whole ones without a fraction, and texts for those that are
/// no numbers.
fn float(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.into();
    }
    if value.fract() == 0.0 && value.abs() < EXACT {
        return (value as i64).into();
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// What a field without a value is.
fn zero(kind: &FieldKind) -> Value {
    match kind {
        FieldKind::Message(_) => Value::Object(Map::new()),
        FieldKind::Enum(values) => name(values, 0),
        FieldKind::Scalar(ScalarType::String | ScalarType::Bytes) => "".into(),
        FieldKind::Scalar(ScalarType::Bool) => false.into(),
        FieldKind::Scalar(_) => 0.into(),
    }
}

/// The wire type of values that can be packed.
fn packing(kind: &FieldKind) -> Option<u64> {
    match kind {
        FieldKind::Enum(_) => Some(0),
        FieldKind::Message(_) => None,
        FieldKind::Scalar(scalar) => match scalar {
            ScalarType::String | ScalarType::Bytes => None,
            ScalarType::Fixed64 | ScalarType::Sfixed64 | ScalarType::Double => Some(1),
            ScalarType::Fixed32 | ScalarType::Sfixed32 | ScalarType::Float => Some(5),
            _ => Some(0),
        },
    }
}

impl<'m> WireReader<'m> {
    /// The next field; `None` at the end.
    fn field(&mut self) -> Result<Option<(u32, WireValue<'m>)>, WireFault> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (number, wire_type) = self.tag()?;
        let value = match wire_type {
            3 => self.pass_group(number)?,
            wire_type => self.value(wire_type)?,
        };
        Ok(Some((number, value)))
    }

    fn tag(&mut self) -> Result<(u32, u64), WireFault> {
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).map_err(|_| WireFault::Broken)?;
        match number {
            1..0x2000_0000 => Ok((number, tag & 7)),
            _ => Err(WireFault::Broken),
        }
    }

    fn value(&mut self, wire_type: u64) -> Result<WireValue<'m>, WireFault> {
        match wire_type {
            0 => self.varint().map(WireValue::Varint),
            1 => self.fixed().map(WireValue::Fixed64),
            2 => {
                let length = self.varint()?;
                let length = usize::try_from(length).map_err(|_| WireFault::Broken)?;
                self.bytes(length).map(WireValue::Bytes)
            }
            5 => self.fixed().map(WireValue::Fixed32),
            _ => Err(WireFault::Broken),
        }
    }

    /// Passes over the group `number`, and those within.
    fn pass_group(&mut self, number: u32) -> Result<WireValue<'m>, WireFault> {
        let mut open = vec![number];
        while let Some(&innermost) = open.last() {
            match self.tag()? {
                (number, 3) if open.len() < MAX_GROUPS as usize => open.push(number),
                (number, 4) if number == innermost => {
                    open.pop();
                }
                (_, 3 | 4) => return Err(WireFault::Broken),
                (_, wire_type) => {
                    self.value(wire_type)?;
                }
            }
        }
        Ok(WireValue::Group)
    }

    fn varint(&mut self) -> Result<u64, WireFault> {
        let mut number = 0;
        for place in 0..10 {
            let (&byte, rest) = self.rest.split_first().ok_or(WireFault::Broken)?;
            self.rest = rest;
            number |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(WireFault::Broken)
    }

    fn bytes(&mut self, length: usize) -> Result<&'m [u8], WireFault> {
        let split = self.rest.split_at_checked(length);
        let (bytes, rest) = split.ok_or(WireFault::Broken)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], WireFault> {
        let bytes = self.bytes(N)?;
        bytes.try_into().map_err(|_| WireFault::Broken)
    }
}

#[cfg(test)]
mod tests;
