//! The requests: weighted, with bytes that are fixed before the run, and the criteria for success.

use crate::auth::AUTHORIZATION;
use crate::{Auth, BodyTransfer, MessagePart, Piece, Template};
use secret::Secret;
use std::sync::Arc;

/// Headers whose values are credentials, in lower case; they must not be in files that are kept or
/// passed on.
pub const SECRET_HEADERS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];

/// Longest name of a request, in characters.
pub(crate) const MAX_NAME_CHARS: usize = 100;

/// One kind of request of the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Name in every result; unique in a plan.
    pub name: String,
    /// Method token, upper case.
    pub method: String,
    /// Path and query; `None` uses the target URL's.
    pub path: Option<Template>,
    /// Header fields in the plan's order, without those that the engine adds (`host`,
    /// `content-length`, `connection`). Any value can be a secret, so none is shown.
    pub headers: Vec<(String, Secret<Template>)>,
    /// The credentials that become its `authorization`.
    pub auth: Option<Arc<Auth>>,
    /// The gRPC call that it is, if it is one; its body is then a message.
    pub grpc: Option<crate::Grpc>,
    /// Request body.
    pub body: Option<Body>,
    /// How the body is sent.
    pub transfer: BodyTransfer,
    /// Share of all operations: weight over the sum of weights.
    pub weight: u32,
    /// Most redirects that an operation follows; 0 if it takes a redirect as its answer.
    pub redirects: u8,
    /// The criteria for success.
    pub expect: crate::Expect,
    /// How the events of its answer are read, if that is a stream of them.
    pub stream: Option<crate::EventStream>,
    /// The WebSocket that it opens, if it opens one.
    pub websocket: Option<crate::WebSocket>,
    /// The texts that are taken from its answers, ordered by name.
    pub captures: Vec<crate::Capture>,
    /// Whether cookies that its answers set are kept, and those of its journey sent: a journey that
    /// has it keeps cookies.
    pub keeps_cookies: bool,
}

impl Request {
    /// A request of this method without anything else, not even a name.
    pub(crate) fn of_method(method: &str) -> Request {
        Request {
            name: String::new(),
            method: method.to_owned(),
            path: None,
            headers: Vec::new(),
            auth: None,
            grpc: None,
            body: None,
            transfer: BodyTransfer::default(),
            weight: 1,
            redirects: 0,
            expect: crate::Expect::default(),
            stream: None,
            websocket: None,
            captures: Vec::new(),
            keeps_cookies: false,
        }
    }

    /// The texts that placeholders can stand in: path, headers and body.
    pub(crate) fn templates(&self) -> impl Iterator<Item = &Template> {
        let headers = self.fields().map(|(_, value)| value);
        let body = self.body.iter().flat_map(Body::templates);
        let socket = self.websocket.iter().flat_map(|socket| &socket.messages);
        headers.chain(&self.path).chain(body).chain(socket)
    }

    /// The header fields to send: those of the plan, and credentials. [`Plan::signature`] has those
    /// that follow from the rest of the request.
    ///
    /// [`Plan::signature`]: crate::Plan::signature
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Template)> {
        let headers = self.headers.iter();
        let headers = headers.map(|(name, value)| (name.as_str(), value.reveal()));
        let auth = self.auth.iter();
        headers.chain(auth.filter_map(|auth| Some((AUTHORIZATION, auth.value()?))))
    }

    /// The pieces of these texts, and those that their made values are made of.
    pub(crate) fn all_pieces(&self) -> impl Iterator<Item = &Piece> {
        self.templates().flat_map(Template::all_pieces)
    }

    /// The value of its field `host`, if the plan gives one.
    #[must_use]
    pub fn host(&self) -> Option<&Template> {
        let mut headers = self.headers.iter();
        let host = headers.find(|(name, _)| name.eq_ignore_ascii_case("host"));
        host.map(|(_, value)| value.reveal())
    }

    /// The GET without content that follows a redirect (RFC 9110 §15.4).
    #[must_use]
    pub fn without_content(&self) -> Request {
        let headers = self.headers.iter();
        let headers = headers.filter(|(name, _)| !describes_content(name));
        Request {
            method: "GET".to_owned(),
            headers: headers.cloned().collect(),
            body: None,
            transfer: BodyTransfer::default(),
            ..self.clone()
        }
    }

    /// The request as it is sent to another origin: that is its `host`, and it has no credentials
    /// (RFC 9110 §15.4). These are the fields of [`SECRET_HEADERS`], those with a secret or
    /// captured value, and the cookies of its journey.
    #[must_use]
    pub fn to_origin(&self, origin: &crate::Url) -> Request {
        let is_credential = |name: &str, value: &Template| {
            let name = name.to_ascii_lowercase();
            SECRET_HEADERS.contains(&&*name) || value.is_secret()
        };
        let is_kept = |(name, value): &&(String, Secret<Template>)| {
            !name.eq_ignore_ascii_case("host") && !is_credential(name, value.reveal())
        };
        let host = Secret::new(Template::literal(&origin.authority()));
        let host = std::iter::once(("Host".to_owned(), host));
        Request {
            headers: host
                .chain(self.headers.iter().filter(is_kept).cloned())
                .collect(),
            auth: None,
            keeps_cookies: false,
            ..self.clone()
        }
    }

    /// Whether more is looked at of its answer than status and length.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        !self.expect.checks.is_empty()
            || self.redirects > 0
            || self.stream.is_some()
            || self.transfer.continue_within.is_some()
            || !self.captures.is_empty()
            || self.keeps_cookies
            || self.grpc.is_some()
            || self.websocket.is_some()
    }

    /// Whether a timestamp is part of it.
    #[must_use]
    pub fn has_time(&self) -> bool {
        let is_signed = self
            .auth
            .as_ref()
            .is_some_and(|auth| auth.signing().is_some());
        is_signed || self.templates().any(Template::has_time)
    }
}

/// Whether a field says something of the content of its request.
fn describes_content(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("content-") || matches!(&*name, "digest" | "last-modified")
}

/// A request body.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// Text from the plan.
    Text(Template),
    /// Content of a file, read when the plan is checked and sent as it is.
    File(crate::File),
    /// Several parts, each a text or a file.
    Multipart(Arc<crate::Multipart>),
    /// The message of a gRPC call, without the prefix of five bytes that it is sent with.
    Message(Vec<crate::MessagePart<Template>>),
}

impl Body {
    /// Its texts.
    pub(crate) fn templates(&self) -> impl Iterator<Item = &Template> {
        let (text, parts) = match self {
            Body::Text(text) => (Some(text), None),
            Body::File(_) | Body::Message(_) => (None, None),
            Body::Multipart(parts) => (None, Some(parts)),
        };
        let message: &[MessagePart<Template>] = match self {
            Body::Message(message) => message,
            _ => &[],
        };
        let parts = parts.into_iter().flat_map(|parts| parts.templates());
        let texts = message.iter().flat_map(MessagePart::texts);
        text.into_iter().chain(parts).chain(texts)
    }

    /// Its files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &crate::File> {
        let (file, parts) = match self {
            Body::Text(_) | Body::Message(_) => (None, None),
            Body::File(file) => (Some(file), None),
            Body::Multipart(parts) => (None, Some(parts)),
        };
        let parts = parts.into_iter().flat_map(|parts| parts.files());
        file.into_iter().chain(parts)
    }
}
