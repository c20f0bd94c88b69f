//! Holds of a search by their load, and rates by the number of agents.

use super::axis::{AxisUnit, ChartAxis};
use analysis::{HoldOutcome, HoldRecord, Scaling, SearchRecord};
use maud::{Markup, html};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 26.0;

/// Load against the 99th percentile: the range closes from both sides.
pub(super) fn search(record: &SearchRecord) -> Markup {
    let p99 = |step: &HoldRecord| step.result.figures.response_time_p99_ns;
    let known = || record.steps.iter().filter_map(p99).map(|ns| ns as f64);
    let Some(smallest) = known().reduce(f64::min) else {
        return html! {};
    };
    let amounts = record.steps.iter().map(|step| step.amount);
    let most = amounts.fold(0.0, f64::max);
    let x = ChartAxis::linear(0.0, most * 1.05, LEFT, WIDTH - RIGHT);
    let y = ChartAxis::log(smallest, known().fold(1.0, f64::max), HEIGHT - BOTTOM, TOP);
    html! {
        figure {
            figcaption { b { "Holds" }
                " load against the 99th percentile of response times, numbered in their order; "
                span class="good" { "passed" } ", " span class="bad" { "failed" }
                ", others could not be judged" }
            div class="picture" {
                svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img"
                    aria-label="Holds of the search" {
                    (grid(x, y, AxisUnit::Time))
                    @for step in &record.steps {
                        @if let Some(p99) = p99(step) {
                            circle class={ "bar " (outcome(&step.result.outcome)) } r="6"
                                cx=(round(x.place(step.amount)))
                                cy=(round(y.place(p99 as f64))) {}
                            text class="tick" text-anchor="middle"
                                x=(round(x.place(step.amount)))
                                y=(round(y.place(p99 as f64) - 9.0)) { (step.step) }
                        }
                    }
                }
            }
        }
    }
}

fn outcome(outcome: &HoldOutcome) -> &'static str {
    match outcome {
        HoldOutcome::Passed => "good",
        HoldOutcome::Failed { .. } => "bad",
        HoldOutcome::ClientBound { .. } | HoldOutcome::Invalid { .. } => "",
    }
}

/// Rate by the number of agents.
pub(super) fn scaling(scaling: &Scaling) -> Markup {
    let agents = scaling.rows.iter().map(|row| f64::from(row.agents));
    let rates = scaling.rows.iter().map(|row| row.ok_per_second);
    let x = ChartAxis::linear(0.0, agents.fold(1.0, f64::max) * 1.1, LEFT, WIDTH - RIGHT);
    let y = ChartAxis::linear(0.0, rates.fold(0.0, f64::max) * 1.1, HEIGHT - BOTTOM, TOP);
    let points: Vec<String> = scaling
        .rows
        .iter()
        .map(|row| {
            let at = x.place(f64::from(row.agents));
            format!("{} {}", round(at), round(y.place(row.ok_per_second)))
        })
        .collect();
    html! {
        @if scaling.rows.len() > 1 {
            figure {
                figcaption { b { "Rate by agents" } " ok per second" }
                div class="picture" {
                    svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img"
                        aria-label="Rate by the number of agents" {
                        (grid(x, y, AxisUnit::Rate))
                        polyline class="line c0" points=(points.join(" ")) {}
                        @for row in &scaling.rows {
                            circle class="bar" r="5" cx=(round(x.place(f64::from(row.agents))))
                                cy=(round(y.place(row.ok_per_second))) {
                                title { (row.agents) " agents: " (row.verdict.name()) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn grid(x: ChartAxis, y: ChartAxis, unit: AxisUnit) -> Markup {
    html! {
        @for tick in y.ticks(5) {
            line class="grid" x1=(LEFT) x2=(WIDTH - RIGHT) y1=(round(y.place(tick)))
                y2=(round(y.place(tick))) {}
            text class="tick" text-anchor="end" x=(LEFT - 6.0) y=(round(y.place(tick) + 4.0)) {
                (unit.words(tick))
            }
        }
        @for tick in x.ticks(10) {
            text class="tick" text-anchor="middle" x=(round(x.place(tick))) y=(HEIGHT - 8.0) {
                (AxisUnit::Count.words(tick))
            }
        }
    }
}

fn round(at: f64) -> String {
    format!("{at:.1}")
}
