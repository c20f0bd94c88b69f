//! Reads `[request]` and `[[request]]`.

use crate::read::auth;
use crate::read::aws;
use crate::read::body;
use crate::read::body_transfer;
use crate::read::capture;
use crate::read::columns;
use crate::read::context::Context;
use crate::read::event_stream;
use crate::read::expect;
use crate::read::field::Field;
use crate::read::grpc;
use crate::read::header;
use crate::read::method::method;
use crate::read::node::NodeValue;
use crate::read::replayed;
use crate::read::section::PlanSection;
use crate::read::template::template;
use crate::read::websocket;
use crate::request::MAX_NAME_CHARS;
use crate::{Close, HttpVersion, Replay, Request, RequestsPerConnection, Template, Url};
use measure::is_unprintable;

const MAX_REQUESTS: usize = 1000;
const MAX_WEIGHT: u32 = 10_000;
/// The engine distributes requests with a table that has an entry per unit of weight.
const MAX_WEIGHT_SUM: u32 = 1_000_000;
const MAX_CHECKS: usize = 1000;
/// As many as browsers follow.
const MAX_REDIRECTS: u32 = 20;

/// Settings elsewhere in the plan that are needed for reading requests.
#[derive(Clone, Copy)]
pub(crate) struct RequestContext<'u> {
    /// Names a request without a path.
    pub(crate) url: Option<&'u Url>,
    pub(crate) per_connection: RequestsPerConnection,
    /// The log that says what is requested, if the plan replays one; `Some(None)` if it is wrong
    /// and was reported.
    pub(crate) replay: Option<Option<&'u Replay>>,
    pub(crate) close: Close,
    pub(crate) http: HttpVersion,
}

/// Paths of `[request]`, without indices.
pub(crate) const KEYS: &[&str] = &[
    "request.name",
    "request.weight",
    "request.redirects",
    "request.method",
    "request.path",
    "request.headers",
    "request.auth",
    "request.body",
    "request.body_file",
    "request.form",
    "request.json",
    "request.multipart",
    "request.chunk_bytes",
    "request.expect_continue",
    "request.multipart.name",
    "request.multipart.text",
    "request.multipart.file",
    "request.multipart.filename",
    "request.multipart.type",
];

/// Reads all requests; a single one for the target's URL if none is given.
pub(crate) fn read<'a>(
    context: &'a Context<'a>,
    field: Option<Field<'a>>,
    rest: RequestContext<'_>,
) -> Option<Vec<Request>> {
    let fields = match &field {
        None if rest.replay.is_some() => Vec::new(),
        None => {
            return one(PlanSection::absent(context, "request"), rest).map(|request| vec![request]);
        }
        Some(field) if matches!(field.node.value, NodeValue::List(_)) => {
            field.list("[[request]]")?
        }
        Some(field) => vec![field.clone()],
    };
    if let Some(field) = field.as_ref().filter(|_| !count_is_right(&fields, rest)) {
        field.problem(format_args!(
            "has {} entries; write {}",
            fields.len(),
            right_count(rest)
        ));
        return None;
    }
    // All of them are read before the first wrong one ends it, so that every problem is reported.
    let requests: Vec<Option<Request>> = fields
        .iter()
        .map(|field| field.section().and_then(|section| one(section, rest)))
        .collect();
    let mut requests: Vec<Request> = requests.into_iter().collect::<Option<_>>()?;
    let names: Vec<&str> = requests
        .iter()
        .map(|request| request.name.as_str())
        .collect();
    let names_differ = check_names(&fields, ("request", &names));
    if let Some(replay) = rest.replay {
        requests = replayed::of_methods(&fields, requests, replay?)?;
        if names_differ {
            replayed::check_names(&fields, &requests);
        }
    }
    check_checks(&fields, &requests);
    check_weights(&fields, &requests);
    Some(requests)
}

fn count_is_right(fields: &[Field<'_>], rest: RequestContext<'_>) -> bool {
    let most = if rest.per_connection == RequestsPerConnection::HandshakeOnly {
        1
    } else {
        MAX_REQUESTS
    };
    (1..=most).contains(&fields.len())
}

fn right_count(rest: RequestContext<'_>) -> String {
    match rest.per_connection {
        RequestsPerConnection::HandshakeOnly => "at most one, since connection.requests = 0 sends \
                                                 none and takes only its name"
            .to_owned(),
        _ => format!("between 1 and {MAX_REQUESTS}"),
    }
}

fn check_weights(fields: &[Field<'_>], requests: &[Request]) {
    let sum: u32 = requests.iter().map(|request| request.weight).sum();
    if let Some(field) = fields.first().filter(|_| sum > MAX_WEIGHT_SUM) {
        field.problem(format_args!(
            "begins requests whose weights sum up to {sum}; divide them so that they sum up to at \
             most {MAX_WEIGHT_SUM}"
        ));
    }
}

/// Checks are counted one by one, in every cell of a result.
fn check_checks(fields: &[Field<'_>], requests: &[Request]) {
    let number: usize = requests
        .iter()
        .map(|request| request.expect.checks.len() + request.captures.len())
        .sum();
    if let Some(field) = fields.first().filter(|_| number > MAX_CHECKS) {
        field.problem(format_args!(
            "begins requests with {number} checks and captures; write at most {MAX_CHECKS} in all"
        ));
    }
}

/// Returns whether the names of entries of the section `of` differ; those that do not are reported.
pub(crate) fn check_names(fields: &[Field<'_>], (of, names): (&str, &[&str])) -> bool {
    let mut differ = true;
    for (index, name) in names.iter().enumerate() {
        if let Some(first) = names[..index].iter().position(|other| other == name) {
            fields[index].problem(format_args!(
                "has the name {name:?} of {of}[{first}]; give it a name of its own"
            ));
            differ = false;
        }
    }
    differ
}

fn one(section: PlanSection<'_>, rest: RequestContext<'_>) -> Option<Request> {
    let handshake_only = rest.per_connection == RequestsPerConnection::HandshakeOnly;
    let name = section.read("name", name);
    let request = if rest.replay.is_some() {
        replayed::one(&section)
    } else if handshake_only {
        only_named(&section)
    } else {
        request_to_send(&section, rest)
    };
    let request = request.map(|request| {
        let name = match name {
            Some(name) => name,
            None if rest.replay.is_some() => request.method.clone(),
            None => default_name(&request, rest),
        };
        Request { name, ..request }
    });
    section.finish();
    request
}

/// With `connection.requests = 0` nothing is sent, so only a name makes sense.
fn only_named(section: &PlanSection<'_>) -> Option<Request> {
    let why = "has no meaning with connection.requests = 0, which sends no request; remove it, or \
               write requests = 1";
    section.refuse(
        &[
            "weight",
            "redirects",
            "method",
            "path",
            "headers",
            "auth",
            "body",
            "body_file",
            "form",
            "json",
            "multipart",
            "chunk_bytes",
            "expect_continue",
            "expect",
            "stream",
            "grpc",
            "websocket",
            "capture",
        ],
        why,
    );
    Some(Request::of_method("GET"))
}

fn request_to_send(section: &PlanSection<'_>, rest: RequestContext<'_>) -> Option<Request> {
    let weight = section
        .read("weight", |field| field.whole32(1..=MAX_WEIGHT))
        .unwrap_or(1);
    let request = if section.has("websocket") {
        websocket::one(section, section.read("path", path), (rest.close, rest.http))
    } else if section.has("grpc") {
        grpc::one(section)
    } else {
        http_request(section, rest)
    };
    Some(Request { weight, ..request? })
}

/// Reads a request that is not a gRPC call.
fn http_request(section: &PlanSection<'_>, rest: RequestContext<'_>) -> Option<Request> {
    let method = section
        .read("method", method)
        .unwrap_or_else(|| "GET".to_owned());
    let path = section.read("path", path);
    let mut headers = section
        .read("headers", |field| field.section().map(header::all))
        .unwrap_or_default();
    let auth = section.read("auth", |field| auth::of_request(&field, &headers));
    let body = body::read(section, &mut headers);
    if body.is_some() && method == "TRACE" {
        section.problem_at(
            "method",
            "\"TRACE\" must not have a body (RFC 9110 §9.3.8); remove the body",
        );
    }
    let transfer = body_transfer::read(section, &headers, body.is_some());
    let redirects = section.read("redirects", |field| redirects(field, rest));
    let expect = section.section("expect")?;
    let expect = expect::read(expect, &method);
    if !expect.grpc_status.is_empty() {
        section.problem_at(
            "expect",
            "has grpc_status, which only gRPC calls have; write grpc, or remove it",
        );
    }
    let stream = event_stream::of_request(section, &method, &expect);
    let captures = capture::of_request(section, &method);
    let request = Request {
        name: String::new(),
        method,
        path,
        headers,
        auth,
        grpc: None,
        body,
        transfer,
        weight: 1,
        redirects: redirects.unwrap_or(0),
        expect,
        stream,
        websocket: None,
        captures,
        keeps_cookies: false, // until journeys are read
    };
    aws::check(section, &request, rest.url);
    Some(request)
}

/// A connection that the server is to close cannot carry the request that a redirect leads to, and
/// the wait for its end would be part of the operation's time.
fn redirects(field: Field<'_>, rest: RequestContext<'_>) -> Option<u8> {
    let most = field.whole32(0..=MAX_REDIRECTS)?;
    if most > 0 && rest.close == Close::Server {
        field.refuse(
            "cannot be followed with connection.close = \"server\", where an operation ends once \
             the server has closed; write close = \"fin\" or \"rst\", or remove redirects",
        );
        return None;
    }
    u8::try_from(most).ok()
}

/// Method and path, without the query.
fn default_name(request: &Request, rest: RequestContext<'_>) -> String {
    if rest.per_connection == RequestsPerConnection::HandshakeOnly {
        return "handshake".to_owned();
    }
    if let Some(grpc) = &request.grpc {
        return grpc.method.chars().take(MAX_NAME_CHARS).collect();
    }
    let path = match (&request.path, rest.url) {
        (Some(path), _) => path.to_string(),
        (None, Some(url)) => url.path.clone(),
        (None, None) => "/".to_owned(),
    };
    let path = path.split('?').next().unwrap_or_default();
    format!("{} {path}", request.method)
        .chars()
        .take(MAX_NAME_CHARS)
        .collect()
}

fn name(field: Field<'_>) -> Option<String> {
    // The name of a request without one comes from its path, with the names of secrets.
    let text = field.template_text("a name such as \"index\"")?;
    fit_name(&field, text)
}

/// The name `text` of `field`, if results can show it.
pub(crate) fn fit_name(field: &Field<'_>, text: &str) -> Option<String> {
    let fits = (1..=MAX_NAME_CHARS).contains(&text.chars().count())
        && !text.contains(is_unprintable)
        && text.trim() == text;
    if !fits {
        field.refuse(format_args!(
            "is not fit for a name; write 1 to {MAX_NAME_CHARS} characters without control \
             or bidirectional characters or spaces around"
        ));
    }
    fits.then(|| text.to_owned())
}

pub(crate) fn path(field: Field<'_>) -> Option<Template> {
    let text = field.template_text("a path such as \"/item/{seq}\"")?;
    let whole = field.reveal(text)?;
    let whole = whole.reveal();
    let is_column = field.context.names().begins_raw(text);
    if !whole.starts_with('/') && whole != "*" && !is_column {
        let cure = if text.contains("://") {
            "the scheme and host stand in target.url"
        } else {
            "it begins with \"/\""
        };
        field.refuse(format_args!(
            "is not a path: {cure}; write one such as \"/index.html\""
        ));
    } else if whole.contains('#') {
        field
            .refuse("has a fragment, which is never sent to a server; remove it from the \"#\" on");
    } else if let Some(character) = whole.chars().find(|c| !c.is_ascii_graphic()) {
        let shown = field.show_character(text, character);
        field.refuse(format_args!(
            "holds {shown}, which cannot stand in a path; write it percent-encoded"
        ));
    } else {
        let mut path = template(&field, text);
        columns::in_path(&field, &mut path);
        return Some(path);
    }
    None
}
