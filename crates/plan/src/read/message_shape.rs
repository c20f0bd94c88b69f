//! Reads `request.grpc.answer`: what is read of an answer's message.

use crate::read::field::Field;
use crate::{FieldKind, FieldLabel, MessageShape, ScalarType, ShapeField};

/// The highest number that a field can have (Protocol Buffers, "Assigning Field Numbers").
const MAX_NUMBER: u32 = (1 << 29) - 1;

const EXAMPLE: &str = "fields such as [{ number = 1, name = \"id\", label = \"implicit\", type = \
                       \"string\" }]";

/// Reads a shape that lies in as many others as `depth` says.
pub(crate) fn shape(field: &Field<'_>, depth: usize) -> Option<MessageShape> {
    if depth > MessageShape::MAX_DEPTH {
        let most = MessageShape::MAX_DEPTH;
        field.problem(format_args!("is nested more than {most} deep; write less"));
        return None;
    }
    let fields = field.list_of(EXAMPLE, |field| one(field, depth))?;
    Some(MessageShape { fields })
}

fn one(field: &Field<'_>, depth: usize) -> Option<ShapeField> {
    let section = field.section()?;
    let number = section.read("number", |field| field.whole32(1..=MAX_NUMBER));
    let name = section.read("name", |field| field.text("a field's name, such as \"id\""));
    let label = section.read("label", |field| field.choice::<FieldLabel>());
    let given = section.given(&["type", "values", "fields"]);
    let kind = match given.as_slice() {
        ["type"] => {
            let scalar = section.read("type", |field| field.choice::<ScalarType>());
            scalar.map(FieldKind::Scalar)
        }
        ["values"] => section.read("values", |field| {
            let values = field.list_of("values such as [\"0 OPEN\"]", value);
            values.map(FieldKind::Enum)
        }),
        ["fields"] => {
            let inner = section.read("fields", |field| shape(&field, depth + 1));
            inner.map(FieldKind::Message)
        }
        _ => {
            section.problem("does not say what it is; write one of type, values and fields");
            None
        }
    };
    let lacks = ["number", "name", "label"]
        .into_iter()
        .find(|key| !section.has(key));
    if let Some(lacks) = lacks {
        section.problem(format_args!("has no {lacks}; write {EXAMPLE}"));
    }
    section.finish();
    let (label, kind) = (label?, kind?);
    if label == FieldLabel::Map && !matches!(kind, FieldKind::Message(_)) {
        field.problem("is a map without fields; write those of its key and its value");
        return None;
    }
    Some(ShapeField::new(number?, name?, label, kind))
}

/// Reads a value of an enum.
fn value(field: &Field<'_>) -> Option<(i32, String)> {
    let text = field.text("a number and a name, such as \"0 OPEN\"")?;
    let parts = text.split_once(' ');
    let value = parts.and_then(|(number, name)| Some((number.parse().ok()?, name.to_owned())));
    if value.is_none() {
        field.refuse("is no number with a name; write one such as \"0 OPEN\"");
    }
    value
}
