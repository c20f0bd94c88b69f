//! How runs differ from their baseline, reduced to what a reviewer asks for.

use super::side_by_side::{method, row};
use analysis::{CampaignDocument, ComparedFigure, Comparison};

/// The figures that a reviewer asks for; `compare` prints all of them.
const FIGURES: [&str; 6] = [
    "rate",
    "response_time.p50",
    "response_time.p99",
    "errors.share",
    "client.cpu_per_operation",
    "server.cpu_per_operation",
];

/// How the plans differ, and what the comparison rests on.
pub(crate) fn notes(compared: &CampaignDocument) -> Vec<String> {
    let differences = compared.differences.iter();
    let differences = differences.map(|it| format!("the plans differ: {}", it.display()));
    let comparison = compared.comparison.iter();
    let rests = comparison.flat_map(|comparison| {
        std::iter::once(method(comparison)).chain(comparison.notes.iter().cloned())
    });
    differences.chain(rests).collect()
}

/// The headings for [`rows`].
pub(crate) fn headings() -> [String; 4] {
    ["", "baseline", "this run", "change"].map(str::to_owned)
}

/// Both values of each figure, and a sentence about the change.
pub(crate) fn rows(comparison: &Comparison) -> Vec<Vec<String>> {
    let figures = FIGURES.iter().filter_map(|name| comparison.row(name));
    figures.map(change_row).collect()
}

fn change_row(figure: &ComparedFigure) -> Vec<String> {
    let change = figure.cells.get(1).and_then(|cell| cell.change.as_ref());
    let mut row = row(figure, 2);
    row.push(change.map(|change| change.text.clone()).unwrap_or_default());
    row
}
