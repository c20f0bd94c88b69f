//! A campaign in every format. Console and Markdown show the same sections, each in its own layout.

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

/// What a section is about, for sections that get a picture on the page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum SectionSubject {
    #[default]
    Other,
    /// The search with this index.
    Search(usize),
    /// The scaling table with this index.
    Scaling(usize),
    /// All variants.
    SideBySide,
    /// The variant with this index, compared with the first.
    Change(usize),
    /// Two variants that differ in a single axis.
    AlongAxis,
    Runs,
}

/// A section of the report.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReportSection {
    pub(crate) title: String,
    /// Paragraphs before the table.
    pub(crate) sentences: Vec<(Paint, String)>,
    pub(crate) headings: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) subject: SectionSubject,
    /// A list after the table: a mark or label, its colour, and the text.
    pub(crate) facts: Vec<(String, Paint, String)>,
}

/// Headings that do not depend on the campaign.
fn headings_of(headings: &[&str]) -> Vec<String> {
    headings.iter().map(|&heading| heading.to_owned()).collect()
}

/// All sections of the report, in order.
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

/// The mark of list items that have no label.
const ITEM: &str = "·";

/// `http`, or `http, repeat 2` if there is more than one repeat.
fn variant_name(variant: &str, repeat: u32, repeats: u32) -> String {
    if repeats > 1 {
        format!("{variant}, repeat {}", repeat + 1)
    } else {
        variant.to_owned()
    }
}
