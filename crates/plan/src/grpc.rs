//! gRPC calls: what is called, the message as it is encoded, and which statuses are right.

use crate::toml_text::array;
use crate::words::Words as _;
use crate::{MessageShape, ScalarType, Template, quote};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Stands before and after the number of a placeholder where a message is encoded: a character for
/// private use, which no text of a plan has.
pub const PLACEHOLDER_MARK: char = '\u{e000}';

/// A call with one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grpc {
    /// `package.Service/Method`: the path without its slash.
    pub method: String,
    /// What is read of the message that it is answered with; empty if nothing is.
    pub answer: MessageShape,
}

/// A part of an encoded message, in which texts that differ between operations are `T`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessagePart<T> {
    /// Bytes that are the same for every operation.
    Bytes(Vec<u8>),
    /// A text.
    Text(T),
    /// A number of this type, whose text differs between operations.
    Number(T, ScalarType),
    /// Parts, and before them the number of their bytes as a varint.
    Delimited(Vec<MessagePart<T>>),
}

/// What of a call is wrong; the text says why, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageFault {
    /// The descriptors.
    Descriptors(String),
    /// The method.
    Method(String),
    /// The message.
    Message(String),
    /// A pointer into the answer's message.
    Pointer {
        /// As it was given.
        pointer: String,
        /// What is wrong with it.
        why: String,
    },
}

/// What descriptors make of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedCall {
    /// Its message. In texts each placeholder is its number between two [`PLACEHOLDER_MARK`].
    pub message: Vec<MessagePart<String>>,
    /// Whether its answer is a stream of messages.
    pub is_streamed: bool,
    /// What is read of the message that answers it.
    pub answer: MessageShape,
}

/// Encodes a call: by a descriptor set, for a method (`package.Service/Method`), from a message in
/// JSON. The last are pointers (RFC 6901) to what is read of the answer's message, as if that were
/// JSON; in them `*` stands for any element.
pub type MessageEncoder = fn(&[u8], &str, &str, &[&str]) -> Result<EncodedCall, MessageFault>;

impl<T> MessagePart<T> {
    /// The same part with `map` of each text.
    pub fn map<U>(&self, map: &mut impl FnMut(&T) -> U) -> MessagePart<U> {
        match self {
            MessagePart::Bytes(bytes) => MessagePart::Bytes(bytes.clone()),
            MessagePart::Text(text) => MessagePart::Text(map(text)),
            MessagePart::Number(text, kind) => MessagePart::Number(map(text), *kind),
            MessagePart::Delimited(parts) => {
                MessagePart::Delimited(parts.iter().map(|part| part.map(map)).collect())
            }
        }
    }

    /// The texts of its numbers, with their types.
    pub(crate) fn numbers(&self) -> Vec<(&T, ScalarType)> {
        match self {
            MessagePart::Bytes(_) | MessagePart::Text(_) => Vec::new(),
            MessagePart::Number(text, kind) => vec![(text, *kind)],
            MessagePart::Delimited(parts) => parts.iter().flat_map(MessagePart::numbers).collect(),
        }
    }

    /// Its texts, in order.
    #[must_use]
    pub fn texts(&self) -> Vec<&T> {
        match self {
            MessagePart::Bytes(_) => Vec::new(),
            MessagePart::Text(text) | MessagePart::Number(text, _) => vec![text],
            MessagePart::Delimited(parts) => parts.iter().flat_map(MessagePart::texts).collect(),
        }
    }
}

impl MessagePart<Template> {
    /// The canonical text.
    fn canonical(&self) -> String {
        match self {
            MessagePart::Bytes(bytes) => quote(&STANDARD.encode(bytes)),
            MessagePart::Text(text) => format!("{{ text = {} }}", quote(&text.to_string())),
            MessagePart::Number(text, kind) => {
                let (text, kind) = (quote(&text.to_string()), quote(kind.word()));
                format!("{{ text = {text}, type = {kind} }}")
            }
            MessagePart::Delimited(parts) => array(parts, MessagePart::canonical),
        }
    }
}

impl Grpc {
    /// The canonical text: an inline table with the message that is sent.
    pub(crate) fn canonical(&self, message: &[MessagePart<Template>]) -> String {
        let (method, encoded) = (quote(&self.method), array(message, MessagePart::canonical));
        let answer = match self.answer.fields.is_empty() {
            true => String::new(),
            false => format!(", answer = {}", self.answer.canonical()),
        };
        format!("{{ method = {method}, encoded = {encoded}{answer} }}")
    }
}

/// The bytes that a part of canonical text stands for.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}
