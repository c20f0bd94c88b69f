//! Pictures as SVG, visible without JavaScript, on paper, and in a mail.

use super::axis::{AxisUnit, ChartAxis};
use super::marks::RunMark;
use super::timeline::{ChartLine, TimeChart};
use crate::clock::clock;
use analysis::human::time;
use analysis::{HeatColumn, HeatMap};
use maud::{Markup, html};
use std::fmt::Write as _;

/// A picture's width and height, and its margins for ticks. The page's script gets them too.
pub(super) const WIDTH: f64 = 900.0;
pub(super) const HEIGHT: f64 = 240.0;
pub(super) const LEFT: f64 = 64.0;
pub(super) const RIGHT: f64 = 12.0;
pub(super) const TOP: f64 = 16.0;
pub(super) const BOTTOM: f64 = 26.0;

/// Each picture exists in two widths: for most screens, and for a telephone without scaling down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PictureWidth {
    Wide,
    Narrow,
}

impl PictureWidth {
    /// Both widths; the page shows the one that fits.
    pub(super) const ALL: [PictureWidth; 2] = [PictureWidth::Wide, PictureWidth::Narrow];

    pub(super) fn pixels(self) -> f64 {
        match self {
            PictureWidth::Wide => WIDTH,
            PictureWidth::Narrow => 380.0,
        }
    }

    /// Number of ticks that fit side by side.
    pub(super) fn ticks(self) -> usize {
        match self {
            PictureWidth::Wide => 10,
            PictureWidth::Narrow => 5,
        }
    }

    pub(super) fn class(self) -> &'static str {
        match self {
            PictureWidth::Wide => "wide",
            PictureWidth::Narrow => "narrow",
        }
    }
}

/// Width of a letter of a label.
const LETTER: f64 = 7.0;

/// Steps of colour in a heat map.
const SHADES: usize = 8;

/// Stretches of time that are marked: from and to, in seconds of the run clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct MeasuredPart {
    pub(super) from: f64,
    pub(super) to: f64,
}

/// Lines over time.
pub(super) fn timeline(
    timeline: &TimeChart,
    bounds: &[f64],
    part: MeasuredPart,
    marks: &[RunMark],
) -> Markup {
    let values = || {
        timeline
            .lines
            .iter()
            .flat_map(|line| &line.values)
            .flatten()
            .copied()
    };
    let largest = values().fold(0.0, f64::max);
    let y = if timeline.is_log {
        let smallest = values()
            .filter(|&value| value > 0.0)
            .fold(largest, f64::min);
        ChartAxis::log(smallest, largest, HEIGHT - BOTTOM, TOP)
    } else {
        ChartAxis::linear(0.0, largest * 1.05, HEIGHT - BOTTOM, TOP)
    };
    let x = time_axis(bounds, PictureWidth::Wide);
    let lines = html! {
        @for (number, line) in timeline.lines.iter().enumerate() {
            path class=(line_class(number, line.is_wanted)) d=(path(line, bounds, x, y)) {}
        }
    };
    let axes = |size: PictureWidth| {
        let x = time_axis(bounds, size);
        html! {
            (warm_up(x, part, size))
            (marked(x, marks))
            (y_ticks(y, timeline.unit, 5, size.pixels()))
            (x_ticks(x, size))
        }
    };
    in_both_widths(timeline.id, timeline.title, &lines, axes)
}

/// Parts of a whole over one another, the first at the bottom.
pub(super) fn stack(
    chart: &TimeChart,
    bounds: &[f64],
    part: MeasuredPart,
    marks: &[RunMark],
) -> Markup {
    let mut sum = vec![0.0; bounds.len().saturating_sub(1)];
    let mut tops: Vec<Vec<f64>> = Vec::new();
    for line in &chart.lines {
        let values = line.values.iter().map(|value| value.unwrap_or(0.0));
        sum = sum
            .iter()
            .zip(values)
            .map(|(low, value)| low + value)
            .collect();
        tops.push(sum.clone());
    }
    let largest = sum.into_iter().fold(0.0, f64::max);
    let y = ChartAxis::linear(0.0, largest * 1.05, HEIGHT - BOTTOM, TOP);
    let x = time_axis(bounds, PictureWidth::Wide);
    let area = |top: &[f64]| {
        let mut path = format!("M{LEFT} {}", HEIGHT - BOTTOM);
        for (end, value) in bounds.iter().skip(1).zip(top) {
            let (height, end) = (y.place(*value), x.place(*end));
            let _ = write!(path, "V{}H{}", place(height), place(end));
        }
        path + &format!("V{}z", HEIGHT - BOTTOM)
    };
    let areas = html! {
        // From the top down. Each area reaches down to the axis, and the next one covers the rest.
        @for (number, (top, line)) in tops.iter().zip(&chart.lines).enumerate().rev() {
            path class={ "area c" (number % 8) } d=(area(top)) { title { (line.name) } }
        }
    };
    let axes = |size: PictureWidth| {
        let x = time_axis(bounds, size);
        html! {
            (warm_up(x, part, size))
            (marked(x, marks))
            (y_ticks(y, chart.unit, 5, size.pixels()))
            (x_ticks(x, size))
        }
    };
    in_both_widths(chart.id, chart.title, &areas, axes)
}

/// What lies between the axes is drawn once, and squeezed for a telephone.
fn in_both_widths(
    id: &str,
    label: &str,
    inside: &Markup,
    axes: impl Fn(PictureWidth) -> Markup,
) -> Markup {
    let room = |size: PictureWidth| size.pixels() - LEFT - RIGHT;
    let part = room(PictureWidth::Narrow) / room(PictureWidth::Wide);
    let id = format!("inside-{id}");
    let squeeze = format!("matrix({part:.5} 0 0 1 {:.2} 0)", LEFT * (1.0 - part));
    html! {
        @for size in PictureWidth::ALL {
            svg class=(size.class()) viewBox=(format!("0 0 {} {HEIGHT}", size.pixels()))
                role="img" aria-label=(label) {
                (axes(size))
                @match size {
                    PictureWidth::Wide => g id=(id) { (inside) },
                    PictureWidth::Narrow => use href={ "#" (id) } transform=(squeeze) {},
                }
            }
        }
    }
}

/// The names of a picture's lines, with their colours.
pub(super) fn legend(names: impl Iterator<Item = String>) -> Markup {
    html! {
        ul class="legend" {
            @for (number, name) in names.enumerate() {
                li { span class={ "key c" (number % 8) } {} (name) }
            }
        }
    }
}

/// Response times over time: the darker, the more operations. Each shade is one path, so that a
/// long run is a small picture.
pub(super) fn heat_map(map: &HeatMap, bounds: &[f64], part: MeasuredPart) -> Markup {
    let x = time_axis(bounds, PictureWidth::Wide);
    let rows = map.row_ends_ns.len();
    let (first, last) = (map.row_ends_ns.first(), map.row_ends_ns.last());
    let (Some(&first), Some(&last)) = (first, last) else {
        return html! {};
    };
    // A row begins where the one before ends; the first is as high as the second.
    let growth = map
        .row_ends_ns
        .get(1)
        .map_or(1.26, |second| *second as f64 / first as f64);
    let y = ChartAxis::log(first as f64 / growth, last as f64, HEIGHT - BOTTOM, TOP);
    let begin = |row: usize| match row.checked_sub(1) {
        Some(before) => map.row_ends_ns[before] as f64,
        None => first as f64 / growth,
    };
    let counts = || {
        map.columns
            .iter()
            .flat_map(|column| &column.counts)
            .copied()
    };
    let most = counts().max().unwrap_or(0).max(1) as f64;
    let mut paths = vec![String::new(); SHADES];
    let ends = |column: &HeatColumn| {
        let until = column.second.saturating_add(map.column_seconds);
        (x.place(f64::from(column.second)), x.place(f64::from(until)))
    };
    // At least a hair wide: a single second of an hour is seen.
    let widths = map.columns.iter().map(ends);
    let width = widths.map(|(from, until)| until - from).fold(1.0, f64::max);
    for column in &map.columns {
        let middle = place(ends(column).0 + width / 2.0);
        for (row, &count) in column.counts.iter().enumerate().take(rows) {
            if count > 0 {
                let (low, high) = (y.place(begin(row)), y.place(map.row_ends_ns[row] as f64));
                // One operation is seen beside a million.
                let part = (count as f64).ln_1p() / most.ln_1p();
                let shade = ((part * SHADES as f64).ceil() as usize).clamp(1, SHADES) - 1;
                // A line as wide as the column is half as long to write as a rectangle.
                let _ = write!(paths[shade], "M{middle} {}V{}", place(low), place(high));
            }
        }
    }
    // The last column ends where the run does, inside of it.
    let cells = html! {
        clipPath id="heat-room" {
            rect x=(LEFT) y="0" width=(WIDTH - LEFT - RIGHT) height=(HEIGHT) {}
        }
        g clip-path="url(#heat-room)" {
            @for (shade, path) in paths.iter().enumerate() {
                @if !path.is_empty() {
                    path class={ "heat h" (shade) } stroke-width=(format!("{width:.2}")) d=(path) {}
                }
            }
        }
    };
    let axes = |size: PictureWidth| {
        let x = time_axis(bounds, size);
        html! {
            (warm_up(x, part, size))
            (y_ticks(y, AxisUnit::Time, 6, size.pixels()))
            (x_ticks(x, size))
        }
    };
    in_both_widths("heat", "Response times over time", &cells, axes)
}

/// What the shades of a heat map mean.
pub(super) fn heat_legend(map: &HeatMap) -> String {
    let most = map.columns.iter().flat_map(|column| &column.counts).max();
    let each = match map.column_seconds {
        1 => "a second".to_owned(),
        seconds => time(f64::from(seconds) * 1e9),
    };
    format!(
        "each cell: operations due in {each}, by response time; the darkest has {}",
        most.copied().unwrap_or(0)
    )
}

fn time_axis(bounds: &[f64], size: PictureWidth) -> ChartAxis {
    let from = bounds.first().copied().unwrap_or(0.0);
    let to = bounds.last().copied().unwrap_or(1.0);
    ChartAxis::linear(from, to, LEFT, size.pixels() - RIGHT)
}

/// What lies before and behind the measured part.
fn warm_up(x: ChartAxis, part: MeasuredPart, size: PictureWidth) -> Markup {
    let shaded = [
        (LEFT, x.place(part.from)),
        (x.place(part.to), size.pixels() - RIGHT),
    ];
    html! {
        @for (from, to) in shaded {
            @if to - from > 0.5 {
                rect class="unmeasured" x=(place(from)) y=(TOP) width=(place(to - from))
                    height=(HEIGHT - BOTTOM - TOP) { title { "not measured" } }
            }
        }
    }
}

/// What marks a timeline has; an instant is as wide as a line.
fn marked(x: ChartAxis, marks: &[RunMark]) -> Markup {
    html! {
        @for mark in marks {
            @let (from, to) = (x.place(mark.from), x.place(mark.to));
            @if let Some(label) = &mark.label {
                line class="border" x1=(place(from)) x2=(place(from)) y1=(TOP)
                    y2=(HEIGHT - BOTTOM) {}
                @if label.len() as f64 * LETTER < to - from {
                    text class="tick" x=(place(from + 4.0)) y=(TOP - 4.0) { (label) }
                }
            } @else {
                rect class={ "mark " (mark.tone.name()) } x=(place(from)) y=(TOP)
                    width=(place((to - from).max(1.5)))
                    height=(HEIGHT - BOTTOM - TOP) { title { (mark.words) } }
            }
        }
    }
}

pub(super) fn y_ticks(y: ChartAxis, unit: AxisUnit, most: usize, width: f64) -> Markup {
    html! {
        @for tick in y.ticks(most) {
            line class="grid" x1=(LEFT) y1=(place(y.place(tick))) x2=(width - RIGHT)
                y2=(place(y.place(tick))) {}
            text class="tick" x=(LEFT - 6.0) y=(place(y.place(tick) + 4.0)) text-anchor="end" {
                (unit.words(tick))
            }
        }
    }
}

fn x_ticks(x: ChartAxis, size: PictureWidth) -> Markup {
    html! {
        @for tick in x.ticks(size.ticks()) {
            text class="tick" x=(place(x.place(tick))) y=(HEIGHT - 8.0) text-anchor="middle" {
                (clock(tick))
            }
        }
    }
}

/// The line as steps: the value of a second holds for its whole length.
fn path(line: &ChartLine, bounds: &[f64], x: ChartAxis, y: ChartAxis) -> String {
    let mut path = String::new();
    // The current height, and how far it reaches.
    let mut step: Option<(String, f64)> = None;
    for (stretch, value) in bounds.windows(2).zip(&line.values) {
        let height = value.map(|value| place(y.place(value)));
        if let (Some((drawn, end)), Some(height)) = (&mut step, &height)
            && drawn == height
        {
            *end = stretch[1];
            continue;
        }
        let before = step.take();
        end_step(&mut path, x, before.as_ref());
        let Some(height) = height else { continue };
        let _ = match before {
            Some(_) => write!(path, "V{height}"),
            None => write!(path, "M{} {height}", place(x.place(stretch[0]))),
        };
        step = Some((height, stretch[1]));
    }
    end_step(&mut path, x, step.as_ref());
    path
}

fn end_step(path: &mut String, x: ChartAxis, step: Option<&(String, f64)>) {
    if let Some((_, end)) = step {
        let _ = write!(path, "H{}", place(x.place(*end)));
    }
}

fn line_class(number: usize, is_wanted: bool) -> String {
    let wanted = if is_wanted { " wanted" } else { "" };
    format!("line c{}{wanted}", number % 8)
}

/// A position rounded to a tenth of a pixel, finer than the eye can see.
pub(super) fn place(at: f64) -> String {
    let text = format!("{at:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_second_interrupts_a_line() {
        let line = ChartLine {
            name: String::new(),
            values: vec![Some(0.0), Some(1.0), Some(1.0), None, Some(1.0)],
            is_wanted: false,
        };
        let axis = ChartAxis::linear(0.0, 1.0, 0.0, 10.0);
        let path = path(&line, &[0.0, 0.2, 0.4, 0.6, 0.8, 1.0], axis, axis);
        assert_eq!(path, "M0 0H2V10H6M8 10H10");
    }

    #[test]
    fn last_column_of_a_heat_map_begins_at_its_second_and_ends_with_the_run() {
        let column = |second| HeatColumn {
            second,
            counts: vec![1],
        };
        let map = HeatMap {
            column_seconds: 1,
            row_ends_ns: vec![1_000],
            columns: vec![column(0), column(1)],
        };
        let part = MeasuredPart { from: 0.0, to: 1.1 };
        let svg = heat_map(&map, &[0.0, 1.0, 1.1], part).into_string();
        // 824 px are 1.1 s: columns of 749.1 px from 64 and from 813.1 on.
        assert!(svg.contains("M438.5 ") && svg.contains("M1187.6 "), "{svg}");
        assert!(svg.contains("clip-path=\"url(#heat-room)\""), "{svg}");
    }

    #[test]
    fn one_operation_is_seen_beside_a_million() {
        let map = HeatMap {
            column_seconds: 1,
            row_ends_ns: vec![1_000, 2_000],
            columns: vec![HeatColumn {
                second: 0,
                counts: vec![1_000_000, 1],
            }],
        };
        let part = MeasuredPart { from: 0.0, to: 1.0 };
        let svg = heat_map(&map, &[0.0, 1.0], part).into_string();
        assert!(svg.contains("heat h0") && svg.contains("heat h7"), "{svg}");
    }
}
