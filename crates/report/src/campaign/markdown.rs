//! A campaign for a pull request or a wiki.

use super::{Section, sections};
use crate::markdown::{escape, item, table};
use analysis::CampaignDocument;
use std::fmt::Write as _;

pub(crate) fn render(campaign: &CampaignDocument) -> String {
    let mut text = String::new();
    for (index, section) in sections(campaign).iter().enumerate() {
        let level = if index == 0 { "#" } else { "\n##" };
        let _ = writeln!(text, "{level} {}\n", escape(&section.title));
        section.sentences.iter().for_each(|(_, sentence)| item(&mut text, sentence));
        write_table(&mut text, section);
    }
    text
}

fn write_table(text: &mut String, section: &Section) {
    let space = |text: &mut String| {
        if !text.ends_with("\n\n") {
            text.push('\n');
        }
    };
    if let Some((first, rest)) = section.rows.split_first() {
        space(text);
        let is_named = section.headings.iter().any(|heading| !heading.is_empty());
        let headings: Vec<String> = section.headings.iter().map(|&heading| heading.to_owned()).collect();
        if is_named { table(text, &headings, &section.rows) } else { table(text, first, rest) }
    }
    if !section.facts.is_empty() {
        space(text);
        section.facts.iter().for_each(|(label, _, fact)| item(text, &format!("{} {fact}", labelled(label))));
    }
}

/// A name gets a colon; marks and numbers have what they need.
fn labelled(label: &str) -> String {
    if label.ends_with(|c: char| c.is_alphanumeric()) { format!("{label}:") } else { label.to_owned() }
}
