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
                    @for size in PictureWidth::ALL { (drawn(&curves, size)) }
                }
                (legend(names.into_iter()))
            }
        }
    }
}

/// One curve per run, so that the spread of repeats is visible.
pub(super) fn runs(campaign: &CampaignDocument) -> Markup {
    // Of whom nothing is drawn takes no colour.
    let is_drawn = |run: &&RunSummary| !run.response_time_curve.is_empty();
    let runs = || campaign.runs.iter().filter(is_drawn);
    let is_compared = runs().any(|run| runs().any(|other| other.variant != run.variant));
    let key = |run: &RunSummary| {
        if is_compared {
            run.variant.clone()
        } else {
            format!("repeat {}", run.repeat + 1)
        }
    };
    let mut keys: Vec<(String, u64)> = Vec::new();
    for run in runs() {
        let (key, p99) = (key(run), run.response_time_p99_ns.unwrap_or(0));
        match keys.iter_mut().find(|(known, _)| *known == key) {
            Some((_, slowest)) => *slowest = p99.max(*slowest),
            None => keys.push((key, p99)),
        }
    }
    let left_out = keys.len().saturating_sub(COLOURS);
    let coloured = worth_a_colour(keys);
    let curves = runs().map(|run| {
        let name = key(run);
        Curve {
            colour: coloured.iter().position(|known| *known == name),
            name,
            points: &run.response_time_curve,
        }
    });
    let about = match left_out {
        0 => "of each run".to_owned(),
        1 => "of each run; the fastest of all is grey".to_owned(),
        others => format!("of each run; the fastest {others} are grey"),
    };
    figure("Percentiles of response times", &about, curves.collect())
}

/// The first, with which others are compared, and the slowest, in their order.
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

fn drawn(curves: &[Curve<'_>], size: PictureWidth) -> Markup {
    let width = size.pixels();
    let points = || curves.iter().flat_map(|curve| curve.points);
    // The largest value has no place on this axis: it stands at the end.
    let rest = |percentile: f64| 1.0 / (1.0 - percentile / 100.0);
    let finite = points()
        .map(|point| rest(point.percentile))
        .filter(|rest| rest.is_finite());
    let most = finite.fold(10.0, f64::max) * 2.0;
    let x = ChartAxis::log(1.0, most, LEFT, width - RIGHT);
    let at = |percentile: f64| x.place(rest(percentile).min(most));
    let values = || points().map(|point| point.value_ns as f64);
    let y = ChartAxis::log(
        values().fold(f64::MAX, f64::min),
        values().fold(1.0, f64::max),
        HEIGHT - BOTTOM,
        TOP,
    );
    let doubtful = points().filter(|point| point.at_least);
    let doubtful = doubtful.map(|point| at(point.percentile));
    let doubtful = doubtful.fold(width - RIGHT, f64::min);
    html! {
        svg class=(size.class()) viewBox=(format!("0 0 {width} {HEIGHT}")) role="img"
            aria-label="Response times by percentile" {
            @if doubtful < width - RIGHT {
                rect class="doubt" x=(place(doubtful)) y=(TOP)
                    width=(place(width - RIGHT - doubtful)) height=(HEIGHT - BOTTOM - TOP) {
                    title { "lower bounds: operations that timed out would have taken longer" }
                }
            }
            (y_ticks(y, AxisUnit::Time, 6, width))
            @for (label, percentile) in nines(size) {
                @if rest(percentile) < most {
                    line class="grid" x1=(place(at(percentile))) y1=(TOP)
                        x2=(place(at(percentile))) y2=(HEIGHT - BOTTOM) {}
                    text class="tick" x=(place(at(percentile))) y=(HEIGHT - 8.0)
                        text-anchor="middle" { (label) }
                }
            }
            @for curve in curves {
                path class=(class(curve.colour)) d=(path(curve.points, &at, y)) {
                    title { (curve.name) }
                }
            }
        }
    }
}

fn class(colour: Option<usize>) -> String {
    colour.map_or_else(
        || "line grey".to_owned(),
        |colour| format!("line c{colour}"),
    )
}

fn path(points: &[PercentileFigure], at: &impl Fn(f64) -> f64, y: ChartAxis) -> String {
    let mut path = String::new();
    for (number, point) in points.iter().enumerate() {
        let verb = if number == 0 { 'M' } else { 'L' };
        let (x, y) = (at(point.percentile), y.place(point.value_ns as f64));
        let _ = write!(path, "{verb}{} {}", place(x), place(y));
    }
    path
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
