//! Changes with their intervals beside one another: what crosses the line in the middle is within
//! the noise.

use super::axis::{AxisUnit, ChartAxis};
use super::picture::{WIDTH, place as at_tenth};
use analysis::{Change, ChangeFinding, ComparedFigure, Comparison, Unit};
use maud::{Markup, html};

const LEFT: f64 = 270.0;
const RIGHT: f64 = 20.0;
const ROW: f64 = 24.0;

/// Ratios that are drawn; what lies beyond stands at the edge.
const RATIO_MAX: f64 = 16.0;

/// One picture for each variant but the first; shares are left out, since their changes are no
/// ratios.
pub(super) fn forests(comparison: &Comparison) -> Markup {
    let first = comparison.variants.first().map_or("", String::as_str);
    html! {
        @for (place, name) in comparison.variants.iter().enumerate().skip(1) {
            (forest(comparison, place, name, first))
        }
    }
}

fn forest(comparison: &Comparison, place: usize, name: &str, first: &str) -> Markup {
    let change = |figure: &'_ ComparedFigure| -> Option<(String, Change)> {
        let change = figure.cells.get(place)?.change.clone()?;
        let is_ratio = figure.unit != Unit::Share && change.estimate.is_some_and(|it| it > 0.0);
        is_ratio.then(|| (figure.name.clone(), change))
    };
    let rows: Vec<(String, Change)> = comparison.rows.iter().filter_map(change).collect();
    let ends = rows.iter().flat_map(|(_, change)| {
        let interval = change
            .interval
            .map(|interval| [interval.low, interval.high]);
        interval
            .unwrap_or_default()
            .into_iter()
            .chain(change.estimate)
    });
    let away = ends.filter(|end| *end > 0.0).map(|end| end.max(1.0 / end));
    let most = away.fold(1.05, f64::max).min(RATIO_MAX);
    // The axis counts in thousandths: it knows nothing below 1.
    let x = ChartAxis::log(1_000.0 / most, 1_000.0 * most, LEFT, WIDTH - RIGHT);
    let at = |ratio: f64| x.place(ratio * 1_000.0);
    let bottom = 24.0 + ROW * rows.len() as f64;
    let shown = [0.125, 0.25, 0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 2.0, 4.0, 8.0];
    html! {
        @if !rows.is_empty() {
            figure {
                figcaption { b { (name) } " against " (first)
                    ": ratio with its interval; where it crosses 1, nothing is shown" }
                div class="picture" {
                    svg viewBox=(format!("0 0 {WIDTH} {}", bottom + 24.0)) role="img"
                        aria-label={ (name) " against " (first) } {
                        @for tick in shown.into_iter().filter(|&tick| tick >= 1.0 / most
                            && tick <= most) {
                            line class=(if tick == 1.0 { "whisker" } else { "grid" })
                                x1=(at_tenth(at(tick))) x2=(at_tenth(at(tick)))
                                y1="12" y2=(bottom) {}
                            text class="tick" text-anchor="middle" x=(at_tenth(at(tick)))
                                y=(bottom + 16.0) { (AxisUnit::Count.words(tick)) "×" }
                        }
                        @for (row, (figure, change)) in rows.iter().enumerate() {
                            (whisker(figure, change, 24.0 + ROW * row as f64, &at))
                        }
                    }
                }
            }
        }
    }
}

fn whisker(figure: &str, change: &Change, y: f64, at: &impl Fn(f64) -> f64) -> Markup {
    let tone = match change.finding {
        ChangeFinding::HigherIsBetter | ChangeFinding::LowerIsBetter => "good",
        ChangeFinding::HigherIsWorse | ChangeFinding::LowerIsWorse => "bad",
        ChangeFinding::NoDifference | ChangeFinding::Unknown => "",
    };
    html! {
        text class="tick" text-anchor="end" x=(LEFT - 12.0) y=(y + 4.0) { (figure) }
        @if let Some(interval) = change.interval {
            line class="whisker" x1=(at_tenth(at(interval.low))) x2=(at_tenth(at(interval.high)))
                y1=(y) y2=(y) {}
        }
        @if let Some(estimate) = change.estimate {
            circle class={ "bar " (tone) } cx=(at_tenth(at(estimate))) cy=(y) r="5" {
                title { (figure) ": " (change.text) }
            }
        }
    }
}
