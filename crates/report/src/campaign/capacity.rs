//! What the searches of several variants found, side by side.

use super::side_by_side::paint;
use super::{ReportSection, SectionSubject, headings_of};
use crate::style::Paint;
use analysis::human::number;
use analysis::{CampaignDocument, CapacityRow, Knee, LoadUnit};

/// Explains the two columns of amounts.
const HOW: &str = "the limit lies between the highest load that passed, with nothing failing \
                   below it, and the lowest that failed, with nothing passing above it; how much \
                   another search would differ, only another one tells";

pub(super) fn section(campaign: &CampaignDocument) -> Option<ReportSection> {
    let rows = &campaign.capacities;
    let first = rows.first()?;
    let change = |row: &CapacityRow| {
        row.change.as_ref().map(|change| {
            (
                row.variant.clone(),
                paint(change.finding),
                change.text.clone(),
            )
        })
    };
    Some(ReportSection {
        subject: SectionSubject::Other,
        title: format!("Capacity, against {}", first.variant),
        sentences: vec![(Paint::Faint, HOW.to_owned())],
        headings: headings_of(&["", "searches", "passed", "failed", "knee"]),
        rows: rows.iter().map(row).collect(),
        facts: rows.iter().filter_map(change).collect(),
    })
}

fn row(row: &CapacityRow) -> Vec<String> {
    let show = |amount: Option<f64>| {
        amount.map_or_else(|| "-".to_owned(), |amount| row.amount.display(amount))
    };
    vec![
        row.variant.clone(),
        row.searches.to_string(),
        show(row.passed),
        show(row.failed),
        row.knee.as_ref().map(knee).unwrap_or_default(),
    ]
}

fn knee(knee: &Knee) -> String {
    format!(
        "{}, {}/s",
        LoadUnit::Users.display(knee.users),
        number(knee.plateau_ok_per_second)
    )
}
