//! Parts of a run beside one another: bars of their median and 99th percentile, and in words which
//! one stands out.

use analysis::human::{exact, number, percentile, share};
use analysis::{FigureGroup, PercentileFigure};
use maud::{Markup, html};

/// Parts with bars: of a thousand agents, the slowest.
const PARTS_MAX: usize = 20;

/// So many times the median of the others stands out.
const STANDS_OUT: f64 = 2.0;

/// Below this, one share of errors is like another.
const ERROR_SHARE_MIN: f64 = 0.01;

fn time(group: &FigureGroup, at: f64) -> Option<PercentileFigure> {
    group.figures.percentile("response_time", at)
}

/// Nothing where there is nothing to tell apart.
pub(super) fn bars(groups: &[FigureGroup]) -> Markup {
    let p99 = |group: &FigureGroup| time(group, 99.0).map_or(0, |figure| figure.value_ns);
    let mut shown: Vec<&FigureGroup> = groups.iter().filter(|group| p99(group) > 0).collect();
    let left_out = shown.len().saturating_sub(PARTS_MAX);
    if left_out > 0 {
        shown.sort_by_key(|group| std::cmp::Reverse(p99(group)));
        shown.truncate(PARTS_MAX);
    }
    let most = shown.iter().map(|group| p99(group)).max().unwrap_or(0) as f64;
    html! {
        @if shown.len() > 1 {
            @for sentence in standing_out(groups) { p { (sentence) } }
            div class="parts" {
                @for group in shown { (bar(group, most)) }
            }
            @if left_out > 0 {
                p class="faint" { (left_out) " more are faster" }
            }
        }
    }
}

fn bar(group: &FigureGroup, most: f64) -> Markup {
    let width = |at: f64| {
        let value = time(group, at).map_or(0.0, |figure| figure.value_ns as f64);
        format!("{:.1}", (value / most).clamp(0.0, 1.0) * 100.0)
    };
    let words = |at: f64| time(group, at).map_or_else(|| "–".to_owned(), percentile);
    html! {
        div class="margin" {
            span class="what" { (group.name) }
            svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
                rect class="room" x="0" y="1" width="100" height="6" {}
                rect class="tail" x="0" y="1" width=(width(99.0)) height="6" {}
                rect class="bar" x="0" y="1" width=(width(50.0)) height="6" {}
            }
            span { "p50 " (words(50.0)) " · p99 " (words(99.0)) }
        }
    }
}

fn standing_out(groups: &[FigureGroup]) -> Vec<String> {
    let p99 = |group: &FigureGroup| Some(time(group, 99.0)?.value_ns as f64);
    let errors = |group: &FigureGroup| group.figures.operations.error_share;
    let slow = farthest(groups, p99).filter(|(_, times)| times.is_finite());
    let slow = slow.map(|(group, times)| {
        let shown = time(group, 99.0).map(percentile).unwrap_or_default();
        let times = exact(&number(times));
        format!(
            "{} stands out: its p99 is {shown}, {times} times that of the others",
            group.name
        )
    });
    let failing = farthest(groups, errors)
        .filter(|(group, _)| errors(group) >= Some(ERROR_SHARE_MIN))
        .map(|(group, _)| {
            let shown = share(errors(group).unwrap_or(0.0));
            format!(
                "{} stands out: {shown} of its operations failed",
                group.name
            )
        });
    slow.into_iter().chain(failing).collect()
}

/// The part whose value is farthest above the median of the others, where it stands out, with how
/// many times that it is.
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
