//! What events of a streamed answer leave in its cell.

use crate::hot::HotCell;
use crate::{EventsRead, Metric, Outcome, Window};

/// Records events. Each gap lies between two events that came, so it is known in full, whatever
/// becomes of the operation: its outcome is ok.
pub(super) fn record(cell: &mut HotCell, window: Window, read: &EventsRead) {
    let EventsRead {
        intended_at,
        begun_at,
        at,
        previous_at,
        number,
        ..
    } = *read;
    let is_within = window.contains(at);
    cell.streams.events += number;
    cell.streams.events_within += if is_within { number } else { 0 };
    match previous_at {
        Some(previous_at) => {
            let gap = at.saturating_sub(previous_at);
            cell.record(Outcome::Ok, Metric::EventGap, gap);
        }
        None => record_first(cell, Outcome::Ok, (intended_at, begun_at), at),
    }
    // Events of one read have one instant.
    cell.record_many(Outcome::Ok, Metric::EventGap, 0, number.saturating_sub(1));
}

/// Records how long the first event took that came `at`, or how long it was waited for in vain.
pub(super) fn record_first(
    cell: &mut HotCell,
    outcome: Outcome,
    (intended_at, begun_at): (u64, u64),
    at: u64,
) {
    let since = |instant: u64| at.saturating_sub(instant);
    cell.record(outcome, Metric::FirstEvent, since(intended_at));
    cell.record(outcome, Metric::FirstEventService, since(begun_at));
}
