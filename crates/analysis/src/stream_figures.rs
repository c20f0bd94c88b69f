//! The figures of answers that are streams of events.

use crate::cell_tally::CellTally;
use crate::span::Span;
use serde::{Deserialize, Serialize};

/// Streamed answers, of requests with `request.stream`. Their times are `first_event`,
/// `first_event_service` and `event_gap`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamFigures {
    /// Events that came, whatever became of their answers; end markers are not among them.
    pub events: u64,
    /// Events per second of the measured part, by the instant of each.
    pub events_per_second: f64,
    /// Answers that the server ended, with the end marker if the plan names one.
    pub whole: u64,
    /// Answers that had all the events that the plan wants, after which the client gave up the
    /// rest.
    pub cut: u64,
    /// Answers that the server ended without the end marker that the plan names.
    pub unmarked: u64,
    /// Answers that ended without any event; part of `whole` and `unmarked`.
    pub empty: u64,
}

impl StreamFigures {
    pub(crate) fn new(tally: &CellTally, span: Span) -> StreamFigures {
        let measure::StreamCounts {
            events,
            events_within: _,
            whole,
            cut,
            unmarked,
            empty,
        } = tally.streams;
        StreamFigures {
            events,
            events_per_second: span.per_second(span.work(tally).events as f64),
            whole,
            cut,
            unmarked,
            empty,
        }
    }

    /// Returns whether there were no streamed answers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == StreamFigures::default()
    }
}
