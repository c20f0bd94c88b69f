//! Views of runs at moments, for tests.

use super::{RunNews, RunView};
use crate::sample_run::{planned, start_events};
use analysis::Live;
use control::{AgentFacts, AgentId, FleetTime, RunEvent};
use std::time::Duration;

/// When a test looks; any instant would do.
pub(super) const NOW: FleetTime = FleetTime(1_000_000_000_000);

/// An agent or a monitor of this name.
pub(super) fn facts(name: &str) -> AgentFacts {
    let mut id = [0; 16];
    id.iter_mut()
        .zip(name.bytes())
        .for_each(|(to, from)| *to = from);
    AgentFacts::new(AgentId(id), name)
}

/// A view before any agent has joined.
pub(super) fn view(load: &str) -> RunView {
    let text = format!("name = \"edge\"\ntarget.builtin = true\nload = {{ {load} }}");
    RunView::new(&planned(&text, 2), None)
}

/// Takes an event into the view, and returns the news of it.
pub(super) fn take(view: &mut RunView, event: &RunEvent, now: FleetTime) -> Option<String> {
    view.run.take(event, now);
    RunNews::new(2, Vec::new()).line(event, &view.run)
}

/// A view of a run that has fired since `now`.
pub(super) fn firing(load: &str, now: FleetTime) -> RunView {
    let mut view = view(load);
    let agents = ["a", "b"].map(facts);
    for event in start_events(agents.to_vec(), now, Duration::ZERO) {
        take(&mut view, &event, now);
    }
    let live = Live {
        // Later than any test looks.
        second: 4_000,
        ended_per_second: 1234,
        total_ended: 500,
        total_units: 500,
        total_errors: 5,
        p50_ns: Some(1_200_000),
        ..Live::default()
    };
    view.live = Some(Live {
        p99_ns: Some(30_000_000_000),
        p99_at_least: true,
        ..live
    });
    view
}
