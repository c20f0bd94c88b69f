//! A campaign for a pull request or a wiki.

use super::side_by_side::{method, row};
use super::{ITEM, ReportSection, sections};
use crate::markdown::{escape, item, table};
use analysis::{CampaignDocument, ComparedFigure};
use std::fmt::Write as _;

/// Figures that a reviewer asks for; `compare` has all.
const BASELINE_FIGURES: [&str; 6] = [
    "rate",
    "response_time.p50",
    "response_time.p99",
    "errors.share",
    "client.cpu_per_operation",
    "server.cpu_per_operation",
];

pub(crate) fn render(campaign: &CampaignDocument) -> String {
    let mut text = String::new();
    for (index, section) in sections(campaign).iter().enumerate() {
        let level = if index == 0 { "#" } else { "\n##" };
        let _ = writeln!(text, "{level} {}", escape(&section.title));
        section.sentences.iter().for_each(|(_, sentence)| {
            let _ = writeln!(text, "\n{}", escape(sentence));
        });
        write_table(&mut text, section);
        write_list(&mut text, section);
    }
    text
}

/// How runs, or searches, differ from their baseline, as a part of a page: what is compared and
/// judged stands in `campaign`, of two variants.
pub(crate) fn against_baseline(campaign: &CampaignDocument) -> String {
    let mut text = format!("\n## {} against the baseline\n\n", escape(&campaign.name));
    let differences = campaign.differences.iter();
    differences.for_each(|difference| {
        let difference = difference.display();
        item(&mut text, &format!("the plans differ: {difference}"));
    });
    if let Some(comparison) = &campaign.comparison {
        let notes = std::iter::once(method(comparison)).chain(comparison.notes.iter().cloned());
        notes.for_each(|note| item(&mut text, &note));
        text.push('\n');
        let headings = ["", "baseline", "this run", "change"].map(str::to_owned);
        let figures = BASELINE_FIGURES
            .iter()
            .filter_map(|name| comparison.row(name));
        let rows: Vec<Vec<String>> = figures.map(change_row).collect();
        table(&mut text, &headings, &rows);
    }
    for row in campaign.capacities.iter().skip(1) {
        let change = row
            .change
            .as_ref()
            .map_or("cannot be told", |change| &change.text);
        item(&mut text, &format!("capacity: {change}"));
    }
    text
}

/// Both values, then what can be said of the change.
fn change_row(figure: &ComparedFigure) -> Vec<String> {
    let change = figure.cells.get(1).and_then(|cell| cell.change.as_ref());
    let mut row = row(figure, 2);
    row.push(change.map(|change| change.text.clone()).unwrap_or_default());
    row
}

/// Without headings, the first row is the headings.
fn write_table(text: &mut String, section: &ReportSection) {
    let Some((first, rest)) = section.rows.split_first() else {
        return; // a section of sentences only
    };
    let headings: Vec<String> = section
        .headings
        .iter()
        .map(|&heading| heading.to_owned())
        .collect();
    let is_named = headings.iter().any(|heading| !heading.is_empty());
    text.push('\n');
    if is_named {
        table(text, &headings, &section.rows)
    } else {
        table(text, first, rest)
    }
}

fn write_list(text: &mut String, section: &ReportSection) {
    if !section.facts.is_empty() {
        text.push('\n');
    }
    section
        .facts
        .iter()
        .for_each(|(label, _, fact)| item(text, &format!("{}{fact}", labelled(label))));
}

/// A name gets a colon; marks and numbers have what they need; an item has its own mark here.
fn labelled(label: &str) -> String {
    match label {
        ITEM => String::new(),
        name if name.ends_with(|c: char| c.is_alphanumeric()) => format!("{name}: "),
        mark => format!("{mark} "),
    }
}
