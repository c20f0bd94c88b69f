//! Reads `[[request]]` of a plan that replays a log: what recorded requests of a method have beside
//! what the log says of them.

use crate::read::auth;
use crate::read::aws;
use crate::read::body_transfer;
use crate::read::event_stream;
use crate::read::expect;
use crate::read::field::Field;
use crate::read::header;
use crate::read::method::method;
use crate::read::section::PlanSection;
use crate::request::MAX_NAME_CHARS;
use crate::{CheckPlace, Replay, Request};

const FROM_LOG: &str = "comes from the log with [replay]; remove it";

const NOT_REPLAYED: &str =
    "does not go with [replay], whose log has no messages of gRPC; remove it";

const BODY_AT_ONCE: &str = "does not go with [replay], whose bodies are sent at once and with \
                            their length; remove it";

/// Each request that a redirect led to stands in the log by itself.
const HOPS_IN_LOG: &str = "would send twice what a redirect led to, since the log has that request \
                           too; remove it";

/// Reads one entry. Without a method it is for all methods that have no entry of their own.
pub(crate) fn one(section: &PlanSection<'_>) -> Option<Request> {
    section.refuse(
        &[
            "weight",
            "path",
            "body",
            "body_file",
            "form",
            "json",
            "multipart",
        ],
        FROM_LOG,
    );
    section.refuse(&["grpc"], NOT_REPLAYED);
    section.refuse(&["redirects"], HOPS_IN_LOG);
    section.refuse(&body_transfer::KEYS, BODY_AT_ONCE);
    let method = section.read("method", method);
    let headers = section.read("headers", |field| field.section().map(header::all));
    let headers = headers.unwrap_or_default();
    let auth = section.read("auth", |field| auth::of_request(&field, &headers));
    let expect = section.section("expect")?;
    let answered = method.as_deref().unwrap_or("GET");
    let expect = expect::read(expect, answered);
    let stream = event_stream::of_request(section, answered, &expect);
    let request = Request {
        headers,
        auth,
        expect,
        stream,
        ..Request::of_method(&method.unwrap_or_default())
    };
    aws::check_replayed(section, &request);
    Some(request)
}

/// A request for each method of the log, as `given` says; `None` if that is wrong and was reported.
pub(crate) fn of_methods(
    fields: &[Field<'_>],
    given: Vec<Request>,
    replay: &Replay,
) -> Option<Vec<Request>> {
    let mut is_right = true;
    for (index, request) in given.iter().enumerate() {
        let same = |other: &Request| other.method == request.method;
        if let Some(first) = given[..index].iter().position(same) {
            let what = if request.method.is_empty() {
                "is without a method, as"
            } else {
                "is for the method of"
            };
            fields[index].problem(format_args!(
                "{what} request[{first}]; with [replay], write one entry for each method"
            ));
            is_right = false;
        }
    }
    let methods = replay.arrivals.methods();
    if methods.is_empty() {
        return is_right.then_some(given); // the file is not at hand
    }
    for (field, request) in fields.iter().zip(&given) {
        if !request.method.is_empty() && !methods.contains(&request.method) {
            field.problem(format_args!(
                "is for {}, and the log has no such request in the part that is replayed; write \
                 one of its methods ({}), or remove the entry",
                request.method,
                methods.join(", ")
            ));
            is_right = false;
        }
    }
    let of_method = |method: &String| {
        let own = given.iter().find(|request| request.method == **method);
        let any = given.iter().find(|request| request.method.is_empty());
        match (own, any) {
            (Some(own), _) => own.clone(),
            (None, Some(any)) => for_method(any, method, methods.len() == 1),
            (None, None) => for_method(&Request::of_method(method), method, true),
        }
    };
    is_right.then(|| methods.iter().map(of_method).collect())
}

/// Reports methods whose requests have the same name. The names of entries differ.
pub(crate) fn check_names(fields: &[Field<'_>], requests: &[Request]) {
    for (index, request) in requests.iter().enumerate() {
        let is_long = request.name.chars().count() > MAX_NAME_CHARS;
        if let Some(field) = fields.first().filter(|_| is_long) {
            field.problem(format_args!(
                "gives requests of {} a name of more than {MAX_NAME_CHARS} characters, {:?}; write \
                 a shorter name",
                request.method, request.name
            ));
        }
        let same = |other: &&Request| other.name == request.name;
        let first = requests[..index].iter().find(same);
        if let (Some(first), Some(field)) = (first, fields.first()) {
            field.problem(format_args!(
                "gives requests of {} and {} the same name, {:?}; write another name",
                first.method, request.method, request.name
            ));
        }
    }
}

fn for_method(request: &Request, method: &str, is_only: bool) -> Request {
    let mut request = request.clone();
    method.clone_into(&mut request.method);
    request.name = match (request.name.is_empty(), is_only) {
        (true, _) => method.to_owned(),
        (false, true) => request.name,
        (false, false) => format!("{} {method}", request.name),
    };
    // Its answers have no body.
    if method == "HEAD" {
        request.stream = None;
        let of_header = |place: &CheckPlace| matches!(place, CheckPlace::Header(_));
        request
            .expect
            .checks
            .retain(|check| of_header(&check.place));
        let bytes = request.expect.bytes.take();
        request.expect.bytes = bytes.filter(|bytes| bytes.contains(&0));
    }
    request
}
