//! The page of many runs that belong together: the same sections as on a console, with pictures
//! where a comparison, a search or a number of agents has one.

use super::{forest, page, steps, table};
use crate::campaign::{ReportSection, sections};
use analysis::CampaignDocument;
use maud::{Markup, html};
use serde_json::json;

/// The page of a campaign.
pub(crate) fn render_campaign(campaign: &CampaignDocument) -> String {
    let parts = sections(campaign);
    let body = html! {
        main {
            @for (place, part) in parts.iter().enumerate() { (section(part, place == 0)) }
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
