//! Groups of operations side by side: requests, addresses, labels.

use super::{ContentBlock, Section, Table, Topic};
use analysis::FigureGroup;
use analysis::human::{number, percentile};

/// Headings of the table.
const HEADINGS: [&str; 6] = ["", "ended", "errors", "ok/s", "p50", "p99"];

/// Rows that a terminal shows.
const TERMINAL_ROWS: usize = 20;

/// A table with one row per group; no table if there is only one group.
pub(super) fn section(topic: Topic, title: &str, groups: &[FigureGroup]) -> Section {
    let groups = if groups.len() > 1 { groups } else { &[] };
    let table = Table {
        terminal_rows: TERMINAL_ROWS,
        ..Table::new(&HEADINGS, groups.iter().map(row).collect())
    };
    Section::new(topic, title, [ContentBlock::Table(table)])
}

fn row(group: &FigureGroup) -> Vec<String> {
    let figures = &group.figures;
    let at = |wanted| {
        let figure = figures.percentile("response_time", wanted);
        figure.map(percentile).unwrap_or_default()
    };
    let operations = &figures.operations;
    vec![
        group.name.clone(),
        operations.ended.to_string(),
        operations.errors.to_string(),
        number(figures.rates.ok_per_second),
        at(50.0),
        at(99.0),
    ]
}
