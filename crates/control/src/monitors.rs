//! Monitors: they fire nothing, no run waits for them, and none fails with them.

use crate::clock::nanoseconds;
use crate::fleet_action::Actions;
use crate::fleet_run::FleetRun;
use crate::seen_seconds::SeenSeconds;
use crate::{AgentFacts, AgentId, ConnectionId, FleetTime, Observer, RunEvent, RunId};
use proto::from_coordinator::Message as Down;
use proto::{Ack, Observe, Observed, Release};
use std::collections::BTreeMap;
use std::time::Duration;

/// Who watches, and for which run.
#[derive(Debug, Default)]
pub(crate) struct Monitors {
    attached: BTreeMap<AgentId, (AgentFacts, ConnectionId)>,
    watch: Option<Watch>,
}

/// A run that they watch for.
#[derive(Debug)]
struct Watch {
    run: RunId,
    run_name: String,
    start_at: FleetTime,
    /// How long its plan fires, if it says so.
    firing: Option<Duration>,
    /// Their numbers in the run, and what of them was taken.
    known: BTreeMap<AgentId, (u32, SeenSeconds)>,
}

impl Monitors {
    pub(crate) fn attach(&mut self, facts: AgentFacts, at: ConnectionId, out: &mut Actions) {
        let id = facts.id;
        self.attached.insert(id, (facts, at));
        self.tell(id, out);
    }

    pub(crate) fn detach(&mut self, monitor: AgentId, out: &mut Actions) {
        let gone = self.attached.remove(&monitor);
        if let Some((facts, _)) = gone.filter(|_| self.watch.is_some()) {
            out.tell(note(format!("monitor {} is away", facts.name)));
        }
    }

    /// Goes on with the run that has started by now, if any; after each event, so it costs nothing
    /// where nothing has changed.
    pub(crate) fn follow(&mut self, run: Option<&FleetRun>, out: &mut Actions) {
        let started = run.and_then(|run| Some((run, run.started_at()?)));
        let watched = self.watch.as_ref().map(|watch| watch.run);
        if started.map(|(run, _)| run.id()) == watched {
            return;
        }
        if let Some(run_id) = watched.map(RunId::to_wire) {
            for (_, at) in self.attached.values() {
                let run_id = run_id.clone();
                out.send(*at, Down::Release(Release { run_id }));
            }
        }
        self.watch = started.map(|(run, start_at)| Watch {
            run: run.id(),
            run_name: run.name().to_owned(),
            start_at,
            firing: run.firing(),
            known: (0..)
                .zip(run.past_monitors())
                .map(|(number, &(id, seen))| (id, (number, seen)))
                .collect(),
        });
        let all: Vec<AgentId> = self.attached.keys().copied().collect();
        all.into_iter().for_each(|monitor| self.tell(monitor, out));
    }

    /// Tells a monitor what to watch for.
    fn tell(&mut self, monitor: AgentId, out: &mut Actions) {
        let Some((watch, (facts, at))) = self.watch.as_mut().zip(self.attached.get(&monitor))
        else {
            return;
        };
        if watch.known.contains_key(&monitor) {
            out.tell(note(format!("monitor {} is back", facts.name)));
        } else {
            let number = watch.known.len() as u32;
            watch
                .known
                .insert(monitor, (number, SeenSeconds::default()));
            let monitor = facts.clone();
            out.tell(RunEvent::Watching { monitor });
        }
        out.send(
            *at,
            Down::Observe(Observe {
                run_id: watch.run.to_wire(),
                run_name: watch.run_name.clone(),
                start_at_ns: watch.start_at.0,
                firing_ns: watch.firing.map_or(0, nanoseconds),
            }),
        );
    }

    pub(crate) fn observed(
        &mut self,
        now: FleetTime,
        monitor: AgentId,
        observed: Observed,
        out: &mut Actions,
    ) {
        let run = RunId::from_wire(&observed.run_id);
        let Some(watch) = self.watch.as_mut().filter(|watch| Some(watch.run) == run) else {
            return;
        };
        let running_for = now.since(watch.start_at);
        if let Some((number, seen)) = watch.known.get_mut(&monitor) {
            let by = Observer::Monitor(*number);
            seen.take((watch.run, by), running_for, observed, out);
        }
    }

    /// What a monitor observed is stored.
    pub(crate) fn stored(&self, run: RunId, number: u32, second: u32, out: &mut Actions) {
        let Some(watch) = self.watch.as_ref().filter(|watch| watch.run == run) else {
            return;
        };
        let known = watch.known.iter().find(|(_, known)| known.0 == number);
        let attached = known.and_then(|(monitor, _)| self.attached.get(monitor));
        if let Some((_, at)) = attached {
            out.send(*at, Down::Ack(observed_ack(run, second)));
        }
    }
}

/// Its comings and goings.
fn note(text: String) -> RunEvent {
    RunEvent::Note {
        agent: None,
        event: "monitor".to_owned(),
        text,
    }
}

/// Says that what was observed in a second is stored.
pub(crate) fn observed_ack(run: RunId, second: u32) -> Ack {
    Ack {
        run_id: run.to_wire(),
        interval: second,
        observed: true,
        ..Ack::default()
    }
}
