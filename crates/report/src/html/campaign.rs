//! The page of a campaign: the same sections as on a console, with pictures for comparisons,
//! searches and scaling.

use super::parts::{PartTimes, bars};
use super::{curves, forest, page, steps, table};
use crate::campaign::{ReportSection, SectionSubject, baseline, sections};
use analysis::{CampaignDocument, Comparison, PercentileFigure};
use maud::{Markup, html};
use serde_json::json;

/// A sentence with more characters is collapsed.
const SENTENCE_MAX: usize = 320;

/// A list with more changes in words is collapsed.
const FACTS_OPEN: usize = 12;

/// The page of a campaign.
pub(crate) fn render_campaign(campaign: &CampaignDocument) -> String {
    let parts = sections(campaign);
    let body = html! {
        main {
            @for (place, part) in parts.iter().enumerate() {
                section {
                    @if place == 0 { h1 { (part.title) } } @else { h2 { (part.title) } }
                    (section(campaign, part))
                }
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

/// How a run differs from an earlier one, as part of its page.
pub(super) fn against_baseline(compared: &CampaignDocument) -> Markup {
    html! {
        section {
            h2 { "Against the baseline" }
            ul { @for note in baseline::notes(compared) { li { (note) } } }
            @if let Some(comparison) = &compared.comparison {
                (table(&baseline::headings(), &baseline::rows(comparison), &[]))
                (forest::of_variant(comparison, 1))
            }
        }
    }
}

/// The times of each variant whose 99th percentile is known.
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

fn section(campaign: &CampaignDocument, part: &ReportSection) -> Markup {
    html! {
        @for (_, sentence) in &part.sentences { p { (fold(sentence)) } }
        (pictures(campaign, part.subject))
        @if !part.rows.is_empty() { (table(&part.headings, &part.rows, &[])) }
        @if matches!(part.subject, SectionSubject::Change(_) | SectionSubject::AlongAxis) {
            // The picture shows most of this, but no shares.
            details open[part.facts.len() <= FACTS_OPEN] { summary { "in words" } (facts(part)) }
        } @else {
            (facts(part))
        }
    }
}

fn facts(part: &ReportSection) -> Markup {
    html! {
        @if !part.facts.is_empty() {
            ul {
                @for (label, _, fact) in &part.facts {
                    li { b { (label.trim_matches('·')) } " " (fold(fact)) }
                }
            }
        }
    }
}

/// Collapses a sentence that fills a screen with reasons: its summary is the text before the first
/// reason.
fn fold(sentence: &str) -> Markup {
    let end = [" (", "; "]
        .into_iter()
        .filter_map(|mark| sentence.find(mark));
    match end.min() {
        Some(end) if sentence.len() > SENTENCE_MAX => html! {
            details class="sentence" {
                summary { (&sentence[..end]) " …" }
                (sentence[end..].trim_start_matches(';'))
            }
        },
        _ => html! { (sentence) },
    }
}

/// The pictures of a section.
fn pictures(campaign: &CampaignDocument, subject: SectionSubject) -> Markup {
    let comparison = campaign.comparison.as_ref();
    match (subject, comparison) {
        (SectionSubject::Search(place), _) => steps::search(&campaign.searches[place].search),
        (SectionSubject::Scaling(place), _) => steps::scaling(&campaign.scalings[place].scaling),
        (SectionSubject::Change(place), Some(comparison)) => forest::of_variant(comparison, place),
        (SectionSubject::SideBySide, Some(comparison)) => side_by_side(comparison),
        (SectionSubject::Runs, _) => curves::runs(campaign),
        _ => html! {},
    }
}

/// Response times of all variants and, with more than two, pictures of the figures that readers ask
/// for most.
fn side_by_side(comparison: &Comparison) -> Markup {
    let known = times(comparison);
    html! {
        @if !known.is_empty() {
            figure {
                figcaption { b { "Response times" } " median and 99th percentile" }
                (bars(known))
            }
        }
        @if comparison.variants.len() > 2 {
            @for figure in ["rate", "response_time.p50", "response_time.p99"] {
                (forest::of_figure(comparison, figure))
            }
        }
    }
}
