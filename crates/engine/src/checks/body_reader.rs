//! What reads a body without its content coding: the search of its checks, and its events.

use super::AnswerChecks;
use super::body_search::BodySearch;
use super::event_watch::EventWatch;
use measure::Kind;
use std::io;
use std::sync::Arc;

/// The readers of a body.
#[derive(Debug)]
pub(super) struct BodyReader {
    search: BodySearch,
    /// What reads the events, if the answer is a stream of them.
    pub(super) events: Option<EventWatch>,
}

impl BodyReader {
    /// Reads the body of an answer, which is a stream of events if it `is_streamed`.
    pub(super) fn new(checks: &Arc<AnswerChecks>, is_streamed: bool) -> BodyReader {
        let stream = checks.stream.as_ref().filter(|_| is_streamed);
        BodyReader {
            search: BodySearch::new(checks),
            events: stream.map(EventWatch::new),
        }
    }

    /// The body, if it was kept.
    pub(super) fn whole_body(&self) -> &[u8] {
        self.search.whole_body()
    }

    /// The texts found in a page, by the captures that take attributes of its elements.
    pub(super) fn take_html(&mut self) -> Vec<Vec<Vec<u8>>> {
        self.search.take_html()
    }

    /// Whether nothing that follows can change the outcome.
    pub(super) fn is_over(&self) -> bool {
        let is_over = |events: &EventWatch| events.is_full();
        self.search.is_over() && self.events.as_ref().is_none_or(is_over)
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.search.take(bytes);
        if let Some(events) = &mut self.events {
            events.take(bytes);
        }
    }

    /// The body is whole: returns what it fails by, `None` if it passes.
    pub(super) fn end(&mut self) -> Option<Kind> {
        if let Some(events) = &mut self.events {
            events.end();
        }
        let lacks_end = |events: &EventWatch| events.lacks_end();
        let lacks_end = self.events.as_ref().is_some_and(lacks_end);
        let failure = self.search.end();
        failure.or(lacks_end.then_some(Kind::NoEndMarker))
    }
}

/// A decoder writes the body as it decodes it.
impl io::Write for BodyReader {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.take(bytes);
        if self.is_over() {
            // Stops the decoder in the midst of what it could make of its input.
            return Err(io::ErrorKind::Other.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
