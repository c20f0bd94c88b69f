//! The funnel of each journey as bars: how many of those that were begun came to each step, and how
//! many were completed.

use analysis::JourneyFigures;
use analysis::human::share;
use maud::{Markup, html};

/// Steps with a bar; the table has all.
const STEPS_MAX: usize = 40;

/// One group of bars per journey that was begun.
pub(super) fn funnels(journeys: &[JourneyFigures]) -> Markup {
    let begun = journeys.iter().filter(|journey| journey.begun > 0);
    html! {
        @for journey in begun {
            h3 { (journey.name) }
            @for step in journey.steps.iter().take(STEPS_MAX) {
                (bar(&step.name, step.journeys, journey.begun))
            }
            (bar("completed", journey.completed, journey.begun))
        }
    }
}

fn bar(name: &str, journeys: u64, begun: u64) -> Markup {
    let part = (journeys as f64 / begun.max(1) as f64).clamp(0.0, 1.0);
    html! {
        div class="margin" {
            span class="what" { (name) }
            svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
                rect class="room" x="0" y="1" width="100" height="6" {}
                rect class="bar" x="0" y="1" width=(format!("{:.1}", part * 100.0)) height="6" {}
            }
            span { (journeys) " · " (share(part)) }
        }
    }
}
