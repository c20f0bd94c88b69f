//! The page of many runs that belong together: the same sections as on a console, with pictures
//! where a comparison, a search or a number of agents has one.

use super::parts::{PartTimes, bars};
use super::{curves, forest, page, steps, table};
use crate::campaign::{ReportSection, baseline, sections};
use analysis::{CampaignDocument, Comparison, PercentileFigure};
use maud::{Markup, html};
use serde_json::json;

/// The page of a campaign.
pub(crate) fn render_campaign(campaign: &CampaignDocument) -> String {
    let parts = sections(campaign);
    let body = html! {
        main {
            @for (place, part) in parts.iter().enumerate() { (section(part, place == 0)) }
            @if let Some(comparison) = &campaign.comparison {
                @let known = times(comparison);
                @if !known.is_empty() {
                    section { h2 { "Response times" } (bars(known)) }
                }
            }
            (curves::runs(campaign))
            @if let Some(comparison) = &campaign.comparison {
                section { h2 { "Changes" } (forest::forests(comparison)) }
            }
            @for search in &campaign.searches {
                section { h2 { "Search: " (search.variant) } (steps::search(&search.search)) }
            }
            @for scaling in &campaign.scalings {
                section { h2 { "Agents: " (scaling.variant) } (steps::scaling(&scaling.scaling)) }
            }
            @if !campaign.plan_text.is_empty() {
                section {
                    h2 { "Plan" }
                    details { summary { "as it was given" } pre { (campaign.plan_text) } }
                }
            }
        }
    };
    page(&campaign.name, &json!({}), &body)
}

/// How a run differs from an earlier one, as a part of its page.
pub(super) fn against_baseline(compared: &CampaignDocument) -> Markup {
    html! {
        section {
            h2 { "Against the baseline" }
            ul { @for note in baseline::notes(compared) { li { (note) } } }
            @if let Some(comparison) = &compared.comparison {
                (table(&baseline::headings(), &baseline::rows(comparison), &[]))
                (forest::forests(comparison))
            }
        }
    }
}

/// Of each variant whose 99th percentile is known.
fn times(comparison: &Comparison) -> Vec<PartTimes<'_>> {
    let time = |at: f64, place: usize| {
        let name = format!("response_time.p{at}");
        let row = comparison.rows.iter().find(|row| row.name == name)?;
        let cell = row.cells.get(place)?;
        Some(PercentileFigure {
            percentile: at,
            value_ns: cell.value? as u64,
            at_least: cell.at_least,
        })
    };
    let variants = comparison.variants.iter().enumerate();
    let known = variants.filter_map(|(place, name)| {
        let p99 = time(99.0, place)?;
        let p50 = time(50.0, place);
        Some(PartTimes { name, p50, p99 })
    });
    known.collect()
}

fn section(part: &ReportSection, is_first: bool) -> Markup {
    // Without headings, the first row is the headings.
    let is_named = part.headings.iter().any(|heading| !heading.is_empty());
    let named: Vec<String> = part
        .headings
        .iter()
        .map(|&heading| heading.to_owned())
        .collect();
    let (headings, rows) = match part.rows.split_first() {
        Some((first, rest)) if !is_named => (first.clone(), rest),
        _ => (named, &part.rows[..]),
    };
    html! {
        section {
            @if is_first { h1 { (part.title) } } @else { h2 { (part.title) } }
            @for (_, sentence) in &part.sentences { p { (sentence) } }
            @if !rows.is_empty() { (table(&headings, rows, &[])) }
            @if !part.facts.is_empty() {
                ul {
                    @for (label, _, fact) in &part.facts {
                        li { b { (label.trim_matches('·')) } " " (fact) }
                    }
                }
            }
        }
    }
}
