//! A campaign on a terminal.

use super::{ReportSection, sections};
use crate::Style;
use crate::page::Page;
use crate::table::TextTable;
use analysis::CampaignDocument;

/// Facts are aligned behind labels up to this length.
const LABEL_MAX: usize = 28;

pub(crate) fn render(campaign: &CampaignDocument, style: Style) -> String {
    let mut page = Page::new(style);
    sections(campaign)
        .iter()
        .for_each(|section| write(&mut page, section));
    page.finish()
}

fn write(page: &mut Page, section: &ReportSection) {
    page.title(&section.title);
    section
        .sentences
        .iter()
        .for_each(|(paint, sentence)| page.paragraph(*paint, "", sentence));
    let headings: Vec<&str> = section.headings.iter().map(String::as_str).collect();
    let mut table = TextTable::new(&headings);
    section.rows.iter().for_each(|row| table.row(row.clone()));
    if !table.is_empty() {
        page.table(&table);
    }
    let width = section
        .facts
        .iter()
        .map(|(label, ..)| label.chars().count())
        .max()
        .unwrap_or(0)
        .min(LABEL_MAX);
    section.facts.iter().for_each(|(label, paint, text)| {
        page.paragraph(*paint, &format!("  {label:<width$}  "), text)
    });
}
