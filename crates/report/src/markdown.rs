//! Tables for a pull request or a wiki (GitHub's flavour).

use crate::content::{ContentBlock, Remark, Section, content};
use crate::headline::{headline, meaning};
use analysis::Document;
use std::fmt::Write as _;

pub(crate) fn render(document: &Document) -> String {
    let record = &document.verdict;
    let mut text = format!(
        "# {}: {}\n\n",
        escape(&document.run.name),
        escape(&headline(document))
    );
    let _ = writeln!(
        text,
        "{}, {}: {}.\n",
        escape(&document.plan.url),
        escape(&document.run.started_at),
        meaning(document)
    );
    record
        .evidence
        .iter()
        .for_each(|sentence| item(&mut text, sentence));
    record
        .missing
        .iter()
        .for_each(|missing| item(&mut text, &format!("to know more: {missing}")));
    let sections = content(document);
    sections.iter().for_each(|part| section(&mut text, part));
    text
}

fn section(text: &mut String, section: &Section) {
    let _ = writeln!(text, "\n## {}", escape(&section.title));
    for block in &section.blocks {
        text.push('\n');
        if let ContentBlock::Items(remarks) | ContentBlock::Remarks(remarks) = block {
            let sentence = |remark: &Remark| item(text, &remark.text);
            remarks.iter().for_each(sentence);
        }
        if let Some(rows) = block.to_table() {
            table(text, &rows.headings, &rows.rows);
        }
    }
}

pub(crate) fn item(text: &mut String, sentence: &str) {
    let _ = writeln!(text, "- {}", escape(sentence));
}

/// Aligns the first column to the left, the others to the right.
pub(crate) fn table(text: &mut String, headings: &[String], rows: &[Vec<String>]) {
    let line = |text: &mut String, cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escape(cell)).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    };
    line(text, headings);
    let _ = writeln!(
        text,
        "|---|{}",
        "---:|".repeat(headings.len().saturating_sub(1))
    );
    rows.iter().for_each(|row| line(text, row));
}

/// Escapes characters that would end a table cell or become markup.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '|' | '<' | '>' | '*' | '`' | '[' | ']' | '\\' => escaped.extend(['\\', character]),
            _ if measure::is_unprintable(character) => escaped.push(' '),
            _ => escaped.push(character),
        }
    }
    escaped
}
