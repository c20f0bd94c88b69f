//! Whether throughput stopped following the load: what shows a server's limit without a look at
//! the server.

use super::counted_seconds::measured;
use super::phases::{processing_share, stood_in_line};
use super::{LimitOf, RuleReading};
use crate::{Document, LoadRecord, human};

/// The load was at least so many times what was carried.
const BEYOND: f64 = 1.1;

/// What was carried rose by no more than this over the second half.
const RISE_MAX: f64 = 1.1;

/// At least this part of the service time went into waiting for the server.
const PROCESSING_MIN: f64 = 0.5;

pub(super) const RULE: &str = "throughput follows load";

/// What monitors say of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MonitorsSaw {
    /// None watched.
    Nothing,
    /// That it had room.
    Room,
    /// That something of it is used up, or nearly.
    NoRoom,
}

/// Of an open loop that went through its plan: what was due, and what was carried, in its second
/// half. `is_in_doubt` says that something else may stand behind it.
pub(super) fn reading(document: &Document, seen: MonitorsSaw, is_in_doubt: bool) -> RuleReading {
    let bound = "110 % of what was carried, which rises no more, in front of the server";
    let LoadRecord::Open {
        max_connections, ..
    } = document.plan.load
    else {
        return RuleReading::unknown(RULE, LimitOf::Server, bound.to_owned());
    };
    let (Some(backlog), Some(rise), Some(processing)) =
        (document.backlog, rise(document), processing_share(document))
    else {
        return RuleReading::unknown(RULE, LimitOf::Server, bound.to_owned());
    };
    let beyond = backlog.due as f64 / backlog.ended.max(1) as f64;
    let has_room = has_connections(document) || stood_in_line(document, "service_time");
    let line = if has_room {
        String::new()
    } else {
        format!(
            "; all {max_connections} connections were in use, and answers took no longer for it, \
             so more of them may carry more"
        )
    };
    let figure = format!(
        "{} were due in the second half and {} ended, which rose by a factor of {rise:.2} in it; \
         {} of the service time was waiting for the server{line}",
        backlog.due,
        backlog.ended,
        human::share(processing)
    );
    let reach = (beyond / BEYOND)
        .min(RISE_MAX / rise)
        .min(processing / PROCESSING_MIN);
    let speaks = reach >= 1.0 && !backlog.kept_up() && has_room && !is_in_doubt;
    let how = match seen {
        MonitorsSaw::Nothing => {
            "throughput stopped following the load while the clients had room, as the clients saw \
             it (no monitor watched)"
        }
        MonitorsSaw::Room => {
            "throughput stopped following the load while clients and watched machines had room, \
             so that the server waits for something"
        }
        MonitorsSaw::NoRoom => "throughput stopped following the load while the clients had room",
    };
    RuleReading {
        rule: RULE,
        limit_of: LimitOf::Server,
        says: speaks.then(|| format!("{how}: {figure} (bound: {bound})")),
        figure,
        bound: bound.to_owned(),
        distance: Some(reach),
    }
}

/// By what factor the rate of endings rose from the third quarter to the last one.
fn rise(document: &Document) -> Option<f64> {
    let rows: Vec<f64> = measured(document)
        .map(|row| row.ended as f64 / f64::from(row.seconds.max(1)))
        .collect();
    let half = rows.get(rows.len() / 2..).filter(|half| half.len() > 1)?;
    let (before, after) = half.split_at(half.len() / 2);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    Some(mean(after) / mean(before)).filter(|rise| rise.is_finite() && *rise > 0.0)
}

/// Whether arrivals found a connection: else the plan's own limit may be what holds them.
fn has_connections(document: &Document) -> bool {
    let waits = document.measured.times.get("connection_wait");
    document.measured.operations.not_sent == 0 && waits.is_none_or(|waits| waits.count == 0)
}
