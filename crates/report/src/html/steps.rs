//! The holds of a search by load, and the rate by number of agents.

use super::axis::{AxisUnit, ChartAxis};
use super::picture::{BOTTOM, HEIGHT, LEFT, PictureWidth, RIGHT, TOP, place, y_ticks};
use analysis::human::counted;
use analysis::{HoldOutcome, HoldRecord, Purpose, Scaling, SearchRecord};
use maud::{Markup, html};

/// Height of a row in the picture of the range.
const ROW: f64 = 18.0;

/// The pictures of a search: times and rates by load, and how the range narrowed.
pub(super) fn search(record: &SearchRecord) -> Markup {
    let p99 = |step: &HoldRecord| Some(step.result.figures.response_time_p99_ns? as f64);
    let rate = |step: &HoldRecord| Some(step.result.figures.ok_per_second);
    html! {
        @if !record.steps.is_empty() {
            figure {
                figcaption { b { "Response time" }
                    " the 99th percentile by load, holds numbered in their order; "
                    span class="good" { "passed" } ", " span class="bad" { "failed" }
                    ", others could not be judged" }
                (holds(record, "99th percentile by load", AxisUnit::Time, &p99, &[]))
            }
            figure {
                figcaption { b { "Range" }
                    " in which the answer still was after each hold: from the highest load that "
                    "passed to the lowest that failed" }
                div class="picture" { @for size in PictureWidth::ALL { (range(record, size)) } }
            }
        }
        @if let Some(knee) = &record.knee {
            @let plateau = knee.plateau_ok_per_second;
            figure {
                figcaption { b { "Knee" } " rate carried by load; from "
                    (record.bounds.amount().display(knee.users)) " on it stays at "
                    (AxisUnit::Rate.words(plateau)) }
                (holds(record, "Rate by load", AxisUnit::Rate, &rate, &[(knee.users, plateau)]))
            }
        }
    }
}

/// A logarithmic axis of loads, because a search climbs by factors. It counts in thousandths,
/// because a logarithmic axis begins at 1.
#[derive(Debug, Clone, Copy)]
struct LoadAxis(ChartAxis);

impl LoadAxis {
    fn new(record: &SearchRecord, size: PictureWidth) -> LoadAxis {
        let amounts = || record.steps.iter().map(|step| step.amount);
        let smallest = amounts().fold(f64::MAX, f64::min) / 1.3;
        let largest = amounts().fold(0.0, f64::max) * 1.3;
        let end = size.pixels() - RIGHT;
        LoadAxis(ChartAxis::log(smallest * 1e3, largest * 1e3, LEFT, end))
    }

    fn at(&self, amount: f64) -> f64 {
        self.0.place(amount * 1e3)
    }

    fn ticks(&self, size: PictureWidth, bottom: f64) -> Markup {
        html! {
            @for tick in self.0.ticks(size.ticks()) {
                @let at = place(self.0.place(tick));
                line class="grid" x1=(at) x2=(at) y1=(TOP) y2=(bottom) {}
                text class="tick" text-anchor="middle" x=(at) y=(bottom + 18.0) {
                    (AxisUnit::Count.words(tick / 1e3))
                }
            }
        }
    }
}

/// Holds as points. `levels` are horizontal lines, each with the load from which it starts.
fn holds(
    record: &SearchRecord,
    label: &str,
    unit: AxisUnit,
    value: &dyn Fn(&HoldRecord) -> Option<f64>,
    levels: &[(f64, f64)],
) -> Markup {
    let known = || record.steps.iter().filter_map(value).filter(|it| *it > 0.0);
    let (smallest, largest) = (
        known().fold(f64::MAX, f64::min),
        known().fold(1.0, f64::max),
    );
    let bottom = HEIGHT - BOTTOM;
    let y = ChartAxis::log(smallest / 1.2, largest * 1.2, bottom, TOP);
    html! {
        div class="picture" {
            @for size in PictureWidth::ALL {
                @let x = LoadAxis::new(record, size);
                @let end = size.pixels() - RIGHT;
                svg class=(size.class()) viewBox=(format!("0 0 {} {HEIGHT}", size.pixels()))
                    role="img" aria-label=(label) {
                    (y_ticks(y, unit, 5, size.pixels()))
                    (x.ticks(size, bottom))
                    @for &(from, level) in levels {
                        line class="border" x1=(place(x.at(from))) x2=(place(x.at(from)))
                            y1=(TOP) y2=(bottom) {}
                        line class="line c0 wanted" x1=(place(x.at(from))) x2=(end)
                            y1=(place(y.place(level))) y2=(place(y.place(level))) {}
                    }
                    @for step in &record.steps {
                        @if let Some(value) = value(step) {
                            @let (at, height) = (x.at(step.amount), y.place(value));
                            circle class={ "bar " (tone(&step.result.outcome)) } r="6"
                                cx=(place(at)) cy=(place(height)) {
                                title { (record.bounds.amount().display(step.amount)) ": "
                                    (unit.words(value)) }
                            }
                            text class="tick" text-anchor="middle" x=(place(at))
                                y=(place(height - 9.0)) { (step.step) }
                        }
                    }
                }
            }
        }
    }
}

/// A row for each hold: what was tried, and the range that was left.
fn range(record: &SearchRecord, size: PictureWidth) -> Markup {
    let x = LoadAxis::new(record, size);
    let width = size.pixels();
    let (mut passed, mut failed) = (None::<f64>, None::<f64>);
    // Those for the knee come once the answer is known.
    let steps = record.steps.iter();
    let rows: Vec<(&HoldRecord, Option<(f64, f64)>)> = steps
        .filter(|step| step.purpose != Purpose::Knee)
        .map(|step| {
            match step.result.outcome {
                HoldOutcome::Passed => {
                    passed = Some(passed.map_or(step.amount, |it| it.max(step.amount)));
                }
                HoldOutcome::Failed { .. } => {
                    failed = Some(failed.map_or(step.amount, |it| it.min(step.amount)));
                }
                HoldOutcome::ClientBound { .. } | HoldOutcome::Invalid { .. } => {}
            }
            let left = (
                passed.map_or(LEFT, |amount| x.at(amount)),
                failed.map_or(width - RIGHT, |amount| x.at(amount)),
            );
            // Holds of one amount may contradict each other.
            (step, Some(left).filter(|(from, to)| from < to))
        })
        .collect();
    let bottom = TOP + ROW * rows.len() as f64;
    html! {
        svg class=(size.class()) viewBox=(format!("0 0 {width} {}", bottom + 26.0)) role="img"
            aria-label="Range after each hold" {
            (x.ticks(size, bottom))
            @for (row, (step, left)) in rows.iter().enumerate() {
                @let y = TOP + ROW * (row as f64 + 0.5);
                text class="tick" text-anchor="end" x=(LEFT - 6.0) y=(y + 4.0) { (step.step) }
                @if let Some((from, to)) = left {
                    rect class="tail" x=(place(*from)) width=(place(to - from)) y=(y - 5.0)
                        height="10" {}
                }
                circle class={ "bar " (tone(&step.result.outcome)) } r="5"
                    cx=(place(x.at(step.amount))) cy=(y) {
                    title { (record.bounds.amount().display(step.amount)) }
                }
            }
        }
    }
}

fn tone(outcome: &HoldOutcome) -> &'static str {
    match outcome {
        HoldOutcome::Passed => "good",
        HoldOutcome::Failed { .. } => "bad",
        HoldOutcome::ClientBound { .. } | HoldOutcome::Invalid { .. } => "",
    }
}

/// The rate by number of agents, compared with linear growth from the smallest number.
pub(super) fn scaling(scaling: &Scaling) -> Markup {
    html! {
        @if scaling.rows.len() > 1 {
            figure {
                figcaption { b { "Rate by agents" }
                    " ok per second; dashed, as many times what each brought with the fewest"
                    @if let Some(agents) = scaling.stops_at {
                        "; from " (counted(u64::from(agents), "agent"))
                        " on, more bring nothing"
                    } }
                div class="picture" {
                    @for size in PictureWidth::ALL { (rates(scaling, size)) }
                }
            }
        }
    }
}

fn rates(scaling: &Scaling, size: PictureWidth) -> Markup {
    let (width, bottom) = (size.pixels(), HEIGHT - BOTTOM);
    let agents = scaling.rows.iter().map(|row| f64::from(row.agents));
    let most = agents.fold(1.0, f64::max);
    let rates = scaling.rows.iter().map(|row| row.ok_per_second);
    let top = rates.fold(0.0, f64::max) * 1.2;
    let x = ChartAxis::linear(0.0, most * 1.1, LEFT, width - RIGHT);
    let y = ChartAxis::linear(0.0, top, bottom, TOP);
    let each = scaling
        .rows
        .first()
        .map_or(0.0, |row| row.ok_per_second / f64::from(row.agents.max(1)));
    // Up to the edge of the picture.
    let full = most.min(top / each.max(f64::MIN_POSITIVE));
    let points = scaling.rows.iter().map(|row| {
        let at = x.place(f64::from(row.agents));
        format!("{} {}", place(at), place(y.place(row.ok_per_second)))
    });
    let points: Vec<String> = points.collect();
    html! {
        svg class=(size.class()) viewBox=(format!("0 0 {width} {HEIGHT}")) role="img"
            aria-label="Rate by the number of agents" {
            (y_ticks(y, AxisUnit::Rate, 5, width))
            @for tick in x.ticks(size.ticks()).into_iter().filter(|tick| tick.fract() == 0.0) {
                text class="tick" text-anchor="middle" x=(place(x.place(tick))) y=(HEIGHT - 8.0) {
                    (AxisUnit::Count.words(tick))
                }
            }
            line class="line c2 wanted" x1=(LEFT) y1=(bottom) x2=(place(x.place(full)))
                y2=(place(y.place(full * each))) {}
            @if let Some(agents) = scaling.stops_at {
                @let at = place(x.place(f64::from(agents)));
                line class="border" x1=(at) x2=(at) y1=(TOP) y2=(bottom) {}
            }
            polyline class="line c0" points=(points.join(" ")) {}
            @for row in &scaling.rows {
                circle class="bar" r="5" cx=(place(x.place(f64::from(row.agents))))
                    cy=(place(y.place(row.ok_per_second))) {
                    title { (row.agents) " agents: " (row.verdict.name()) }
                }
            }
        }
    }
}
