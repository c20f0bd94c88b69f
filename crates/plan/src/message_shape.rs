//! What is read of the message that answers a gRPC call: some of its fields, by their numbers, with
//! the names that they have in JSON.

use crate::quote;
use crate::toml_text::array;
use crate::words::{Words as _, words};

/// Fields that are read of a message. The others are passed over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageShape {
    /// A number may stand here twice, under both of the names that a field has.
    pub fields: Vec<ShapeField>,
}

/// A field that is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeField {
    /// Its number on the wire; at least 1.
    pub number: u32,
    /// Its name, as pointers write it.
    pub name: String,
    /// How many values it has.
    pub label: FieldLabel,
    /// What a value is.
    pub kind: FieldKind,
}

/// How many values a field has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldLabel {
    /// One; if the message has none, it is zero or empty.
    Implicit,
    /// One or none.
    Optional,
    /// A list of them, packed or not.
    Repeated,
    /// A list of messages whose fields 1 and 2 are key and value.
    Map,
}

words!(FieldLabel {
    Implicit => "implicit",
    Optional => "optional",
    Repeated => "repeated",
    Map => "map",
});

/// What a value of a field is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldKind {
    /// A number, a text, or bytes.
    Scalar(ScalarType),
    /// A name by its number. Numbers without one stay numbers.
    Enum(Vec<(i32, String)>),
    /// A message, of which this is read.
    Message(MessageShape),
}

/// The types of Protocol Buffers ("Scalar Value Types").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "they have the names of Protocol Buffers")]
pub enum ScalarType {
    Int32,
    Int64,
    Uint32,
    Uint64,
    Sint32,
    Sint64,
    Fixed32,
    Fixed64,
    Sfixed32,
    Sfixed64,
    Bool,
    Float,
    Double,
    String,
    Bytes,
}

words!(ScalarType {
    Int32 => "int32",
    Int64 => "int64",
    Uint32 => "uint32",
    Uint64 => "uint64",
    Sint32 => "sint32",
    Sint64 => "sint64",
    Fixed32 => "fixed32",
    Fixed64 => "fixed64",
    Sfixed32 => "sfixed32",
    Sfixed64 => "sfixed64",
    Bool => "bool",
    Float => "float",
    Double => "double",
    String => "string",
    Bytes => "bytes",
});

/// What a pointer leads to in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PointerEnd {
    /// Something that has a text.
    Text,
    Message,
    List,
    /// Nothing that is read.
    Nowhere,
}

impl MessageShape {
    /// Most messages within each other.
    pub const MAX_DEPTH: usize = 50;

    /// What `pointer` (RFC 6901) leads to, in which `*` stands for any element.
    pub(crate) fn end_of(&self, pointer: &str) -> PointerEnd {
        let mut parts = pointer.split('/').skip(1);
        let Some(part) = parts.next() else {
            return PointerEnd::Message;
        };
        let name = part.replace("~1", "/").replace("~0", "~");
        let Some(field) = self.fields.iter().find(|field| field.name == name) else {
            return PointerEnd::Nowhere;
        };
        let element = field.label.is_of_many().then(|| parts.next());
        if element == Some(None) {
            return PointerEnd::List;
        }
        let rest: String = parts.map(|part| format!("/{part}")).collect();
        match field.value() {
            Some(FieldKind::Message(shape)) => shape.end_of(&rest),
            Some(FieldKind::Scalar(_) | FieldKind::Enum(_)) if rest.is_empty() => PointerEnd::Text,
            _ => PointerEnd::Nowhere,
        }
    }

    /// The canonical text: a list of inline tables.
    pub(crate) fn canonical(&self) -> String {
        array(&self.fields, ShapeField::canonical)
    }
}

impl FieldLabel {
    /// Whether a pointer has a part for one of its values.
    fn is_of_many(self) -> bool {
        matches!(self, FieldLabel::Repeated | FieldLabel::Map)
    }
}

impl ShapeField {
    /// The number of a map's values in the messages that it is a list of.
    pub const MAP_VALUE: u32 = 2;

    /// A field `number` that pointers call `name`.
    #[must_use]
    pub fn new(number: u32, name: &str, label: FieldLabel, kind: FieldKind) -> ShapeField {
        ShapeField {
            number,
            name: name.to_owned(),
            label,
            kind,
        }
    }

    /// What one of its values is; of a map, one of those by key.
    fn value(&self) -> Option<&FieldKind> {
        match (&self.kind, self.label) {
            (FieldKind::Message(entry), FieldLabel::Map) => {
                let mut fields = entry.fields.iter();
                let value = fields.find(|field| field.number == ShapeField::MAP_VALUE);
                value.map(|value| &value.kind)
            }
            (kind, _) => Some(kind),
        }
    }

    fn canonical(&self) -> String {
        let (number, name) = (self.number, quote(&self.name));
        let label = quote(self.label.word());
        let kind = match &self.kind {
            FieldKind::Scalar(scalar) => format!("type = {}", quote(scalar.word())),
            FieldKind::Enum(values) => {
                let values = array(values, |(number, name)| quote(&format!("{number} {name}")));
                format!("values = {values}")
            }
            FieldKind::Message(shape) => format!("fields = {}", shape.canonical()),
        };
        format!("{{ number = {number}, name = {name}, label = {label}, {kind} }}")
    }
}
