//! Reads `[[request]]` that makes a gRPC call: `request.grpc`, and what may stand beside it.

use crate::grpc::decode;
use crate::message_shape::PointerEnd;
use crate::read::auth;
use crate::read::body;
use crate::read::body_transfer;
use crate::read::capture;
use crate::read::columns;
use crate::read::event_stream;
use crate::read::expect;
use crate::read::field::Field;
use crate::read::header;
use crate::read::json_text::{self, Quotes};
use crate::read::message_number;
use crate::read::message_shape;
use crate::read::node::NodeValue;
use crate::read::section::PlanSection;
use crate::read::template::template;
use crate::{
    Body, Capture, CapturePlace, CheckPlace, Expect, File, Grpc, MessageFault, MessagePart,
    MessageShape, PLACEHOLDER_MARK, Piece, Request, ScalarType, StatusSet, Template,
};
use secret::Secret;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

const MAX_SET_BYTES: usize = 16 << 20;
const MAX_DEPTH: usize = 100;
const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(86_400);
/// Most that the digits of a `grpc-timeout` can say.
const MAX_TIMEOUT: u128 = 99_999_999;
/// The units of a `grpc-timeout`, in nanoseconds.
const UNITS: [(u128, char); 6] = [
    (3_600_000_000_000, 'H'),
    (60_000_000_000, 'M'),
    (1_000_000_000, 'S'),
    (1_000_000, 'm'),
    (1_000, 'u'),
    (1, 'n'),
];

const EXAMPLE: &str = "a method such as \"helloworld.Greeter/SayHello\"";

/// Paths of `grpc`, without indices.
pub(crate) const KEYS: &[&str] = &[
    "request.grpc",
    "request.grpc.method",
    "request.grpc.descriptors",
    "request.grpc.message",
    "request.grpc.encoded",
    "request.grpc.answer",
    "request.grpc.timeout",
];

/// What a call's table says of its message and its answer.
struct Described {
    message: Vec<MessagePart<Template>>,
    is_streamed: Option<bool>,
    answer: MessageShape,
}

/// What is called with which message.
struct Call {
    grpc: Grpc,
    message: Vec<MessagePart<Template>>,
    /// Whether the answer is a stream of messages; `None` if no descriptors say so.
    is_streamed: Option<bool>,
}

type Headers = Vec<(String, Secret<Template>)>;

/// Reads a request that has `grpc`.
pub(crate) fn one(section: &PlanSection<'_>) -> Option<Request> {
    refuse_others(section);
    let headers = section.read("headers", |field| field.section().map(header::all));
    let mut headers = headers.unwrap_or_default();
    let auth = section.read("auth", |field| auth::of_request(&field, &headers));
    if auth.as_ref().is_some_and(|auth| auth.signing().is_some()) {
        section.problem_at(
            "auth",
            "gRPC calls are not signed for AWS; name credentials of another kind",
        );
    }
    let expect = expect(section);
    let captures = capture::of_request(section, "POST");
    let pointers = Pointers::new(&captures, expect.as_ref());
    let call = section.read("grpc", |field| call(&field, &mut headers, &pointers));
    let is_other =
        |capture: &Capture| capture.is_of_body() && !matches!(capture.from, CapturePlace::Json(_));
    if captures.iter().any(is_other) {
        section.problem_at(
            "capture",
            "takes a text from the body, which is an encoded message; write json = \"/id\", a \
             pointer into the message",
        );
    }
    let is_streamed = call.as_ref().and_then(|call| call.is_streamed);
    let stream = event_stream::of_call(section, is_streamed);
    if stream.is_some() {
        pointers.refuse_streamed(section);
    } else if let Some(call) = &call {
        pointers.check(section, &call.grpc.answer);
    }
    let Call { grpc, message, .. } = call?;
    Some(Request {
        path: Some(Template::literal(&format!("/{}", grpc.method))),
        headers,
        auth,
        body: Some(Body::Message(message)),
        expect: expect?,
        captures,
        grpc: Some(grpc),
        stream,
        ..Request::of_method("POST")
    })
}

/// Reports keys that have no meaning for a call.
fn refuse_others(section: &PlanSection<'_>) {
    section.refuse(&["method", "path"], "follows from grpc.method; remove it");
    section.refuse(
        &body::KINDS,
        "given beside grpc, whose message is the body; write it as grpc.message",
    );
    section.refuse(
        &body_transfer::KEYS,
        "has no meaning for a gRPC call, whose message is sent at once; remove it",
    );
    section.refuse(
        &["redirects"],
        "has no meaning for a gRPC call, which is not redirected; remove it",
    );
}

/// What is right of an answer: its status of HTTP is always 200.
fn expect(section: &PlanSection<'_>) -> Option<Expect> {
    let given = section.section("expect")?;
    given.refuse(
        &["bytes", "contains", "matches"],
        "looks at the body, which is an encoded message; write json, grpc_status or headers",
    );
    let ok = StatusSet::new(vec![(200, 200)]);
    let has_status = given.has("status");
    let expect = expect::read(given, "POST");
    if has_status && expect.status != ok {
        section.problem_at(
            "expect",
            "has a status, which is 200 for every gRPC call; write grpc_status = [\"ok\"], or \
             others of its names",
        );
    }
    Some(Expect {
        status: ok,
        ..expect
    })
}

/// Reads what is called with which message, and adds the header fields that belong to it.
fn call(field: &Field<'_>, headers: &mut Headers, pointers: &Pointers<'_>) -> Option<Call> {
    let section = field.section()?;
    let method = section.read("method", method);
    if !section.has("method") {
        section.problem(format_args!("names no method; write {EXAMPLE}"));
    }
    let timeout = section.read("timeout", |field| field.duration(TIMEOUT));
    let set = section.read("descriptors", |field| field.file(MAX_SET_BYTES));
    let given = section.read("answer", |field| message_shape::shape(&field, 0));
    let encoded = match section.read("encoded", |field| parts(&field, 0)) {
        Some(parts) => {
            let cure = "given beside encoded, which is the whole message; remove one of them";
            section.refuse(&["descriptors", "message"], cure);
            let is_streamed = None;
            Some(Described {
                message: parts,
                is_streamed,
                answer: given.unwrap_or_default(),
            })
        }
        None if section.has("encoded") => None,
        None => {
            let cure = "belongs to an encoded message, and follows from descriptors; remove it";
            section.refuse(&["answer"], cure);
            message(&section, (method.as_deref(), set.as_ref()), pointers)
        }
    };
    section.finish();
    add_fields(field, headers, timeout);
    let described = encoded?;
    let grpc = Grpc {
        method: method?,
        answer: described.answer,
    };
    Some(Call {
        grpc,
        message: described.message,
        is_streamed: described.is_streamed,
    })
}

/// Pointers into the answer's message.
struct Pointers<'p> {
    of_captures: Vec<&'p str>,
    of_checks: Vec<&'p str>,
}

impl<'p> Pointers<'p> {
    fn new(captures: &'p [Capture], expect: Option<&'p Expect>) -> Pointers<'p> {
        let captures = captures.iter();
        let checks = expect.into_iter().flat_map(|expect| &expect.checks);
        Pointers {
            of_captures: captures
                .filter_map(|capture| match &capture.from {
                    CapturePlace::Json(pointer) => Some(pointer.as_str()),
                    _ => None,
                })
                .collect(),
            of_checks: checks
                .filter_map(|check| match &check.place {
                    CheckPlace::Json(pointer) => Some(pointer.as_str()),
                    _ => None,
                })
                .collect(),
        }
    }

    fn all(&self) -> Vec<&'p str> {
        [&self.of_captures[..], &self.of_checks[..]].concat()
    }

    /// The key of the request that has a pointer.
    fn place_of(&self, pointer: &str) -> &'static str {
        match self.of_captures.contains(&pointer) {
            true => "capture",
            false => "expect.json",
        }
    }

    /// Reports pointers that have nothing to lead to, since there may be any number of messages.
    fn refuse_streamed(&self, section: &PlanSection<'_>) {
        let all = self.all();
        if let Some(pointer) = all.first() {
            section.problem_at(
                self.place_of(pointer),
                "looks at the messages of a stream, which are only counted; look at headers, or \
                 call a method with one answer",
            );
        }
    }

    /// Reports pointers to what has no text, or is not read.
    fn check(&self, section: &PlanSection<'_>, answer: &MessageShape) {
        for pointer in self.all() {
            let is_captured = self.of_captures.contains(&pointer);
            let why = match answer.end_of(pointer) {
                PointerEnd::Nowhere => {
                    "is not in grpc.answer; name descriptors in the place of encoded, which say \
                     where it is"
                }
                PointerEnd::Message if is_captured => {
                    "leads to a message; name one of its fields, such as /item/id"
                }
                PointerEnd::List if is_captured => {
                    "leads to several values; name one, such as /items/0, or /items/* for any"
                }
                _ if !is_captured && pointer.split('/').any(|part| part == "*") => {
                    "has a *, which stands for no value here; write the number of one"
                }
                _ => continue,
            };
            section.problem_at(self.place_of(pointer), format_args!("{pointer:?} {why}"));
        }
    }
}

/// Reads a method, also with a dot before its name, as some tools write it.
fn method(field: Field<'_>) -> Option<String> {
    let text = field.text(EXAMPLE)?;
    let trimmed = text.strip_prefix('/').unwrap_or(text);
    let parts = trimmed.split_once('/').or_else(|| trimmed.rsplit_once('.'));
    let is_name = |name: &str| {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(is_of_name)
    };
    let is_right =
        |(service, name): &(&str, &str)| service.split('.').all(is_name) && is_name(name);
    match parts.filter(is_right) {
        Some((service, name)) => Some(format!("{service}/{name}")),
        None => {
            field.refuse(format_args!("is no method; write {EXAMPLE}"));
            None
        }
    }
}

/// Encodes the message by the descriptors, which also say whether the answer is a stream.
fn message(
    section: &PlanSection<'_>,
    (method, set): (Option<&str>, Option<&File>),
    pointers: &Pointers<'_>,
) -> Option<Described> {
    if !section.has("descriptors") {
        section.problem(
            "names no descriptors; write descriptors = \"api.binpb\", a file that protoc \
             --include_imports --descriptor_set_out=api.binpb makes, buf build -o api.binpb, or \
             coordinator import grpc://HOST:PORT > api.binpb",
        );
    }
    let text = match section.field("message") {
        Some(field) => json(&field)?,
        None => Template::literal("{}"),
    };
    let (set, method) = (set?, method?);
    let Some(encode) = section.context.encoder() else {
        let cure = "cannot be read here; write encoded = [\"…\"], the message in base64";
        section.problem_at("descriptors", format_args!("{:?} {cure}", set.name));
        return None;
    };
    let (marked, bare) = marked(&text);
    let call = match encode(&set.content, method, &marked, &pointers.all()) {
        Ok(call) => call,
        Err(MessageFault::Descriptors(why)) => {
            let why = format!("{:?} {why}", set.name);
            section.problem_at("descriptors", why);
            return None;
        }
        Err(MessageFault::Method(why)) => {
            section.problem_at("method", why);
            return None;
        }
        Err(MessageFault::Message(why)) => {
            section.problem_at("message", why);
            return None;
        }
        Err(MessageFault::Pointer { pointer, why }) => {
            section.problem(format_args!(
                "has an answer in which {pointer:?}, which request.{} names, leads nowhere: {why}",
                pointers.place_of(&pointer)
            ));
            return None;
        }
    };
    if call.message.iter().any(|part| has_any(part, &bare)) {
        section.problem_at(
            "message",
            "has a placeholder without quotes in a field that is no number; write quotes around it",
        );
        return None;
    }
    let mut unmark = |marked: &String| unmarked(marked, &text);
    let parts = call.message.iter().map(|part| part.map(&mut unmark));
    let message: Vec<MessagePart<Template>> = parts.collect();
    if let Some(field) = section.field("message") {
        let numbers = message.iter().flat_map(MessagePart::numbers);
        numbers.for_each(|(text, kind)| message_number::check(&field, text, kind));
    }
    Some(Described {
        message,
        is_streamed: Some(call.is_streamed),
        answer: call.answer,
    })
}

/// Reads a message, written as a text of JSON or as a table.
fn json(field: &Field<'_>) -> Option<Template> {
    let text = match &field.node.value {
        NodeValue::Text(text) => text.clone(),
        _ => json_text::write(field)?,
    };
    field.reveal(&text)?;
    if text.contains(PLACEHOLDER_MARK) {
        field.problem("has the character U+E000, which is for private use; remove it");
        return None;
    }
    let text = template(field, &text);
    columns::in_message(field, &text);
    Some(text)
}

/// The text with a mark in the place of each placeholder, and quotes around those that stand
/// outside of any, as numbers do; and the numbers of these.
fn marked(text: &Template) -> (String, BTreeSet<usize>) {
    let (mut quotes, mut are_open) = (Quotes::default(), false);
    let (mut marked, mut bare) = (String::new(), BTreeSet::new());
    for (place, piece) in text.pieces.iter().enumerate() {
        let mark = format!("{PLACEHOLDER_MARK}{place}{PLACEHOLDER_MARK}");
        match piece {
            Piece::Literal(literal) => {
                are_open = quotes.are_open_after(literal);
                marked += literal;
            }
            _ if are_open => marked += &mark,
            _ => {
                bare.insert(place);
                marked += &format!("\"{mark}\"");
            }
        }
    }
    (marked, bare)
}

/// Whether a text has one of these placeholders.
fn has_any(part: &MessagePart<String>, places: &BTreeSet<usize>) -> bool {
    match part {
        MessagePart::Bytes(_) | MessagePart::Number(..) => false,
        MessagePart::Delimited(parts) => parts.iter().any(|part| has_any(part, places)),
        MessagePart::Text(text) => {
            let mut pieces = text.split(PLACEHOLDER_MARK).skip(1).step_by(2);
            pieces.any(|piece| piece.parse().is_ok_and(|place| places.contains(&place)))
        }
    }
}

/// The inverse of [`marked`] for a part of the text, without its quotes and escapes.
fn unmarked(part: &str, text: &Template) -> Template {
    let pieces = part.split(PLACEHOLDER_MARK).enumerate();
    let pieces = pieces.filter_map(|(index, piece)| match index % 2 {
        0 => Some(Piece::Literal(piece.into())),
        _ => text.pieces.get(piece.parse::<usize>().ok()?).cloned(),
    });
    Template::of_pieces(pieces.collect())
}

/// Reads the parts of a message that is encoded.
fn parts(field: &Field<'_>, depth: usize) -> Option<Vec<MessagePart<Template>>> {
    if depth > MAX_DEPTH {
        field.problem(format_args!(
            "is nested more than {MAX_DEPTH} deep; write less"
        ));
        return None;
    }
    field.list_of("parts such as [\"CgV3b3JsZA==\"]", |part| {
        match &part.node.value {
            NodeValue::List(_) => parts(part, depth + 1).map(MessagePart::Delimited),
            NodeValue::Table(_) => {
                let section = part.section()?;
                let kind = section.read("type", number_type);
                let text = section.read("text", |field| {
                    let written = field.template_text("a text")?;
                    field.reveal(written)?;
                    let text = template(&field, written);
                    if let Some(kind) = kind {
                        message_number::check(&field, &text, kind);
                    }
                    Some(text)
                });
                section.finish();
                text.map(|text| match kind {
                    Some(kind) => MessagePart::Number(text, kind),
                    None => MessagePart::Text(text),
                })
            }
            _ => {
                let text = part.text("bytes in base64, such as \"CgV3b3JsZA==\"")?;
                let bytes = decode(text);
                if bytes.is_none() {
                    part.refuse(
                        "is not base64 (RFC 4648 §4); write bytes such as \"CgV3b3JsZA==\"",
                    );
                }
                bytes.map(MessagePart::Bytes)
            }
        }
    })
}

fn number_type(field: Field<'_>) -> Option<ScalarType> {
    let kind: ScalarType = field.choice()?;
    if !kind.is_number() {
        field.refuse("is no type of numbers; write one such as \"int64\", or remove it");
    }
    kind.is_number().then_some(kind)
}

/// Adds the header fields of every call, unless the plan has them.
fn add_fields(field: &Field<'_>, headers: &mut Headers, timeout: Option<Duration>) {
    let given = |headers: &Headers, wanted: &str| {
        let mut headers = headers.iter();
        let found = headers.find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.reveal().to_string())
    };
    let own = [("te", "trailers"), ("content-type", "application/grpc")];
    for (name, value) in own {
        match given(headers, name) {
            None => headers.push((name.to_owned(), Secret::new(Template::literal(value)))),
            Some(given) if given.starts_with(value) => {}
            Some(_) => field.problem(format_args!(
                "needs {name}: {value}, and request.headers has another {name}; remove it there"
            )),
        }
    }
    if let Some(timeout) = timeout {
        if given(headers, "grpc-timeout").is_some() {
            field
                .problem("has a timeout, and request.headers has grpc-timeout; remove one of them");
        }
        let value = Secret::new(Template::literal(&timeout_text(timeout)));
        headers.push(("grpc-timeout".to_owned(), value));
    }
}

/// A duration as `grpc-timeout` writes it: at most eight digits, rounded up if need be.
fn timeout_text(timeout: Duration) -> String {
    let nanoseconds = timeout.as_nanos();
    let is_exact = |unit: u128| nanoseconds.is_multiple_of(unit);
    let fits = |unit: u128| nanoseconds.div_ceil(unit) <= MAX_TIMEOUT;
    let exact = UNITS
        .iter()
        .find(|(unit, _)| is_exact(*unit) && fits(*unit));
    let finest = || UNITS.iter().rev().find(|(unit, _)| fits(*unit));
    let (unit, letter) = exact.or_else(finest).unwrap_or(&UNITS[0]);
    format!("{}{letter}", nanoseconds.div_ceil(*unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_written_exactly_or_rounded_up() {
        for (timeout, text) in [
            (Duration::from_millis(1), "1m"),
            (Duration::from_millis(1500), "1500m"),
            (Duration::from_secs(2), "2S"),
            (Duration::from_secs(120), "2M"),
            (Duration::from_secs(86_400), "24H"),
            (Duration::from_nanos(1_000_001), "1000001n"),
            (Duration::from_nanos(1_234_567_891), "1234568u"),
        ] {
            assert_eq!(timeout_text(timeout), text);
        }
    }

    #[test]
    fn marks_lead_back_to_placeholders() {
        let text = Template::from("{\"a\": \"x{seq}y\", \"b\": \"{user}\"}");
        let (marked, bare) = marked(&text);
        assert!(bare.is_empty(), "all of them stand in quotes");
        let part = marked.split('"').nth(3).expect("the first value");
        assert_eq!(unmarked(part, &text), Template::from("x{seq}y"));
    }
}
