//! What an ended operation leaves in its cell: counts, and every time that it has.

use super::{between, second_of};
use crate::hot::HotCell;
use crate::{Metric, Operation, OperationEnd, Outcome, Period, Window};

/// Counts the operation and records its times.
#[inline]
pub(super) fn record(cell: &mut HotCell, window: Window, operation: &Operation) {
    let outcome = operation.end.outcome();
    count_end(cell, operation);
    count_within(cell, window, outcome, operation);
    record_whole(cell, outcome, operation);
    record_opening(cell, outcome, operation);
    record_exchange(cell, outcome, operation);
}

#[inline]
fn count_end(cell: &mut HotCell, operation: &Operation) {
    match operation.end.outcome() {
        Outcome::Ok => cell.counters.ok += 1,
        Outcome::TimedOut => cell.counters.timed_out += 1,
        Outcome::Failed | Outcome::NotSent => cell.counters.failed += 1,
    }
    match &operation.end {
        OperationEnd::Ok => {}
        OperationEnd::OkUnconfirmed => cell.counters.unconfirmed += 1,
        OperationEnd::Failed(failure) => cell.failures.count(failure),
    }
    if let Some(status) = operation.status {
        cell.statuses.count(&status);
    }
    cell.counters.payload_bytes += operation.payload_bytes;
    cell.counters.last_done_at_ns = cell.counters.last_done_at_ns.max(operation.done_at);
}

/// What of it lies in the measured part, by instants.
#[inline]
fn count_within(cell: &mut HotCell, window: Window, outcome: Outcome, operation: &Operation) {
    let within = &mut cell.counters.within;
    let Operation {
        intended_at,
        begun_at,
        done_at,
        ..
    } = *operation;
    within.due_late += u64::from(window.contains(intended_at) && window.is_late(intended_at));
    if window.contains(done_at) {
        within.ended += 1;
        within.ok += u64::from(outcome == Outcome::Ok);
        within.payload_bytes += operation.payload_bytes;
        within.ended_late += u64::from(window.is_late(done_at));
    }
    // One that was due in the warm-up can have waited for a connection, and lie in it whole.
    let is_of_warm_up = operation.key.period == Period::WarmUp;
    if begun_at < window.from() || window.until() < done_at || is_of_warm_up {
        let part = window.part_of(begun_at, done_at);
        within.ended_parts += part;
        within.ok_parts += if outcome == Outcome::Ok { part } else { 0 };
    }
}

/// Times that every operation has.
#[inline]
fn record_whole(cell: &mut HotCell, outcome: Outcome, operation: &Operation) {
    let Operation {
        intended_at,
        noticed_at,
        begun_at,
        done_at,
        ..
    } = *operation;
    cell.response_times.record(
        outcome,
        second_of(intended_at),
        between(intended_at, done_at),
    );
    cell.record(outcome, Metric::ServiceTime, between(begun_at, done_at));
    if let Some(noticed_at) = noticed_at {
        cell.record(outcome, Metric::Lateness, between(intended_at, begun_at));
        cell.record(
            outcome,
            Metric::ScheduleDelay,
            between(intended_at, noticed_at),
        );
        if noticed_at < begun_at {
            cell.record(
                outcome,
                Metric::ConnectionWait,
                between(noticed_at, begun_at),
            );
        }
    }
}

/// Phases of an operation that opened its connection, as far as it came.
// Left to the compiler, its second caller, redirects, would cost every operation a call.
#[inline(always)]
pub(super) fn record_opening(cell: &mut HotCell, outcome: Outcome, operation: &Operation) {
    if let Some(ns) = operation.dns {
        cell.record(outcome, Metric::Dns, ns);
    }
    if let Some(ns) = operation.connect {
        cell.record(outcome, Metric::Connect, ns);
    }
    if let Some((kind, ns)) = operation.handshake {
        cell.record(outcome, kind.metric(), ns);
    }
    if let (Some((kind, ns)), Some(connect_ns)) = (operation.handshake, operation.connect)
        && let Some(metric) = kind.in_connects()
    {
        // A ratio in thousandths: histograms hold whole numbers.
        cell.record(outcome, metric, ns.saturating_mul(1000) / connect_ns.max(1));
    }
    if let Some(ready_at) = operation.ready_at {
        cell.record(
            outcome,
            Metric::Opening,
            between(operation.tried_at, ready_at),
        );
    }
}

/// Phases of request and response, as far as they came.
#[inline]
fn record_exchange(cell: &mut HotCell, outcome: Outcome, operation: &Operation) {
    let Operation {
        sent_at,
        written_at,
        first_byte_at,
        done_at,
        ..
    } = *operation;
    if let (Some(sent_at), Some(written_at)) = (sent_at, written_at) {
        cell.record(outcome, Metric::Send, between(sent_at, written_at));
    }
    if let (Some(sent_at), Some(first_byte_at)) = (sent_at, first_byte_at) {
        cell.record(outcome, Metric::FirstByte, between(sent_at, first_byte_at));
    }
    if let Some(first_byte_at) = first_byte_at {
        cell.record(outcome, Metric::Receive, between(first_byte_at, done_at));
    }
    if operation.ready_at.is_some() || sent_at.is_some() {
        cell.record(
            outcome,
            Metric::Processing,
            between(operation.ready_at.unwrap_or(operation.tried_at), done_at),
        );
    }
}
