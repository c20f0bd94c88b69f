//! HTTP/1.1 requests as bytes, built before the run; only templates are filled in during it.

use crate::body::BodyUpload;
use crate::checks::AnswerChecks;
use crate::cookie_source::CookieSource;
use crate::fill::literal;
use crate::hop_request::HopRequest;
use crate::replayed_request::ReplayedRequest;
use crate::request_bytes::{HeadEnd, RequestBytes, body_of, cookies_of, put_target};
use crate::sent_secrets::SentSecrets;
use crate::template::ValueSources;
use crate::values::Values;
use crate::websocket::SocketTexts;
use plan::Plan;
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
    /// What else is looked at of its answer, ready to be done.
    pub(crate) checks: Option<Arc<AnswerChecks>>,
    /// What is sent over the socket that it opens, if anything is.
    pub(crate) socket: Option<Box<SocketTexts>>,
    /// What a log has of it, if the plan replays one.
    pub(crate) replayed: Option<Arc<ReplayedRequest>>,
    /// What its cookies depend on, if it has those of its journey.
    pub(crate) cookies: Option<Arc<CookieSource>>,
    /// What is sent after a redirect, if any are followed.
    pub(crate) hops: Option<Box<HopRequest>>,
    /// What must not be saved of its answers, if any text is.
    pub(crate) secrets: Option<Box<SentSecrets>>,
}

impl Http1Requests {
    /// The requests of `plan`, whose placeholders take their texts from `sources`.
    pub(crate) fn new(plan: &Plan, sources: &ValueSources) -> Http1Requests {
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
        let of = (plan, request, sources);
        let replayed = ReplayedRequest::new(plan, request, sources);
        let bytes = |end| {
            if let Some(replayed) = &replayed {
                return RequestBytes::from_log(of, replayed, end);
            }
            let mut pieces = Vec::new();
            literal(&mut pieces, request.method.as_bytes());
            literal(&mut pieces, b" ");
            put_target(of, &mut pieces);
            RequestBytes::new(pieces, of, body.clone(), end)
        };
        let hops = || Box::new(HopRequest::new(of, body.clone()));
        Http1Request {
            keeping: bytes(HeadEnd::Keeps),
            closing: bytes(HeadEnd::Closes),
            is_head: request.method == "HEAD",
            is_idempotent,
            is_safe: matches!(
                request.method.as_str(),
                "GET" | "HEAD" | "OPTIONS" | "TRACE"
            ),
            expect: request.expect.clone(),
            cookies: cookies_of(of),
            checks,
            socket: (request.websocket.as_ref())
                .and_then(|socket| SocketTexts::new(socket, sources)),
            hops: (request.redirects > 0).then(hops),
            secrets: (request.grpc.is_some())
                .then(|| Box::new(SentSecrets::new(plan, request, sources))),
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
        bytes.write(values, out)
    }
}
