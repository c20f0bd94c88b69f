//! Percentile curves in one picture, on HdrHistogram's axis: the logarithm of 1/(1−p), so that each
//! further nine takes the same width.

use super::axis::{AxisUnit, ChartAxis};
use super::picture::{BOTTOM, HEIGHT, LEFT, PictureWidth, RIGHT, TOP, legend, place, y_ticks};
use analysis::{CampaignDocument, PercentileFigure, RunSummary};
use maud::{Markup, html};
use std::fmt::Write as _;

/// Colours that the eye can tell apart.
const COLOURS: usize = 8;

/// A curve in a picture.
#[derive(Debug, Clone)]
pub(super) struct Curve<'a> {
    pub(super) name: String,
    /// `None` for a grey curve.
    pub(super) colour: Option<usize>,
    pub(super) points: &'a [PercentileFigure],
}

/// The picture with a legend. Curves of the same colour share one name.
pub(super) fn figure(title: &str, about: &str, mut curves: Vec<Curve<'_>>) -> Markup {
    curves.retain(|curve| !curve.points.is_empty());
    let mut names: Vec<String> = Vec::new();
    for colour in 0..COLOURS {
        let named = curves.iter().find(|curve| curve.colour == Some(colour));
        names.extend(named.map(|curve| curve.name.clone()));
    }
    // Grey curves are drawn first, below the others.
    curves.sort_by_key(|curve| curve.colour.is_some());
    html! {
        @if !curves.is_empty() {
            figure {
                figcaption { @if !title.is_empty() { b { (title) } " " } (about)
                    "; each nine has the same room; a shaded end is a lower bound" }
                div class="picture" {
                    @for size in PictureWidth::ALL { (draw(&curves, size)) }
                }
                (legend(names.into_iter()))
            }
        }
    }
}

/// One curve per run, so that the spread of repeats is visible.
pub(super) fn runs(campaign: &CampaignDocument) -> Markup {
    // Runs without a curve must not use up a colour.
    let runs = campaign.runs.iter();
    let runs: Vec<&RunSummary> = runs
        .filter(|run| !run.response_time_curve.is_empty())
        .collect();
    let names = curve_names(&runs);
    let slowest = slowest_by_name(&names, &runs);
    let left_out = slowest.len().saturating_sub(COLOURS);
    let coloured = worth_a_colour(slowest);
    let curves = names.into_iter().zip(runs).map(|(name, run)| Curve {
        colour: coloured.iter().position(|known| *known == name),
        name,
        points: &run.response_time_curve,
    });
    let about = match left_out {
        0 => "of each run".to_owned(),
        1 => "of each run; the fastest of all is grey".to_owned(),
        others => format!("of each run; the fastest {others} are grey"),
    };
    figure("Percentiles of response times", &about, curves.collect())
}

/// The name of each run: that of its variant, unless all are repeats of the same one.
fn curve_names(runs: &[&RunSummary]) -> Vec<String> {
    let is_compared = runs.iter().any(|run| run.variant != runs[0].variant);
    let name = |run: &&RunSummary| match is_compared {
        true => run.variant.clone(),
        false => format!("repeat {}", run.repeat + 1),
    };
    runs.iter().map(name).collect()
}

/// Each name once, in order, with the largest 99th percentile of its runs in nanoseconds.
fn slowest_by_name(names: &[String], runs: &[&RunSummary]) -> Vec<(String, u64)> {
    let mut slowest: Vec<(String, u64)> = Vec::new();
    for (name, run) in names.iter().zip(runs) {
        let p99 = run.response_time_p99_ns.unwrap_or(0);
        match slowest.iter_mut().find(|(known, _)| known == name) {
            Some((_, slowest)) => *slowest = p99.max(*slowest),
            None => slowest.push((name.clone(), p99)),
        }
    }
    slowest
}

/// The first variant, which the others are compared with, and the slowest, in order.
fn worth_a_colour(keys: Vec<(String, u64)>) -> Vec<String> {
    let mut ranked: Vec<usize> = (0..keys.len()).collect();
    ranked.sort_by_key(|&place| (place > 0, std::cmp::Reverse(keys[place].1)));
    ranked.truncate(COLOURS);
    ranked.sort_unstable();
    ranked
        .into_iter()
        .map(|place| keys[place].0.clone())
        .collect()
}

fn draw(curves: &[Curve<'_>], size: PictureWidth) -> Markup {
    let axes = PercentileAxes::new(curves, size.pixels());
    html! {
        svg class=(size.class()) viewBox=(format!("0 0 {} {HEIGHT}", size.pixels())) role="img"
            aria-label="Response times by percentile" {
            (axes.doubt(curves))
            (y_ticks(axes.y, AxisUnit::Time, 6, size.pixels()))
            (axes.grid(size))
            @for curve in curves {
                path class=(class(curve.colour)) d=(axes.path(curve.points)) {
                    title { (curve.name) }
                }
            }
        }
    }
}

/// Where percentiles and their values stand.
struct PercentileAxes {
    x: ChartAxis,
    y: ChartAxis,
    /// Value of the right edge; see [`rest`].
    most: f64,
    right: f64,
}

/// One operation in this many is slower: 100 for the 99th percentile, infinite for the 100th.
fn rest(percentile: f64) -> f64 {
    1.0 / (1.0 - percentile / 100.0)
}

impl PercentileAxes {
    fn new(curves: &[Curve<'_>], width: f64) -> PercentileAxes {
        let points = || curves.iter().flat_map(|curve| curve.points);
        let rests = points().map(|point| rest(point.percentile));
        let most = rests.filter(|rest| rest.is_finite()).fold(10.0, f64::max) * 2.0;
        let values = || points().map(|point| point.value_ns as f64);
        let smallest = values().fold(f64::MAX, f64::min);
        let largest = values().fold(1.0, f64::max);
        let right = width - RIGHT;
        PercentileAxes {
            x: ChartAxis::log(1.0, most, LEFT, right),
            y: ChartAxis::log(smallest, largest, HEIGHT - BOTTOM, TOP),
            most,
            right,
        }
    }

    /// The maximum would be at infinity (p = 1), so it is drawn at the right edge.
    fn at(&self, percentile: f64) -> f64 {
        self.x.place(rest(percentile).min(self.most))
    }

    /// Shades the percentiles that are only known to be at least their value.
    fn doubt(&self, curves: &[Curve<'_>]) -> Markup {
        let points = curves.iter().flat_map(|curve| curve.points);
        let doubtful = points.filter(|point| point.at_least);
        let from = doubtful.map(|point| self.at(point.percentile));
        let from = from.fold(self.right, f64::min);
        html! {
            @if from < self.right {
                rect class="doubt" x=(place(from)) y=(TOP) width=(place(self.right - from))
                    height=(HEIGHT - BOTTOM - TOP) {
                    title { "lower bounds: operations that timed out would have taken longer" }
                }
            }
        }
    }

    fn grid(&self, size: PictureWidth) -> Markup {
        let nines = nines(size).into_iter();
        html! {
            @for (label, percentile) in nines.filter(|(_, at)| rest(*at) < self.most) {
                @let at = place(self.at(percentile));
                line class="grid" x1=(at) y1=(TOP) x2=(at) y2=(HEIGHT - BOTTOM) {}
                text class="tick" x=(at) y=(HEIGHT - 8.0) text-anchor="middle" { (label) }
            }
        }
    }

    fn path(&self, points: &[PercentileFigure]) -> String {
        let mut path = String::new();
        for (number, point) in points.iter().enumerate() {
            let verb = if number == 0 { 'M' } else { 'L' };
            let x = place(self.at(point.percentile));
            let _ = write!(
                path,
                "{verb}{x} {}",
                place(self.y.place(point.value_ns as f64))
            );
        }
        path
    }
}

fn class(colour: Option<usize>) -> String {
    colour.map_or_else(
        || "line grey".to_owned(),
        |colour| format!("line c{colour}"),
    )
}

fn nines(size: PictureWidth) -> Vec<(&'static str, f64)> {
    let all = [
        ("0 %", 0.0),
        ("50 %", 50.0),
        ("90 %", 90.0),
        ("99 %", 99.0),
        ("99.9 %", 99.9),
        ("99.99 %", 99.99),
        ("99.999 %", 99.999),
        ("6 nines", 99.9999),
        ("7 nines", 99.99999),
    ];
    let named = all.into_iter().map(|(label, at)| match size {
        PictureWidth::Wide => (label, at),
        // In a narrow picture the names would touch, so their units are left out.
        PictureWidth::Narrow => (label.trim_end_matches(" %").trim_end_matches("ines"), at),
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[(f64, u64)]) -> Vec<PercentileFigure> {
        let point = |&(percentile, value_ns)| PercentileFigure {
            percentile,
            value_ns,
            at_least: percentile >= 99.0,
        };
        values.iter().map(point).collect()
    }

    #[test]
    fn each_nine_has_the_same_width_and_the_maximum_is_at_the_edge() {
        let points = points(&[
            (0.0, 1_000),
            (90.0, 10_000),
            (99.0, 50_000),
            (100.0, 100_000),
        ]);
        let curves = [Curve {
            name: String::new(),
            colour: None,
            points: &points,
        }];
        let axes = PercentileAxes::new(&curves, LEFT + RIGHT + 230.103);
        // log10(2 * 100) = 2.30103: the axis ends at twice the last nine, 100 px for each.
        let at = [0.0, 90.0, 99.0, 100.0].map(|percentile| axes.at(percentile) - LEFT);
        for (at, expected) in at.into_iter().zip([0.0, 100.0, 200.0, 230.103]) {
            assert!((at - expected).abs() < 1e-3, "{at} {expected}");
        }
        let doubt = axes.doubt(&curves).into_string();
        assert!(doubt.contains("x=\"264\""), "{doubt}");
    }

    #[test]
    fn first_and_slowest_keep_their_colours_and_their_order() {
        let slowest = [5, 1, 2, 3, 4, 6, 7, 8, 9, 0].map(|p99| (format!("v{p99}"), p99));
        let kept = worth_a_colour(slowest.to_vec());
        assert_eq!(kept, ["v5", "v2", "v3", "v4", "v6", "v7", "v8", "v9"]);
    }
}
