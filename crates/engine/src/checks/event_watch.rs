//! The events of one answer, and which of them have been told to the worker.

use super::event_scanner::EventScanner;
use measure::StreamEnd;
use plan::EventStream;
use std::sync::Arc;

/// Events of an answer that came with one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventBatch {
    /// How many there are; at least 1.
    pub(crate) number: u64,
    /// When the event before them came; `None` if the first one is among them.
    pub(crate) previous_at: Option<u64>,
}

/// The events of an answer under way.
#[derive(Debug)]
pub(crate) struct EventWatch {
    scanner: EventScanner,
    /// Events that were told, and when the last of them came.
    told: u64,
    told_at: Option<u64>,
}

impl EventWatch {
    pub(super) fn new(stream: &Arc<EventStream>) -> EventWatch {
        EventWatch {
            scanner: EventScanner::new(stream),
            told: 0,
            told_at: None,
        }
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.scanner.take(bytes);
    }

    pub(super) fn end(&mut self) {
        self.scanner.end();
    }

    /// Whether the end marker is missing, if the plan names one and wants the whole answer.
    pub(super) fn lacks_end(&self) -> bool {
        !self.scanner.is_full() && !self.scanner.is_ended()
    }

    /// Whether all the events have come that the plan wants.
    pub(crate) fn is_full(&self) -> bool {
        self.scanner.is_full()
    }

    /// Whether events have come that were not told.
    pub(crate) fn has_news(&self) -> bool {
        self.scanner.events() > self.told
    }

    /// Whether any event has come.
    pub(crate) fn has_begun(&self) -> bool {
        self.scanner.events() > 0
    }

    /// Tells the events that came with the read at `at`; `None` if there are none.
    pub(crate) fn tell(&mut self, at: u64) -> Option<EventBatch> {
        let number = self.scanner.events() - self.told;
        if number == 0 {
            return None;
        }
        self.told += number;
        let previous_at = self.told_at.replace(at);
        Some(EventBatch {
            number,
            previous_at,
        })
    }

    /// How the answer has ended, and after how many events.
    pub(crate) fn outcome(&self) -> (StreamEnd, u64) {
        let end = match self.scanner.is_full() {
            true => StreamEnd::Cut,
            false if self.lacks_end() => StreamEnd::Unmarked,
            false => StreamEnd::Whole,
        };
        (end, self.scanner.events())
    }
}
