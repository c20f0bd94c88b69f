//! What was run, the limits that were asked for, and notes.

use super::{ITEM, ReportSection};
use crate::style::Paint;
use analysis::human::counted;
use analysis::{CampaignDocument, LimitOutcome, LimitResult, RunState};

pub(super) fn section(campaign: &CampaignDocument) -> ReportSection {
    let mut sentences = vec![(Paint::Faint, what_ran(campaign))];
    if !campaign.differences.is_empty() {
        sentences.push((
            Paint::Doubtful,
            "the plans differ, so these are not two runs of the same thing:".to_owned(),
        ));
    }
    let differences = campaign.differences.iter();
    let facts = differences
        .map(|difference| (ITEM.to_owned(), Paint::Doubtful, difference.display()))
        .collect();
    ReportSection {
        title: campaign.name.clone(),
        sentences,
        facts,
        ..ReportSection::default()
    }
}

fn what_ran(campaign: &CampaignDocument) -> String {
    let state = match campaign.state {
        RunState::Complete => "",
        RunState::Interrupted => "INTERRUPTED · ",
        RunState::Incomplete => "INCOMPLETE · ",
    };
    let made = u32::try_from(campaign.runs.len()).unwrap_or(u32::MAX);
    let runs = if made < campaign.planned_runs {
        format!("{made} of {} runs · ", campaign.planned_runs)
    } else if made > 0 {
        format!("{} · ", counted(u64::from(made), "run"))
    } else {
        String::new()
    };
    format!("{state}{runs}{}", campaign.started_at)
}

pub(super) fn limits(campaign: &CampaignDocument) -> Option<ReportSection> {
    let facts = campaign.limits.iter().map(limit).collect();
    Some(ReportSection {
        title: format!("Limits: {}", limits_in_words(&campaign.limits)?),
        facts,
        ..ReportSection::default()
    })
}

/// How many limits are kept, exceeded, or impossible to judge; `None` if there are no limits.
pub(crate) fn limits_in_words(limits: &[LimitResult]) -> Option<String> {
    let number = |outcome| {
        let results = limits.iter();
        results.filter(|result| result.outcome == outcome).count()
    };
    let not_kept = number(LimitOutcome::Regressed);
    let unknown = number(LimitOutcome::Unknown);
    match (limits.len(), not_kept, unknown) {
        (0, _, _) => None,
        (all, 0, 0) => Some(format!("all {all} kept")),
        (all, 0, _) => Some(format!("{unknown} of {all} cannot be told")),
        (all, _, 0) => Some(format!("{not_kept} of {all} not kept")),
        (all, _, _) => Some(format!(
            "{not_kept} of {all} not kept, {unknown} cannot be told"
        )),
    }
}

fn limit(result: &LimitResult) -> (String, Paint, String) {
    let (mark, paint, told) = match result.outcome {
        LimitOutcome::Kept => ("✓", Paint::Good, ""),
        LimitOutcome::Regressed => ("✗", Paint::Bad, ""),
        LimitOutcome::Unknown => ("?", Paint::Doubtful, "cannot be told, "),
    };
    (
        mark.to_owned(),
        paint,
        format!(
            "{}, {}: {told}{}",
            result.limit.display(),
            result.variant,
            result.text
        ),
    )
}

pub(super) fn notes(campaign: &CampaignDocument) -> Option<ReportSection> {
    let compared = campaign
        .comparison
        .iter()
        .flat_map(|comparison| &comparison.notes);
    let item = |note: &String| (ITEM.to_owned(), Paint::Plain, note.clone());
    let facts: Vec<_> = campaign.notes.iter().chain(compared).map(item).collect();
    (!facts.is_empty()).then_some(ReportSection {
        title: "Notes".to_owned(),
        facts,
        ..ReportSection::default()
    })
}
