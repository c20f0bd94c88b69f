//! Views of runs at moments, for tests.

use super::{RunNews, RunView};
use crate::planned_run::PlannedRun;
use crate::utc::Utc;
use analysis::Live;
use control::{AgentFacts, AgentId, FleetTime, RunEvent, RunId};
use plan::Plan;
use std::time::{Duration, Instant};

/// An agent or a monitor of this name.
pub(super) fn facts(name: &str) -> AgentFacts {
    let mut id = [0; 16];
    id.iter_mut()
        .zip(name.bytes())
        .for_each(|(to, from)| *to = from);
    let (id, version, labels, host) = (
        AgentId(id),
        String::new(),
        Default::default(),
        proto::Bytes::new(),
    );
    AgentFacts {
        version,
        labels,
        host,
        ..AgentFacts::new(id, name)
    }
}

/// A view before any agent has joined.
pub(super) fn view(load: &str) -> RunView {
    let text = format!("name = \"edge\"\ntarget.builtin = true\nload = {{ {load} }}");
    let plan = Plan::parse(&text, &mut crate::plan_file::Folder(".".into())).unwrap();
    let run = PlannedRun {
        id: RunId([0; 16]),
        title: plan.name().to_owned(),
        plan,
        plan_text: text,
        agents: 2,
        created: Utc::now(),
        origin: Default::default(),
        epoch: 1,
        force: false,
    };
    RunView::new(&run, None)
}

/// Takes an event into the view, and returns the news of it.
pub(super) fn take(view: &mut RunView, event: &RunEvent, now: Instant) -> Option<String> {
    view.roster.take(event, now);
    RunNews::new(2, Vec::new()).line(event, &view.roster)
}

/// A view of a run that has fired since `now`.
pub(super) fn firing(load: &str, now: Instant) -> RunView {
    let mut view = view(load);
    let agents = ["a", "b"].map(facts);
    take(
        &mut view,
        &RunEvent::Assembled {
            agents: agents.to_vec(),
        },
        now,
    );
    take(
        &mut view,
        &RunEvent::Armed {
            start_at: FleetTime(0),
            start_in: Duration::ZERO,
        },
        now,
    );
    for agent in [0, 1] {
        take(
            &mut view,
            &RunEvent::Began {
                agent,
                at: FleetTime(0),
                bound_ns: 0,
            },
            now,
        );
    }
    let live = Live {
        // Later than any test looks.
        second: 4_000,
        ended_per_second: 1234,
        total_ended: 500,
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
