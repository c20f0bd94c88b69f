//! Groups of operations side by side: bars of their median and 99th percentile, and a sentence
//! about the group that stands out.

use analysis::human::{exact, number, percentile, share};
use analysis::{FigureGroup, PercentileFigure};
use maud::{Markup, html};

/// Groups with bars; the slowest ones if there are more.
const PARTS_MAX: usize = 20;

/// A group stands out if it is this many times the median of the others.
const STANDS_OUT: f64 = 2.0;

/// Shares of errors below this do not stand out.
const ERROR_SHARE_MIN: f64 = 0.01;

/// Response times of a group.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartTimes<'a> {
    pub(super) name: &'a str,
    pub(super) p50: Option<PercentileFigure>,
    pub(super) p99: PercentileFigure,
}

fn time(group: &FigureGroup, at: f64) -> Option<PercentileFigure> {
    group.figures.percentile("response_time", at)
}

/// The groups of a run; empty if there are fewer than two.
pub(super) fn parts(groups: &[FigureGroup]) -> Markup {
    let known = groups.iter().filter_map(|group| {
        Some(PartTimes {
            name: &group.name,
            p50: time(group, 50.0),
            p99: time(group, 99.0)?,
        })
    });
    let known: Vec<PartTimes<'_>> = known.collect();
    html! {
        @if known.len() > 1 {
            @for sentence in standing_out(groups) { p { (sentence) } }
            (bars(known))
        }
    }
}

/// One bar per group, in their order. If there are too many, only the slowest are kept.
pub(super) fn bars(mut parts: Vec<PartTimes<'_>>) -> Markup {
    let left_out = parts.len().saturating_sub(PARTS_MAX);
    if left_out > 0 {
        parts.sort_by_key(|part| std::cmp::Reverse(part.p99.value_ns));
        parts.truncate(PARTS_MAX);
    }
    let most = parts.iter().map(|part| part.p99.value_ns).max();
    let most = most.unwrap_or(0).max(1) as f64;
    html! {
        @for part in &parts { (bar(part, most)) }
        @if left_out > 0 { p class="faint" { (left_out) " more are faster" } }
    }
}

fn bar(part: &PartTimes<'_>, most: f64) -> Markup {
    let width = |figure: Option<PercentileFigure>| {
        let value = figure.map_or(0.0, |figure| figure.value_ns as f64);
        format!("{:.1}", (value / most).clamp(0.0, 1.0) * 100.0)
    };
    let p50 = part.p50.map_or_else(|| "–".to_owned(), percentile);
    html! {
        div class="margin" {
            span class="what" { (part.name) }
            svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
                rect class="room" x="0" y="1" width="100" height="6" {}
                rect class="tail" x="0" y="1" width=(width(Some(part.p99))) height="6" {}
                rect class="bar" x="0" y="1" width=(width(part.p50)) height="6" {}
            }
            span { "p50 " (p50) " · p99 " (percentile(part.p99)) }
        }
    }
}

fn standing_out(groups: &[FigureGroup]) -> Vec<String> {
    let sentences = [far_slower(groups), failing(groups)];
    sentences.into_iter().flatten().collect()
}

fn far_slower(groups: &[FigureGroup]) -> Option<String> {
    let p99 = |group: &FigureGroup| Some(time(group, 99.0)?.value_ns as f64);
    let (group, times) = farthest(groups, p99)?;
    let shown = time(group, 99.0).map(percentile).unwrap_or_default();
    // Infinite if the others took no time, which is no comparison.
    times.is_finite().then(|| {
        format!(
            "{} stands out: its p99 is {shown}, {} times that of the others",
            group.name,
            exact(&number(times))
        )
    })
}

fn failing(groups: &[FigureGroup]) -> Option<String> {
    let errors = |group: &FigureGroup| group.figures.operations.error_share;
    let (group, _) = farthest(groups, errors)?;
    let shown = errors(group).filter(|share| *share >= ERROR_SHARE_MIN)?;
    Some(format!(
        "{} stands out: {} of its operations failed",
        group.name,
        share(shown)
    ))
}

/// The group whose value is farthest above the median of the others, with the ratio, if it stands
/// out.
fn farthest(
    groups: &[FigureGroup],
    value: impl Fn(&FigureGroup) -> Option<f64>,
) -> Option<(&FigureGroup, f64)> {
    let mut known: Vec<(f64, &FigureGroup)> = groups
        .iter()
        .filter_map(|group| Some((value(group)?, group)))
        .collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ((largest, group), others) = known.split_last()?;
    let usual = others.get(others.len() / 2)?.0;
    (*largest >= usual * STANDS_OUT && *largest > 0.0).then_some((*group, largest / usual))
}
