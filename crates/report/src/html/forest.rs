//! A forest plot of changes with their intervals: an interval that crosses the middle line is
//! within the noise.

use super::axis::{AxisUnit, ChartAxis};
use super::picture::{PictureWidth, place as at_tenth};
use analysis::{Change, ChangeFinding, ComparedFigure, Comparison, Unit};
use maud::{Markup, html};

const RIGHT: f64 = 20.0;
const ROW: f64 = 24.0;

/// The largest ratio on the axis; larger ones are drawn at the edge.
const RATIO_MAX: f64 = 16.0;

/// All figures of a variant except shares, whose changes are differences and not ratios.
pub(super) fn of_variant(comparison: &Comparison, place: usize) -> Markup {
    let name = |place: usize| comparison.variants.get(place).map_or("", String::as_str);
    let rows = comparison.rows.iter();
    let rows = rows.filter_map(|figure| Some((figure.name.clone(), ratio(figure, place)?)));
    forest(name(place), name(0), rows.collect())
}

/// One figure, for all variants.
pub(super) fn of_figure(comparison: &Comparison, name: &str) -> Markup {
    let first = comparison.variants.first().map_or("", String::as_str);
    let variants = comparison.variants.iter().enumerate().skip(1);
    let figure = comparison.row(name);
    let rows = variants.filter_map(|(place, name)| Some((name.clone(), ratio(figure?, place)?)));
    forest(name, first, rows.collect())
}

fn ratio(figure: &ComparedFigure, place: usize) -> Option<Change> {
    let change = figure.cells.get(place)?.change.clone()?;
    let is_ratio = figure.unit != Unit::Share && change.estimate.is_some_and(|it| it > 0.0);
    is_ratio.then_some(change)
}

/// Room for the names of figures.
fn left(size: PictureWidth) -> f64 {
    match size {
        PictureWidth::Wide => 270.0,
        PictureWidth::Narrow => 170.0,
    }
}

/// `name` is the variant compared with `first`, or the figure that is compared.
fn forest(name: &str, first: &str, rows: Vec<(String, Change)>) -> Markup {
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
    html! {
        @if !rows.is_empty() {
            figure {
                figcaption { b { (name) } " against " (first)
                    ": ratio with its interval; where it crosses 1, nothing is shown" }
                div class="picture" {
                    @for size in PictureWidth::ALL {
                        (drawn(&rows, most, &format!("{name} against {first}"), size))
                    }
                }
            }
        }
    }
}

/// `most` is how far the axis goes to both sides of 1.
fn drawn(rows: &[(String, Change)], most: f64, label: &str, size: PictureWidth) -> Markup {
    let (left, width) = (left(size), size.pixels());
    // The axis counts in thousandths: it knows nothing below 1.
    let x = ChartAxis::log(1_000.0 / most, 1_000.0 * most, left, width - RIGHT);
    let at = |ratio: f64| x.place(ratio * 1_000.0);
    let bottom = 24.0 + ROW * rows.len() as f64;
    html! {
        svg class=(size.class()) viewBox=(format!("0 0 {width} {}", bottom + 24.0)) role="img"
            aria-label=(label) {
            @for tick in ticks(most, size) {
                line class=(if tick == 1.0 { "whisker" } else { "grid" })
                    x1=(at_tenth(at(tick))) x2=(at_tenth(at(tick))) y1="12" y2=(bottom) {}
                text class="tick" text-anchor="middle" x=(at_tenth(at(tick)))
                    y=(bottom + 16.0) { (AxisUnit::Count.words(tick)) "×" }
            }
            @for (row, (figure, change)) in rows.iter().enumerate() {
                (whisker(figure, change, (left - 12.0, 24.0 + ROW * row as f64), &at))
            }
        }
    }
}

/// Ratios that have room beside one another.
fn ticks(most: f64, size: PictureWidth) -> Vec<f64> {
    let near = [0.8, 0.9, 1.0, 1.1, 1.25];
    let far = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0];
    let is_near = most < 2.0;
    let all = if is_near { &near[..] } else { &far[..] };
    let each = if size == PictureWidth::Wide { 1 } else { 2 };
    // Both lists have 1 in the middle.
    let kept = all
        .iter()
        .enumerate()
        .filter(|(place, _)| place.abs_diff(all.len() / 2) % each == 0);
    let kept = kept.map(|(_, &tick)| tick);
    kept.filter(|tick| (1.0 / most..=most).contains(tick))
        .collect()
}

/// `end` is where the name ends, and the height of the row.
fn whisker(figure: &str, change: &Change, end: (f64, f64), at: &impl Fn(f64) -> f64) -> Markup {
    let (x, y) = end;
    let tone = match change.finding {
        ChangeFinding::HigherIsBetter | ChangeFinding::LowerIsBetter => "good",
        ChangeFinding::HigherIsWorse | ChangeFinding::LowerIsWorse => "bad",
        ChangeFinding::NoDifference | ChangeFinding::Unknown => "",
    };
    html! {
        text class="tick" text-anchor="end" x=(x) y=(y + 4.0) { (figure) }
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
