//! Holds of a search by their load, and rates by the number of agents.

use super::axis::{AxisUnit, ChartAxis};
use super::picture::{BOTTOM, HEIGHT, LEFT, RIGHT, WIDTH, place, view, y_ticks};
use analysis::{HoldOutcome, HoldRecord, Scaling, SearchRecord};
use maud::{Markup, html};

/// Room for a number above the highest point.
const TOP: f64 = 16.0;

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
                svg viewBox=(view()) role="img"
                    aria-label="Holds of the search" {
                    (grid(x, y, AxisUnit::Time))
                    @for step in &record.steps {
                        @if let Some(p99) = p99(step) {
                            circle class={ "bar " (outcome(&step.result.outcome)) } r="6"
                                cx=(place(x.place(step.amount)))
                                cy=(place(y.place(p99 as f64))) {}
                            text class="tick" text-anchor="middle"
                                x=(place(x.place(step.amount)))
                                y=(place(y.place(p99 as f64) - 9.0)) { (step.step) }
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
            format!("{} {}", place(at), place(y.place(row.ok_per_second)))
        })
        .collect();
    html! {
        @if scaling.rows.len() > 1 {
            figure {
                figcaption { b { "Rate by agents" } " ok per second" }
                div class="picture" {
                    svg viewBox=(view()) role="img"
                        aria-label="Rate by the number of agents" {
                        (grid(x, y, AxisUnit::Rate))
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
        }
    }
}

fn grid(x: ChartAxis, y: ChartAxis, unit: AxisUnit) -> Markup {
    html! {
        (y_ticks(y, unit, 5, WIDTH))
        @for tick in x.ticks(10) {
            text class="tick" text-anchor="middle" x=(place(x.place(tick))) y=(HEIGHT - 8.0) {
                (AxisUnit::Count.words(tick))
            }
        }
    }
}
