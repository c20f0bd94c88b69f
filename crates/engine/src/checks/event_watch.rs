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
    found: FoundEvents,
    /// Events that were told, and when the last of them came.
    told: u64,
    told_at: Option<u64>,
}

/// Where events are found.
#[derive(Debug)]
enum FoundEvents {
    /// In text, by what separates them.
    InText(EventScanner),
    /// Elsewhere, which counts them, up to the number that is wanted.
    Counted { events: u64, wanted: Option<u64> },
}

impl EventWatch {
    /// The events of a text.
    pub(super) fn new(stream: &Arc<EventStream>) -> EventWatch {
        EventWatch::new_with(FoundEvents::InText(EventScanner::new(stream)))
    }

    /// Messages as events, with [`EventWatch::count`] for their number.
    pub(super) fn of_messages(cut_after: Option<u32>) -> EventWatch {
        EventWatch::new_with(FoundEvents::Counted {
            events: 0,
            wanted: cut_after.map(u64::from),
        })
    }

    fn new_with(found: FoundEvents) -> EventWatch {
        EventWatch {
            found,
            told: 0,
            told_at: None,
        }
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        if let FoundEvents::InText(scanner) = &mut self.found {
            scanner.take(bytes);
        }
    }

    /// There are `number` events by now.
    pub(super) fn count(&mut self, number: u64) {
        if let FoundEvents::Counted { events, .. } = &mut self.found {
            *events = number;
        }
    }

    pub(super) fn end(&mut self) {
        if let FoundEvents::InText(scanner) = &mut self.found {
            scanner.end();
        }
    }

    /// Number of events that are wanted, if they are counted and not all are.
    pub(super) fn wanted(&self) -> Option<u64> {
        match &self.found {
            FoundEvents::InText(_) => None,
            FoundEvents::Counted { wanted, .. } => *wanted,
        }
    }

    /// Whether the end marker is missing, if the plan names one and wants the whole answer.
    pub(super) fn lacks_end(&self) -> bool {
        match &self.found {
            FoundEvents::InText(scanner) => !scanner.is_full() && !scanner.is_ended(),
            FoundEvents::Counted { .. } => false,
        }
    }

    /// Whether all the events have come that the plan wants.
    pub(crate) fn is_full(&self) -> bool {
        match &self.found {
            FoundEvents::InText(scanner) => scanner.is_full(),
            FoundEvents::Counted { events, wanted } => wanted.is_some_and(|all| *events >= all),
        }
    }

    fn events(&self) -> u64 {
        match &self.found {
            FoundEvents::InText(scanner) => scanner.events(),
            FoundEvents::Counted { events, .. } => *events,
        }
    }

    /// Whether events have come that were not told.
    pub(crate) fn has_news(&self) -> bool {
        self.events() > self.told
    }

    /// Whether any event has come.
    pub(crate) fn has_begun(&self) -> bool {
        self.events() > 0
    }

    /// Tells the events that came with the read at `at`; `None` if there are none.
    pub(crate) fn tell(&mut self, at: u64) -> Option<EventBatch> {
        let number = self.events() - self.told;
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
        let end = match self.is_full() {
            true => StreamEnd::Cut,
            false if self.lacks_end() => StreamEnd::Unmarked,
            false => StreamEnd::Whole,
        };
        (end, self.events())
    }
}
