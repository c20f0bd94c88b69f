//! Reads `[[request]]` that opens a WebSocket: `request.websocket`, and what may stand beside it.

use crate::grpc::PLACEHOLDER_MARK;
use crate::read::auth;
use crate::read::body;
use crate::read::body_transfer;
use crate::read::columns::{self, BodyKind};
use crate::read::expect;
use crate::read::expect::is_json_pointer;
use crate::read::field::Field;
use crate::read::header::{self, is_token};
use crate::read::node::NodeValue;
use crate::read::section::PlanSection;
use crate::read::template::template;
use crate::websocket::MESSAGE_NUMBER;
use crate::{
    Close, HttpVersion, MessageAnswer, Request, SocketEnd, StatusSet, Template, WebSocket,
};
use std::ops::RangeInclusive;
use std::time::Duration;

const MAX_MESSAGES: usize = 1000;
const MAX_MESSAGE_BYTES: usize = 1 << 20;
const MAX_PROTOCOLS: usize = 100;
const COUNT: RangeInclusive<u32> = 1..=1_000_000_000;
const EVERY: RangeInclusive<Duration> = Duration::from_micros(100)..=Duration::from_secs(86_400);
const PING: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(86_400);
const HOLD: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(7 * 86_400);
/// The status of the answer to an opening handshake (RFC 6455 §4.2.2; over HTTP/2 RFC 8441 §5).
const SWITCHING_PROTOCOLS: u16 = 101;
const OK: u16 = 200;

const ANSWER: &str = "\"next\", \"echo\", \"none\" or { json = \"/id\" }";

/// Paths of `websocket`, without indices.
pub(crate) const KEYS: &[&str] = &[
    "request.websocket",
    "request.websocket.protocols",
    "request.websocket.message",
    "request.websocket.binary",
    "request.websocket.every",
    "request.websocket.answer",
    "request.websocket.answer.json",
    "request.websocket.ping",
    "request.websocket.count",
    "request.websocket.hold",
];

/// Header fields that belong to the opening handshake, beside those that no request may have.
const OWN_FIELDS: [&str; 4] = [
    "sec-websocket-key",
    "sec-websocket-version",
    "sec-websocket-protocol",
    "sec-websocket-extensions",
];

/// Reads a request that has `websocket`.
pub(crate) fn one(
    section: &PlanSection<'_>,
    path: Option<Template>,
    (close, http): (Close, HttpVersion),
) -> Option<Request> {
    refuse_others(section);
    if close == Close::Server {
        section.problem_at(
            "websocket",
            "cannot be opened with connection.close = \"server\", which asks for the end of the \
             connection in place of its upgrade; write close = \"fin\" or \"rst\"",
        );
    }
    let headers = section.read("headers", |field| field.section().map(header::all));
    let headers = headers.unwrap_or_default();
    let is_own = |name: &str| OWN_FIELDS.iter().any(|own| name.eq_ignore_ascii_case(own));
    if let Some((name, _)) = headers.iter().find(|(name, _)| is_own(name)) {
        section.problem_at(
            "headers",
            format_args!(
                "has {name:?}, which the opening handshake has by itself; remove it (subprotocols \
                 stand in websocket.protocols)"
            ),
        );
    }
    let auth = section.read("auth", |field| auth::of_request(&field, &headers));
    if auth.as_ref().is_some_and(|auth| auth.signing().is_some()) {
        section.problem_at(
            "auth",
            "opening handshakes are not signed for AWS; name credentials of another kind",
        );
    }
    let expect = expect(section, http)?;
    let websocket = section.read("websocket", |field| {
        let section = field.section()?;
        let read = socket(&section);
        section.finish();
        read
    });
    Some(Request {
        path,
        headers,
        auth,
        expect,
        websocket: Some(websocket?),
        ..Request::of_method("GET")
    })
}

/// Reports keys that have no meaning for a socket.
fn refuse_others(section: &PlanSection<'_>) {
    section.refuse(
        &["method"],
        "has no meaning for a WebSocket, which is opened by GET; remove it",
    );
    let no_body = "has no meaning for a WebSocket, which is opened without a body; write what is \
                   sent over it as websocket.message";
    section.refuse(&body::KINDS, no_body);
    section.refuse(&body_transfer::KEYS, no_body);
    section.refuse(
        &["redirects"],
        "has no meaning for a WebSocket, whose opening is not redirected; write the path that it \
         leads to",
    );
    section.refuse(
        &["stream", "grpc"],
        "given beside websocket; a request is one of them, so give the other a [[request]] of its \
         own",
    );
    section.refuse(
        &["capture"],
        "takes a text from an answer, and that to a WebSocket is its messages; capture it from \
         another request",
    );
}

/// What is right of the answer to the opening handshake: its status is always 101.
fn expect(section: &PlanSection<'_>, http: HttpVersion) -> Option<crate::Expect> {
    let right = match http {
        HttpVersion::Http11 => SWITCHING_PROTOCOLS,
        HttpVersion::Http2 { .. } => OK,
    };
    let given = section.section("expect")?;
    given.refuse(
        &["bytes", "contains", "matches", "json", "grpc_status"],
        "has no meaning for a WebSocket, whose opening has no body as an answer; remove it \
         (websocket.answer says what answers a message)",
    );
    let opened = StatusSet::new(vec![(right, right)]);
    let has_status = given.has("status");
    let expect = expect::read(given, "GET");
    if has_status && expect.status != opened {
        section.problem_at(
            "expect",
            format_args!(
                "has a status, which is {right} for every WebSocket that is opened; remove it"
            ),
        );
    }
    Some(crate::Expect {
        status: opened,
        ..expect
    })
}

fn socket(section: &PlanSection<'_>) -> Option<WebSocket> {
    let protocols = section.read("protocols", protocols).unwrap_or_default();
    let messages = section.read("message", |field| messages(&field));
    let has_messages = section.has("message");
    if !has_messages {
        section.refuse(
            &["binary", "every", "answer", "count"],
            "is about messages, and none is sent; write message = \"…\", or hold = \"60s\" for a \
             socket that only listens",
        );
    }
    let is_binary = section.read("binary", |field| field.flag());
    let every = section.read("every", |field| field.duration(EVERY));
    let answer = section.read("answer", |field| answer(&field));
    let answer = answer.unwrap_or(MessageAnswer::Next);
    if has_messages && answer == MessageAnswer::Nothing && !section.has("every") {
        section.problem_at(
            "every",
            "is missing: with answer = \"none\" nothing says when the next message is due; write \
             every = \"1s\"",
        );
    }
    let ping = section.read("ping", |field| field.duration(PING));
    let count = section.read("count", |field| field.whole32(COUNT));
    let hold = section.read("hold", |field| field.duration(HOLD));
    match (section.has("count"), section.has("hold")) {
        (true, true) => section.problem_at(
            "hold",
            "given beside count, which closes the socket too; remove one of them",
        ),
        (false, false) => section.problem(
            "does not say when the socket is closed; write count = 60 (messages) or hold = \"60s\"",
        ),
        _ => {}
    }
    let until = count.map(SocketEnd::Messages);
    Some(WebSocket {
        protocols,
        messages: if has_messages { messages? } else { Vec::new() },
        is_binary: is_binary.unwrap_or(false),
        every,
        answer,
        ping,
        until: until.or(hold.map(SocketEnd::Held))?,
    })
}

fn protocols(field: Field<'_>) -> Option<Vec<String>> {
    let example = "a list of subprotocols such as [\"chat.v1\"]";
    let fields = field.list(example)?;
    if !(1..=MAX_PROTOCOLS).contains(&fields.len()) {
        field.problem(format_args!(
            "has {} subprotocols; write 1 to {MAX_PROTOCOLS}, or remove it",
            fields.len()
        ));
        return None;
    }
    let name = |field: &Field<'_>| {
        let text = field.text("a subprotocol such as \"chat.v1\"")?;
        if !is_token(text) {
            field.refuse(
                "is not the name of a subprotocol; write a token such as \"chat.v1\", without \
                 spaces",
            );
            return None;
        }
        Some(text.to_owned())
    };
    fields.iter().map(name).collect()
}

/// One message, or several that are sent in turn.
fn messages(field: &Field<'_>) -> Option<Vec<Template>> {
    let NodeValue::List(_) = field.node.value else {
        return Some(vec![message(field)?]);
    };
    let fields = field.list("a list of messages")?;
    if !(1..=MAX_MESSAGES).contains(&fields.len()) {
        field.problem(format_args!(
            "has {} messages; write 1 to {MAX_MESSAGES}",
            fields.len()
        ));
        return None;
    }
    fields.iter().map(message).collect()
}

fn message(field: &Field<'_>) -> Option<Template> {
    let written = field.template_text("a message such as \"hello {message}\"")?;
    let whole = field.reveal(written)?;
    let bytes = whole.reveal().len();
    if bytes > MAX_MESSAGE_BYTES {
        field.problem(format_args!(
            "has {bytes} bytes; write at most {MAX_MESSAGE_BYTES}"
        ));
        return None;
    }
    if whole.reveal().contains(PLACEHOLDER_MARK) {
        field.problem("has the character U+E000, which is for private use; remove it");
        return None;
    }
    let marked = written.replace(MESSAGE_NUMBER, &PLACEHOLDER_MARK.to_string());
    let mut text = template(field, &marked);
    let kind = BodyKind::new(None, &text);
    columns::in_body(field, &mut text, kind);
    Some(text)
}

fn answer(field: &Field<'_>) -> Option<MessageAnswer> {
    if let NodeValue::Text(text) = &field.node.value {
        match text.as_str() {
            "next" => return Some(MessageAnswer::Next),
            "echo" => return Some(MessageAnswer::Echo),
            "none" => return Some(MessageAnswer::Nothing),
            _ => field.refuse(format_args!("is not known here; write {ANSWER}")),
        }
        return None;
    }
    let section = field.section()?;
    let pointer = section.read("json", |field| {
        let text = field.text("a JSON pointer such as \"/id\"")?;
        if !is_json_pointer(text) {
            field.refuse("is not a JSON pointer (RFC 6901); write one such as \"/id\"");
            return None;
        }
        Some(text.to_owned())
    });
    if !section.has("json") {
        section.problem(format_args!("says nothing; write {ANSWER}"));
    }
    section.finish();
    pointer.map(MessageAnswer::Json)
}
