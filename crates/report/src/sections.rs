//! What a result says in tables and sentences, whatever they are written in.

use crate::console::contributors;
use crate::junit::measured;
use crate::machines;
use crate::tls_words;
use analysis::human::{bytes, exact, number, percentile, share, time};
use analysis::{
    AgentResult, Document, ErrorFigure, FigureGroup, Figures, Judgement, LoadRecord, PathFigures,
    TimeFigure,
};
use measure::Period;

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

/// A part of a report: sentences, a table, sentences.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Section {
    pub(crate) title: &'static str,
    /// Sentences before the table.
    pub(crate) before: Vec<String>,
    /// Of the columns; the first names what a row is about.
    pub(crate) headings: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    /// Of cells that are a part of a whole, how much of it; empty where no cell is.
    pub(crate) shares: Vec<Vec<Option<f64>>>,
    /// Sentences behind it.
    pub(crate) after: Vec<String>,
}

/// All that have something to say, in the order of reports.
pub(crate) fn sections(document: &Document) -> Vec<Section> {
    let all = [
        thresholds(document),
        totals(document),
        times(&document.measured),
        tls(document),
        errors(document),
        agents(document),
        watched(document),
    ];
    all.into_iter()
        .filter(|section| !section.before.is_empty() || !section.rows.is_empty())
        .collect()
}

impl Section {
    fn table(title: &'static str, headings: &[&str], rows: Vec<Vec<String>>) -> Section {
        Section {
            title,
            headings: headings.iter().map(|&heading| heading.to_owned()).collect(),
            rows,
            ..Section::default()
        }
    }
}

fn thresholds(document: &Document) -> Section {
    let rows = document.thresholds.iter().map(threshold).collect();
    Section::table("Thresholds", &["figure", "limit", "measured", ""], rows)
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

fn totals(document: &Document) -> Section {
    let figures = &document.measured;
    let (operations, rates) = (&figures.operations, &figures.rates);
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    // Users begin as they are answered.
    let begun = matches!(document.plan.load, LoadRecord::Open { .. }).then(|| {
        row(
            "rate, begun",
            format!("{}/s", number(rates.started_per_second)),
        )
    });
    let mut rows = vec![
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
    ];
    rows.extend(begun);
    rows.extend([
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
    ]);
    rows.extend(
        document
            .path
            .as_ref()
            .map(|path| row("round trip", round_trip(path))),
    );
    Section::table("Totals", &["", ""], rows)
}

/// The usual round trip against the shortest, and what speaks of losses.
fn round_trip(path: &PathFigures) -> String {
    let usual = path.round_trip.percentile(50.0);
    format!(
        "{} (shortest {}; {} sent again or out of order)",
        time(usual.map_or(0.0, |usual| usual.value_ns as f64)),
        time(path.least_ns as f64),
        share(path.disorder_share())
    )
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

fn times(figures: &Figures) -> Section {
    let rows = ROWS
        .iter()
        .filter_map(|&(name, metric)| Some(time_row(name, figures.times.get(metric)?)))
        .collect();
    Section::table(
        "Times",
        &["", "count", "mean", "p50", "p90", "p99", "p99.9", "max"],
        rows,
    )
}

/// A percentile in a table; empty where there is none.
pub(crate) fn percentile_cell(figure: &TimeFigure, wanted: f64) -> String {
    let found = figure.percentile(wanted);
    found.map(percentile).unwrap_or_default()
}

fn time_row(name: &str, figure: &TimeFigure) -> Vec<String> {
    let at = |wanted| percentile_cell(figure, wanted);
    vec![
        name.to_owned(),
        figure.count.to_string(),
        figure.mean_in_words(),
        at(50.0),
        at(90.0),
        at(99.0),
        at(99.9),
        figure.max_in_words(),
    ]
}

/// Empty with a plan without TLS, or where no handshake was completed.
fn tls(document: &Document) -> Section {
    let Some((figures, _)) = document.handshakes() else {
        return Section::default();
    };
    let matrix = tls_words::session_matrix(document).unwrap_or_default();
    Section {
        title: "TLS",
        before: tls_words::sentences(figures),
        headings: matrix.headings,
        rows: matrix.rows,
        shares: matrix.shares,
        after: Vec::new(),
    }
}

/// Stages of an operation in their order, as names of errors begin.
const STAGES: [&str; 6] = ["load", "dns", "connect", "tls", "stream", "http"];

fn errors(document: &Document) -> Section {
    let stage = |error: &ErrorFigure| {
        let name = error.name.split('.').next();
        STAGES.iter().position(|&stage| Some(stage) == name)
    };
    let row = |error: &ErrorFigure| {
        vec![
            error.name.clone(),
            error.count.to_string(),
            share(error.share),
            first_second(document, &error.name),
            error.words.clone(),
        ]
    };
    let mut errors: Vec<&ErrorFigure> = document.measured.errors.iter().collect();
    // What breaks early in an operation is often why the rest does.
    errors.sort_by_key(|error| stage(error));
    let headings = ["kind", "count", "of ended", "first at", "in words"];
    Section::table("Errors", &headings, errors.into_iter().map(row).collect())
}

/// When a kind of error came first, the warm-up included; empty where no second is known.
fn first_second(document: &Document, kind: &str) -> String {
    let mut rows = document.series.rows.iter();
    let first = rows.find(|row| row.errors_by_kind.contains_key(kind));
    first.map_or_else(String::new, |row| clock(f64::from(row.second)))
}

/// Seconds of the run clock as people read them: `45 s`, `1:30`, `1:00:00`.
pub(crate) fn clock(seconds: f64) -> String {
    let whole = seconds.max(0.0) as u64;
    let (hours, minutes, rest) = (whole / 3_600, whole / 60 % 60, whole % 60);
    match (hours, minutes) {
        (0, 0) if seconds.fract() > 0.0 => format!("{seconds:.1} s"),
        (0, 0) => format!("{rest} s"),
        (0, _) => format!("{minutes}:{rest:02}"),
        _ => format!("{hours}:{minutes:02}:{rest:02}"),
    }
}

fn agents(document: &Document) -> Section {
    let agents = document.agents_by_name().into_iter();
    let rows = agents
        .map(|(agent, group)| agent_row(agent, group))
        .collect();
    let contributors = contributors(document);
    let has_any = !contributors.is_empty();
    Section {
        after: has_any.then_some(contributors).into_iter().collect(),
        ..Section::table("Agents", &["", "ended", "ok/s", "busiest worker"], rows)
    }
}

fn watched(document: &Document) -> Section {
    Section {
        after: machines::sentences(document),
        ..Section::table("Machines", &machines::HEADINGS, machines::rows(document))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_clock_is_read_as_a_clock() {
        let words = [0.0, 0.5, 59.0, 60.0, 3_599.0, 3_661.0].map(clock);
        assert_eq!(words, ["0 s", "0.5 s", "59 s", "1:00", "59:59", "1:01:01"]);
    }
}
