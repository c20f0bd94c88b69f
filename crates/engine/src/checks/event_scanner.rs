//! Finds the events of a body that comes in pieces. Keeps none of it.

use memchr::{memchr, memchr2};
use plan::{EventFormat, EventStream};
use std::sync::Arc;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
const DATA: &[u8] = b"data";

/// What has been found so far, and where in a line the next byte stands.
#[derive(Debug)]
pub(super) struct EventScanner {
    stream: Arc<EventStream>,
    place: LinePlace,
    /// The last byte was a CR, so that an LF belongs to the same line end.
    follows_cr: bool,
    /// The event under way has data.
    has_data: bool,
    /// How much of the end marker the data is so far; `None` if it is something else.
    marker: Option<usize>,
    /// The last event was the end marker.
    is_marked: bool,
    events: u64,
}

/// A place within a line of server-sent events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinePlace {
    /// At the beginning of the body, after this many bytes of a byte order mark.
    Mark(usize),
    /// After this many bytes, all of them those of `data`.
    Name(usize),
    /// After `data:`, where a space is no data.
    Colon,
    Data,
    /// In a comment or another field.
    Skipped,
}

impl EventScanner {
    pub(super) fn new(stream: &Arc<EventStream>) -> EventScanner {
        EventScanner {
            stream: Arc::clone(stream),
            place: LinePlace::Mark(0),
            follows_cr: false,
            has_data: false,
            marker: Some(0),
            is_marked: false,
            events: 0,
        }
    }

    /// Events so far, without end markers.
    pub(super) fn events(&self) -> u64 {
        self.events
    }

    /// Whether the last event was the end marker, if the plan names one.
    pub(super) fn is_ended(&self) -> bool {
        self.is_marked || self.stream.end.is_none()
    }

    /// Whether it has found all the events that the plan wants.
    pub(super) fn is_full(&self) -> bool {
        let wanted = self.stream.cut_after.map(u64::from);
        wanted.is_some_and(|wanted| self.events >= wanted)
    }

    /// Scans the next bytes of the body, up to the last event that the plan wants.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() && !self.is_full() {
            rest = match self.is_of_lines() {
                true => self.take_line(rest),
                false => self.take_field(rest),
            };
        }
    }

    /// The body is whole: a last line without a line end counts, an event without an empty line
    /// behind it does not (WHATWG HTML §9.2.6).
    pub(super) fn end(&mut self) {
        if self.is_of_lines() && !self.is_full() {
            self.dispatch();
        }
    }

    /// Whether events are lines; otherwise they are server-sent events.
    fn is_of_lines(&self) -> bool {
        self.stream.events == Some(EventFormat::Lines)
    }

    /// Takes a part of a line, or its end. Returns what follows.
    fn take_line<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let end = memchr(b'\n', bytes);
        let text = &bytes[..end.unwrap_or(bytes.len())];
        let text = match self.has_data {
            true => text,
            false => text.trim_ascii_start(),
        };
        if !text.is_empty() {
            self.has_data = true;
            self.take_data(text);
        }
        let Some(end) = end else { return &[] };
        self.dispatch();
        &bytes[end + 1..]
    }

    /// Takes a part of a field of server-sent events, or the end of its line. Returns what follows.
    fn take_field<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let follows_cr = std::mem::take(&mut self.follows_cr);
        let (byte, after) = (bytes[0], &bytes[1..]);
        if matches!(byte, b'\r' | b'\n') {
            if !(follows_cr && byte == b'\n') {
                self.end_line();
            }
            self.follows_cr = byte == b'\r';
            return after;
        }
        self.place = match self.place {
            LinePlace::Mark(2) if byte == BYTE_ORDER_MARK[2] => LinePlace::Name(0),
            LinePlace::Mark(taken) if byte == BYTE_ORDER_MARK[taken] => LinePlace::Mark(taken + 1),
            LinePlace::Mark(0) | LinePlace::Name(0) if byte == DATA[0] => LinePlace::Name(1),
            LinePlace::Name(4) if byte == b':' => {
                self.begin_data();
                LinePlace::Colon
            }
            LinePlace::Name(taken) if DATA.get(taken) == Some(&byte) => LinePlace::Name(taken + 1),
            LinePlace::Mark(_) | LinePlace::Name(_) => LinePlace::Skipped,
            LinePlace::Colon if byte == b' ' => LinePlace::Data,
            LinePlace::Colon | LinePlace::Data => {
                let length = memchr2(b'\r', b'\n', bytes).unwrap_or(bytes.len());
                self.take_data(&bytes[..length]);
                self.place = LinePlace::Data;
                return &bytes[length..];
            }
            LinePlace::Skipped => {
                let length = memchr2(b'\r', b'\n', bytes).unwrap_or(bytes.len());
                return &bytes[length..];
            }
        };
        after
    }

    /// A line of server-sent events has ended.
    fn end_line(&mut self) {
        match self.place {
            LinePlace::Mark(0) | LinePlace::Name(0) => self.dispatch(),
            LinePlace::Name(4) => self.begin_data(), // a field without a colon has no value
            _ => {}
        }
        self.place = LinePlace::Name(0);
    }

    /// A data field begins. Several of an event are joined by line feeds.
    fn begin_data(&mut self) {
        if std::mem::replace(&mut self.has_data, true) {
            self.take_data(b"\n");
        }
    }

    /// Compares the next bytes of the event's data with the end marker.
    fn take_data(&mut self, bytes: &[u8]) {
        let (Some(end), Some(taken)) = (&self.stream.end, self.marker) else {
            return;
        };
        let expected = &end.as_bytes()[taken..];
        let (same, beyond) = bytes.split_at(expected.len().min(bytes.len()));
        // What a line has beyond may be the CR of its end.
        let is_beyond_blank = match self.is_of_lines() {
            true => beyond.trim_ascii().is_empty(),
            false => beyond.is_empty(),
        };
        let is_marker = expected.starts_with(same) && is_beyond_blank;
        self.marker = is_marker.then_some(taken + same.len());
    }

    /// Counts the event under way, if it has data: without, it is none.
    fn dispatch(&mut self) {
        if std::mem::take(&mut self.has_data) {
            let end = self.stream.end.as_ref().map(String::len);
            self.is_marked = end.is_some() && end == self.marker;
            self.events += u64::from(!self.is_marked);
        }
        self.marker = Some(0);
    }
}

#[cfg(test)]
mod tests;
