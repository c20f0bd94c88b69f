//! The monitors that watch a run: they fire nothing, and no run fails because of them. Its end
//! waits for them only briefly: for a CPU profile, or to dial again if the run was taken up.

use super::FleetRun;
use crate::clock::nanoseconds;
use crate::fleet_action::{Actions, Awaited};
use crate::monitor_record::MonitorRecord;
use crate::profile_inbox::PartStep;
use crate::{AgentFacts, AgentId, ConnectionId, FleetTime, Observer, RunEvent};
use proto::ack::Stored;
use proto::from_agent::Message as Up;
use proto::from_coordinator::Message as Down;
use proto::{Notice, Observe, ProfilePart, Release};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long the end of a run waits for a profile that is being taken: folding it takes a second or
/// two.
pub(super) const PROFILE_WAIT_MAX: Duration = Duration::from_secs(5);

/// Monitors of one run, counted by process: one that is restarted counts again.
const MONITORS_MAX: usize = 1_000;

/// The monitors of a run.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Whether attached monitors watch this run, or have until it had fired out.
    is_on: bool,
    /// By their numbers in the run; the first ones may be those of an earlier coordinator.
    monitors: Vec<WatchingMonitor>,
    numbers: BTreeMap<AgentId, u32>,
}

/// Where a monitor is attached, and what was taken from it.
#[derive(Debug)]
struct WatchingMonitor {
    name: String,
    at: Option<ConnectionId>,
    /// Whether it has said something since it was attached: whether it is taking a profile, or what
    /// it has not delivered yet.
    is_heard: bool,
    record: MonitorRecord,
}

impl Watch {
    /// Restores the monitors of a run that is taken up, by their numbers.
    pub(super) fn from_past(past: Vec<(AgentId, String, MonitorRecord)>) -> Watch {
        let mut watch = Watch::default();
        for (id, name, record) in past {
            let monitor = WatchingMonitor {
                name,
                at: None,
                is_heard: false,
                record,
            };
            watch.add(id, monitor);
        }
        watch
    }

    fn add(&mut self, id: AgentId, monitor: WatchingMonitor) {
        self.numbers.insert(id, self.monitors.len() as u32);
        self.monitors.push(monitor);
    }

    /// What was taken from the monitor with this number.
    pub(super) fn record(&mut self, number: u32) -> &mut MonitorRecord {
        &mut self.monitors[number as usize].record
    }

    /// Where the monitor with this number is attached.
    pub(super) fn connection(&self, number: u32) -> Option<ConnectionId> {
        self.monitors[number as usize].at
    }

    /// Notes where a monitor is attached now. Returns whether the run knows it.
    fn place(&mut self, id: AgentId, at: Option<ConnectionId>) -> bool {
        let Some(number) = self.numbers.get(&id) else {
            return false;
        };
        let monitor = &mut self.monitors[*number as usize];
        (monitor.at, monitor.is_heard) = (at, false);
        true
    }

    /// Whether a monitor that it knows is away, or has said nothing since it came.
    pub(super) fn misses_monitors(&self) -> bool {
        self.monitors.iter().any(|monitor| !monitor.is_heard)
    }

    /// The monitors that announced a CPU profile of which more is to come.
    fn owing_profiles(&self) -> impl Iterator<Item = &WatchingMonitor> {
        let monitors = self.monitors.iter();
        monitors.filter(|monitor| monitor.record.profile.is_owed())
    }

    /// Whether an attached monitor has more of a CPU profile to deliver.
    pub(super) fn awaits_profile(&self) -> bool {
        self.owing_profiles().any(|monitor| monitor.at.is_some())
    }
}

impl FleetRun {
    /// Whether monitors watch this run, or have until it had fired out.
    pub(crate) fn is_watched(&self) -> bool {
        self.watch.is_on
    }

    /// Lets these monitors, and all that are attached from now on, watch this run, which has
    /// started.
    pub(crate) fn begin_watch<'a>(
        &mut self,
        monitors: impl Iterator<Item = (&'a AgentFacts, ConnectionId)>,
        out: &mut Actions,
    ) {
        self.watch.is_on = true;
        monitors.for_each(|(facts, at)| self.attach_monitor(facts, at, out));
    }

    pub(crate) fn attach_monitor(
        &mut self,
        facts: &AgentFacts,
        at: ConnectionId,
        out: &mut Actions,
    ) {
        let Some(start_at) = self.started_at() else {
            return; // the fleet lets monitors watch only a run that has started
        };
        let is_known = self.watch.place(facts.id, Some(at));
        // It may have been away when the others were released.
        if self.fired_out_at.is_some() {
            return self.release_monitor(at, out);
        }
        if is_known {
            self.tell_note("monitor", &format!("monitor {} is back", facts.name), out);
        } else if self.watch.monitors.len() >= MONITORS_MAX {
            let text = format!(
                "this run has had {MONITORS_MAX} monitors, and takes no more; this one waits for \
                 the next run"
            );
            return out.send(at, Down::Notice(Notice { text }));
        } else {
            let watching = WatchingMonitor {
                name: facts.name.clone(),
                at: Some(at),
                is_heard: false,
                record: MonitorRecord::default(),
            };
            self.watch.add(facts.id, watching);
            let monitor = facts.clone();
            out.tell(self.id(), RunEvent::Watching { monitor });
        }
        let observe = Observe {
            run_id: self.id().to_wire(),
            run_name: self.request.name.clone(),
            start_at_ns: start_at.0,
            firing_ns: self.request.firing.map_or(0, nanoseconds),
        };
        out.send(at, Down::Observe(observe));
    }

    pub(crate) fn detach_monitor(&mut self, facts: &AgentFacts, out: &mut Actions) {
        if self.watch.place(facts.id, None) {
            self.tell_note("monitor", &format!("monitor {} is away", facts.name), out);
        }
    }

    /// Ends the watch, unless the run has fired out before. A profile that is being taken ends too,
    /// and is delivered.
    pub(super) fn release_monitors(&self, out: &mut Actions) {
        let monitors = self.watch.monitors.iter();
        let watching = monitors.filter(|_| self.fired_out_at.is_none());
        let attached = watching.filter_map(|known| known.at);
        attached.for_each(|at| self.release_monitor(at, out));
    }

    /// Notes which monitors announced a CPU profile that is not here as the run ends.
    pub(super) fn tell_missing_profiles(&self, out: &mut Actions) {
        for monitor in self.watch.owing_profiles() {
            let text = format!(
                "monitor {}: no CPU profile: it had not arrived when the run ended (a run waits \
                 {} s for it); is the monitor away, its machine overloaded, or its link slow?",
                monitor.name,
                PROFILE_WAIT_MAX.as_secs()
            );
            self.tell_note("profile", &text, out);
        }
    }

    fn release_monitor(&self, at: ConnectionId, out: &mut Actions) {
        let run_id = self.id().to_wire();
        out.send(at, Down::Release(Release { run_id }));
    }

    /// Handles a message of a member that is no agent of this run.
    pub(super) fn on_monitor_message(
        &mut self,
        now: FleetTime,
        monitor: AgentId,
        message: Up,
        out: &mut Actions,
    ) {
        // An agent that waits for the next run can still name this one.
        let Some(&number) = self.watch.numbers.get(&monitor) else {
            return;
        };
        self.watch.monitors[number as usize].is_heard = true;
        match message {
            Up::Observed(observed) => {
                self.on_observation(now, Observer::Monitor(number), observed, out)
            }
            Up::Profile(part) => self.profile_part(number, part, out),
            // Only agents send these.
            _ => {}
        }
    }

    /// Takes a part of a monitor's CPU profile, or the announcement of one.
    fn profile_part(&mut self, monitor: u32, taken: ProfilePart, out: &mut Actions) {
        let (part, parts) = (taken.part, taken.parts);
        match self.watch.record(monitor).profile.take(&taken) {
            PartStep::Ignore => {}
            PartStep::Acknowledge => {
                self.acknowledge(Observer::Monitor(monitor), Stored::ProfilePart(part), out);
            }
            PartStep::Store => {
                let what = Awaited::ProfilePart {
                    monitor,
                    part,
                    parts,
                };
                let event = RunEvent::ProfilePart {
                    monitor,
                    part,
                    parts,
                    content: taken.content,
                };
                out.deliver(event, self.receipt(what));
            }
        }
    }
}
