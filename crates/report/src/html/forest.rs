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

/// Width reserved for the names of figures.
fn left_margin(size: PictureWidth) -> f64 {
    match size {
        PictureWidth::Wide => 270.0,
        PictureWidth::Narrow => 170.0,
    }
}

/// `name` is the variant compared with `first`, or the figure that is compared.
fn forest(name: &str, first: &str, rows: Vec<(String, Change)>) -> Markup {
    let most = farthest_from_1(rows.iter().map(|(_, change)| change));
    html! {
        @if !rows.is_empty() {
            figure {
                figcaption { b { (name) } " against " (first)
                    ": ratio with its interval; where it crosses 1, nothing is shown" }
                div class="picture" {
                    @for size in PictureWidth::ALL {
                        (draw(&rows, most, &format!("{name} against {first}"), size))
                    }
                }
            }
        }
    }
}

/// The largest ratio, or the inverse of the smallest, whichever is farther from 1. A little away
/// from 1, so that the axis has a length, and at most [`RATIO_MAX`].
fn farthest_from_1<'c>(changes: impl Iterator<Item = &'c Change>) -> f64 {
    let ends = changes.flat_map(|change| {
        let ends = change.interval.map(|it| [it.low, it.high]);
        ends.into_iter().flatten().chain(change.estimate)
    });
    // A ratio of 0, or of an interval that reaches below it, has no place on a logarithmic axis.
    let away = ends.filter(|end| *end > 0.0).map(|end| end.max(1.0 / end));
    away.fold(1.05, f64::max).min(RATIO_MAX)
}

/// The axis reaches from `1 / most` to `most`.
fn draw(rows: &[(String, Change)], most: f64, label: &str, size: PictureWidth) -> Markup {
    let (left, width) = (left_margin(size), size.pixels());
    // In thousandths, because a logarithmic axis begins at 1.
    let x = ChartAxis::log(1_000.0 / most, 1_000.0 * most, left, width - RIGHT);
    let at = |ratio: f64| x.place(ratio * 1_000.0);
    let bottom = 24.0 + ROW * rows.len() as f64;
    html! {
        svg class=(size.class()) viewBox=(format!("0 0 {width} {}", bottom + 24.0)) role="img"
            aria-label=(label) {
            @for ratio in ticks(most, size) { (tick(ratio, at(ratio), bottom)) }
            @for (row, (figure, change)) in rows.iter().enumerate() {
                (whisker(figure, change, (left - 12.0, 24.0 + ROW * row as f64), &at))
            }
        }
    }
}

fn tick(ratio: f64, x: f64, bottom: f64) -> Markup {
    let class = if ratio == 1.0 { "whisker" } else { "grid" };
    let x = at_tenth(x);
    html! {
        line class=(class) x1=(x) x2=(x) y1="12" y2=(bottom) {}
        text class="tick" text-anchor="middle" x=(x) y=(bottom + 16.0) {
            (AxisUnit::Count.words(ratio)) "×"
        }
    }
}

/// Ratios to label, with enough space between them.
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
    html! {
        text class="tick" text-anchor="end" x=(x) y=(y + 4.0) { (figure) }
        @if let Some(interval) = change.interval {
            line class="whisker" x1=(at_tenth(at(interval.low))) x2=(at_tenth(at(interval.high)))
                y1=(y) y2=(y) {}
        }
        @if let Some(estimate) = change.estimate {
            circle class={ "bar " (tone(change.finding)) } cx=(at_tenth(at(estimate))) cy=(y)
                r="5" {
                title { (figure) ": " (change.text) }
            }
        }
    }
}

fn tone(finding: ChangeFinding) -> &'static str {
    match finding {
        ChangeFinding::HigherIsBetter | ChangeFinding::LowerIsBetter => "good",
        ChangeFinding::HigherIsWorse | ChangeFinding::LowerIsWorse => "bad",
        ChangeFinding::NoDifference | ChangeFinding::Unknown => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_reaches_as_far_as_the_ratio_that_is_farthest_from_1() {
        let golden = include_bytes!("../../tests/golden/campaign-v1.json");
        let campaign = crate::read_campaign(golden).expect("a golden document can be read");
        let rows = campaign.comparison.expect("variants are compared").rows;
        let changes = rows.iter().flat_map(|row| &row.cells);
        let change = changes.filter_map(|cell| cell.change.clone()).next();
        let change = |estimate| Change {
            estimate: Some(estimate),
            interval: None,
            ..change.clone().expect("a figure changed")
        };
        // (ratios, the end of the axis): a quarter is as far from 1 as four times is.
        let cases = [
            (vec![], 1.05),
            (vec![1.0], 1.05),
            (vec![0.25, 3.0], 4.0),
            (vec![0.5, 3.0], 3.0),
            (vec![1000.0], RATIO_MAX),
            (vec![0.0], 1.05),
        ];
        for (ratios, expected) in cases {
            let changes: Vec<Change> = ratios.iter().map(|&ratio| change(ratio)).collect();
            assert_eq!(farthest_from_1(changes.iter()), expected, "{ratios:?}");
        }
    }

    #[test]
    fn ticks_are_symmetric_around_1_and_fewer_in_a_narrow_picture() {
        assert_eq!(ticks(1.2, PictureWidth::Wide), [0.9, 1.0, 1.1]);
        assert_eq!(ticks(1.3, PictureWidth::Narrow), [0.8, 1.0, 1.25]);
        assert_eq!(ticks(4.0, PictureWidth::Wide), [0.25, 0.5, 1.0, 2.0, 4.0]);
        assert_eq!(ticks(4.0, PictureWidth::Narrow), [0.25, 1.0, 4.0]);
    }
}
