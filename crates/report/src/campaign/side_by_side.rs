//! Variants side by side: a table of values, then how each differs from the first.

use super::{ReportSection, SectionSubject};
use crate::style::Paint;
use analysis::human::share;
use analysis::{
    Change, ChangeFinding, ComparedCell, ComparedFigure, ComparedPair, Comparison, Method,
};

pub(super) fn sections(comparison: &Comparison) -> Vec<ReportSection> {
    let others = comparison.variants.iter().enumerate().skip(1);
    std::iter::once(values(comparison))
        .chain(others.map(|(index, name)| changes(comparison, index, name)))
        .chain(
            comparison
                .along_axes
                .iter()
                .map(|pair| along_axis(comparison, pair)),
        )
        .collect()
}

fn values(comparison: &Comparison) -> ReportSection {
    let names = comparison.variants.iter().cloned();
    let headings = std::iter::once(String::new()).chain(names).collect();
    let variants = comparison.variants.len();
    ReportSection {
        title: "Side by side".to_owned(),
        subject: SectionSubject::SideBySide,
        sentences: vec![(Paint::Faint, method(comparison))],
        headings,
        rows: comparison
            .rows
            .iter()
            .map(|figure| row(figure, variants))
            .collect(),
        ..ReportSection::default()
    }
}

pub(super) fn method(comparison: &Comparison) -> String {
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

/// One cell for each variant. A saved comparison may have more or fewer values than variants.
pub(super) fn row(figure: &ComparedFigure, variants: usize) -> Vec<String> {
    let value = |cell: &ComparedCell| {
        let sign = if cell.at_least { "≥ " } else { "" };
        cell.value
            .map(|value| format!("{sign}{}", figure.unit.display(value)))
            .unwrap_or_default()
    };
    let cells = figure.cells.iter().map(value);
    let none = std::iter::repeat_with(String::new);
    std::iter::once(figure.name.clone())
        .chain(cells.chain(none).take(variants))
        .collect()
}

fn changes(comparison: &Comparison, index: usize, name: &str) -> ReportSection {
    let first = comparison.variants.first().map_or("", String::as_str);
    let measured: Vec<(&str, &Change)> = comparison
        .rows
        .iter()
        .filter_map(|row| Some((row.name.as_str(), change_of(row, index)?)))
        .collect();
    let subject = SectionSubject::Change(index);
    against(comparison.method, (name, first), subject, &measured)
}

/// Two variants that differ only in one axis of a matrix.
fn along_axis(comparison: &Comparison, pair: &ComparedPair) -> ReportSection {
    let changes = pair.changes.iter();
    let measured: Vec<(&str, &Change)> = changes
        .map(|changed| (changed.name.as_str(), &changed.change))
        .collect();
    let names = (pair.variant.as_str(), pair.against.as_str());
    against(
        comparison.method,
        names,
        SectionSubject::AlongAxis,
        &measured,
    )
}

/// The changes of one variant against another; `measured` has each with the name of its figure.
fn against(
    method: Method,
    (variant, other): (&str, &str),
    subject: SectionSubject,
    measured: &[(&str, &Change)],
) -> ReportSection {
    let strength = strength(method, measured);
    let fact = |&(name, change): &(&str, &Change)| {
        (name.to_owned(), paint(change.finding), change.text.clone())
    };
    ReportSection {
        title: format!("{variant} against {other}{strength}"),
        subject,
        facts: measured.iter().map(fact).collect(),
        ..ReportSection::default()
    }
}

/// The change of a figure, if both the first variant and this one have the figure.
fn change_of(row: &ComparedFigure, index: usize) -> Option<&Change> {
    let first = row.cells.first()?;
    let cell = row.cells.get(index)?;
    if first.value.is_none() || cell.value.is_none() {
        return None;
    }
    cell.change.as_ref()
}

/// A remark for the title if there are few repeats; empty if there are enough. Some figures may
/// come from fewer runs than others, so the largest number of runs counts.
fn strength(method: Method, measured: &[(&str, &Change)]) -> String {
    let changes = || measured.iter().map(|(_, change)| change);
    let repeats = changes().map(|change| change.repeats).max().unwrap_or(0);
    let weak = changes().any(|change| change.weak && change.repeats == repeats);
    match repeats {
        _ if !weak => String::new(),
        1 if method == Method::WithinRun => " (weak: one run each)".to_owned(),
        1 => " (weak: one run on one side)".to_owned(),
        _ => format!(" (weak: {repeats} repeats)"),
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
