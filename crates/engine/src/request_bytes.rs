//! The bytes of HTTP/1.1 requests, or the pieces that they are made from.

use crate::body::{self, BodyUpload, RequestBody};
use crate::cookie_source::CookieSource;
use crate::fill::{self, Fill, LengthForm, Placeholder, WireNumber, literal, with_length};
use crate::location::split_port;
use crate::replayed_request::ReplayedRequest;
use crate::request_rules::{authority, takes_body};
use crate::template::ValueSources;
use crate::values::Values;
use plan::{
    BodyTransfer, MessagePart, Multipart, PartContent, Piece, Plan, Request, Scheme, Template,
    WebSocket,
};
use std::sync::Arc;

/// The bytes of a request, or the pieces that they are made from.
#[derive(Debug)]
pub(crate) enum RequestBytes {
    /// The whole request, including the body.
    Fixed(Vec<u8>),
    Pieces {
        pieces: Vec<Fill>,
        body: Option<Arc<RequestBody>>,
        /// A timestamp is part of it.
        has_time: bool,
    },
    /// The same of a body that waits for leave, or is sent in chunks.
    Framed(Box<FramedBytes>),
    /// What a log has, with the plan's own header fields as `lines`.
    Replayed {
        method: Vec<u8>,
        lines: Vec<Fill>,
        request: Arc<ReplayedRequest>,
        has_time: bool,
    },
}

/// The pieces of a request whose body is not sent at once with its length.
#[derive(Debug)]
pub(crate) struct FramedBytes {
    pieces: Vec<Fill>,
    body: Arc<RequestBody>,
    /// The body waits for `100 Continue`.
    awaits_leave: bool,
    has_time: bool,
}

/// What a head says of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadEnd {
    Keeps,
    /// The server is asked to close it.
    Closes,
}

/// A plan, one of its requests, and where placeholders take their texts from.
pub(crate) type PlannedRequest<'a> = (&'a Plan, &'a plan::Request, &'a ValueSources);

impl RequestBytes {
    /// Bytes that begin with `pieces`, method and target, and go on with the fields of `request`.
    pub(crate) fn new(
        mut pieces: Vec<Fill>,
        (plan, request, sources): PlannedRequest<'_>,
        body: Option<Arc<RequestBody>>,
        end: HeadEnd,
    ) -> RequestBytes {
        literal(&mut pieces, b" HTTP/1.1\r\n");
        if request.host().is_none() {
            let host = format!("Host: {}\r\n", authority(plan));
            literal(&mut pieces, host.as_bytes());
        }
        lines(&mut pieces, (plan, request, sources), |_| true, end);
        RequestBytes::with_body(pieces, body, request)
    }

    /// Appends the bytes to `out`, with at most a window of the body; returns the rest of the body
    /// as an upload. `values` is asked only if there are placeholders.
    #[inline]
    pub(crate) fn write(
        &self,
        values: impl FnOnce() -> Values,
        out: &mut Vec<u8>,
    ) -> Option<BodyUpload> {
        match self {
            RequestBytes::Fixed(bytes) => {
                out.extend_from_slice(bytes);
                None
            }
            RequestBytes::Pieces {
                pieces,
                body,
                has_time,
            } => {
                let values = values().at_once(*has_time);
                pieces.iter().for_each(|piece| piece.fill(&values, out));
                put_body(body.as_ref()?, &values, out)
            }
            RequestBytes::Framed(framed) => framed.write(&values(), out),
            RequestBytes::Replayed {
                method,
                lines,
                request,
                has_time,
            } => {
                let values = values().at_once(*has_time);
                out.extend_from_slice(method);
                request.put_path(&values, out);
                out.extend_from_slice(b" HTTP/1.1\r\nHost: ");
                request.put_host(&values, out);
                out.extend_from_slice(b"\r\n");
                request.put_lines(&values, out);
                lines.iter().for_each(|piece| piece.fill(&values, out));
                match request.body(&values) {
                    Some(body) => put_body(body, &values, out),
                    None => {
                        out.extend_from_slice(b"\r\n");
                        None
                    }
                }
            }
        }
    }

    /// Bytes that a log has, with the plan's own fields.
    pub(crate) fn from_log(
        (plan, request, sources): PlannedRequest<'_>,
        replayed: &Arc<ReplayedRequest>,
        end: HeadEnd,
    ) -> RequestBytes {
        let mut own = Vec::new();
        let is_own = |name: &str| !name.eq_ignore_ascii_case("host");
        lines(&mut own, (plan, request, sources), is_own, end);
        RequestBytes::Replayed {
            method: format!("{} ", request.method).into_bytes(),
            lines: own,
            request: Arc::clone(replayed),
            has_time: request.has_time(),
        }
    }

    fn with_body(
        mut pieces: Vec<Fill>,
        body: Option<Arc<RequestBody>>,
        request: &plan::Request,
    ) -> RequestBytes {
        let has_time = request.has_time();
        match &body {
            None => literal(&mut pieces, b"\r\n"),
            Some(body) if request.transfer != BodyTransfer::default() => {
                return RequestBytes::Framed(Box::new(FramedBytes {
                    pieces,
                    body: Arc::clone(body),
                    awaits_leave: request.transfer.continue_within.is_some(),
                    has_time,
                }));
            }
            Some(_) => {}
        }
        match constant(&pieces, body.as_deref()) {
            Some(bytes) => RequestBytes::Fixed(bytes),
            None => RequestBytes::Pieces {
                pieces,
                body,
                has_time,
            },
        }
    }
}

impl FramedBytes {
    /// Appends the head to `out`, with at most a window of the body unless that waits; returns the
    /// rest of it.
    #[inline(never)]
    fn write(&self, values: &Values, out: &mut Vec<u8>) -> Option<BodyUpload> {
        let values = values.clone().at_once(self.has_time);
        self.pieces
            .iter()
            .for_each(|piece| piece.fill(&values, out));
        let length = self.body.length(&values);
        // Without content there is nothing to wait with (RFC 9110 §10.1.1).
        let awaits_leave = self.awaits_leave && length > 0;
        if awaits_leave {
            out.extend_from_slice(b"Expect: 100-continue\r\n");
        }
        if self.body.is_chunked() {
            out.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
        } else {
            end_head(length, out);
        }
        let mut upload = BodyUpload::new(Arc::clone(&self.body), &values);
        if awaits_leave {
            return Some(upload);
        }
        upload.put_window(out);
        (upload.left() > 0).then_some(upload)
    }
}

/// Appends the request's header fields, those whose name is `wanted`, as lines.
fn lines(
    pieces: &mut Vec<Fill>,
    (plan, request, sources): PlannedRequest<'_>,
    wanted: impl Fn(&str) -> bool,
    end: HeadEnd,
) {
    let signature = plan.signature(request);
    let signature = signature.iter().map(|(name, value)| (*name, value));
    let own = request.fields().filter(|(name, _)| wanted(name));
    for (name, value) in own.chain(signature) {
        literal(pieces, name.as_bytes());
        literal(pieces, b": ");
        sources.template(value, pieces);
        literal(pieces, b"\r\n");
    }
    if let Some(cookies) = cookies_to_send((plan, request, sources)) {
        pieces.push(Fill::Line(cookies));
    }
    if let Some(socket) = &request.websocket {
        upgrade(pieces, socket);
    }
    if end == HeadEnd::Closes {
        literal(pieces, b"Connection: close\r\n");
    }
}

/// Appends the fields of an opening handshake (RFC 6455 §4.1).
fn upgrade(pieces: &mut Vec<Fill>, socket: &WebSocket) {
    let fixed = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                  Sec-WebSocket-Key: ";
    literal(pieces, fixed);
    pieces.push(Fill::Value(Placeholder::SocketKey));
    literal(pieces, b"\r\n");
    if !socket.protocols.is_empty() {
        let offered = socket.protocols.join(", ");
        let line = format!("Sec-WebSocket-Protocol: {offered}\r\n");
        literal(pieces, line.as_bytes());
    }
}

/// The whole request, if it is the same for every operation and its body fits a window.
fn constant(pieces: &[Fill], body: Option<&RequestBody>) -> Option<Vec<u8>> {
    let mut bytes = fill::constant(pieces, usize::MAX)?;
    if let Some(body) = body {
        let body = body.constant()?;
        end_head(body.len(), &mut bytes);
        bytes.extend_from_slice(&body);
    }
    Some(bytes)
}

pub(crate) fn body_of(request: &plan::Request, sources: &ValueSources) -> Option<RequestBody> {
    let mut pieces = Vec::new();
    match &request.body {
        Some(plan::Body::Text(text)) => sources.template(text, &mut pieces),
        Some(plan::Body::File(file)) => pieces.push(Fill::Shared(Arc::clone(&file.content))),
        Some(plan::Body::Multipart(body)) => multipart(&mut pieces, body, sources),
        Some(plan::Body::Message(parts)) => message(&mut pieces, parts, sources),
        // Without a body, methods that anticipate one send `Content-Length: 0` (RFC 9110 §8.6).
        None if takes_body(&request.method) => {}
        None => return None,
    }
    Some(RequestBody::new(pieces).in_chunks(request.transfer.chunk_bytes))
}

/// Puts a message of gRPC behind its prefix: that it is not compressed, and its length (gRPC over
/// HTTP/2, "Length-Prefixed-Message").
fn message(pieces: &mut Vec<Fill>, parts: &[MessagePart<Template>], sources: &ValueSources) {
    literal(pieces, &[0]);
    with_length(pieces, LengthForm::Word, message_parts(parts, sources));
}

fn message_parts(parts: &[MessagePart<Template>], sources: &ValueSources) -> Vec<Fill> {
    let mut pieces = Vec::new();
    for part in parts {
        match part {
            MessagePart::Bytes(bytes) => literal(&mut pieces, bytes),
            MessagePart::Text(text) => sources.template(text, &mut pieces),
            MessagePart::Number(text, kind) => {
                let mut of = Vec::new();
                sources.template(text, &mut of);
                pieces.push(Fill::Number(Arc::new(WireNumber { kind: *kind, of })));
            }
            MessagePart::Delimited(parts) => {
                let content = message_parts(parts, sources);
                with_length(&mut pieces, LengthForm::Varint, content);
            }
        }
    }
    pieces
}

fn multipart(pieces: &mut Vec<Fill>, body: &Multipart, sources: &ValueSources) {
    for (number, part) in body.parts.iter().enumerate() {
        literal(pieces, body.head(number).as_bytes());
        match &part.content {
            PartContent::Text(text) => sources.template(text, pieces),
            PartContent::File(file) => pieces.push(Fill::Shared(Arc::clone(&file.content))),
        }
    }
    literal(pieces, body.end().as_bytes());
}

/// Ends the head, and appends at most a window of the body; returns the rest.
fn put_body(body: &Arc<RequestBody>, values: &Values, out: &mut Vec<u8>) -> Option<BodyUpload> {
    let length = body.length(values);
    end_head(length, out);
    if length <= body::WINDOW {
        body.fill(values, out);
        return None;
    }
    let mut upload = BodyUpload::new(Arc::clone(body), values);
    upload.put(body::WINDOW, out);
    Some(upload)
}

/// Ends the head of a request whose body has `length` bytes.
pub(crate) fn end_head(length: usize, out: &mut Vec<u8>) {
    use std::io::Write as _;
    // Writing to a `Vec` cannot fail.
    let _ = write!(out, "Content-Length: {length}\r\n\r\n");
}

/// What the request's cookies depend on, if it has those of its journey.
pub(crate) fn cookies_of(of: PlannedRequest<'_>) -> Option<Arc<CookieSource>> {
    let (plan, request, _) = of;
    let url = &plan.target().url;
    let source = || {
        let mut target = Vec::new();
        put_target(of, &mut target);
        let is_secure = url.scheme == Scheme::Https;
        match (given_host(request), request.host()) {
            (Some(host), _) => CookieSource::new(&host, is_secure, target),
            (None, None) => CookieSource::new(&url.host.to_string(), is_secure, target),
            (None, Some(_)) => {
                CookieSource::new(&url.host.to_string(), is_secure, target).of_varying_host()
            }
        }
    };
    request.keeps_cookies.then(|| Arc::new(source()))
}

/// The same, if the plan gives the request no field `cookie` of its own.
pub(crate) fn cookies_to_send(of: PlannedRequest<'_>) -> Option<Arc<CookieSource>> {
    let mut fields = of.1.fields();
    let has_own = fields.any(|(name, _)| name.eq_ignore_ascii_case("cookie"));
    cookies_of(of).filter(|_| !has_own)
}

/// The host that the server sees, without the port, if the plan gives the request a field `host`
/// that is always the same.
fn given_host(request: &Request) -> Option<String> {
    match &*request.host()?.pieces {
        [Piece::Literal(given)] => {
            let (host, _) = split_port(given.as_bytes())?;
            Some(String::from_utf8_lossy(host).into_owned())
        }
        _ => None,
    }
}

/// Appends path and query of a request to `pieces`.
pub(crate) fn put_target((plan, request, sources): PlannedRequest<'_>, pieces: &mut Vec<Fill>) {
    match &request.path {
        Some(path) => sources.template(path, pieces),
        None => literal(pieces, plan.target().url.path.as_bytes()),
    }
}
