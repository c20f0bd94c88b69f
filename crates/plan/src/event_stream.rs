//! An answer that is a stream of events: how they are told apart, and where the stream ends.

use crate::words::words;
use crate::{Words as _, quote};

/// How the events of an answer are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventStream {
    /// What separates events; `None` if they are the messages of a gRPC answer.
    pub events: Option<EventFormat>,
    /// Data of the event that marks the end of the stream. The marker is no event itself, and an
    /// answer that ends without it fails. `None` if any end is right.
    pub end: Option<String>,
    /// Number of events after which the client gives up the rest of the answer; at least 1. `None`
    /// if it reads all of it.
    pub cut_after: Option<u32>,
}

/// What separates the events of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventFormat {
    /// Server-sent events (WHATWG HTML, section 9.2): each ends with an empty line.
    Sse,
    /// Each line that is not blank is an event, as in NDJSON and JSON lines.
    Lines,
}

words!(EventFormat { Sse => "sse", Lines => "lines" });

impl EventStream {
    /// The canonical text: an inline table.
    pub(crate) fn canonical(&self) -> String {
        let events = self.events;
        let events = events.map(|events| format!("events = {}", quote(events.word())));
        let end = self.end.as_ref().map(|end| format!("end = {}", quote(end)));
        let cut = self.cut_after.map(|events| format!("cut_after = {events}"));
        let fields: Vec<String> = [events, end, cut].into_iter().flatten().collect();
        format!("{{ {} }}", fields.join(", "))
    }
}
