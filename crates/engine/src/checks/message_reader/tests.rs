use super::*;
use serde_json::json;

fn scalar_field(number: u32, name: &str, label: FieldLabel, kind: ScalarType) -> ShapeField {
    ShapeField::new(number, name, label, FieldKind::Scalar(kind))
}

fn shape(fields: Vec<ShapeField>) -> MessageShape {
    MessageShape { fields }
}

/// The value of field 1, which has this type.
fn value(kind: ScalarType, wire: &[u8]) -> Result<Value, WireFault> {
    let shape = shape(vec![scalar_field(1, "a", FieldLabel::Optional, kind)]);
    read(wire, &shape).map(|fields| fields.get("a").cloned().unwrap_or(Value::Null))
}

#[test]
fn values_are_those_of_json() {
    let minus_one = b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    for (kind, wire, expected) in [
        (ScalarType::Int32, &b"\x08\xac\x02"[..], json!(300)),
        (ScalarType::Int32, minus_one, json!(-1)),
        (ScalarType::Int64, minus_one, json!(-1)),
        (
            ScalarType::Uint32,
            b"\x08\xff\xff\xff\xff\x0f",
            json!(4_294_967_295_u32),
        ),
        (ScalarType::Uint64, minus_one, json!(u64::MAX)),
        (ScalarType::Sint32, b"\x08\x03", json!(-2)),
        (ScalarType::Sint64, b"\x08\x04", json!(2)),
        (
            ScalarType::Sint32,
            b"\x08\xff\xff\xff\xff\x0f",
            json!(i32::MIN),
        ),
        (ScalarType::Fixed32, b"\x0d\x01\0\0\0", json!(1)),
        (ScalarType::Sfixed32, b"\x0d\xff\xff\xff\xff", json!(-1)),
        (ScalarType::Fixed64, b"\x09\x02\0\0\0\0\0\0\0", json!(2)),
        (
            ScalarType::Sfixed64,
            b"\x09\xfe\xff\xff\xff\xff\xff\xff\xff",
            json!(-2),
        ),
        (ScalarType::Bool, b"\x08\x01", json!(true)),
        (ScalarType::Float, b"\x0d\xcd\xcc\xcc\x3d", json!(0.1)),
        (ScalarType::Double, b"\x09\0\0\0\0\0\0\xf8\x3f", json!(1.5)),
        (ScalarType::Double, b"\x09\0\0\0\0\0\0\x08\x40", json!(3)),
        (
            ScalarType::Double,
            b"\x09\0\0\0\0\0\0\xf0\x7f",
            json!("Infinity"),
        ),
        (ScalarType::String, "\x0a\x03aü".as_bytes(), json!("aü")),
        (ScalarType::Bytes, b"\x0a\x02\xff\0", json!("/wA=")),
        // The last one counts, and one of another wire type is none.
        (ScalarType::Int32, b"\x08\x01\x08\x02\x0a\x01x", json!(2)),
    ] {
        assert_eq!(value(kind, wire), Ok(expected), "{kind:?} {wire:?}");
    }
}

#[test]
fn lists_maps_and_messages_have_the_form_of_json() {
    let inner = shape(vec![scalar_field(
        1,
        "id",
        FieldLabel::Implicit,
        ScalarType::String,
    )]);
    let entry = shape(vec![
        scalar_field(1, "key", FieldLabel::Implicit, ScalarType::Int32),
        scalar_field(2, "value", FieldLabel::Implicit, ScalarType::String),
    ]);
    let colors = vec![(0, "NONE".to_owned()), (1, "RED".to_owned())];
    let shape = shape(vec![
        ShapeField::new(
            1,
            "items",
            FieldLabel::Repeated,
            FieldKind::Message(inner.clone()),
        ),
        scalar_field(2, "n", FieldLabel::Repeated, ScalarType::Uint32),
        ShapeField::new(3, "by_key", FieldLabel::Map, FieldKind::Message(entry)),
        ShapeField::new(
            4,
            "color",
            FieldLabel::Implicit,
            FieldKind::Enum(colors.clone()),
        ),
        ShapeField::new(5, "one", FieldLabel::Optional, FieldKind::Message(inner)),
        ShapeField::new(6, "colors", FieldLabel::Repeated, FieldKind::Enum(colors)),
    ]);
    assert_eq!(read(b"", &shape), Ok(json!({"color": "NONE"})));
    let wire = b"\x0a\x03\x0a\x01a\x0a\0\
        \x12\x02\x01\x02\x10\x03\
        \x1a\x05\x08\x07\x12\x01x\x1a\0\
        \x20\x01\
        \x2a\x03\x0a\x01b\x2a\0\
        \x32\x02\x01\x05";
    let expected = json!({
        "items": [{"id": "a"}, {"id": ""}],
        "n": [1, 2, 3],
        "by_key": {"7": "x", "0": ""},
        "color": "RED",
        "one": {"id": "b"},
        "colors": ["RED", 5],
    });
    assert_eq!(read(wire, &shape), Ok(expected));
}

#[test]
fn what_the_plan_does_not_name_is_passed_over() {
    let group = b"\x13\x18\x05\x1b\x20\x01\x1c\x14\x08\x07";
    let others = b"\x12\x01x\x19\0\0\0\0\0\0\0\0\x25\0\0\0\0\x08\x07";
    for wire in [&group[..], others] {
        assert_eq!(value(ScalarType::Int32, wire), Ok(json!(7)), "{wire:?}");
    }
}

#[test]
fn broken_messages_are_no_values() {
    let groups = [0x13].repeat(5000);
    for wire in [
        &b"\x08"[..],
        b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x0a\x05ab",
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\0\x01",
        b"\x0e",
        b"\x0f",
        b"\x0c",
        b"\x13\x1c",
        b"\x13",
        b"\x0d\0\0",
        b"\x09\0",
        &groups,
    ] {
        let read = value(ScalarType::Int32, wire);
        assert_eq!(read, Err(WireFault::Broken), "{wire:?}");
    }
    let no_text = value(ScalarType::String, b"\x0a\x01\xff");
    assert_eq!(no_text, Err(WireFault::Broken));
}

#[test]
fn more_values_than_are_kept_are_too_many() {
    let shape = shape(vec![scalar_field(
        1,
        "a",
        FieldLabel::Repeated,
        ScalarType::Bool,
    )]);
    let of = |values: usize| [&b"\x08\x01"[..]].concat().repeat(values);
    let most = MAX_VALUES as usize;
    assert!(read(&of(most), &shape).is_ok());
    assert_eq!(read(&of(most + 1), &shape), Err(WireFault::TooLarge));
}
