//! A search: its answer, its holds, and why each did not pass.

use super::{ReportSection, SectionSubject, headings_of, variant_name};
use crate::style::Paint;
use analysis::human::{number, share, time_or_more};
use analysis::{HoldOutcome, HoldRecord, Purpose, SearchAnswer, SearchRecord, VariantSearch};

pub(super) fn section(place: usize, searched: &VariantSearch) -> ReportSection {
    let record = &searched.search;
    let title = format!(
        "Search: {}",
        variant_name(&searched.variant, searched.repeat, searched.repeat + 1)
    );
    ReportSection {
        title,
        subject: SectionSubject::Search(place),
        sentences: vec![answer(record)],
        headings: headings_of(&[
            "hold", "amount", "for", "outcome", "ok/s", "p50", "p99", "errors", "worker",
        ]),
        rows: record.steps.iter().map(|step| row(step, record)).collect(),
        facts: record.steps.iter().filter_map(reasons).collect(),
    }
}

fn answer(record: &SearchRecord) -> (Paint, String) {
    let paint = match record.answer {
        Some(SearchAnswer::Found { .. } | SearchAnswer::AtLeast { .. }) => Paint::Good,
        Some(SearchAnswer::BelowFrom { .. } | SearchAnswer::Invalid { .. }) => Paint::Bad,
        Some(SearchAnswer::ClientBound { .. }) => Paint::Doubtful,
        None => {
            return (
                Paint::Doubtful,
                "the search did not come to its end".to_owned(),
            );
        }
    };
    (paint, record.statement.clone())
}

fn row(step: &HoldRecord, record: &SearchRecord) -> Vec<String> {
    let figures = &step.result.figures;
    let time = |value: Option<u64>, at_least| {
        value
            .map(|ns| time_or_more(ns as f64, at_least))
            .unwrap_or_default()
    };
    vec![
        step.step.to_string(),
        record.bounds.amount().display(step.amount),
        purpose(step.purpose).to_owned(),
        outcome(&step.result.outcome).to_owned(),
        number(figures.ok_per_second),
        time(
            figures.response_time_p50_ns,
            figures.response_time_p50_at_least,
        ),
        time(
            figures.response_time_p99_ns,
            figures.response_time_p99_at_least,
        ),
        figures.error_share.map(share).unwrap_or_default(),
        figures.busiest_worker_share.map(share).unwrap_or_default(),
    ]
}

pub(super) fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Climb => "climb",
        Purpose::Bisect => "bisect",
        Purpose::Confirm => "confirm",
        Purpose::Knee => "knee",
    }
}

pub(super) fn outcome(outcome: &HoldOutcome) -> &'static str {
    match outcome {
        HoldOutcome::Passed => "passed",
        HoldOutcome::Failed { .. } => "failed",
        HoldOutcome::ClientBound { .. } => "client-bound",
        HoldOutcome::Invalid { .. } => "invalid",
    }
}

fn reasons(step: &HoldRecord) -> Option<(String, Paint, String)> {
    let reasons = step.result.reasons().join("; ");
    (!reasons.is_empty()).then(|| (format!("{}:", step.step), Paint::Plain, reasons))
}
