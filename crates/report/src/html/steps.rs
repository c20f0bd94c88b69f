//! The holds of a search by load, and the rate by number of agents.

use super::axis::{AxisUnit, ChartAxis};
use super::picture::{BOTTOM, HEIGHT, LEFT, PictureWidth, RIGHT, TOP, place, y_ticks};
use analysis::human::counted;
use analysis::{HoldOutcome, HoldRecord, Purpose, Scaling, ScalingRow, SearchRecord};
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
    let y = hold_axis(record.steps.iter().filter_map(value));
    html! {
        div class="picture" {
            @for size in PictureWidth::ALL {
                @let x = LoadAxis::new(record, size);
                svg class=(size.class()) viewBox=(format!("0 0 {} {HEIGHT}", size.pixels()))
                    role="img" aria-label=(label) {
                    (y_ticks(y, unit, 5, size.pixels()))
                    (x.ticks(size, HEIGHT - BOTTOM))
                    @for &(from, level) in levels {
                        (level_line(x.at(from), y.place(level), size.pixels() - RIGHT))
                    }
                    @for step in &record.steps {
                        @if let Some(value) = value(step) {
                            @let load = record.bounds.amount().display(step.amount);
                            @let figures = &step.result.figures;
                            @let is_bound =
                                unit == AxisUnit::Time && figures.response_time_p99_at_least;
                            @let bound = if is_bound { "≥ " } else { "" };
                            @let title = format!("{load}: {bound}{}", unit.words(value));
                            (hold_point(step, (x.at(step.amount), y.place(value)), &title))
                        }
                    }
                }
            }
        }
    }
}

/// A fifth of room below the smallest value and above the largest.
fn hold_axis(values: impl Iterator<Item = f64> + Clone) -> ChartAxis {
    let known = values.filter(|value| *value > 0.0);
    let smallest = known.clone().fold(f64::MAX, f64::min);
    let largest = known.fold(1.0, f64::max);
    ChartAxis::log(smallest / 1.2, largest * 1.2, HEIGHT - BOTTOM, TOP)
}

/// A border at `x`, and from there on a level of this height.
fn level_line(x: f64, height: f64, end: f64) -> Markup {
    html! {
        line class="border" x1=(place(x)) x2=(place(x)) y1=(TOP) y2=(HEIGHT - BOTTOM) {}
        line class="line c0 wanted" x1=(place(x)) x2=(end) y1=(place(height))
            y2=(place(height)) {}
    }
}

fn hold_point(step: &HoldRecord, (x, y): (f64, f64), title: &str) -> Markup {
    html! {
        circle class={ "bar " (tone(&step.result.outcome)) } r="6" cx=(place(x)) cy=(place(y)) {
            title { (title) }
        }
        text class="tick" text-anchor="middle" x=(place(x)) y=(place(y - 9.0)) { (step.step) }
    }
}

/// A hold, and between which loads the answer was after it; `None` for an end that is still open.
type Narrowed<'r> = (&'r HoldRecord, [Option<f64>; 2]);

/// The range narrows from the highest load that passed to the lowest that failed.
fn narrow(record: &SearchRecord) -> Vec<Narrowed<'_>> {
    let (mut passed, mut failed) = (None::<f64>, None::<f64>);
    // Holds for the knee come after the answer is known.
    let steps = record.steps.iter();
    let steps = steps.filter(|step| step.purpose != Purpose::Knee);
    let narrowed = steps.map(|step| {
        let amount = step.amount;
        match step.result.outcome {
            HoldOutcome::Passed => passed = Some(passed.map_or(amount, |it| it.max(amount))),
            HoldOutcome::Failed { .. } => failed = Some(failed.map_or(amount, |it| it.min(amount))),
            HoldOutcome::ClientBound { .. } | HoldOutcome::Invalid { .. } => {}
        }
        (step, [passed, failed])
    });
    narrowed.collect()
}

/// One row per hold: the load tried, and the range that remained.
fn range(record: &SearchRecord, size: PictureWidth) -> Markup {
    let x = LoadAxis::new(record, size);
    let width = size.pixels();
    let rows = narrow(record);
    let bottom = TOP + ROW * rows.len() as f64;
    html! {
        svg class=(size.class()) viewBox=(format!("0 0 {width} {}", bottom + 26.0)) role="img"
            aria-label="Range after each hold" {
            (x.ticks(size, bottom))
            @for (row, &(step, [low, high])) in rows.iter().enumerate() {
                @let y = TOP + ROW * (row as f64 + 0.5);
                @let from = low.map_or(LEFT, |amount| x.at(amount));
                @let to = high.map_or(width - RIGHT, |amount| x.at(amount));
                text class="tick" text-anchor="end" x=(LEFT - 6.0) y=(y + 4.0) { (step.step) }
                // Holds of the same load may contradict each other, which leaves no range.
                @if from < to {
                    rect class="tail" x=(place(from)) width=(place(to - from)) y=(y - 5.0)
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
    let axes = ScalingAxes::new(scaling, size.pixels());
    html! {
        svg class=(size.class()) viewBox=(format!("0 0 {} {HEIGHT}", size.pixels())) role="img"
            aria-label="Rate by the number of agents" {
            (y_ticks(axes.y, AxisUnit::Rate, 5, size.pixels()))
            (axes.agents_ticks(size))
            (axes.linear_growth())
            @if let Some(agents) = scaling.stops_at {
                @let at = axes.at(agents);
                line class="border" x1=(at) x2=(at) y1=(TOP) y2=(HEIGHT - BOTTOM) {}
            }
            (axes.points(&scaling.rows))
        }
    }
}

/// Where rates stand by their number of agents.
struct ScalingAxes {
    x: ChartAxis,
    y: ChartAxis,
    /// Rate of a single agent, in the row with the fewest.
    each: f64,
    /// Where linear growth leaves the picture: at its right edge, or at its upper one.
    growth_end: f64,
}

impl ScalingAxes {
    fn new(scaling: &Scaling, width: f64) -> ScalingAxes {
        let rows = &scaling.rows;
        let most = rows.iter().map(|row| f64::from(row.agents));
        let most = most.fold(1.0, f64::max);
        let top = rows.iter().map(|row| row.ok_per_second).fold(0.0, f64::max) * 1.2;
        let each = rows
            .first()
            .map_or(0.0, |row| row.ok_per_second / f64::from(row.agents.max(1)));
        ScalingAxes {
            x: ChartAxis::linear(0.0, most * 1.1, LEFT, width - RIGHT),
            y: ChartAxis::linear(0.0, top, HEIGHT - BOTTOM, TOP),
            each,
            growth_end: most.min(top / each.max(f64::MIN_POSITIVE)),
        }
    }

    fn at(&self, agents: u32) -> String {
        place(self.x.place(f64::from(agents)))
    }

    /// Only whole numbers of agents.
    fn agents_ticks(&self, size: PictureWidth) -> Markup {
        let ticks = self.x.ticks(size.ticks());
        html! {
            @for tick in ticks.into_iter().filter(|tick| tick.fract() == 0.0) {
                text class="tick" text-anchor="middle" x=(place(self.x.place(tick)))
                    y=(HEIGHT - 8.0) { (AxisUnit::Count.words(tick)) }
            }
        }
    }

    /// What the agents would bring if each brought as much as the fewest did.
    fn linear_growth(&self) -> Markup {
        let end = self.growth_end;
        html! {
            line class="line c2 wanted" x1=(LEFT) y1=(HEIGHT - BOTTOM)
                x2=(place(self.x.place(end))) y2=(place(self.y.place(end * self.each))) {}
        }
    }

    fn points(&self, rows: &[ScalingRow]) -> Markup {
        let height = |row: &ScalingRow| place(self.y.place(row.ok_per_second));
        let points = rows.iter();
        let points = points.map(|row| format!("{} {}", self.at(row.agents), height(row)));
        let points: Vec<String> = points.collect();
        html! {
            polyline class="line c0" points=(points.join(" ")) {}
            @for row in rows {
                circle class="bar" r="5" cx=(self.at(row.agents)) cy=(height(row)) {
                    title { (row.agents) " agents: " (row.verdict.name()) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::CampaignDocument;

    fn golden() -> CampaignDocument {
        let golden = include_bytes!("../../tests/golden/campaign-v1.json");
        crate::read_campaign(golden).expect("a golden document can be read")
    }

    #[test]
    fn range_narrows_with_each_hold_that_can_be_judged() {
        let mut record = golden().searches.swap_remove(0).search;
        let is_failed =
            |step: &&HoldRecord| matches!(step.result.outcome, HoldOutcome::Failed { .. });
        let failed = record
            .steps
            .iter()
            .find(is_failed)
            .expect("a hold failed")
            .clone();
        let hold = |amount: f64, has_passed: bool| {
            let mut step = failed.clone();
            (step.amount, step.purpose) = (amount, Purpose::Climb);
            if has_passed {
                step.result.outcome = HoldOutcome::Passed;
            }
            step
        };
        let mut knee = hold(900.0, true);
        knee.purpose = Purpose::Knee;
        let holds = [
            (100.0, true),
            (400.0, false),
            (200.0, true),
            (300.0, false),
            (150.0, true),
        ];
        record.steps = holds
            .map(|(amount, has_passed)| hold(amount, has_passed))
            .to_vec();
        record.steps.push(knee);
        let ranges: Vec<_> = narrow(&record).iter().map(|(_, range)| *range).collect();
        let expected = [
            [Some(100.0), None],
            [Some(100.0), Some(400.0)],
            [Some(200.0), Some(400.0)],
            [Some(200.0), Some(300.0)],
            [Some(200.0), Some(300.0)],
        ];
        assert_eq!(ranges, expected);
    }

    #[test]
    fn linear_growth_ends_at_the_edge_that_it_reaches_first() {
        let growth_end = |rates: [f64; 2]| {
            let mut scaling = golden().scalings.swap_remove(0).scaling;
            scaling.rows.truncate(2);
            for (row, (agents, rate)) in scaling.rows.iter_mut().zip((1..).zip(rates)) {
                (row.agents, row.ok_per_second) = (agents, rate);
            }
            ScalingAxes::new(&scaling, 100.0).growth_end
        };
        // Two agents carry what one does. The picture ends at 120/s, which 1.2 agents would reach.
        assert!((growth_end([100.0, 100.0]) - 1.2).abs() < 1e-9);
        // They carry more than twice as much, so the line ends at the last number of agents.
        assert!((growth_end([100.0, 250.0]) - 2.0).abs() < 1e-9);
    }
}
