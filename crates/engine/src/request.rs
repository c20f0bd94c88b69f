//! HTTP/1.1 requests as bytes, built before the run; only templates are filled in during it.

use crate::body::{self, BodyUpload, RequestBody};
use crate::checks::AnswerChecks;
use crate::fill::{self, Fill, literal};
use crate::replayed_request::ReplayedRequest;
use crate::request_rules::{authority, takes_body};
use crate::template::ValueSources;
use crate::values::Values;
use plan::{Multipart, PartContent, Plan};
use std::sync::Arc;

/// All requests of a plan, ready to send.
#[derive(Debug)]
pub(crate) struct Http1Requests(Vec<Http1Request>);

/// One request of the plan as bytes.
#[derive(Debug)]
pub(crate) struct Http1Request {
    /// Without `Connection: close`, and with it for the last request of a connection.
    keeping: RequestBytes,
    closing: RequestBytes,
    /// The response has no body.
    pub(crate) is_head: bool,
    /// It may be sent again on a new connection (RFC 9110 §9.2.2).
    pub(crate) is_idempotent: bool,
    /// It changes nothing on the server, so it may go out as early data (RFC 9110 §9.2.1, RFC 8470
    /// §4).
    pub(crate) is_safe: bool,
    pub(crate) expect: plan::Expect,
    /// The checks among what it expects, ready to be made.
    pub(crate) checks: Option<Arc<AnswerChecks>>,
    /// What a log has of it, if the plan replays one.
    pub(crate) replayed: Option<Arc<ReplayedRequest>>,
}

/// The bytes of a request, or the pieces that they are made from.
#[derive(Debug)]
enum RequestBytes {
    /// The whole request, including the body.
    Fixed(Vec<u8>),
    Pieces {
        pieces: Vec<Fill>,
        body: Option<Arc<RequestBody>>,
        /// A timestamp is part of it.
        has_time: bool,
    },
    /// What a log has, with the plan's own header fields as `lines`.
    Replayed {
        method: Vec<u8>,
        lines: Vec<Fill>,
        request: Arc<ReplayedRequest>,
        has_time: bool,
    },
}

impl Http1Requests {
    pub(crate) fn new(plan: &Plan) -> Http1Requests {
        Http1Requests::with(plan, &ValueSources::new(plan))
    }

    /// The requests of `plan`, whose placeholders take their texts from `sources`.
    pub(crate) fn with(plan: &Plan, sources: &ValueSources) -> Http1Requests {
        let requests = plan.requests().iter().zip(AnswerChecks::of_requests(plan));
        Http1Requests(
            requests
                .map(|(request, checks)| Http1Request::new(plan, request, sources, checks))
                .collect(),
        )
    }

    #[inline]
    pub(crate) fn request(&self, index: u16) -> &Http1Request {
        &self.0[usize::from(index)]
    }
}

impl Http1Request {
    fn new(
        plan: &Plan,
        request: &plan::Request,
        sources: &ValueSources,
        checks: Option<Arc<AnswerChecks>>,
    ) -> Http1Request {
        let is_idempotent = matches!(
            request.method.as_str(),
            "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE"
        );
        let body = body_of(request, sources).map(Arc::new);
        let replayed = ReplayedRequest::new(plan, request, sources);
        let bytes = |closing| match &replayed {
            Some(replayed) => RequestBytes::replayed(request, sources, replayed, closing),
            None => RequestBytes::new(plan, request, sources, body.clone(), closing),
        };
        Http1Request {
            keeping: bytes(false),
            closing: bytes(true),
            is_head: request.method == "HEAD",
            is_idempotent,
            is_safe: matches!(
                request.method.as_str(),
                "GET" | "HEAD" | "OPTIONS" | "TRACE"
            ),
            expect: request.expect.clone(),
            checks,
            replayed,
        }
    }

    /// Appends the request's bytes to `out`, with at most a window of the body; returns the rest of
    /// the body as an upload. `values` is asked only if the request has placeholders. `last` marks
    /// the last request of a connection, after which the server is to close it.
    #[inline]
    pub(crate) fn write(
        &self,
        last: bool,
        values: impl FnOnce() -> Values,
        out: &mut Vec<u8>,
    ) -> Option<BodyUpload> {
        let bytes = if last { &self.closing } else { &self.keeping };
        match bytes {
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
}

impl RequestBytes {
    fn new(
        plan: &Plan,
        request: &plan::Request,
        sources: &ValueSources,
        body: Option<Arc<RequestBody>>,
        closing: bool,
    ) -> RequestBytes {
        let mut pieces = Vec::new();
        literal(&mut pieces, request.method.as_bytes());
        literal(&mut pieces, b" ");
        match &request.path {
            Some(path) => sources.template(path, &mut pieces),
            None => literal(&mut pieces, plan.target().url.path.as_bytes()),
        }
        literal(&mut pieces, b" HTTP/1.1\r\n");
        if !request
            .headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("host"))
        {
            literal(
                &mut pieces,
                format!("Host: {}\r\n", authority(plan)).as_bytes(),
            );
        }
        lines(&mut pieces, request, sources, |_| true, closing);
        RequestBytes::with_body(pieces, body, request.has_time())
    }

    fn replayed(
        request: &plan::Request,
        sources: &ValueSources,
        replayed: &Arc<ReplayedRequest>,
        closing: bool,
    ) -> RequestBytes {
        let mut own = Vec::new();
        let is_own = |name: &str| !name.eq_ignore_ascii_case("host");
        lines(&mut own, request, sources, is_own, closing);
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
        has_time: bool,
    ) -> RequestBytes {
        if body.is_none() {
            literal(&mut pieces, b"\r\n");
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

/// Appends the request's header fields, those whose name is `wanted`, as lines.
fn lines(
    pieces: &mut Vec<Fill>,
    request: &plan::Request,
    sources: &ValueSources,
    wanted: impl Fn(&str) -> bool,
    closing: bool,
) {
    for (name, value) in request.fields().filter(|(name, _)| wanted(name)) {
        literal(pieces, name.as_bytes());
        literal(pieces, b": ");
        sources.template(value, pieces);
        literal(pieces, b"\r\n");
    }
    if closing {
        literal(pieces, b"Connection: close\r\n");
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
        // Without a body, methods that anticipate one send `Content-Length: 0` (RFC 9110 §8.6).
        None if takes_body(&request.method) => {}
        None => return None,
    }
    Some(RequestBody::new(pieces))
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
