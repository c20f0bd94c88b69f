//! Times: ab's table, phases, percentiles, hey's histogram.

use crate::page::Page;
use crate::sections::percentile_cell;
use crate::table::TextTable;
use analysis::human::time;
use analysis::{Column, Document, Figures, TimeFigure};

/// ab's rows by our metrics. What ab calls connect has the handshake in it.
const STAGES: [(&str, &str); 4] = [
    ("connect", "opening"),
    ("processing", "processing"),
    ("waiting", "first_byte"),
    ("total", "service_time"),
];

/// Phases in the order they happen.
const PHASES: [(&str, &str); 9] = [
    ("dns", "dns"),
    ("connect (TCP)", "connect"),
    ("handshake, full", "handshake_full"),
    ("  after retry", "handshake_full_retried"),
    ("handshake, resumed", "handshake_resumed"),
    ("  after retry", "handshake_resumed_retried"),
    ("send", "send"),
    ("first byte", "first_byte"),
    ("receive", "receive"),
];

/// Quantities of the percentile list.
const LISTED: [(&str, &str); 4] = [
    ("response time", "response_time"),
    ("service time", "service_time"),
    ("lateness", "lateness"),
    ("connection wait", "connection_wait"),
];

/// Rows of the picture; it has five columns for each.
const PICTURE_ROWS: usize = 12;

/// Longest bar; shorter on a narrow terminal.
const BAR_MAX: usize = 40;

pub(crate) fn write(page: &mut Page, document: &Document) {
    let figures = &document.measured;
    if figures.times.is_empty() {
        return;
    }
    let is_cheap = !document.plan.cheap_modes().is_empty();
    page.title(if is_cheap {
        "Times (measured with a cheap client, see Notes)"
    } else {
        "Times"
    });
    stages(page, document);
    phases(page, figures);
    percentiles(page, figures);
    picture(page, figures);
}

fn stages(page: &mut Page, document: &Document) {
    let mut table = TextTable::new(&["", "min", "mean", "sd", "median", "max"]);
    for (label, metric) in STAGES {
        let Some(figure) = document.measured.times.get(metric) else {
            continue;
        };
        let label = match (metric, &document.plan.tls) {
            ("opening", Some(_)) => "connect + TLS",
            _ => label,
        };
        let median = percentile_cell(figure, 50.0);
        table.row(vec![
            label.to_owned(),
            time(figure.min_ns as f64),
            figure.mean_in_words(),
            time(figure.sd_ns),
            median,
            figure.max_in_words(),
        ]);
    }
    page.table(&table);
}

fn phases(page: &mut Page, figures: &Figures) {
    let mut table = TextTable::new(&["", "count", "mean", "p50", "p99", "max"]);
    for (label, metric) in PHASES {
        let Some(figure) = figures.times.get(metric) else {
            continue;
        };
        let at = |wanted| percentile_cell(figure, wanted);
        table.row(vec![
            label.to_owned(),
            figure.count.to_string(),
            figure.mean_in_words(),
            at(50.0),
            at(99.0),
            figure.max_in_words(),
        ]);
    }
    if !table.is_empty() {
        page.title("Phases");
        page.table(&table);
    }
}

fn percentiles(page: &mut Page, figures: &Figures) {
    let listed: Vec<(&str, &TimeFigure)> = LISTED
        .iter()
        .filter_map(|&(label, metric)| Some((label, figures.times.get(metric)?)))
        .collect();
    let Some((_, first)) = listed.first() else {
        return; // nothing was measured
    };
    page.title("Percentiles");
    let headings: Vec<&str> = std::iter::once("")
        .chain(listed.iter().map(|&(label, _)| label))
        .collect();
    let mut table = TextTable::new(&headings);
    for wanted in first.percentiles.iter().map(|figure| figure.percentile) {
        let cells = listed
            .iter()
            .map(|(_, figure)| percentile_cell(figure, wanted));
        table.row(
            std::iter::once(format!("{wanted} %"))
                .chain(cells)
                .collect(),
        );
    }
    page.table(&table);
}

fn picture(page: &mut Page, figures: &Figures) {
    let Some(figure) = figures
        .times
        .get("response_time")
        .filter(|figure| !figure.histogram.is_empty())
    else {
        return; // no operation ended
    };
    page.title("Response time");
    let rows = rows(&figure.histogram);
    let most = rows.iter().map(|(_, count)| *count).max().unwrap_or(0);
    // 30 columns are for the label, the count and the gaps.
    let longest = page.style().columns().saturating_sub(30).clamp(5, BAR_MAX);
    let mut table = TextTable::new(&["", "", ""]);
    for (label, count) in &rows {
        let bar = "█".repeat(bar_length(*count, most, longest));
        table.row(vec![
            label.clone(),
            count.to_string(),
            format!("{bar:<longest$}"),
        ]);
    }
    page.table(&table);
}

/// Columns put together to rows; rows whose bounds read the same are one.
fn rows(picture: &[Column]) -> Vec<(String, u64)> {
    let mut rows: Vec<(String, u64)> = Vec::new();
    for columns in picture.chunks(picture.len().div_ceil(PICTURE_ROWS)) {
        let count = columns.iter().map(|column| column.count).sum::<u64>();
        let label = columns
            .last()
            .map(|column| format!("≤ {}", time(column.to_ns as f64)))
            .unwrap_or_default();
        match rows.last_mut() {
            Some((last, sum)) if *last == label => *sum += count,
            _ => rows.push((label, count)),
        }
    }
    rows
}

/// What is not 0 has a bar.
fn bar_length(count: u64, most: u64, longest: usize) -> usize {
    let share = count as f64 / most.max(1) as f64;
    let length = (share * longest as f64).round() as usize;
    // One time-out among a million answers must stay visible.
    let least = usize::from(count > 0);
    length.max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_in_proportion_and_never_hide_a_value() {
        for (count, most, length) in [
            (0, 10, 0),
            (1, 1000, 1),
            (5, 10, 20),
            (10, 10, 40),
            (0, 0, 0),
        ] {
            assert_eq!(bar_length(count, most, 40), length, "{count} of {most}");
        }
    }

    #[test]
    fn rows_with_one_bound_are_one_row() {
        let picture: Vec<Column> = (0..60)
            .map(|_| Column {
                to_ns: 1000,
                count: 1,
            })
            .collect();
        assert_eq!(rows(&picture), [("≤ 1.00 µs".to_owned(), 60)]);
    }
}
