//! Times: the table known from ab, phases, percentiles, and the histogram known from hey.

use super::{Bar, ContentBlock, Section, Table, Topic};
use analysis::human::{percentile, time};
use analysis::{Column, Document, Figures, TimeFigure};

/// The rows of ab, with our metrics. What ab calls connect includes the handshake.
const STAGES: [(&str, &str); 4] = [
    ("connect", "opening"),
    ("processing", "processing"),
    ("waiting", "first_byte"),
    ("total", "service_time"),
];

/// The phases, in order.
const PHASES: [(&str, &str); 11] = [
    ("dns", "dns"),
    ("connect (TCP)", "connect"),
    ("handshake, full", "handshake_full"),
    ("  after retry", "handshake_full_retried"),
    ("handshake, resumed", "handshake_resumed"),
    ("  after retry", "handshake_resumed_retried"),
    ("send", "send"),
    ("first byte", "first_byte"),
    ("first event", "first_event_service"),
    ("between events", "event_gap"),
    ("receive", "receive"),
];

/// The rows of the table of percentiles.
const LISTED: [(&str, &str); 7] = [
    ("response time", "response_time"),
    ("first event", "first_event"),
    ("message time", "message_time"),
    ("ping time", "ping_time"),
    ("service time", "service_time"),
    ("lateness", "lateness"),
    ("connection wait", "connection_wait"),
];

/// Bars of the histogram; the document has five columns for each bar.
const BARS: usize = 12;

/// Columns for p90 and p99.9, which a narrow terminal leaves out.
const WIDE_PHASES: [usize; 2] = [4, 6];

pub(super) fn stages(document: &Document) -> Section {
    let is_cheap = !document.plan.cheap_modes().is_empty();
    let title = if is_cheap {
        "Times (measured with a cheap client, see Notes)"
    } else {
        "Times"
    };
    let headings = ["", "min", "mean", "sd", "median", "max"];
    let rows = STAGES.iter().filter_map(|&(label, metric)| {
        let figure = document.measured.times.get(metric)?;
        let label = match (metric, &document.plan.tls) {
            ("opening", Some(_)) => "connect + TLS",
            _ => label,
        };
        Some(vec![
            label.to_owned(),
            time(figure.min_ns as f64),
            figure.mean_in_words(),
            time(figure.sd_ns),
            percentile_cell(figure, 50.0),
            figure.max_in_words(),
        ])
    });
    let table = Table::new(&headings, rows.collect());
    Section::new(Topic::Times, title, [ContentBlock::Table(table)])
}

pub(super) fn phases(figures: &Figures) -> Section {
    let headings = ["", "count", "mean", "p50", "p90", "p99", "p99.9", "max"];
    let rows = PHASES.iter().filter_map(|&(label, metric)| {
        let figure = figures.times.get(metric)?;
        let at = |wanted| percentile_cell(figure, wanted);
        Some(vec![
            label.to_owned(),
            figure.count.to_string(),
            figure.mean_in_words(),
            at(50.0),
            at(90.0),
            at(99.0),
            at(99.9),
            figure.max_in_words(),
        ])
    });
    let table = Table {
        optional: &WIDE_PHASES,
        ..Table::new(&headings, rows.collect())
    };
    Section::new(Topic::Phases, "Phases", [ContentBlock::Table(table)])
}

pub(super) fn percentiles(figures: &Figures) -> Section {
    let listed = LISTED.iter();
    let listed = listed.filter_map(|&(label, metric)| Some((label, figures.times.get(metric)?)));
    let (labels, listed): (Vec<&str>, Vec<&TimeFigure>) = listed.unzip();
    let headings: Vec<&str> = [""].into_iter().chain(labels).collect();
    let table = Table::new(&headings, percentile_rows(&listed));
    Section::new(
        Topic::Percentiles,
        "Percentiles",
        [ContentBlock::Table(table)],
    )
}

/// A row for each percentile that the first figure has, then mean and maximum; a column for each
/// figure.
fn percentile_rows(figures: &[&TimeFigure]) -> Vec<Vec<String>> {
    let Some(first) = figures.first() else {
        return Vec::new();
    };
    let row = |name: String, cell: &dyn Fn(&TimeFigure) -> String| -> Vec<String> {
        let cells = figures.iter().map(|figure| cell(figure));
        std::iter::once(name).chain(cells).collect()
    };
    let percentiles = first.percentiles.iter().map(|figure| figure.percentile);
    let percentiles = percentiles.map(|wanted| {
        let cell = |figure: &TimeFigure| percentile_cell(figure, wanted);
        row(format!("{wanted} %"), &cell)
    });
    let mean = row("mean".to_owned(), &TimeFigure::mean_in_words);
    let max = row("max".to_owned(), &TimeFigure::max_in_words);
    percentiles.chain([mean, max]).collect()
}

pub(super) fn histogram(figures: &Figures) -> Section {
    let figure = figures.times.get("response_time");
    let bars = figure.map_or_else(Vec::new, |figure| bars(&figure.histogram));
    Section::new(
        Topic::Histogram,
        "Response time",
        [ContentBlock::Bars(bars)],
    )
}

/// A percentile as a table cell; empty if it is not known.
pub(crate) fn percentile_cell(figure: &TimeFigure, wanted: f64) -> String {
    let found = figure.percentile(wanted);
    found.map(percentile).unwrap_or_default()
}

/// Joins columns into bars. Bars whose bounds read the same become one.
fn bars(columns: &[Column]) -> Vec<Bar> {
    let mut bars: Vec<Bar> = Vec::new();
    for columns in columns.chunks(columns.len().div_ceil(BARS).max(1)) {
        let count = columns.iter().map(|column| column.count).sum::<u64>();
        let label = columns
            .last()
            .map(|column| format!("≤ {}", time(column.to_ns as f64)))
            .unwrap_or_default();
        match bars.last_mut() {
            Some(last) if last.label == label => last.count += count,
            _ => bars.push(Bar { label, count }),
        }
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_with_one_bound_are_one_bar() {
        let columns: Vec<Column> = (0..60)
            .map(|_| Column {
                to_ns: 1000,
                count: 1,
            })
            .collect();
        let label = "≤ 1.00 µs".to_owned();
        assert_eq!(bars(&columns), [Bar { label, count: 60 }]);
    }
}
