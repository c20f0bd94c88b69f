//! Tables for a pull request or a wiki (GitHub's flavour).

use crate::console::contributors;
use crate::junit::measured;
use crate::machines;
use crate::tls_words::{sentences, session_matrix};
use analysis::human::{bytes, exact, number, percentile, share, time_or_more};
use analysis::{AgentResult, Document, ErrorFigure, FigureGroup, Figures, Judgement, TimeFigure};
use measure::Period;
use std::fmt::Write as _;

/// Metrics in the order of reports.
const ROWS: [(&str, &str); 8] = [
    ("response time", "response_time"),
    ("service time", "service_time"),
    ("lateness", "lateness"),
    ("connect (TCP)", "connect"),
    ("handshake, full", "handshake_full"),
    ("handshake, resumed", "handshake_resumed"),
    ("first byte", "first_byte"),
    ("receive", "receive"),
];

pub(crate) fn render(document: &Document) -> String {
    let record = &document.verdict;
    let mut text = format!(
        "# {}: {}\n\n",
        escape(&document.run.name),
        record.verdict.name()
    );
    let _ = writeln!(
        text,
        "{}, {}: {}.\n",
        escape(&document.plan.url),
        escape(&document.run.started_at),
        document.verdict_meaning()
    );
    record
        .evidence
        .iter()
        .chain(&record.missing)
        .for_each(|sentence| item(&mut text, sentence));
    thresholds(&mut text, document);
    totals(&mut text, document);
    times(&mut text, &document.measured);
    tls(&mut text, document);
    errors(&mut text, &document.measured);
    agents(&mut text, document);
    watched(&mut text, document);
    if !document.notes.is_empty() {
        text.push_str("\n## Notes\n\n");
        document.notes.iter().for_each(|note| item(&mut text, note));
    }
    text
}

pub(crate) fn item(text: &mut String, sentence: &str) {
    let _ = writeln!(text, "- {}", escape(sentence));
}

/// A title and its table; nothing without rows.
fn titled(text: &mut String, title: &str, headings: &[&str], rows: &[Vec<String>]) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n## {title}\n");
    table(
        text,
        &headings
            .iter()
            .map(|&heading| heading.to_owned())
            .collect::<Vec<_>>(),
        rows,
    );
}

/// The first column to the left, the others to the right.
pub(crate) fn table(text: &mut String, headings: &[String], rows: &[Vec<String>]) {
    let line = |text: &mut String, cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escape(cell)).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    };
    line(text, headings);
    let _ = writeln!(
        text,
        "|---|{}",
        "---:|".repeat(headings.len().saturating_sub(1))
    );
    rows.iter().for_each(|row| line(text, row));
}

fn thresholds(text: &mut String, document: &Document) {
    let rows: Vec<Vec<String>> = document.thresholds.iter().map(threshold).collect();
    titled(
        text,
        "Thresholds",
        &["figure", "limit", "measured", ""],
        &rows,
    );
}

fn threshold(judgement: &Judgement) -> Vec<String> {
    let limit = exact(&judgement.unit.display(judgement.limit));
    let outcome = if judgement.passed {
        "✓"
    } else {
        "✗ failed"
    };
    vec![
        judgement.metric.clone(),
        format!("{} {limit}", judgement.comparison),
        measured(judgement),
        outcome.to_owned(),
    ]
}

fn totals(text: &mut String, document: &Document) {
    let figures = &document.measured;
    let (operations, rates) = (&figures.operations, &figures.rates);
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let rows = [
        row("operations ended", operations.ended.to_string()),
        row(
            "errors",
            format!(
                "{} ({})",
                operations.errors,
                share(operations.error_share.unwrap_or(0.0))
            ),
        ),
        row("timed out", operations.timed_out.to_string()),
        row("rate, ok", format!("{}/s", number(rates.ok_per_second))),
        row(
            "rate, begun",
            format!("{}/s", number(rates.started_per_second)),
        ),
        row(
            "bodies",
            format!(
                "{} ({}/s)",
                bytes(figures.bytes.payload_bytes as f64),
                bytes(rates.payload_bytes_per_second)
            ),
        ),
        row("connections opened", figures.connections.opened.to_string()),
        row("handshakes full / resumed", handshakes(document)),
    ];
    titled(text, "Totals", &["", ""], &rows);
}

fn handshakes(document: &Document) -> String {
    let counted = |figures: &Figures| {
        format!(
            "{} / {}",
            figures.resumption.full, figures.resumption.resumed
        )
    };
    match document.handshakes() {
        Some((figures, Period::WarmUp)) => format!("{} in the warm-up", counted(figures)),
        _ => counted(&document.measured),
    }
}

fn times(text: &mut String, figures: &Figures) {
    let rows: Vec<_> = ROWS
        .iter()
        .filter_map(|&(name, metric)| Some(time_row(name, figures.times.get(metric)?)))
        .collect();
    titled(
        text,
        "Times",
        &["", "count", "mean", "p50", "p90", "p99", "p99.9", "max"],
        &rows,
    );
}

fn time_row(name: &str, figure: &TimeFigure) -> Vec<String> {
    let at = |wanted| {
        let found = figure.percentile(wanted);
        found.map(percentile).unwrap_or_default()
    };
    // What timed out would have taken longer.
    let at_least = figure.timed_out > 0;
    vec![
        name.to_owned(),
        figure.count.to_string(),
        time_or_more(figure.mean_ns, at_least),
        at(50.0),
        at(90.0),
        at(99.0),
        at(99.9),
        time_or_more(figure.max_ns as f64, at_least),
    ]
}

fn tls(text: &mut String, document: &Document) {
    let Some((figures, _)) = document.handshakes() else {
        return; // a plan without TLS, or no handshake was completed
    };
    text.push_str("\n## TLS\n\n");
    sentences(figures)
        .iter()
        .for_each(|sentence| item(text, sentence));
    if let Some((headings, rows)) = session_matrix(document) {
        text.push('\n');
        table(text, &headings, &rows);
    }
}

fn errors(text: &mut String, figures: &Figures) {
    let row = |error: &ErrorFigure| {
        vec![
            error.name.clone(),
            error.count.to_string(),
            error.words.clone(),
        ]
    };
    titled(
        text,
        "Errors",
        &["kind", "count", "in words"],
        &figures.errors.iter().map(row).collect::<Vec<_>>(),
    );
}

fn agents(text: &mut String, document: &Document) {
    let agents = document.agents_by_name().into_iter();
    let rows: Vec<Vec<String>> = agents
        .map(|(agent, group)| agent_row(agent, group))
        .collect();
    titled(
        text,
        "Agents",
        &["", "ended", "ok/s", "busiest worker"],
        &rows,
    );
    let contributors = contributors(document);
    if !contributors.is_empty() {
        text.push('\n');
        item(text, &contributors);
    }
}

fn watched(text: &mut String, document: &Document) {
    let rows = machines::rows(document);
    titled(text, "Machines", &machines::HEADINGS, &rows);
    let sentences = machines::sentences(document);
    if !sentences.is_empty() {
        text.push('\n');
        sentences.iter().for_each(|sentence| item(text, sentence));
    }
}

fn agent_row(agent: &AgentResult, group: &FigureGroup) -> Vec<String> {
    let busy = agent.cpu.map(|cpu| share(cpu.busiest_worker_share_mean));
    let figures = &group.figures;
    vec![
        agent.name.clone(),
        figures.operations.ended.to_string(),
        number(figures.rates.ok_per_second),
        busy.unwrap_or_default(),
    ]
}

/// Cells and sentences must not end a table or become markup.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '|' | '<' | '>' | '*' | '`' | '[' | ']' | '\\' => escaped.extend(['\\', character]),
            _ if character.is_control() => escaped.push(' '),
            _ => escaped.push(character),
        }
    }
    escaped
}
