//! Monitors: they fire nothing, a run waits for them only briefly, for a CPU profile, and never
//! fails because of them.

use crate::clock::nanoseconds;
use crate::fleet_action::Actions;
use crate::fleet_action::{Awaited, Receipt};
use crate::fleet_run::FleetRun;
use crate::monitor_record::MonitorRecord;
use crate::profile_inbox::PartStep;
use crate::wire::ack;
use crate::{AgentFacts, AgentId, ConnectionId, FleetTime, Observer, RunEvent, RunId};
use proto::ack::Stored;
use proto::from_coordinator::Message as Down;
use proto::{Notice, Observe, Observed, ProfilePart, Release};
use std::collections::BTreeMap;
use std::time::Duration;

/// Monitors of one run, counted by process: one that is restarted counts again.
const MONITORS_MAX: usize = 1_000;

/// The monitors, and the run that they watch.
#[derive(Debug, Default)]
pub(crate) struct Monitors {
    attached: BTreeMap<AgentId, (AgentFacts, ConnectionId)>,
    watch: Option<Watch>,
}

/// A run that monitors watch.
#[derive(Debug)]
struct Watch {
    run: RunId,
    run_name: String,
    start_at: FleetTime,
    /// How long its plan fires, if that is fixed.
    firing: Option<Duration>,
    /// The number of each monitor in the run, and what was taken from it.
    known: BTreeMap<AgentId, (u32, MonitorRecord)>,
    /// Whether all agents are done, so that monitors can only deliver what they have.
    is_over: bool,
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

    /// Switches to the run that has started by now, if any. Called after each event, so it costs
    /// nothing if nothing has changed.
    pub(crate) fn follow(&mut self, run: Option<&FleetRun>, out: &mut Actions) {
        let started = run.and_then(|run| Some((run, run.started_at()?)));
        let watched = self.watch.as_ref().map(|watch| watch.run);
        let is_same = started.map(|(run, _)| run.id()) == watched;
        let is_over = started.is_some_and(|(run, _)| run.is_fired_out());
        if !is_same || is_over {
            self.release(out);
        }
        if is_same {
            return;
        }
        self.watch = started.map(|(run, start_at)| Watch {
            run: run.id(),
            run_name: run.name().to_owned(),
            start_at,
            firing: run.firing(),
            known: (0..)
                .zip(run.past_monitors())
                .map(|(number, &(id, record))| (id, (number, record)))
                .collect(),
            is_over: false,
        });
        let all: Vec<AgentId> = self.attached.keys().copied().collect();
        all.into_iter().for_each(|monitor| self.tell(monitor, out));
    }

    /// Ends the watch, once. A profile that is being taken ends too, and is delivered.
    fn release(&mut self, out: &mut Actions) {
        if let Some(watch) = self.watch.as_mut().filter(|watch| !watch.is_over) {
            watch.is_over = true;
            for (_, at) in self.attached.values() {
                out.send(*at, watch.release());
            }
        }
    }

    /// Whether an attached monitor has more of a CPU profile to deliver.
    pub(crate) fn owe_profile(&self) -> bool {
        let known = self.watch.iter().flat_map(|watch| &watch.known);
        let is_owing = |(id, (_, record)): (&AgentId, &(u32, MonitorRecord))| {
            record.profile.is_owed() && self.attached.contains_key(id)
        };
        known.into_iter().any(is_owing)
    }

    /// Tells a monitor which run to watch.
    fn tell(&mut self, monitor: AgentId, out: &mut Actions) {
        let Some((watch, (facts, at))) = self.watch.as_mut().zip(self.attached.get(&monitor))
        else {
            return;
        };
        // It may have been away when the others were released.
        if watch.is_over {
            return out.send(*at, watch.release());
        }
        let is_known = watch.known.contains_key(&monitor);
        if !is_known && watch.known.len() >= MONITORS_MAX {
            let text = format!(
                "this run has had {MONITORS_MAX} monitors, and takes no more; this one waits for \
                 the next run"
            );
            return out.send(*at, Down::Notice(Notice { text }));
        }
        if is_known {
            out.tell(note(format!("monitor {} is back", facts.name)));
        } else {
            let number = watch.known.len() as u32;
            watch
                .known
                .insert(monitor, (number, MonitorRecord::default()));
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
        let found = watch
            .known
            .get_mut(&monitor)
            .zip(self.attached.get(&monitor));
        let Some(((number, record), (_, at))) = found else {
            return;
        };
        let (second, by) = (observed.second, Observer::Monitor(*number));
        let is_stored = record
            .seen
            .take((watch.run, by), running_for, observed, out);
        if is_stored {
            out.send(*at, ack(watch.run, Stored::Second(second)));
        }
    }

    /// Takes a part of a monitor's CPU profile, or the announcement of one.
    pub(crate) fn profile_part(&mut self, monitor: AgentId, part: ProfilePart, out: &mut Actions) {
        let run = RunId::from_wire(&part.run_id);
        let watch = self.watch.as_mut().filter(|watch| Some(watch.run) == run);
        let known = watch.and_then(|watch| Some((watch.run, watch.known.get_mut(&monitor)?)));
        let Some(((run, (number, record)), (_, at))) = known.zip(self.attached.get(&monitor))
        else {
            return;
        };
        match record.profile.take(&part) {
            PartStep::Ignore => {}
            PartStep::Acknowledge => out.send(*at, ack(run, Stored::ProfilePart(part.part))),
            PartStep::Store => {
                let monitor = *number;
                let ProfilePart {
                    part,
                    parts,
                    content,
                    ..
                } = part;
                let what = Awaited::ProfilePart { part, parts };
                let event = RunEvent::ProfilePart {
                    monitor,
                    part,
                    parts,
                    content,
                };
                out.deliver(
                    event,
                    Receipt {
                        run,
                        agent: monitor,
                        what,
                    },
                );
            }
        }
    }

    /// Acknowledges what a monitor delivered, once it is stored.
    pub(crate) fn stored(&mut self, receipt: Receipt, out: &mut Actions) {
        let watch = self.watch.as_mut();
        let Some(watch) = watch.filter(|watch| watch.run == receipt.run) else {
            return;
        };
        let mut known = watch.known.iter_mut();
        let Some((monitor, (_, record))) = known.find(|(_, (number, _))| *number == receipt.agent)
        else {
            return;
        };
        let stored = match receipt.what {
            Awaited::Observation(_, second) => {
                record.seen.stored(second);
                Stored::Second(second)
            }
            Awaited::ProfilePart { part, parts } => {
                record.profile.stored(part, parts);
                Stored::ProfilePart(part)
            }
            // Only agents have these.
            Awaited::Upload(_) | Awaited::Dealing | Awaited::Start(_) => return,
        };
        if let Some((_, at)) = self.attached.get(monitor) {
            out.send(*at, ack(watch.run, stored));
        }
    }
}

impl Watch {
    fn release(&self) -> Down {
        let run_id = self.run.to_wire();
        Down::Release(Release { run_id })
    }
}

/// A note that a monitor came or went.
fn note(text: String) -> RunEvent {
    RunEvent::Note {
        agent: None,
        event: "monitor".to_owned(),
        text,
    }
}
