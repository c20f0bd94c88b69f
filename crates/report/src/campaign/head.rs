//! What was done, the limits that were asked for, and notes.

use super::{ITEM, Section};
use crate::style::Paint;
use analysis::{CampaignDocument, LimitOutcome, LimitResult, State};

pub(super) fn section(campaign: &CampaignDocument) -> Section {
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
    Section {
        title: campaign.name.clone(),
        sentences,
        facts,
        ..Section::default()
    }
}

fn what_ran(campaign: &CampaignDocument) -> String {
    let state = match campaign.state {
        State::Complete => "",
        State::Interrupted => "INTERRUPTED · ",
        State::Incomplete => "INCOMPLETE · ",
    };
    let made = u32::try_from(campaign.runs.len()).unwrap_or(u32::MAX);
    let runs = if made < campaign.planned_runs {
        format!("{made} of {} runs · ", campaign.planned_runs)
    } else if made > 0 {
        format!("{made} run{} · ", if made == 1 { "" } else { "s" })
    } else {
        String::new()
    };
    format!("{state}{runs}{}", campaign.started_at)
}

pub(super) fn limits(campaign: &CampaignDocument) -> Option<Section> {
    let failed = campaign
        .limits
        .iter()
        .filter(|limit| limit.outcome != LimitOutcome::Kept)
        .count();
    let number = campaign.limits.len();
    let title = if failed == 0 {
        format!("Limits: all {number} kept")
    } else {
        format!("Limits: {failed} of {number} not kept")
    };
    let facts = campaign.limits.iter().map(limit).collect();
    (number > 0).then_some(Section {
        title,
        facts,
        ..Section::default()
    })
}

fn limit(result: &LimitResult) -> (String, Paint, String) {
    let (mark, paint, told) = match result.outcome {
        LimitOutcome::Kept => ("✓", Paint::Good, ""),
        LimitOutcome::Regressed => ("✗", Paint::Bad, ""),
        LimitOutcome::Unknown => ("✗", Paint::Doubtful, "cannot be told, "),
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

pub(super) fn notes(campaign: &CampaignDocument) -> Option<Section> {
    let compared = campaign
        .comparison
        .iter()
        .flat_map(|comparison| &comparison.notes);
    let item = |note: &String| (ITEM.to_owned(), Paint::Plain, note.clone());
    let facts: Vec<_> = campaign.notes.iter().chain(compared).map(item).collect();
    (!facts.is_empty()).then_some(Section {
        title: "Notes".to_owned(),
        facts,
        ..Section::default()
    })
}
