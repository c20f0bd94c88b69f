//! JSON into the bytes of a message of Protocol Buffers, by the descriptors of its service, and
//! descriptors out of the answers of a server that describes itself. Pure: no files, no network.
//! Agents do without it, since plans travel with their messages encoded.

mod answer;
mod descriptors;
mod numbers;
mod parts;
mod reflection;

use numbers::StandIns;
use plan::{EncodedCall, MessageFault, PLACEHOLDER_MARK};
use prost_reflect::prost::Message as _;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MessageDescriptor};
pub use reflection::{ReflectedSet, Reflection, ReflectionRequest, ReflectionResponse};
use std::collections::BTreeSet;

/// Encodes `json`, the message of a call of `method` (`package.Service/Method`) that takes one
/// message, by a descriptor set: what `protoc --descriptor_set_out` writes, or
/// `buf build`.
/// Texts in it that have a [`PLACEHOLDER_MARK`], also in the place of numbers, stand apart from the
/// bytes around.
///
/// `pointers` (RFC 6901) lead into its answer's message as JSON.
///
/// # Errors
/// The set, the method, the message or a pointer is wrong; each says why, and what to write
/// instead.
pub fn encode(
    set: &[u8],
    method: &str,
    json: &str,
    pointers: &[&str],
) -> Result<EncodedCall, MessageFault> {
    let call = descriptors::guarded(|| unguarded(set, (method, json), pointers));
    call.unwrap_or_else(|why| Err(MessageFault::Descriptors(format!("cannot be used: {why}"))))
}

fn unguarded(
    set: &[u8],
    (method, json): (&str, &str),
    pointers: &[&str],
) -> Result<EncodedCall, MessageFault> {
    let pool = descriptors::pool(set)?;
    let method = descriptors::method(&pool, method)?;
    let input = method.input();
    let mut numbers = StandIns::default();
    let with_numbers = numbers.put(json, &input);
    let json = with_numbers.as_deref().unwrap_or(json);
    let message = message(&input, json).map_err(MessageFault::Message)?;
    let parts = parts::split(&message.encode_to_vec(), &input, &mut numbers);
    let parts = parts.map_err(MessageFault::Message)?;
    if !numbers.are_found() {
        let why = "has a placeholder in a group, or in a field that has two values; write the \
                   field once, and not in a group";
        return Err(MessageFault::Message(why.to_owned()));
    }
    let answer = answer::shape(&method.output(), pointers)
        .map_err(|(pointer, why)| MessageFault::Pointer { pointer, why })?;
    Ok(EncodedCall {
        message: parts,
        is_streamed: method.is_server_streaming(),
        answer,
    })
}

fn message(input: &MessageDescriptor, json: &str) -> Result<DynamicMessage, String> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let message = DynamicMessage::deserialize(input.clone(), &mut deserializer);
    let message = message.and_then(|message| deserializer.end().map(|()| message));
    message.map_err(|error| {
        let said = error.to_string();
        // The text may be a table in the plan, so that its lines say nothing.
        let end = said.find(" at line ").unwrap_or(said.len());
        format!(
            "is no {}: {}{}",
            input.full_name(),
            &said[..end].replace(PLACEHOLDER_MARK, ""),
            cure(input, &said[..end], json)
        )
    })
}

/// What to write instead, if that can be guessed.
fn cure(input: &MessageDescriptor, said: &str, json: &str) -> String {
    let unknown = said
        .strip_prefix("unrecognized field name '")
        .and_then(|rest| rest.split('\'').next());
    if let Some(unknown) = unknown {
        let known = fields_within(input);
        let names = known.iter().map(String::as_str);
        return match descriptors::nearest(unknown, names) {
            Some(nearest) => format!("; write {nearest}"),
            None => "; it has no fields: write {}".to_owned(),
        };
    }
    if json.contains(PLACEHOLDER_MARK) {
        return "; placeholders can stand in fields that are strings or numbers".to_owned();
    }
    String::new()
}

/// The names of fields of the message, and of messages in it.
fn fields_within(input: &MessageDescriptor) -> BTreeSet<String> {
    let (mut names, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let mut messages = vec![input.clone()];
    while let Some(message) = messages.pop() {
        if !seen.insert(message.full_name().to_owned()) {
            continue;
        }
        let fields: Vec<FieldDescriptor> = message.fields().collect();
        names.extend(fields.iter().map(|field| field.name().to_owned()));
        messages.extend(fields.iter().filter_map(|field| match field.kind() {
            Kind::Message(inner) => Some(inner),
            _ => None,
        }));
    }
    names
}

#[cfg(test)]
mod tests;
