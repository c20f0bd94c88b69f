//! A campaign for build servers: a test case for each threshold of each variant, each limit, each
//! search, and each row of a scaling table.

use crate::content::limit_in_words;
use crate::headline::campaign_headline;
use crate::junit::{Case, suite};
use analysis::{
    CampaignDocument, LimitOutcome, LimitResult, RunSummary, SearchAnswer, VariantScaling,
    VariantSearch, Verdict,
};

pub(crate) fn render(campaign: &CampaignDocument) -> String {
    let variants = runs_by_variant(&campaign.runs).into_iter();
    let mut cases: Vec<Case> = variants
        .flat_map(|(variant, runs)| of_variant(campaign, variant, &runs))
        .collect();
    cases.extend(campaign.limits.iter().map(limit));
    cases.extend(campaign.searches.iter().map(search));
    cases.extend(campaign.scalings.iter().map(scaling));
    let title = campaign_headline(campaign);
    let separator = if title.is_empty() { "" } else { ": " };
    let title = format!("{}{separator}{title}", campaign.name);
    suite(&title, &campaign.started_at, None, &cases)
}

/// The variants in the order of their first runs, each with all of its runs.
fn runs_by_variant(runs: &[RunSummary]) -> Vec<(&str, Vec<&RunSummary>)> {
    let mut variants: Vec<(&str, Vec<&RunSummary>)> = Vec::new();
    for run in runs {
        match variants.iter_mut().find(|(name, _)| *name == run.variant) {
            Some((_, runs)) => runs.push(run),
            None => variants.push((&run.variant, vec![run])),
        }
    }
    variants
}

/// A threshold fails if it fails in any repeat.
fn of_variant(campaign: &CampaignDocument, variant: &str, runs: &[&RunSummary]) -> Vec<Case> {
    let thresholds = runs.first().map_or(0, |run| run.thresholds.len());
    let mut cases: Vec<Case> = (0..thresholds)
        .filter_map(|index| threshold(variant, runs, index))
        .collect();
    let why_bad = |run: &RunSummary| {
        if run.is_distrusted() {
            return Some(run.verdict.name());
        }
        campaign.has_failed(run).then_some("every operation failed")
    };
    let bad = runs.iter().filter_map(|run| {
        let why = why_bad(run)?;
        Some(format!("repeat {}: {why}", run.repeat + 1))
    });
    let bad: Vec<String> = bad.collect();
    let failure = (!bad.is_empty()).then(|| bad.join("; "));
    cases.push(Case {
        class: variant.to_owned(),
        name: "verdict".to_owned(),
        failure,
        skipped: None,
        output: String::new(),
    });
    cases
}

fn threshold(variant: &str, runs: &[&RunSummary], index: usize) -> Option<Case> {
    let judged: Vec<_> = runs
        .iter()
        .filter_map(|run| Some((run.repeat, run.thresholds.get(index)?)))
        .collect();
    let (_, first) = judged.first()?;
    let missed = judged.iter().filter(|(_, judgement)| !judgement.passed);
    let missed: Vec<String> = missed
        .map(|(repeat, judgement)| format!("repeat {}: {}", repeat + 1, judgement.miss()))
        .collect();
    let failure = (!missed.is_empty()).then(|| missed.join("; "));
    Some(Case {
        class: variant.to_owned(),
        name: limit_in_words(first),
        failure,
        skipped: None,
        output: String::new(),
    })
}

fn limit(result: &LimitResult) -> Case {
    let is = |outcome| result.outcome == outcome;
    Case {
        class: result.variant.clone(),
        name: result.limit.display(),
        failure: is(LimitOutcome::Regressed).then(|| result.text.clone()),
        skipped: is(LimitOutcome::Unknown).then(|| format!("cannot be told: {}", result.text)),
        output: String::new(),
    }
}

fn search(searched: &VariantSearch) -> Case {
    let record = &searched.search;
    let (failure, output) = match record.answer {
        Some(SearchAnswer::Found { .. } | SearchAnswer::AtLeast { .. }) => {
            (None, record.statement.clone())
        }
        Some(_) => (Some(record.statement.clone()), String::new()),
        None => (
            Some("the search did not come to its end".to_owned()),
            String::new(),
        ),
    };
    Case {
        class: searched.variant.clone(),
        name: format!("search, repeat {}", searched.repeat + 1),
        failure,
        skipped: None,
        output,
    }
}

/// Runs of a scaling series are meant to reach their limit, so only runs whose figures cannot be
/// trusted fail.
fn scaling(scaled: &VariantScaling) -> Case {
    let rows = scaled.scaling.rows.iter();
    let invalid: Vec<String> = rows
        .filter(|row| row.verdict == Verdict::Invalid)
        .map(|row| format!("agents {}: invalid", row.agents))
        .collect();
    Case {
        class: scaled.variant.clone(),
        name: format!("agents, repeat {}", scaled.repeat + 1),
        failure: (!invalid.is_empty()).then(|| invalid.join("; ")),
        skipped: None,
        output: scaled.scaling.statement.clone(),
    }
}
