//! A campaign for a pull request or a wiki.

use super::{ITEM, ReportSection, baseline, sections};
use crate::markdown::{escape, item, table};
use analysis::CampaignDocument;
use std::fmt::Write as _;

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

/// How runs or searches differ from their baseline, as part of a page. `campaign` has two variants:
/// the baseline and what is judged against it.
pub(crate) fn against_baseline(campaign: &CampaignDocument) -> String {
    let mut text = format!("\n## {} against the baseline\n\n", escape(&campaign.name));
    let notes = baseline::notes(campaign);
    notes.iter().for_each(|note| item(&mut text, note));
    if let Some(comparison) = &campaign.comparison {
        text.push('\n');
        table(
            &mut text,
            &baseline::headings(),
            &baseline::rows(comparison),
        );
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

fn write_table(text: &mut String, section: &ReportSection) {
    if !section.rows.is_empty() {
        text.push('\n');
        table(text, &section.headings, &section.rows);
    }
}

fn write_list(text: &mut String, section: &ReportSection) {
    if !section.facts.is_empty() {
        text.push('\n');
    }
    section
        .facts
        .iter()
        .for_each(|(label, _, fact)| item(text, &format!("{}{fact}", label_prefix(label))));
}

/// A name gets a colon. Marks and numbers stand for themselves, and Markdown marks list items
/// already.
fn label_prefix(label: &str) -> String {
    match label {
        ITEM => String::new(),
        name if name.ends_with(|c: char| c.is_alphanumeric()) => format!("{name}: "),
        mark => format!("{mark} "),
    }
}
