//! The summary for a person at the end of a run: first the verdict, then what users of ab, hey and
//! oha are used to, then what only a cluster can tell.

mod brief;

pub(crate) use brief::render as render_brief;

use crate::Style;
use crate::content::{Bar, ContentBlock, ErrorLine, Section, Table, ThresholdLine, Topic};
use crate::content::{content, what_ran};
use crate::headline::{tone, verdict_sentence};
use crate::page::Page;
use crate::style::Paint;
use crate::table::TextTable;
use analysis::Document;
use analysis::human::counted;

/// Before a sentence that is an item of its own.
const ITEM: &str = "  · ";

/// Before a sentence about the lines above it.
const REMARK: &str = "  ";

/// The longest bar, in columns; it is shorter on a narrow terminal.
const BAR_MAX: usize = 40;

pub(crate) fn render(document: &Document, style: Style) -> String {
    let mut page = Page::new(style);
    head(&mut page, document);
    let sections = content(document);
    sections.iter().for_each(|part| section(&mut page, part));
    page.finish()
}

fn head(page: &mut Page, document: &Document) {
    let title = format!("{} · {}", document.run.name, document.plan.url);
    page.paragraph(Paint::Title, "", &title);
    page.paragraph(Paint::Faint, "", &what_ran(document));
    page.blank();
    let record = &document.verdict;
    let sentence = verdict_sentence(document);
    page.paragraph(tone(record.verdict), "Verdict: ", &sentence);
    let evidence = record.evidence.iter();
    evidence.for_each(|evidence| page.paragraph(Paint::Plain, ITEM, evidence));
    let missing = record.missing.iter();
    missing.for_each(|missing| page.paragraph(Paint::Faint, "  · to know more: ", missing));
}

fn section(page: &mut Page, section: &Section) {
    match section.topic {
        // The totals follow the verdict directly, since they are its figures.
        Topic::Totals => page.blank(),
        _ => page.title(&section.title),
    }
    for block in &section.blocks {
        match block {
            ContentBlock::Facts(facts) => facts
                .iter()
                .for_each(|(label, text)| page.fact(label, text)),
            ContentBlock::Items(remarks) => remarks
                .iter()
                .for_each(|remark| page.paragraph(remark.paint, ITEM, &remark.text)),
            ContentBlock::Remarks(remarks) => remarks
                .iter()
                .for_each(|remark| page.paragraph(remark.paint, REMARK, &remark.text)),
            ContentBlock::Table(rows) => table(page, rows),
            ContentBlock::Thresholds(lines) => lines.iter().for_each(|line| threshold(page, line)),
            ContentBlock::Errors(lines) => errors(page, lines),
            ContentBlock::Bars(columns) => bars(page, columns),
        }
    }
}

fn table(page: &mut Page, table: &Table) {
    let headings: Vec<&str> = table.headings.iter().map(String::as_str).collect();
    let mut text = TextTable::new(&headings).with_optional(table.optional);
    let rows = table.rows.iter().take(table.terminal_rows);
    rows.for_each(|row| text.row(row.clone()));
    page.table(&text);
    let left_out = table.rows.len().saturating_sub(table.terminal_rows);
    if left_out > 0 {
        let more = counted(left_out as u64, "more row");
        page.paragraph(Paint::Faint, REMARK, &format!("and {more} in result.json"));
    }
}

fn threshold(page: &mut Page, line: &ThresholdLine) {
    let (mark, paint) = if line.passed {
        ("  ✓ ", Paint::Good)
    } else {
        ("  ✗ ", Paint::Bad)
    };
    let text = format!("{} {}: {}", line.metric, line.limit, line.measured);
    page.paragraph(paint, mark, &text);
}

fn errors(page: &mut Page, lines: &[ErrorLine]) {
    let digits = lines.iter().map(|line| line.count.to_string().len()).max();
    let digits = digits.unwrap_or(0);
    for line in lines {
        let first = match line.first_at.as_str() {
            "" => String::new(),
            first_at => format!(", first at {first_at}"),
        };
        let text = format!("{} [{}, {}{first}]", line.words, line.name, line.share);
        page.paragraph(Paint::Plain, &format!("  {:>digits$}  ", line.count), &text);
    }
}

fn bars(page: &mut Page, bars: &[Bar]) {
    let most = bars.iter().map(|bar| bar.count).max().unwrap_or(0);
    // The label, the count and the gaps need 30 columns.
    let longest = page.style().columns().saturating_sub(30).clamp(5, BAR_MAX);
    let mut table = TextTable::new(&["", "", ""]);
    for bar in bars {
        let drawn = "█".repeat(bar_length(bar.count, most, longest));
        table.row(vec![
            bar.label.clone(),
            bar.count.to_string(),
            format!("{drawn:<longest$}"),
        ]);
    }
    page.table(&table);
}

/// Length of a bar in columns; at least 1 for any count above 0.
fn bar_length(count: u64, most: u64, longest: usize) -> usize {
    let share = count as f64 / most.max(1) as f64;
    let length = (share * longest as f64).round() as usize;
    // A single time-out among a million answers must remain visible.
    let least = usize::from(count > 0);
    length.max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_in_proportion_and_never_hide_a_value() {
        for (count, most, length) in [
            (0, 10, 0),
            (1, 1000, 1),
            (5, 10, 20),
            (10, 10, 40),
            (0, 0, 0),
        ] {
            assert_eq!(bar_length(count, most, 40), length, "{count} of {most}");
        }
    }
}
