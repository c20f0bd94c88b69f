//! Every run on one line.

use super::{ReportSection, SectionSubject, headings_of};
use crate::style::Paint;
use analysis::human::{number, time_or_more};
use analysis::{CampaignDocument, RunSummary};

pub(super) fn section(campaign: &CampaignDocument) -> Option<ReportSection> {
    let failed = campaign.runs.iter().flat_map(|run| {
        let failed = run.thresholds.iter().filter(|judgement| !judgement.passed);
        failed.map(|judgement| (Paint::Bad, format!("{}: {}", name(run), judgement.miss())))
    });
    (!campaign.runs.is_empty()).then(|| ReportSection {
        title: "Runs".to_owned(),
        subject: SectionSubject::Runs,
        headings: headings_of(&["", "verdict", "ended", "errors", "ok/s", "p50", "p99"]),
        rows: campaign.runs.iter().map(row).collect(),
        facts: failed
            .map(|(paint, sentence)| ("✗".to_owned(), paint, sentence))
            .collect(),
        ..ReportSection::default()
    })
}

fn name(run: &RunSummary) -> String {
    format!("{}, repeat {}", run.variant, run.repeat + 1)
}

fn row(run: &RunSummary) -> Vec<String> {
    let time = |value: Option<u64>, at_least| {
        value
            .map(|ns| time_or_more(ns as f64, at_least))
            .unwrap_or_default()
    };
    vec![
        name(run),
        run.verdict.name().to_owned(),
        run.ended.to_string(),
        run.errors.to_string(),
        number(run.ok_per_second),
        time(run.response_time_p50_ns, run.response_time_p50_at_least),
        time(run.response_time_p99_ns, run.response_time_p99_at_least),
    ]
}
