//! Reads `request.expect`: statuses, the body's length, and checks of header fields and body.

use crate::expect::COMPARISONS;
use crate::read::field::Field;
use crate::read::header::is_token;
use crate::read::node::NodeValue;
use crate::read::section::PlanSection;
use crate::{Check, CheckPlace, Expect, Pattern, Relation, StatusSet, ValueTest, mask, status_set};
use measure::GrpcStatus;
use std::ops::RangeInclusive;

/// Most bytes of a text that is looked for.
const MAX_TEXT_BYTES: usize = 4096;
const MAX_NAME_BYTES: usize = 256;
/// Most names of a table of checks; all requests together may have as many checks.
const MAX_NAMED: usize = 1000;
const BODY_BYTES: RangeInclusive<u64> = 0..=1 << 40;

/// Paths of `expect`, without indices.
pub(crate) const KEYS: &[&str] = &[
    "request.expect",
    "request.expect.status",
    "request.expect.bytes",
    "request.expect.bytes.min",
    "request.expect.bytes.max",
    "request.expect.headers",
    "request.expect.contains",
    "request.expect.matches",
    "request.expect.json",
    "request.expect.grpc_status",
];

/// Reads the expectations of a request with this method.
pub(crate) fn read(section: PlanSection<'_>, method: &str) -> Expect {
    let status = section.read("status", statuses).unwrap_or_default();
    let bytes = section.read("bytes", bytes);
    let grpc_status = section
        .read("grpc_status", grpc_statuses)
        .unwrap_or_default();
    let mut checks = Vec::new();
    if let Some(headers) = section.read("headers", |field| field.section()) {
        by_name(&headers, &mut checks, header_name);
    }
    checks.extend(of_body(&section, "contains", |field| {
        needle(field).map(ValueTest::Contains)
    }));
    checks.extend(of_body(&section, "matches", |field| {
        pattern(field).map(ValueTest::Matches)
    }));
    if let Some(json) = section.read("json", |field| field.section()) {
        by_name(&json, &mut checks, json_pointer);
    }
    if method == "HEAD" {
        let why = "has no meaning for HEAD, whose answer has no body; remove it, or write method = \
                   \"GET\"";
        section.refuse(&["contains", "matches", "json"], why);
        if bytes.as_ref().is_some_and(|bytes| !bytes.contains(&0)) {
            section.refuse(&["bytes"], why);
        }
    }
    section.finish();
    Expect {
        status,
        bytes,
        checks,
        grpc_status,
    }
}

/// Statuses of gRPC by name or code, in order and each once.
fn grpc_statuses(field: Field<'_>) -> Option<Vec<GrpcStatus>> {
    let mut statuses = field.list_of("one such as [\"ok\", \"not_found\"]", grpc_status)?;
    if statuses.is_empty() {
        field.problem(
            "[] expects no status at all; write one such as [\"ok\"], or leave it out for ok alone",
        );
        return None;
    }
    statuses.sort_unstable();
    statuses.dedup();
    Some(statuses)
}

fn grpc_status(field: &Field<'_>) -> Option<GrpcStatus> {
    let example = "a status such as \"not_found\"";
    let status = match field.node.value {
        NodeValue::Whole(code) => {
            let code = u64::try_from(code).ok();
            code.and_then(|code| GrpcStatus::all().find(|status| u64::from(status.code()) == code))
        }
        // As gRPC itself writes them, they are in capitals.
        _ => GrpcStatus::named(&field.text(example)?.to_ascii_lowercase()),
    };
    if status.is_none() {
        let names: Vec<&str> = GrpcStatus::all().map(GrpcStatus::name).collect();
        field.refuse(format_args!(
            "is no status of gRPC; write one of {}, or its code",
            names.join(", ")
        ));
    }
    status
}

fn statuses(field: Field<'_>) -> Option<StatusSet> {
    let ranges = field.list_of("one such as [\"2xx\", 404]", status)?;
    if ranges.is_empty() {
        field.problem(
            "[] expects no status at all; write one such as [\"2xx\"], or leave it out for all \
             below 400",
        );
        return None;
    }
    Some(StatusSet::new(ranges))
}

fn status(field: &Field<'_>) -> Option<(u16, u16)> {
    let range = match field.node.value {
        NodeValue::Whole(number) => status_set::range(&number.to_string()),
        _ => status_set::range(field.text("a status such as 404 or \"2xx\"")?),
    };
    if range.is_none() {
        field.refuse(
            "is not a status or a range of them; write one such as 404, \"2xx\" or \"200-299\"",
        );
    }
    range
}

/// An exact length, or the least and the most.
fn bytes(field: Field<'_>) -> Option<RangeInclusive<u64>> {
    let NodeValue::Table(_) = field.node.value else {
        return field.whole(BODY_BYTES).map(|bytes| bytes..=bytes);
    };
    let section = field.section()?;
    let bound = |key| section.read(key, |field| field.whole(BODY_BYTES));
    let min = bound("min").unwrap_or(*BODY_BYTES.start());
    let max = bound("max").unwrap_or(*BODY_BYTES.end());
    section.finish();
    if min > max {
        field.problem(format_args!(
            "min = {min} is above max = {max}, so no body fits; write them the other way round"
        ));
        return None;
    }
    Some(min..=max)
}

/// Reads a text, or a list of them, as tests of the body.
fn of_body<'a>(
    section: &PlanSection<'a>,
    key: &'static str,
    read: impl Fn(&Field<'a>) -> Option<ValueTest>,
) -> Vec<Check> {
    let tests = section.read(key, |field| match field.node.value {
        NodeValue::List(_) => field.list_of("a text or a list of texts", read),
        _ => read(&field).map(|test| vec![test]),
    });
    let check = |test| Check {
        place: CheckPlace::Body,
        test,
    };
    tests.unwrap_or_default().into_iter().map(check).collect()
}

/// Reads the tests of a table whose keys are names of values.
fn by_name(
    section: &PlanSection<'_>,
    checks: &mut Vec<Check>,
    place: fn(&str, &Field<'_>) -> Option<CheckPlace>,
) {
    let fields = section.all();
    if fields.len() > MAX_NAMED {
        section.problem(format_args!(
            "has {} names; write at most {MAX_NAMED}",
            fields.len()
        ));
        return;
    }
    for (name, field) in fields {
        let place = place(name, &field);
        // Its tests are read even so, to report every problem.
        let tests = tests(&field, matches!(place, Some(CheckPlace::Header(_))));
        let Some(place) = place else { continue };
        if checks.iter().any(|check| check.place == place) {
            field.problem("given twice: header names are not case-sensitive; write one of them");
            continue;
        }
        checks.extend(tests.into_iter().map(|test| Check {
            place: place.clone(),
            test,
        }));
    }
}

fn header_name(name: &str, field: &Field<'_>) -> Option<CheckPlace> {
    if !is_token(name) || name.len() > MAX_NAME_BYTES {
        field.problem(
            "is not a header name (RFC 9110 §5.1); write letters, digits and hyphens, such as \
             content-type",
        );
    } else if mask::is_secret_key(name) {
        field.problem(
            "is a header of requests that saved plans mask, and answers do not have it; remove it",
        );
    } else {
        return Some(CheckPlace::Header(name.to_ascii_lowercase()));
    }
    None
}

fn json_pointer(name: &str, field: &Field<'_>) -> Option<CheckPlace> {
    if !is_json_pointer(name) || name.len() > MAX_TEXT_BYTES {
        field.problem(
            "is not a JSON pointer (RFC 6901); write one such as \"/items/0/id\", with ~1 for / \
             and ~0 for ~ within a name",
        );
    } else if mask::is_secret_key(name) {
        field.problem(
            "ends like the name of a secret header, which saved plans mask; check a value above it",
        );
    } else {
        return Some(CheckPlace::Json(name.to_owned()));
    }
    None
}

/// Whether `text` is a JSON pointer (RFC 6901 §3).
pub(crate) fn is_json_pointer(text: &str) -> bool {
    let is_escaped = |part: &str| part.starts_with(['0', '1']);
    let is_pointer = text.is_empty() || text.starts_with('/');
    is_pointer && text.split('~').skip(1).all(is_escaped)
}

/// A value that must be equal, or a table with other tests.
fn tests(field: &Field<'_>, is_header: bool) -> Vec<ValueTest> {
    let equal = match &field.node.value {
        NodeValue::Table(_) => return other_tests(field),
        // A header field is a text, whatever it looks like.
        _ if is_header && field.node.variable.is_some() => {
            text(field).map(|text| ValueTest::Text(text.to_owned()))
        }
        NodeValue::Whole(number) => Some(ValueTest::Whole(*number)),
        NodeValue::Decimal(_) => limit(field).map(ValueTest::Decimal),
        NodeValue::Flag(flag) if !is_header => Some(ValueTest::Flag(*flag)),
        NodeValue::Text(_) => text(field).map(|text| ValueTest::Text(text.to_owned())),
        _ => {
            field.wrong_type(
                "a value to compare with",
                "a text or a number, or a table such as { present = true }, { contains = \"a\" }, \
                 { matches = \"^a\" } or { min = 1 }",
            );
            None
        }
    };
    equal.into_iter().collect()
}

fn other_tests(field: &Field<'_>) -> Vec<ValueTest> {
    let Some(section) = field.section() else {
        return Vec::new();
    };
    let mut tests = Vec::new();
    let present = section.read("present", |field| field.flag());
    tests.extend(present.map(|present| match present {
        true => ValueTest::Present,
        false => ValueTest::Absent,
    }));
    let contains = section.read("contains", |field| needle(&field));
    tests.extend(contains.map(ValueTest::Contains));
    let matches = section.read("matches", |field| pattern(&field));
    tests.extend(matches.map(ValueTest::Matches));
    for (key, relation) in COMPARISONS {
        let limit = section.read(key, |field| limit(&field));
        tests.extend(limit.map(|limit| ValueTest::Compares(relation, limit)));
    }
    if section.all().is_empty() {
        section.problem(
            "tests nothing; write at least one of present, contains, matches, min, max, above and \
             below",
        );
    } else if present == Some(false) && tests.len() > 1 {
        section.problem("has tests of a value that must not be there; remove present, or the rest");
    } else if !has_room(&tests) {
        section.problem("no number passes all of these; write bounds that leave room between them");
    }
    section.finish();
    tests
}

/// Whether some number passes every comparison.
fn has_room(tests: &[ValueTest]) -> bool {
    let comparisons = || {
        tests.iter().filter_map(|test| match test {
            ValueTest::Compares(relation, limit) => Some((*relation, *limit)),
            _ => None,
        })
    };
    // A bound itself passes, or else what lies just within it.
    let mut candidates = comparisons().flat_map(|(relation, limit)| match relation {
        Relation::AtLeast | Relation::AtMost => [limit, limit],
        Relation::Above | Relation::Below => [limit.next_up(), limit.next_down()],
    });
    comparisons().next().is_none()
        || candidates
            .any(|number| comparisons().all(|(relation, limit)| relation.holds(number, limit)))
}

fn limit(field: &Field<'_>) -> Option<f64> {
    let limit = field.number("a number such as 1 or 0.5")?;
    if !limit.is_finite() {
        field.refuse("cannot be compared with; write a number such as 1 or 0.5");
        return None;
    }
    Some(limit)
}

/// A text that is looked for, which cannot be empty.
fn needle(field: &Field<'_>) -> Option<String> {
    let text = text(field)?;
    if text.is_empty() {
        field.refuse("is in every text; write what must be there");
        return None;
    }
    Some(text.to_owned())
}

fn pattern(field: &Field<'_>) -> Option<Pattern> {
    let text = text(field)?;
    if text.is_empty() {
        field.refuse("has a match in every text; write what must be there");
        return None;
    }
    Pattern::new(text).map_err(|why| field.refuse(why)).ok()
}

fn text<'a>(field: &Field<'a>) -> Option<&'a str> {
    let text = field.text("the text in quotes")?;
    if text.len() > MAX_TEXT_BYTES {
        field.refuse(format_args!(
            "has {} bytes; write at most {MAX_TEXT_BYTES}",
            text.len()
        ));
        return None;
    }
    let placeholders = ["{user}", "{seq}", "{random}"];
    if let Some(placeholder) = placeholders.iter().find(|&&word| text.contains(word)) {
        field.context.note(format!(
            "{}: {placeholder} is looked for as written: only requests have placeholders",
            field.path
        ));
    }
    Some(text)
}
