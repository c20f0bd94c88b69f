//! Thresholds, each with what was measured.

use crate::junit::measured;
use crate::page::Page;
use crate::style::Paint;
use analysis::human::exact;
use analysis::{Document, Judgement};

pub(crate) fn write(page: &mut Page, document: &Document) {
    if document.thresholds.is_empty() {
        return;
    }
    let failed = document
        .thresholds
        .iter()
        .filter(|judgement| !judgement.passed)
        .count();
    let number = document.thresholds.len();
    page.title(&if failed == 0 {
        format!("Thresholds: all {number} hold")
    } else {
        format!("Thresholds: {failed} of {number} failed")
    });
    document
        .thresholds
        .iter()
        .for_each(|judgement| one(page, judgement));
}

fn one(page: &mut Page, judgement: &Judgement) {
    let (mark, paint) = if judgement.passed {
        ("  ✓ ", Paint::Good)
    } else {
        ("  ✗ ", Paint::Bad)
    };
    let limit = exact(&judgement.unit.display(judgement.limit));
    let text = format!(
        "{} {} {limit}: {}",
        judgement.metric,
        judgement.comparison,
        measured(judgement)
    );
    page.paragraph(paint, mark, &text);
}
