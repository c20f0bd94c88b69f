//! Variants side by side: a table of values, then what each changes against the first.

use super::ReportSection;
use crate::style::Paint;
use analysis::human::share;
use analysis::{ChangeFinding, ComparedCell, ComparedFigure, Comparison, Method};

pub(super) fn sections(comparison: &Comparison) -> Vec<ReportSection> {
    let others = comparison.variants.iter().enumerate().skip(1);
    std::iter::once(values(comparison))
        .chain(others.map(|(index, name)| changes(comparison, index, name)))
        .collect()
}

/// Headings are the variants' names, so the first row holds them.
fn values(comparison: &Comparison) -> ReportSection {
    let names = std::iter::once(String::new())
        .chain(comparison.variants.iter().cloned())
        .collect();
    let mut headings = vec![""];
    headings.resize(comparison.variants.len() + 1, "");
    ReportSection {
        title: "Side by side".to_owned(),
        sentences: vec![(Paint::Faint, method(comparison))],
        headings,
        rows: std::iter::once(names)
            .chain(comparison.rows.iter().map(row))
            .collect(),
        ..ReportSection::default()
    }
}

fn method(comparison: &Comparison) -> String {
    if comparison.looked_at == 0 {
        return "nothing tells how much these figures scatter: make repeats, or runs of 16 s or \
                more"
            .to_owned();
    }
    let rests = match comparison.method {
        Method::Paired => "intervals rest on the ratios within each round of repeats",
        Method::Separate => "intervals rest on how the runs of each side scatter",
        Method::WithinRun => {
            "within this run only: intervals rest on the seconds of single runs, and what differs \
             from run to run is not in them"
        }
    };
    format!(
        "{rests}, with 95 % confidence; a difference is named only where chance would not bring \
         it among {} changes, and its interval is widened to {} for that",
        comparison.looked_at,
        share(comparison.confidence)
    )
}

fn row(figure: &ComparedFigure) -> Vec<String> {
    let value = |cell: &ComparedCell| {
        let sign = if cell.at_least { "≥ " } else { "" };
        cell.value
            .map(|value| format!("{sign}{}", figure.unit.display(value)))
            .unwrap_or_default()
    };
    std::iter::once(figure.name.clone())
        .chain(figure.cells.iter().map(value))
        .collect()
}

fn changes(comparison: &Comparison, index: usize, name: &str) -> ReportSection {
    let first = comparison.variants.first().map_or("", String::as_str);
    let is_in_both = |row: &&ComparedFigure| {
        [0, index]
            .iter()
            .all(|&at| row.cells.get(at).is_some_and(|c| c.value.is_some()))
    };
    let measured = || comparison.rows.iter().filter(is_in_both);
    let cells = || measured().filter_map(|row| Some((row, row.cells.get(index)?.change.as_ref()?)));
    let repeats = cells().map(|(_, change)| change.repeats).max().unwrap_or(0);
    let weak = cells().any(|(_, change)| change.weak && change.repeats == repeats);
    let strength = match repeats {
        _ if !weak => String::new(),
        1 if comparison.method == Method::WithinRun => " (weak: one run each)".to_owned(),
        1 => " (weak: one run on one side)".to_owned(),
        _ => format!(" (weak: {repeats} repeats)"),
    };
    ReportSection {
        title: format!("{name} against {first}{strength}"),
        facts: cells()
            .map(|(row, change)| (row.name.clone(), paint(change.finding), change.text.clone()))
            .collect(),
        ..ReportSection::default()
    }
}

pub(super) fn paint(finding: ChangeFinding) -> Paint {
    match finding {
        ChangeFinding::HigherIsBetter | ChangeFinding::LowerIsBetter => Paint::Good,
        ChangeFinding::HigherIsWorse | ChangeFinding::LowerIsWorse => Paint::Bad,
        ChangeFinding::NoDifference => Paint::Plain,
        ChangeFinding::Unknown => Paint::Faint,
    }
}
