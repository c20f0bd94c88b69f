//! What a gRPC server says of itself, and messages that are encoded by it.

use crate::script::Script;
use plan::{MessagePart, PLACEHOLDER_MARK};
use prost::Message as _;
use protobuf::{ReflectedSet, Reflection, ReflectionResponse};

/// Most answers that a server gives.
const MOST_ANSWERS: usize = 64;

/// Stands for a placeholder in the message; its text is a number, so that it can stand anywhere.
const STAND_IN: char = '#';
const TEXT: &str = "7";

/// A byte (how many answers), the answers, each behind its length, and a message in JSON.
pub fn grpc_call(data: &[u8]) {
    let mut script = Script::new(data);
    let answers = usize::from(script.byte()).min(MOST_ANSWERS);
    let answers: Vec<&[u8]> = (0..answers).map(|_| script.bytes()).collect();
    let Ok(set) = reflected(&answers) else {
        return;
    };
    assert_eq!(reflected(&answers).as_ref(), Ok(&set), "asked again");
    let json = String::from_utf8_lossy(script.rest());
    for (service, methods) in &set.services {
        for method in methods {
            call(&set, &format!("{service}/{method}"), &json);
        }
    }
}

/// What a server with these answers is put together to.
fn reflected(answers: &[&[u8]]) -> Result<ReflectedSet, String> {
    let mut reflection = Reflection::new(&[]);
    let mut answers = answers.iter();
    while reflection.next_request().is_some() {
        let answer = answers.next().ok_or("no more answers")?;
        let answer = ReflectionResponse::decode(*answer).map_err(|error| error.to_string())?;
        reflection.take(answer)?;
    }
    reflection.finish()
}

/// A message with placeholders is, with their texts in their places, what the encoder makes of the
/// message that has those texts.
fn call(set: &ReflectedSet, method: &str, json: &str) {
    let mut number = 0;
    let pieces = json.split(STAND_IN).map(|piece| {
        number += 1;
        format!("{piece}{PLACEHOLDER_MARK}{}{PLACEHOLDER_MARK}", number - 1)
    });
    let mut marked: String = pieces.collect();
    // The last piece has no placeholder behind it.
    let last = format!("{PLACEHOLDER_MARK}{}{PLACEHOLDER_MARK}", number - 1);
    marked.truncate(marked.len() - last.len());
    let encode = |json: &str| protobuf::encode(&set.bytes, method, json, &["/a/0/b", "/a"]);
    let filled = json.replace(STAND_IN, TEXT);
    let (Ok(parts), Ok(whole)) = (encode(&marked), encode(&filled)) else {
        return;
    };
    assert_eq!(
        sent(&parts.message).len(),
        sent(&whole.message).len(),
        "{filled}"
    );
}

/// The bytes of parts whose placeholders have their text.
fn sent(parts: &[MessagePart<String>]) -> Vec<u8> {
    let filled = |marked: &String| {
        let pieces = marked.split(PLACEHOLDER_MARK).enumerate();
        let pieces = pieces.map(|(place, piece)| if place % 2 == 0 { piece } else { TEXT });
        pieces.collect::<String>()
    };
    let mut out = Vec::new();
    for part in parts {
        match part {
            MessagePart::Bytes(bytes) => out.extend_from_slice(bytes),
            MessagePart::Text(text) => out.extend_from_slice(filled(text).as_bytes()),
            MessagePart::Number(text, kind) => kind.put(filled(text).as_bytes(), &mut out),
            MessagePart::Delimited(parts) => {
                let inner = sent(parts);
                // Writing to a `Vec` cannot fail.
                let _ = prost::encode_length_delimiter(inner.len(), &mut out);
                out.extend(inner);
            }
        }
    }
    out
}
