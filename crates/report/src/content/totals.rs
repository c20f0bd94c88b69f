//! The figures that most readers look for first.

use super::{ContentBlock, Section, Topic, journeys};
use analysis::human::{bytes, counted, number, percentile, share, time};
use analysis::{Document, Figures, LoadRecord, PathFigures, StreamFigures, WebSocketFigures};
use std::collections::BTreeMap;

pub(super) fn section(document: &Document) -> Section {
    let figures = &document.measured;
    let is_handshake_only = document.plan.requests_per_connection == Some(0);
    let facts = [
        journeys::totals(document).map(|text| ("Journeys", text)),
        journeys::rates(document).map(|text| ("", text)),
        Some(("Operations", operations(figures))),
        Some(("Errors", errors(figures))),
        Some(("Rate", rate(document))),
        (!is_handshake_only).then(|| ("Bodies", bodies(document))),
        (!figures.streams.is_empty()).then(|| ("Events", events(&figures.streams))),
        (!document.websockets.is_empty()).then(|| ("WebSockets", sockets(&document.websockets))),
        has_messages(document).then(|| ("Messages", messages(&document.websockets))),
        Some(("On the wire", on_the_wire(figures))),
        Some(("Connections", connections(figures))),
        document
            .path
            .as_ref()
            .map(|path| ("Round trip", round_trip(path))),
        document
            .warm_up
            .as_ref()
            .map(|figures| ("Warm-up", warm_up(figures))),
    ];
    let facts = facts.into_iter().flatten().collect();
    Section::new(Topic::Totals, "Totals", [ContentBlock::Facts(facts)])
}

pub(crate) fn operations(figures: &Figures) -> String {
    let operations = &figures.operations;
    let unfinished = operations
        .started
        .saturating_add(operations.not_sent)
        .saturating_sub(operations.ended);
    let unfinished = if unfinished > 0 {
        format!(", {unfinished} not ended")
    } else {
        String::new()
    };
    format!(
        "{} ended, {} ok{unfinished}",
        operations.ended, operations.ok
    )
}

/// Events of streamed answers, and how those answers ended.
fn events(streams: &StreamFigures) -> String {
    let ends = [
        (streams.whole, "whole"),
        (streams.cut, "cut"),
        (streams.unmarked, "without the end marker"),
        (streams.empty, "without an event"),
    ];
    let ends = ends.iter().filter(|(count, _)| *count > 0);
    let ends: Vec<String> = ends.map(|(count, how)| format!("{count} {how}")).collect();
    let ends = match &*ends {
        [] => "none ended".to_owned(),
        ends => ends.join(", "),
    };
    format!(
        "{}, {}/s; answers: {ends}",
        streams.events,
        number(streams.events_per_second)
    )
}

/// WebSockets of all requests together, and how they were closed.
fn sockets(all: &[WebSocketFigures]) -> String {
    let opened = sum(all, |figures| figures.opened);
    let cut = sum(all, |figures| figures.cut_by_end);
    let mut by_code: BTreeMap<u16, u64> = BTreeMap::new();
    for (&code, &number) in all.iter().flat_map(|figures| &figures.closed) {
        let sum = by_code.entry(code).or_default();
        *sum = sum.saturating_add(number);
    }
    let by_code = by_code.iter();
    let mut parts: Vec<String> = by_code
        .map(|(code, number)| format!("{number} with code {code}"))
        .collect();
    if cut > 0 {
        parts.push(format!("{cut} cut by the end of the run"));
    }
    let mut told = match &*parts {
        [] => format!("{opened} opened, none closed by the server"),
        parts => format!("{opened} opened; closed: {}", parts.join(", ")),
    };
    let pings = sum(all, |figures| figures.pings);
    if pings > 0 {
        let pongs = sum(all, |figures| figures.pongs);
        told += &format!("; {}, {pongs} answered", counted(pings, "ping"));
    }
    told
}

fn has_messages(document: &Document) -> bool {
    let mut all = document.websockets.iter();
    all.any(|figures| figures.sent > 0 || figures.received > 0)
}

/// Messages over the WebSockets of all requests together.
fn messages(all: &[WebSocketFigures]) -> String {
    let sent = sum(all, |figures| figures.sent);
    let answered = sum(all, |figures| figures.answered);
    let received = sum(all, |figures| figures.received);
    format!("{sent} sent, {answered} answered, {received} received")
}

fn sum(all: &[WebSocketFigures], of: fn(&WebSocketFigures) -> u64) -> u64 {
    all.iter().map(of).fold(0, u64::saturating_add)
}

pub(crate) fn errors(figures: &Figures) -> String {
    let operations = &figures.operations;
    let Some(errors) = operations.error_share.filter(|&errors| errors > 0.0) else {
        return "none".to_owned();
    };
    let not_sent = if operations.not_sent > 0 {
        format!(" ({} not sent)", operations.not_sent)
    } else {
        String::new()
    };
    let parts = format!(
        "{} failed{not_sent}, {} timed out",
        operations.failed, operations.timed_out
    );
    format!("{} ({}): {parts}", operations.errors, share(errors))
}

/// The rate of a closed loop is one number, because its users begin a new operation as soon as one
/// is answered. For an open loop the rate that was due is added if not everything due was begun.
pub(crate) fn rate(document: &Document) -> String {
    let rates = &document.measured.rates;
    let carried = format!(
        "{}/s ok, {}/s ended",
        number(rates.ok_per_second),
        number(rates.operations_per_second)
    );
    if let LoadRecord::Closed { .. } = document.plan.load {
        return carried;
    }
    // Only first steps are due by the plan, and journeys have a line of their own.
    let due = if document.measured.operations.not_sent > 0 && !document.has_journeys() {
        format!(" of {}/s due", number(rates.due_per_second))
    } else {
        String::new()
    };
    format!(
        "{carried}, {}/s begun{due}",
        number(rates.started_per_second)
    )
}

fn bodies(document: &Document) -> String {
    let figures = &document.measured;
    let total = figures.bytes.payload_bytes as f64;
    // Every response counts, whether its status was expected or not, and redirects that were
    // followed: each of them has a body.
    let followed = document
        .redirects
        .iter()
        .map(|redirects| &redirects.followed);
    let responses: u64 = figures
        .statuses
        .values()
        .chain(followed)
        .fold(0, |sum: u64, &count| sum.saturating_add(count));
    format!(
        "{}, {}/s, {} each",
        bytes(total),
        bytes(figures.rates.payload_bytes_per_second),
        bytes(total / responses.max(1) as f64)
    )
}

fn on_the_wire(figures: &Figures) -> String {
    let sizes = &figures.bytes;
    let rates = &figures.rates;
    format!(
        "{} ({}/s) received, {} ({}/s) sent",
        bytes(sizes.wire_received_bytes as f64),
        bytes(rates.wire_received_bytes_per_second),
        bytes(sizes.wire_sent_bytes as f64),
        bytes(rates.wire_sent_bytes_per_second)
    )
}

pub(crate) fn connections(figures: &Figures) -> String {
    let connections = &figures.connections;
    let failed = connections.attempted.saturating_sub(connections.opened);
    let failed = if failed > 0 {
        format!(" of {} attempted", connections.attempted)
    } else {
        String::new()
    };
    format!(
        "{} opened{failed}, reused by {}",
        connections.opened,
        counted(connections.reused, "operation")
    )
}

/// The median round trip compared with the shortest, and signs of lost segments.
fn round_trip(path: &PathFigures) -> String {
    let median = path.round_trip.percentile(50.0);
    format!(
        "{} (median), {} at least; {} sent again or out of order",
        median.map(percentile).unwrap_or_default(),
        time(path.least_ns as f64),
        share(path.disorder_share())
    )
}

fn warm_up(figures: &Figures) -> String {
    let p50 = figures.percentile("response_time", 50.0);
    let p50 = p50.map_or_else(String::new, |p50| {
        format!(", response time p50 {}", percentile(p50))
    });
    let operations = &figures.operations;
    format!(
        "{}, {}{p50}; not part of the figures",
        counted(operations.ended, "operation"),
        counted(operations.errors, "error")
    )
}
