//! Parts of a run, for tests, benches and fuzz. No run uses them.

use control::{AgentFacts, ClockReading, FleetTime, RunEvent};
#[cfg(any(test, feature = "fuzzing"))]
use measure::{CellKey, Outcome, Period, Snapshot};
use std::time::Duration;

/// The clock of every agent.
pub(crate) const CLOCK: ClockReading = ClockReading {
    offset_ns: 0,
    bound_ns: 1,
};

/// The events of a run until its agents have begun.
pub(crate) fn start_events(
    agents: Vec<AgentFacts>,
    start_at: FleetTime,
    start_in: Duration,
) -> Vec<RunEvent> {
    let ready = |(agent, facts): (u32, &AgentFacts)| RunEvent::Ready {
        agent,
        addresses: Vec::new(),
        workers: facts.workers,
        clock: CLOCK,
    };
    let began = |(agent, _): (u32, &AgentFacts)| RunEvent::Began {
        agent,
        at: start_at,
        bound_ns: 1,
    };
    let indexed = || (0..).zip(&agents);
    let mut events: Vec<RunEvent> = indexed().map(ready).collect();
    events.push(RunEvent::Armed { start_at, start_in });
    events.extend(indexed().map(began));
    events.insert(0, RunEvent::Assembled { agents });
    events
}

/// The end of an agent's part as planned.
#[cfg(any(test, feature = "rehearsal"))]
pub(crate) fn end_of(agent: u32) -> RunEvent {
    RunEvent::Ended {
        agent,
        cause: control::EndCause::Plan,
        missing: Vec::new(),
        figures: host::RunFigures::default().encode().into(),
        clock: None,
    }
}

/// The loss of an agent that delivered nothing.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn loss_of(agent: u32, fired_until: Option<FleetTime>) -> RunEvent {
    RunEvent::Lost {
        agent,
        next_interval: 0,
        fired_until,
        why: "gone".to_owned(),
    }
}

/// One operation of an agent, intended in this second.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn operation(second: u32) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let key = CellKey {
        period: Period::Measured,
        request: 0,
        address: None,
    };
    let cell = snapshot.cells.entry(key).or_default();
    cell.counters.started = 1;
    cell.counters.ok = 1;
    let times = cell.response_times.entry((Outcome::Ok, second));
    times.or_default().record(1_000_000);
    snapshot
}

/// A run of a plan that names no files.
#[cfg(test)]
pub(crate) fn planned(plan_text: &str, agents: u32) -> crate::planned_run::PlannedRun {
    let mut no_files = crate::plan_file::Folder(".".into());
    let plan = plan::Plan::parse(plan_text, &mut no_files).unwrap();
    let (text, title) = (plan::mask_secrets(plan_text), plan.name().to_owned());
    crate::planned_run::PlannedRun::new(plan, text, agents, title).unwrap()
}

/// The folder of a run.
#[cfg(test)]
pub(crate) fn folder(base: &std::path::Path) -> run_folder::RunFolder {
    let now = run_folder::Utc::now();
    let name = run_folder::FolderName::Stamped(now, "plan".to_owned());
    run_folder::RunFolder::create(base, &name, "name = \"plan\"\n").unwrap()
}
