//! Watching this machine: an agent does while it fires, a monitor when it is asked to.

use super::Session;
use crate::observations::Observations;
use crate::profile_outbox::ProfileOutbox;
use crate::{FleetTime, Mono, News, Order, Role, RunId, SessionAction};
use proto::from_agent::Message as Up;
use proto::{Bytes, Observe};
use std::time::Duration;

impl Session {
    /// Takes a request to watch; the monitor may be watching for this run already.
    pub(super) fn watch(&mut self, now: Mono, observe: Observe) {
        if self.facts.role == Role::Monitor {
            self.asked = Some(observe);
            self.watch_if_asked(now);
        }
    }

    /// Begins to watch once the start instant can be converted to the clock here.
    pub(super) fn watch_if_asked(&mut self, now: Mono) {
        let Some(clock) = self.beats.reading(now) else {
            return;
        };
        let Some(observe) = self.asked.take() else {
            return;
        };
        let Some(run) = RunId::from_wire(&observe.run_id) else {
            return;
        };
        if self.watches(run) {
            return self.send_observation();
        }
        self.observations = Some(Observations::new(run));
        let at = clock.to_agent(FleetTime(observe.start_at_ns));
        let firing = (observe.firing_ns > 0).then(|| Duration::from_nanos(observe.firing_ns));
        let order = Order::Observe { run, at, firing };
        self.out.push(SessionAction::Order(order));
        let run_name = observe.run_name;
        self.out
            .push(SessionAction::Say(News::Watching { run_name }));
    }

    /// Releases a monitor from a run. Returns whether it watched for it.
    pub(super) fn unwatch(&mut self, run_id: &[u8]) -> bool {
        let run = RunId::from_wire(run_id).filter(|run| self.watches(*run));
        let Some(run) = run.filter(|_| self.facts.role == Role::Monitor) else {
            return false;
        };
        self.observations = None;
        self.is_served = true;
        self.out.push(SessionAction::Order(Order::Forget { run }));
        true
    }

    pub(super) fn on_observation(&mut self, run: RunId, second: u32, encoded: Bytes) {
        if !self.watches(run) {
            // The run was forgotten here, or this is the first second of an agent's run.
            if self.local_run(run).is_none() {
                return;
            }
            self.observations = Some(Observations::new(run));
        }
        if let Some(observations) = &mut self.observations {
            observations.add(second, encoded);
        }
        self.send_observation();
    }

    pub(super) fn on_second_stored(&mut self, run: RunId, second: u32) {
        let observations = self.observations.as_mut();
        if let Some(observations) = observations.filter(|it| it.run() == run) {
            observations.note_stored(second);
            self.send_observation();
        }
    }

    pub(super) fn rewind_observations(&mut self) {
        self.observations.iter_mut().for_each(Observations::rewind);
        self.profile.iter_mut().for_each(ProfileOutbox::rewind);
    }

    /// Announces a profile. What is left of an earlier run's profile is dropped: no coordinator
    /// took it.
    pub(super) fn profiling(&mut self, run: RunId) {
        if self.watches(run) {
            self.profile = Some(ProfileOutbox::new(run));
            self.send_profile();
        }
    }

    /// Sends a profile. The run may be over by now: its coordinator waits for a while.
    pub(super) fn queue_profile(&mut self, run: RunId, encoded: &Bytes) {
        if let Some(profile) = self.profile_of(run) {
            profile.cut(encoded);
            self.send_profile();
        }
    }

    pub(super) fn on_profile_part_stored(&mut self, run: RunId, part: u32) {
        if let Some(profile) = self.profile_of(run) {
            profile.note_stored(part);
            self.send_profile();
        }
    }

    /// Sends the announcement of the profile or its next part, if none is under way.
    pub(super) fn send_profile(&mut self) {
        if self.coordinator().is_some() {
            let next = self.profile.as_mut().and_then(ProfileOutbox::next);
            next.into_iter()
                .for_each(|part| self.send(Up::Profile(part)));
        }
    }

    fn profile_of(&mut self, run: RunId) -> Option<&mut ProfileOutbox> {
        self.profile.as_mut().filter(|profile| profile.run() == run)
    }

    /// Sends the next second, if none is under way.
    pub(super) fn send_observation(&mut self) {
        let Some(from) = self.coordinator() else {
            return;
        };
        let is_wanted = |run: RunId| match self.facts.role {
            Role::Agent => self.is_obeyed(run, from),
            Role::Monitor => true,
        };
        let run = self.observations.as_ref().map(Observations::run);
        if !run.is_some_and(is_wanted) {
            return;
        }
        let next = self.observations.as_mut().and_then(Observations::next);
        next.into_iter()
            .for_each(|observed| self.send(Up::Observed(observed)));
    }

    fn watches(&self, run: RunId) -> bool {
        self.observations.as_ref().is_some_and(|it| it.run() == run)
    }
}
