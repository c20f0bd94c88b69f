//! Messages that answer gRPC calls, of which some fields are read, and texts of their errors.

use engine::fuzzing::{read_grpc_text, read_message};
use plan::{FieldKind, FieldLabel, MessageShape, ScalarType, ShapeField, Words as _};

/// Most values that are read of a message.
const MOST_VALUES: usize = 100_000;

/// A message whose fields are of every type, as one value, as a list and as a map.
pub fn grpc_message(data: &[u8]) {
    let text = read_grpc_text(data);
    assert!(text.len() <= measure::GrpcMessages::TEXT_MAX_BYTES);
    assert!(!text.contains(measure::is_unprintable), "{text:?}");
    let all = read_message(data, &shape(2));
    if let Some(fields) = &all {
        assert!(count(fields) <= MOST_VALUES, "{} bytes", data.len());
        // What can be read can be passed over.
        let nothing = read_message(data, &MessageShape::default());
        assert_eq!(nothing, Some(serde_json::json!({})));
        // The last one counts of a value that comes twice.
        let twice = read_message(&[data, data].concat(), &singles());
        assert_eq!(twice, read_message(data, &singles()));
    }
}

fn count(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::Array(values) => values.iter().map(|value| 1 + count(value)).sum(),
        serde_json::Value::Object(members) => members.values().map(count).sum(),
        _ => 1,
    }
}

fn field(number: u32, label: FieldLabel, kind: FieldKind) -> ShapeField {
    ShapeField::new(number, &format!("{}{number}", label.word()), label, kind)
}

/// One value of each type.
fn singles() -> MessageShape {
    let scalars = (1..).zip(ScalarType::ALL);
    let scalars = scalars
        .map(|(number, &scalar)| field(number, FieldLabel::Optional, FieldKind::Scalar(scalar)));
    MessageShape {
        fields: scalars.collect(),
    }
}

fn shape(depth: u32) -> MessageShape {
    let mut fields = singles().fields;
    for (number, &scalar) in (20..).zip(ScalarType::ALL) {
        fields.push(field(
            number,
            FieldLabel::Repeated,
            FieldKind::Scalar(scalar),
        ));
    }
    let colors = vec![(0, "NONE".to_owned()), (-1, "RED".to_owned())];
    let kind = || FieldKind::Enum(colors.clone());
    fields.push(field(16, FieldLabel::Implicit, kind()));
    fields.push(field(17, FieldLabel::Repeated, kind()));
    let entry = [ScalarType::String, ScalarType::Int64];
    let entry = (1..)
        .zip(entry)
        .map(|(number, scalar)| field(number, FieldLabel::Implicit, FieldKind::Scalar(scalar)));
    let entry = MessageShape {
        fields: entry.collect(),
    };
    fields.push(field(18, FieldLabel::Map, FieldKind::Message(entry)));
    if depth > 0 {
        let inner = || FieldKind::Message(shape(depth - 1));
        fields.push(field(40, FieldLabel::Optional, inner()));
        fields.push(field(41, FieldLabel::Repeated, inner()));
    }
    MessageShape { fields }
}
