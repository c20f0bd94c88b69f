//! The outcome of one run or several in a few words, for titles and for the last line.

use crate::campaign::head::limits_in_words;
use crate::content::JourneyRates;
use crate::style::Paint;
use analysis::human::{counted, number, share};
use analysis::{
    CampaignDocument, Document, LoadRecord, RunState, SearchAnswer, VariantScaling, VariantSearch,
    Verdict, has_many_errors, has_two_limits, shares_full_machine,
};

/// Between the parts of a headline.
const SEPARATOR: &str = " · ";

/// The verdict, the thresholds and the errors of a run, such as `load met · 1 of 2 thresholds
/// failed`.
#[must_use]
pub fn headline(document: &Document) -> String {
    if !document.run.refusals.is_empty() {
        return "nothing was measured".to_owned();
    }
    let judged = document.thresholds.iter();
    let failed = judged.filter(|judgement| !judgement.passed).count();
    let operations = &document.measured.operations;
    let errors = operations.error_share.filter(|&errors| errors > 0.0);
    let parts = [
        state(document.run.state),
        Some(verdict(document)),
        thresholds(failed, document.thresholds.len()),
        errors.map(|errors| format!("{} errors", share(errors))),
    ];
    join(parts)
}

/// The headline of a campaign, with the same parts.
#[must_use]
pub fn campaign_headline(campaign: &CampaignDocument) -> String {
    let judged = campaign.runs.iter().flat_map(|run| &run.thresholds);
    let failed = judged.clone().filter(|judgement| !judgement.passed).count();
    let limits = limits_in_words(&campaign.limits).map(|limits| format!("limits: {limits}"));
    let made = campaign.runs.len();
    let parts = [
        state(campaign.state),
        (made > 0).then(|| counted(made as u64, "run")),
        searched(&campaign.searches),
        series_of_agents(&campaign.scalings),
        thresholds(failed, judged.count()),
        limits,
    ];
    join(parts)
}

/// What a search found; of several, how many they are.
fn searched(searches: &[VariantSearch]) -> Option<String> {
    let search = match searches {
        [] => return None,
        [one] => &one.search,
        several => return Some(format!("{} searches", several.len())),
    };
    let answer = search.answer.as_ref()?;
    Some(match (answer.passed(), answer) {
        (Some(passed), _) => format!("{} passed", search.bounds.amount().display(passed)),
        (None, SearchAnswer::BelowFrom { .. }) => "no load passed".to_owned(),
        (None, _) => "no hold counts".to_owned(),
    })
}

/// Where throughput stopped rising as agents were added; of several series, how many they are.
fn series_of_agents(scalings: &[VariantScaling]) -> Option<String> {
    let stops_at = match scalings {
        [] => return None,
        [one] => one.scaling.stops_at,
        several => return Some(format!("{} series of agents", several.len())),
    };
    Some(match stops_at {
        Some(agents) => format!("stops rising at {}", counted(u64::from(agents), "agent")),
        None => "no stop was seen".to_owned(),
    })
}

/// The verdict's name; for a closed loop that reached no limit, the rate it carried, since that is
/// the question such a run answers.
pub(crate) fn verdict(document: &Document) -> String {
    closed_loop_rate(document).unwrap_or_else(|| document.verdict.verdict.name().to_owned())
}

/// The verdict and its meaning.
pub(crate) fn verdict_sentence(document: &Document) -> String {
    format!("{} — {}", verdict(document), meaning(document))
}

/// The verdict's meaning.
pub(crate) fn meaning(document: &Document) -> &'static str {
    match closed_loop_rate(document) {
        Some(_) if shares_full_machine(document) => {
            "limit undetermined: client and server share a machine that is full"
        }
        Some(_) if has_two_limits(document) => {
            "limit undetermined: server and network are both at a limit"
        }
        Some(_) if has_many_errors(document) => "limit undetermined: operations failed",
        Some(_) => "limit undetermined; a higher load would tell",
        None => document.verdict_meaning(),
    }
}

/// The verdict's severity, as a colour.
pub(crate) fn tone(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::LoadMet | Verdict::ServerBound => Paint::Good,
        Verdict::Invalid => Paint::Bad,
        Verdict::ClientBound
        | Verdict::NetworkBound
        | Verdict::PlanBound
        | Verdict::Undetermined
        | Verdict::Degraded => Paint::Doubtful,
    }
}

/// The rate of a closed loop that was limited neither by server nor by client. `None` if it has
/// stages, because then the number of users was not constant.
fn closed_loop_rate(document: &Document) -> Option<String> {
    let LoadRecord::Closed {
        connections,
        max_connections,
        stages: 0,
        ..
    } = document.plan.load
    else {
        return None;
    };
    let users = counted(u64::from(connections), "user");
    let streams = document.plan.streams;
    let streams = streams.filter(|&streams| streams > 1 && max_connections.is_none());
    let each = streams.map(|streams| format!(" of {streams} streams each"));
    let is_open = document.verdict.verdict == Verdict::Undetermined;
    let has_success = document.measured.operations.ok > 0;
    let (rate, unit) = if document.has_journeys() {
        (JourneyRates::new(document).completed, " journeys")
    } else {
        (document.measured.rates.ok_per_second, "")
    };
    (is_open && has_success).then(|| {
        let each = each.unwrap_or_default();
        format!("{}{unit}/s by {users}{each}", number(rate))
    })
}

fn state(state: RunState) -> Option<String> {
    match state {
        RunState::Complete => None,
        RunState::Interrupted => Some("interrupted".to_owned()),
        RunState::Incomplete => Some("incomplete".to_owned()),
    }
}

fn thresholds(failed: usize, all: usize) -> Option<String> {
    match (failed, all) {
        (_, 0) => None,
        (0, 1) => Some("the threshold holds".to_owned()),
        (0, _) => Some(format!("all {all} thresholds hold")),
        (_, 1) => Some("the threshold failed".to_owned()),
        _ => Some(format!("{failed} of {all} thresholds failed")),
    }
}

fn join<const N: usize>(parts: [Option<String>; N]) -> String {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(SEPARATOR)
}
