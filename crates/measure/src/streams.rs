//! Answers that are streams of events: what a worker tells of them, and what is counted.

use crate::CellId;
use serde::{Deserialize, Serialize};

/// Events of one streamed answer that came with one read, instants in nanoseconds of the run
/// clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventsRead {
    /// The operation's cell.
    pub key: CellId,
    /// When the operation should have begun.
    pub intended_at: u64,
    /// First act for it.
    pub begun_at: u64,
    /// When the read returned that completed them: the instant of each of them.
    pub at: u64,
    /// The instant of the event before them; `None` if the first one of the answer is among them.
    pub previous_at: Option<u64>,
    /// How many there are; at least 1.
    pub number: u64,
}

/// How a streamed answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// The server ended it, with its end marker if the plan names one.
    Whole,
    /// The client gave up the rest, as the plan wants.
    Cut,
    /// The server ended it without the end marker that the plan names.
    Unmarked,
}

/// Counts of streamed answers; all zero if the plan has none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamCounts {
    /// Events that came, in the second in which they did, whatever became of their answers.
    pub events: u64,
    /// Those of them that came within the measured part, by their own instant.
    pub events_within: u64,
    /// Answers that the server ended, with the end marker if the plan names one.
    pub whole: u64,
    /// Answers that had all the events that the plan wants, after which the client gave up the
    /// rest.
    pub cut: u64,
    /// Answers that the server ended without the end marker that the plan names.
    pub unmarked: u64,
    /// Answers that ended without any event, a part of `whole` and `unmarked`.
    pub empty: u64,
}

impl StreamCounts {
    /// Adds every count of `other`.
    pub fn merge(&mut self, other: &StreamCounts) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.events, other.events);
        add(&mut self.events_within, other.events_within);
        add(&mut self.whole, other.whole);
        add(&mut self.cut, other.cut);
        add(&mut self.unmarked, other.unmarked);
        add(&mut self.empty, other.empty);
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == StreamCounts::default()
    }

    /// Counts an answer that ended so after `events` events.
    pub(crate) fn count_end(&mut self, end: StreamEnd, events: u64) {
        let ended = match end {
            StreamEnd::Whole => &mut self.whole,
            StreamEnd::Cut => &mut self.cut,
            StreamEnd::Unmarked => &mut self.unmarked,
        };
        *ended += 1;
        self.empty += u64::from(events == 0);
    }
}
