//! A campaign in every format. Console and Markdown show the same sections, each in its own way.

pub(crate) mod baseline;
mod capacity;
pub(crate) mod console;
pub(crate) mod csv;
pub(crate) mod head;
pub(crate) mod junit;
pub(crate) mod markdown;
mod runs;
mod scaling;
mod search;
mod side_by_side;

use crate::style::Paint;
use analysis::CampaignDocument;

/// What a part is about, where a page for a browser has pictures of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum SectionSubject {
    #[default]
    Other,
    /// Which of the searches.
    Search(usize),
    /// Which of the scalings.
    Scaling(usize),
    /// All variants.
    SideBySide,
    /// Which of the variants, against the first.
    Change(usize),
    /// Two variants that differ in one axis.
    AlongAxis,
    Runs,
}

/// A part of the report.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReportSection {
    pub(crate) title: String,
    /// Paragraphs before the table.
    pub(crate) sentences: Vec<(Paint, String)>,
    pub(crate) headings: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) subject: SectionSubject,
    /// A list after the table: a mark or a label each, and what it labels.
    pub(crate) facts: Vec<(String, Paint, String)>,
}

/// Headings whose names are always the same.
fn headings_of(headings: &[&str]) -> Vec<String> {
    headings.iter().map(|&heading| heading.to_owned()).collect()
}

/// What stands in a report, in order.
pub(crate) fn sections(campaign: &CampaignDocument) -> Vec<ReportSection> {
    let mut sections = vec![head::section(campaign)];
    sections.extend(
        (0..)
            .zip(&campaign.searches)
            .map(|(place, it)| search::section(place, it)),
    );
    sections.extend(capacity::section(campaign));
    sections.extend(
        (0..)
            .zip(&campaign.scalings)
            .map(|(place, it)| scaling::section(place, it)),
    );
    if let Some(comparison) = &campaign.comparison {
        sections.extend(side_by_side::sections(comparison));
    }
    sections.extend(head::limits(campaign));
    sections.extend(runs::section(campaign));
    sections.extend(head::notes(campaign));
    sections
}

/// Before an item of a list that has no label.
const ITEM: &str = "·";

/// `http`, or with more than one repeat `http, repeat 2`.
fn variant_name(variant: &str, repeat: u32, repeats: u32) -> String {
    if repeats > 1 {
        format!("{variant}, repeat {}", repeat + 1)
    } else {
        variant.to_owned()
    }
}
