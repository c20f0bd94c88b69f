//! Status codes, errors in plain words, and the parts of the run: requests and addresses.

use crate::page::Page;
use crate::style::Paint;
use crate::table::TextTable;
use analysis::human::{counted, number, percentile, share};
use analysis::{Document, FigureGroup, Figures};

/// Columns of a table of parts.
pub(crate) const GROUP_HEADINGS: [&str; 6] = ["", "ended", "errors", "ok/s", "p50", "p99"];

/// Rows of a table of parts; the rest is in `result.json`.
const ROWS_MAX: usize = 20;

pub(crate) fn write(page: &mut Page, document: &Document) {
    statuses(page, &document.measured);
    errors(page, &document.measured);
    groups(page, "Requests", &document.by_request);
    groups(page, "Addresses", &document.by_address);
    groups(page, "Labels", &document.by_label);
}

fn statuses(page: &mut Page, figures: &Figures) {
    if figures.statuses.is_empty() {
        return;
    }
    page.title("Status codes");
    let mut table = TextTable::new(&["", ""]);
    figures
        .statuses
        .iter()
        .for_each(|(status, count)| table.row(vec![status.to_string(), count.to_string()]));
    page.table(&table);
}

fn errors(page: &mut Page, figures: &Figures) {
    if figures.errors.is_empty() {
        return;
    }
    page.title("Errors");
    let digits = figures
        .errors
        .iter()
        .map(|error| error.count.to_string().len())
        .max()
        .unwrap_or(0);
    for error in &figures.errors {
        let text = format!("{} [{}, {}]", error.words, error.name, share(error.share));
        page.paragraph(
            Paint::Plain,
            &format!("  {:>digits$}  ", error.count),
            &text,
        );
    }
}

/// A table, where there is more than one part to tell apart.
fn groups(page: &mut Page, title: &str, groups: &[FigureGroup]) {
    if groups.len() < 2 {
        return;
    }
    page.title(title);
    let mut table = TextTable::new(&GROUP_HEADINGS);
    groups
        .iter()
        .take(ROWS_MAX)
        .for_each(|group| table.row(group_row(group)));
    page.table(&table);
    if groups.len() > ROWS_MAX {
        page.paragraph(
            Paint::Faint,
            "  ",
            &format!(
                "and {} in result.json",
                counted((groups.len() - ROWS_MAX) as u64, "more row")
            ),
        );
    }
}

/// What [`GROUP_HEADINGS`] are the columns of.
pub(crate) fn group_row(group: &FigureGroup) -> Vec<String> {
    let figures = &group.figures;
    let at = |wanted| {
        let figure = figures.percentile("response_time", wanted);
        figure.map(percentile).unwrap_or_default()
    };
    let operations = &figures.operations;
    let rate = number(figures.rates.ok_per_second);
    vec![
        group.name.clone(),
        operations.ended.to_string(),
        operations.errors.to_string(),
        rate,
        at(50.0),
        at(99.0),
    ]
}
