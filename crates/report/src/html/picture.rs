//! Pictures as SVG, visible without JavaScript, on paper, and in a mail.

use super::axis::{AxisUnit, ChartAxis};
use super::marks::RunMark;
use super::timeline::{ChartLine, TimeChart};
use crate::clock::clock;
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

/// The measured part, in seconds of the run clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct MeasuredPart {
    pub(super) from: f64,
    pub(super) to: f64,
}

/// What all pictures over time have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeFrame<'a> {
    /// The beginning of each point and the end of the last one, in seconds of the run clock.
    pub(super) bounds: &'a [f64],
    pub(super) part: MeasuredPart,
    pub(super) marks: &'a [RunMark],
}

impl TimeFrame<'_> {
    pub(super) fn axis(&self, size: PictureWidth) -> ChartAxis {
        let from = self.bounds.first().copied().unwrap_or(0.0);
        let to = self.bounds.last().copied().unwrap_or(1.0);
        ChartAxis::linear(from, to, LEFT, size.pixels() - RIGHT)
    }

    /// Everything that lies around the values, and below them: shades, marks and ticks.
    pub(super) fn draw(
        &self,
        y: ChartAxis,
        unit: AxisUnit,
        ticks: usize,
        size: PictureWidth,
    ) -> Markup {
        let x = self.axis(size);
        html! {
            (warm_up(x, self.part, size))
            (draw_marks(x, self.marks))
            (y_ticks(y, unit, ticks, size.pixels()))
            (x_ticks(x, size))
        }
    }
}

/// A line chart over time.
pub(super) fn timeline(chart: &TimeChart, frame: TimeFrame<'_>) -> Markup {
    let (x, y) = (frame.axis(PictureWidth::Wide), value_axis(chart));
    let lines = html! {
        @for (number, line) in chart.lines.iter().enumerate() {
            path class=(line_class(number, line.is_wanted)) d=(path(line, frame.bounds, x, y)) {}
        }
    };
    in_both_widths(chart.id, chart.title, &lines, |size| {
        frame.draw(y, chart.unit, 5, size)
    })
}

/// A logarithmic axis begins at the smallest value above 0; a linear one ends above the largest.
fn value_axis(chart: &TimeChart) -> ChartAxis {
    let values = chart.lines.iter().flat_map(|line| &line.values);
    let values = values.flatten().copied();
    let largest = values.clone().fold(0.0, f64::max);
    if !chart.is_log {
        return ChartAxis::linear(0.0, largest * 1.05, HEIGHT - BOTTOM, TOP);
    }
    let smallest = values.filter(|&value| value > 0.0).fold(largest, f64::min);
    ChartAxis::log(smallest, largest, HEIGHT - BOTTOM, TOP)
}

/// The parts of a whole stacked on one another, the first at the bottom.
pub(super) fn stack(chart: &TimeChart, frame: TimeFrame<'_>) -> Markup {
    let tops = tops(&chart.lines, frame.bounds.len().saturating_sub(1));
    let whole = tops.last().into_iter().flatten();
    let largest = whole.copied().fold(0.0, f64::max);
    let x = frame.axis(PictureWidth::Wide);
    let y = ChartAxis::linear(0.0, largest * 1.05, HEIGHT - BOTTOM, TOP);
    let areas = html! {
        // From the top down. Each area reaches down to the axis, and the next one covers the rest.
        @for (number, (top, line)) in tops.iter().zip(&chart.lines).enumerate().rev() {
            path class={ "area c" (number % 8) } d=(area(top, frame.bounds, x, y)) {
                title { (line.name) }
            }
        }
    };
    in_both_widths(chart.id, chart.title, &areas, |size| {
        frame.draw(y, chart.unit, 5, size)
    })
}

/// The height of each line on top of the lines before it, for each of `points`.
fn tops(lines: &[ChartLine], points: usize) -> Vec<Vec<f64>> {
    let mut tops: Vec<Vec<f64>> = Vec::new();
    for line in lines {
        let below = tops.last().cloned().unwrap_or_else(|| vec![0.0; points]);
        let values = line.values.iter().map(|value| value.unwrap_or(0.0));
        let sums = below.iter().zip(values).map(|(below, value)| below + value);
        tops.push(sums.collect());
    }
    tops
}

/// The area from a line of steps down to the axis.
fn area(top: &[f64], bounds: &[f64], x: ChartAxis, y: ChartAxis) -> String {
    let mut path = format!("M{LEFT} {}", HEIGHT - BOTTOM);
    for (end, value) in bounds.iter().skip(1).zip(top) {
        let (height, end) = (y.place(*value), x.place(*end));
        let _ = write!(path, "V{}H{}", place(height), place(end));
    }
    path + &format!("V{}z", HEIGHT - BOTTOM)
}

/// The area between the axes is written once, and compressed horizontally for a telephone.
pub(super) fn in_both_widths(
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

/// Shades the time before and after the measured part.
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

/// The marks of a timeline; an instant is as wide as a line.
fn draw_marks(x: ChartAxis, marks: &[RunMark]) -> Markup {
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

    fn line(values: &[f64]) -> ChartLine {
        ChartLine {
            name: String::new(),
            values: values.iter().copied().map(Some).collect(),
            is_wanted: false,
        }
    }

    #[test]
    fn stacked_lines_stand_on_one_another_and_their_areas_on_the_axis() {
        let lines = [line(&[1.0, 2.0]), line(&[3.0, 0.0]), line(&[0.5, 0.5])];
        let tops = tops(&lines, 2);
        assert_eq!(tops, [[1.0, 2.0], [4.0, 2.0], [4.5, 2.5]]);
        // 10 px for each second, and 10 px down for each unit.
        let (x, y) = (
            ChartAxis::linear(0.0, 2.0, 0.0, 20.0),
            ChartAxis::linear(0.0, 5.0, 50.0, 0.0),
        );
        let area = area(&tops[1], &[0.0, 1.0, 2.0], x, y);
        assert_eq!(area, "M64 214V10H10V30H20V214z");
    }

    #[test]
    fn linear_axis_has_room_above_and_a_logarithmic_one_begins_above_zero() {
        let chart = |is_log| TimeChart {
            id: "",
            title: "",
            about: "",
            unit: AxisUnit::Count,
            is_log,
            lines: vec![line(&[0.0, 10.0, 100.0])],
        };
        // 198 px of height. 100 of 105 leaves a twenty-first of them free, and 10 to 100 is one
        // power of ten.
        let linear = value_axis(&chart(false));
        assert!((linear.place(100.0) - (TOP + 198.0 / 21.0)).abs() < 1e-9);
        let log = value_axis(&chart(true));
        assert!((log.place(10.0) - (HEIGHT - BOTTOM)).abs() < 1e-9);
        assert!((log.place(100.0) - TOP).abs() < 1e-9);
    }
}
