//! What was run, the verdict with its evidence, and the figures everybody looks for first.

use crate::headline::verdict_sentence;
use crate::page::Page;
use crate::style::Paint;
use analysis::human::{bytes, counted, number, share, time};
use analysis::{Document, Figures, LoadRecord, RunState, Verdict};

pub(crate) fn write(page: &mut Page, document: &Document) {
    page.paragraph(
        Paint::Title,
        "",
        &format!("{} · {}", document.run.name, document.plan.url),
    );
    page.paragraph(Paint::Faint, "", &what_ran(document));
    verdict(page, document);
    page.blank();
    totals(page, document);
    warm_up(page, document);
}

pub(crate) fn write_notes(page: &mut Page, document: &Document) {
    if !document.notes.is_empty() {
        page.title("Notes");
        document
            .notes
            .iter()
            .for_each(|note| page.paragraph(Paint::Plain, "  · ", note));
    }
}

/// The load, who sent it, how long and when.
pub(crate) fn what_ran(document: &Document) -> String {
    let asked = what_was_asked(document);
    format!("{asked} · {}", document.run.started_at)
}

/// The same without when.
pub(super) fn what_was_asked(document: &Document) -> String {
    let state = match document.run.state {
        RunState::Complete => "",
        RunState::Interrupted => "INTERRUPTED · ",
        RunState::Incomplete if !document.run.refusals.is_empty() => "NOT BEGUN · ",
        RunState::Incomplete => "INCOMPLETE · ",
    };
    format!("{state}{}", what_runs(document))
}

/// The load, who sends it, and how long.
pub(crate) fn what_runs(document: &Document) -> String {
    let run = &document.run;
    let warm_up = if run.warm_up_ns > 0 {
        format!(" after {} of warm-up", time(run.warm_up_ns as f64))
    } else {
        String::new()
    };
    let agents = counted(document.agents.len() as u64, "agent");
    format!(
        "{} · {agents} · {} measured{warm_up}",
        load(document),
        time(run.duration_ns as f64)
    )
}

fn load(document: &Document) -> String {
    match &document.plan.load {
        LoadRecord::Closed {
            connections,
            stages,
            think_time,
        } => {
            let pause = if *think_time { " with think time" } else { "" };
            let streams = match document.plan.streams {
                Some(streams @ 2..) => format!(" with {streams} streams each"),
                _ => String::new(),
            };
            let users = counted(u64::from(*connections), "virtual user");
            format!("{users}{streams}{pause}{}", then_stages(*stages))
        }
        LoadRecord::Open {
            arrivals_per_second,
            stages,
            ..
        } => {
            format!(
                "{} arrivals/s{}",
                number(*arrivals_per_second),
                then_stages(*stages)
            )
        }
    }
}

fn then_stages(stages: u32) -> String {
    if stages == 0 {
        String::new()
    } else {
        format!(", then {}", counted(u64::from(stages), "stage"))
    }
}

fn verdict(page: &mut Page, document: &Document) {
    let record = &document.verdict;
    page.blank();
    page.paragraph(
        verdict_paint(record.verdict),
        "Verdict: ",
        &verdict_sentence(document),
    );
    record
        .evidence
        .iter()
        .for_each(|evidence| page.paragraph(Paint::Plain, "  · ", evidence));
    record
        .missing
        .iter()
        .for_each(|missing| page.paragraph(Paint::Faint, "  · to know more: ", missing));
}

pub(super) fn verdict_paint(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::LoadMet | Verdict::ServerBound => Paint::Good,
        Verdict::Invalid => Paint::Bad,
        Verdict::ClientBound
        | Verdict::NetworkBound
        | Verdict::PlanBound
        | Verdict::Undetermined
        | Verdict::Degraded => Paint::Doubtful,
    }
}

fn totals(page: &mut Page, document: &Document) {
    let figures = &document.measured;
    page.fact("Operations", &operations_line(figures));
    page.fact("Errors", &errors_line(figures));
    page.fact("Rate", &rate_line(document));
    let is_handshake_only = document.plan.requests_per_connection == Some(0);
    if !is_handshake_only {
        page.fact("Bodies", &bodies_line(figures));
    }
    page.fact("On the wire", &wire_line(figures));
    page.fact("Connections", &connections_line(figures));
}

fn bodies_line(figures: &Figures) -> String {
    let total = figures.bytes.payload_bytes as f64;
    // Every response has a body, wanted or not.
    let responses: u64 = figures
        .statuses
        .values()
        .fold(0, |sum: u64, &count| sum.saturating_add(count));
    format!(
        "{}, {}/s, {} each",
        bytes(total),
        bytes(figures.rates.payload_bytes_per_second),
        bytes(total / responses.max(1) as f64)
    )
}

fn wire_line(figures: &Figures) -> String {
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

/// Users begin as they are answered, so a closed loop has one rate. What was due stands there too
/// where not all of it was begun.
pub(super) fn rate_line(document: &Document) -> String {
    let rates = &document.measured.rates;
    let carried = format!(
        "{}/s ok, {}/s ended",
        number(rates.ok_per_second),
        number(rates.operations_per_second)
    );
    if let LoadRecord::Closed { .. } = document.plan.load {
        return carried;
    }
    let due = if document.measured.operations.not_sent > 0 {
        format!(" of {}/s due", number(rates.due_per_second))
    } else {
        String::new()
    };
    format!(
        "{carried}, {}/s begun{due}",
        number(rates.started_per_second)
    )
}

pub(super) fn operations_line(figures: &Figures) -> String {
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

pub(super) fn errors_line(figures: &Figures) -> String {
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

pub(super) fn connections_line(figures: &Figures) -> String {
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

fn warm_up(page: &mut Page, document: &Document) {
    let Some(figures) = &document.warm_up else {
        return; // the plan has none
    };
    let p50 = figures.percentile("response_time", 50.0);
    let p50 = p50.map_or_else(String::new, |p50| {
        format!(", response time p50 {}", analysis::human::percentile(p50))
    });
    let operations = &figures.operations;
    page.fact(
        "Warm-up",
        &format!(
            "{}, {}{p50}; not part of the figures",
            counted(operations.ended, "operation"),
            counted(operations.errors, "error")
        ),
    );
}
