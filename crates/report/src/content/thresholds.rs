//! Thresholds and their measured values.

use super::{ContentBlock, Section, ThresholdLine, Topic};
use analysis::{Document, Judgement};

pub(super) fn section(document: &Document) -> Section {
    let thresholds = &document.thresholds;
    let failed = thresholds.iter().filter(|judgement| !judgement.passed);
    let title = match (failed.count(), thresholds.len()) {
        (0, 1) => "Thresholds: the only one holds".to_owned(),
        (_, 1) => "Thresholds: the only one failed".to_owned(),
        (0, all) => format!("Thresholds: all {all} hold"),
        (failed, all) => format!("Thresholds: {failed} of {all} failed"),
    };
    let lines = thresholds.iter().map(line).collect();
    Section::new(Topic::Thresholds, title, [ContentBlock::Thresholds(lines)])
}

fn line(judgement: &Judgement) -> ThresholdLine {
    ThresholdLine {
        metric: judgement.metric.clone(),
        limit: judgement.limit_in_words(),
        measured: value_in_words(judgement),
        passed: judgement.passed,
    }
}

/// The threshold as the plan states it.
pub(crate) fn limit_in_words(judgement: &Judgement) -> String {
    format!("{} {}", judgement.metric, judgement.limit_in_words())
}

/// The measured value, and the reason if it does not count.
pub(crate) fn value_in_words(judgement: &Judgement) -> String {
    let sign = if judgement.at_least { "≥ " } else { "" };
    let actual = judgement
        .actual
        .map(|actual| format!("{sign}{}", judgement.unit.display(actual)));
    match (actual, &judgement.reason) {
        (Some(actual), None) => actual,
        (Some(actual), Some(reason)) => format!("{actual}: {reason}"),
        (None, Some(reason)) => reason.clone(),
        (None, None) => "not measured".to_owned(),
    }
}
