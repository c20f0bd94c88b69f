//! Reads `request.stream`: an answer that is a stream of events.

use crate::read::field::Field;
use crate::read::section::PlanSection;
use crate::{EventFormat, EventStream, Expect};
use std::ops::RangeInclusive;

const MAX_END_BYTES: usize = 4096;
const CUT_AFTER: RangeInclusive<u32> = 1..=1_000_000_000;

/// Paths of `stream`, without indices.
pub(crate) const KEYS: &[&str] = &[
    "request.stream",
    "request.stream.events",
    "request.stream.end",
    "request.stream.cut_after",
];

/// Reads the stream that a request with this method and these expectations is answered with; `None`
/// if the request's section has none.
pub(crate) fn of_request(
    request: &PlanSection<'_>,
    method: &str,
    expect: &Expect,
) -> Option<EventStream> {
    request.read("stream", |field| {
        let section = field.section()?;
        let stream = read(&section, method, expect);
        section.finish();
        Some(stream)
    })
}

/// Reads the stream that a gRPC call is answered with: its messages. `is_streamed` says whether the
/// method has one; without descriptors, it has if the request's section says so.
pub(crate) fn of_call(request: &PlanSection<'_>, is_streamed: Option<bool>) -> Option<EventStream> {
    let cut_after = request.read("stream", |field| {
        if is_streamed == Some(false) {
            field.problem("has no meaning for this method, which has one answer; remove it");
        }
        let section = field.section()?;
        section.refuse(
            &["events", "end"],
            "is for texts, and a gRPC call is answered with messages and a status; remove it",
        );
        let cut_after = section.read("cut_after", |field| field.whole32(CUT_AFTER));
        section.finish();
        Some(cut_after)
    });
    let is_streamed = is_streamed.unwrap_or(cut_after.is_some());
    is_streamed.then(|| EventStream {
        events: None,
        end: None,
        cut_after: cut_after.flatten(),
    })
}

fn read(section: &PlanSection<'_>, method: &str, expect: &Expect) -> EventStream {
    if method == "HEAD" {
        section.problem(
            "has no meaning for HEAD, whose answer has no body; remove it, or write method = \
             \"GET\"",
        );
    }
    let events = section.read("events", |field| field.choice::<EventFormat>());
    if !section.has("events") {
        section.problem_at("events", "is missing; write \"sse\" or \"lines\"");
    }
    let events = events.unwrap_or(EventFormat::Sse);
    let end = section.read("end", |field| end(&field, events));
    let cut_after = section.read("cut_after", |field| field.whole32(CUT_AFTER));
    if cut_after.is_some() && expect.looks_at_body() {
        section.problem_at(
            "cut_after",
            "gives up the rest of an answer, whose body request.expect is to check; remove one of \
             them",
        );
    }
    EventStream {
        events: Some(events),
        end,
        cut_after,
    }
}

/// The data of an event, which an answer can have in this format.
fn end(field: &Field<'_>, events: EventFormat) -> Option<String> {
    let text = field.text("the data of the last event, such as \"[DONE]\"")?;
    let is_blank = events == EventFormat::Lines && text.trim_ascii() != text;
    if text.is_empty() || text.len() > MAX_END_BYTES {
        field.refuse(format_args!(
            "has {} bytes; write 1 to {MAX_END_BYTES}, such as \"[DONE]\"",
            text.len()
        ));
    } else if text.contains('\r') || (events == EventFormat::Lines && text.contains('\n')) {
        field.refuse("has a line end, which the data of an event cannot have; write one line");
    } else if is_blank {
        field.refuse("has spaces around, which are not part of a line's data; write it without");
    } else {
        return Some(text.to_owned());
    }
    None
}
