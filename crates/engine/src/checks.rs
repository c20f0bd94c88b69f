//! What is looked at of answers beyond status and length: the checks that a request of the plan
//! asks for, ready to be made, and the events of a streamed answer. Knows no framing and no
//! connection.

mod answer_captures;
mod answer_watch;
mod body_leave;
mod body_reader;
mod body_search;
mod content_decoder;
mod event_scanner;
mod event_watch;
#[cfg(feature = "fuzzing")]
mod fuzzing;
mod grpc_answer;
mod grpc_text;
mod html_scanner;
mod html_search;
mod html_text;
mod kept_message;
mod message_reader;
mod message_scanner;
mod text_search;
mod value_tests;
mod watched_body;
mod zstd_decoder;

use crate::websocket::SocketOpening;
pub(crate) use answer_watch::AnswerWatch;
pub(crate) use body_leave::BodyLeave;
pub(crate) use event_watch::EventWatch;
#[cfg(feature = "fuzzing")]
pub use fuzzing::{DecoderDoor, read_grpc_text, read_message};
use grpc_answer::RightStatuses;
use html_search::HtmlWishes;
use measure::nanoseconds;
use memchr::memmem::Finder;
use plan::{
    Capture, Check, CheckPlace, EventStream, HttpVersion, MessageShape, Pattern, Plan, ValueTest,
};
use std::sync::Arc;

/// The checks of one request, each with its number in the plan. Those of one kind stand in the
/// order of their numbers, and the kinds do too.
#[derive(Debug, Default)]
pub(crate) struct AnswerChecks {
    /// By the field's name.
    headers: Vec<(u16, String, ValueTest)>,
    texts: Vec<(u16, Finder<'static>)>,
    patterns: Vec<(u16, Pattern)>,
    /// By the pointer.
    json: Vec<(u16, String, ValueTest)>,
    /// What is taken from the answer, each with its number as a check.
    captures: Vec<(u16, Capture)>,
    /// Those of them that are attributes of HTML elements.
    html: HtmlWishes,
    /// Whether cookies are kept that the answer sets.
    keeps_cookies: bool,
    /// Whether the field `Location` is kept, because redirects are followed.
    keeps_location: bool,
    /// How the events of the answer are read, if that is a stream of them.
    stream: Option<Arc<EventStream>>,
    /// How long the request's body waits for leave, nanoseconds; `None` if it does not.
    continue_within: Option<u64>,
    /// The socket that the answer is to open, and how.
    socket: Option<(Arc<plan::WebSocket>, SocketOpening)>,
    /// The statuses of gRPC that are right; `None` if the request is no gRPC call.
    grpc: Option<RightStatuses>,
    /// What is read of the message that answers a gRPC call; empty if nothing is.
    answer: MessageShape,
}

impl AnswerChecks {
    /// What is looked at for each of the plan's requests; `None` if that is nothing.
    pub(crate) fn of_requests(plan: &Plan) -> Vec<Option<Arc<AnswerChecks>>> {
        let mut last = 0;
        let opening = match plan.connection().http {
            HttpVersion::Http11 => SocketOpening::Upgrade,
            HttpVersion::Http2 { .. } => SocketOpening::Connect,
        };
        let of_request = |request: &plan::Request| {
            let checks = &request.expect.checks;
            let first = last + 1;
            let first_capture = first + checks.len() as u16; // a plan has 1,000 of both at most
            last = first_capture + request.captures.len() as u16 - 1;
            let ready = || AnswerChecks {
                captures: (first_capture..)
                    .zip(request.captures.iter().cloned())
                    .collect(),
                html: HtmlWishes::new(request.captures.iter()),
                keeps_cookies: request.keeps_cookies,
                keeps_location: request.redirects > 0,
                stream: request.stream.clone().map(Arc::new),
                continue_within: request.transfer.continue_within.map(nanoseconds),
                socket: (request.websocket.clone()).map(|socket| (Arc::new(socket), opening)),
                grpc: RightStatuses::of_request(request),
                answer: request
                    .grpc
                    .as_ref()
                    .map_or_else(MessageShape::default, |grpc| grpc.answer.clone()),
                ..AnswerChecks::new(first, checks)
            };
            request.is_watched().then(|| Arc::new(ready()))
        };
        plan.requests().iter().map(of_request).collect()
    }

    /// Gets `checks` ready, the first of which has the number `first`.
    fn new(first: u16, checks: &[Check]) -> AnswerChecks {
        let mut ready = AnswerChecks::default();
        for (number, check) in (first..).zip(checks) {
            match (&check.place, &check.test) {
                (CheckPlace::Header(name), test) => {
                    ready.headers.push((number, name.clone(), test.clone()));
                }
                (CheckPlace::Json(pointer), test) => {
                    ready.json.push((number, pointer.clone(), test.clone()));
                }
                (CheckPlace::Body, ValueTest::Contains(text)) => {
                    let finder = Finder::new(text.as_bytes()).into_owned();
                    ready.texts.push((number, finder));
                }
                (CheckPlace::Body, ValueTest::Matches(pattern)) => {
                    ready.patterns.push((number, pattern.clone()));
                }
                (CheckPlace::Body, _) => {} // a plan has no other tests of a body
            }
        }
        ready
    }

    /// How long the request's body waits for leave, nanoseconds; `None` if it does not.
    pub(crate) fn continue_within(&self) -> Option<u64> {
        self.continue_within
    }

    /// Whether the answer is to open a socket.
    pub(crate) fn wants_socket(&self) -> bool {
        self.socket.is_some()
    }

    /// Whether the answer is a stream of events.
    pub(crate) fn is_streamed(&self) -> bool {
        self.stream.is_some()
    }

    fn has_body_checks(&self) -> bool {
        let searches = !(self.texts.is_empty() && self.patterns.is_empty() && self.html.is_empty());
        searches || self.keeps_body()
    }

    /// Whether the whole body is kept, since only then it can be judged or taken from.
    fn keeps_body(&self) -> bool {
        let mut captures = self.captures.iter();
        !self.json.is_empty() || captures.any(|(_, capture)| capture.is_of_whole_body())
    }

    /// Length of the longest text that is looked for.
    fn longest_text(&self) -> usize {
        let lengths = self.texts.iter().map(|(_, finder)| finder.needle().len());
        lengths.max().unwrap_or(0)
    }
}
