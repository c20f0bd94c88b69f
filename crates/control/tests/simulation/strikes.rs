//! Carries out each fault.

use crate::case::{BrokenRule, Ending, Fault, SECOND, Stranger};
use crate::coordinator::Writing;
use crate::disk::RunLog;
use crate::network::{Packet, Way};
use crate::sabotage::Sabotage;
use crate::world::{Happening, World};
use control::{ConnectionId, FleetEvent, RunId, RunRequest, SessionEvent};
use proto::{Beat, FromAgent, Hello, Message, PROTOCOL, from_agent::Message as Up};

/// Longest time for which an agent that is told to quit uploads.
const FAREWELL: u64 = 12 * SECOND;

/// How far the calendars of two boots can differ, in either direction.
const CALENDAR_ERROR: u64 = SECOND / 2;

/// A transport ends a stream that has been silent for this long.
const KEEPALIVE: u64 = 10 * SECOND;

/// How long two coordinators exist at once before the older one is ended.
pub const NOTICED: u64 = 40 * SECOND;

impl World {
    pub fn strike(&mut self, fault: Fault) {
        self.note(|| format!("! {fault:?}"));
        match fault {
            Fault::Cut { slot } => self.cut_streams(slot),
            Fault::Partition {
                slots,
                ways,
                for_ns,
            } => {
                for slot in slots {
                    for way in &ways {
                        let until = &mut self.network.paths[slot].cut_until[*way as usize];
                        *until = (*until).max(self.now + for_ns);
                        self.stream_of(slot).into_iter().for_each(|at| {
                            self.at(self.now + KEEPALIVE, Happening::Missed(at, *way))
                        });
                    }
                }
            }
            Fault::Slow {
                slot,
                bytes_per_second,
                for_ns,
            } => self.network.paths[slot].slow = (self.now + for_ns, bytes_per_second),
            Fault::Far {
                slot,
                extra_ns,
                for_ns,
            } => self.network.paths[slot].far = (self.now + for_ns, extra_ns),
            Fault::CoordinatorEnds { how, down_ns } => {
                if let Some(nth) = self.end_newest(how) {
                    self.at(self.now + down_ns, Happening::Restarts(nth, how));
                }
            }
            Fault::CoordinatorGone => {
                self.end_newest(Ending::PowerFails);
            }
            Fault::CoordinatorStalls { for_ns } => {
                if let Some(nth) = self.newest_alive() {
                    let frozen_until = &mut self.coordinators[nth].frozen_until;
                    *frozen_until = (*frozen_until).max(self.now + for_ns);
                }
            }
            Fault::TakenUpElsewhere { back_ns } => self.take_up_elsewhere(back_ns),
            Fault::DiskFull { for_ns } => {
                if let Some(nth) = self.newest_alive() {
                    self.coordinators[nth].disk.full_until = self.now + for_ns;
                }
            }
            Fault::DiskSlow { sync_ns, for_ns } => {
                if let Some(nth) = self.newest_alive() {
                    self.coordinators[nth].disk.slow_until = (self.now + for_ns, sync_ns);
                }
            }
            Fault::AgentEnds { slot, down_ns } => {
                if self.random.percent(30) {
                    // The power fails, so nothing reports it.
                    self.hosts[slot].agent = None;
                } else {
                    self.agent_leaves(slot);
                }
                self.at(self.now + down_ns, Happening::AgentBoots(slot));
            }
            Fault::AgentStalls { slot, for_ns } => {
                self.freeze(slot, for_ns);
            }
            Fault::AgentSleeps { slot, for_ns } => {
                if self.freeze(slot, for_ns) {
                    self.hosts[slot].clock.sleep(for_ns);
                    self.slept = true;
                }
            }
            Fault::AgentQuits { slot, down_ns } => {
                if self.hosts[slot].frozen_until <= self.now {
                    self.hosts[slot]
                        .agent
                        .iter_mut()
                        .for_each(|agent| agent.quits = true);
                    self.agent_on(slot, SessionEvent::ShutDown, None);
                    let boots_at = self.now + down_ns.max(FAREWELL);
                    self.at(boots_at, Happening::AgentBoots(slot));
                }
            }
            Fault::Stranger(stranger) => self.admit(stranger),
            Fault::Violation { slot, how } => match how {
                BrokenRule::GreetsTwice => self.greet_twice(slot),
                BrokenRule::SkipsAPart | BrokenRule::CountsTooFar => {
                    self.broken_rules.insert(slot, how);
                }
            },
            Fault::Stops(how) => self.stop(how),
        }
    }

    fn cut_streams(&mut self, slot: usize) {
        if let Some(at) = self.stream_of(slot) {
            self.cut(at);
        }
    }

    fn stream_of(&self, slot: usize) -> Option<ConnectionId> {
        self.hosts[slot].agent.as_ref()?.stream
    }

    /// Freezes a machine. Returns whether it was awake before.
    fn freeze(&mut self, slot: usize, for_ns: u64) -> bool {
        let host = &mut self.hosts[slot];
        let awake = host.frozen_until <= self.now;
        if awake {
            host.frozen_until = self.now + for_ns;
        }
        awake
    }

    /// Ends the newest coordinator that is alive.
    fn end_newest(&mut self, how: Ending) -> Option<usize> {
        let nth = self.newest_alive()?;
        self.end_coordinator(nth, how);
        Some(nth)
    }

    fn end_coordinator(&mut self, nth: usize, how: Ending) {
        self.compare_models(nth);
        let coordinator = &mut self.coordinators[nth];
        coordinator.alive = false;
        coordinator.waiting.clear();
        coordinator.writing = Writing::Idle;
        if how == Ending::PowerFails {
            let logs = coordinator.disk.logs.values_mut();
            logs.for_each(|log| log.lose_power(&mut self.random));
        }
        for at in self.network.of_coordinator(nth) {
            match how {
                Ending::Killed => self.end(at, Way::Down, "the coordinator ended"),
                Ending::PowerFails => self.network.cut(at, Way::Down, self.now),
            }
        }
        if self.newest_alive().is_none() {
            self.headless_since = Some(self.now);
        }
    }

    /// Ends a coordinator whose run another one took up, once that one is there.
    pub fn give_way(&mut self, nth: usize) {
        if !self.coordinators[nth].alive {
            return;
        }
        match self.newest_alive() == Some(nth) {
            true => self.at(self.now + SECOND, Happening::GivesWay(nth)),
            false => self.end_coordinator(nth, Ending::Killed),
        }
    }

    /// Starts another process on the same disk.
    pub fn restart(&mut self, ended: usize, how: Ending) {
        let is_newest = ended + 1 == self.coordinators.len();
        if !is_newest {
            return;
        }
        let disk = std::mem::take(&mut self.coordinators[ended].disk);
        let clock = match how {
            Ending::Killed => Some(self.coordinators[ended].clock.clone()),
            Ending::PowerFails => None,
        };
        let runs = self.directed_runs(ended);
        let nth = self.found_coordinator(disk, clock);
        runs.into_iter().for_each(|run| self.resume(nth, run));
    }

    fn take_up_elsewhere(&mut self, back_ns: u64) {
        let Some(old) = self.newest_alive() else {
            return;
        };
        // Until the start of the run is stored, both would start it.
        let runs = self.directed_runs(old);
        let logs = &self.coordinators[old].disk.logs;
        let is_sure = |run: &RunId| logs.get(run).is_some_and(RunLog::is_sure_of_the_start);
        if !runs.iter().all(is_sure) {
            return;
        }
        self.split = true;
        self.coordinators[old].unreachable_until = self.now + back_ns;
        for at in self.network.of_coordinator(old) {
            if self.random.percent(60) {
                self.cut(at);
            }
        }
        self.at(self.now + back_ns + NOTICED, Happening::GivesWay(old));
        let mut disk = self.coordinators[old].disk.clone();
        let logs = disk.logs.values_mut();
        logs.for_each(|log| log.lose_power(&mut self.random));
        let nth = self.found_coordinator(disk, None);
        runs.into_iter().for_each(|run| self.resume(nth, run));
    }

    fn directed_runs(&self, nth: usize) -> Vec<RunId> {
        self.coordinators[nth].runs.keys().copied().collect()
    }

    /// Takes up a run, as far as it is on the disk.
    fn resume(&mut self, nth: usize, run: RunId) {
        let log = self.coordinators[nth].disk.logs.entry(run).or_default();
        log.reopen();
        if log.is_done() {
            return;
        }
        if self.sabotage != Some(Sabotage::KeepsTheEpoch) {
            log.epoch += 1;
        }
        let epoch = log.epoch + 1;
        let request = self.request(run, epoch);
        self.take_up(nth, request);
    }

    fn admit(&mut self, stranger: Stranger) {
        let Some(nth) = self.newest_alive() else {
            return;
        };
        let slot = self.hosts.len();
        let at = self.network.open(slot, 0, nth, SECOND / 100);
        self.opens(at);
        let message = match stranger {
            Stranger::SaysNothing => return,
            Stranger::SaysNoHello => Some(Up::Beat(Beat::default())),
            Stranger::SpeaksAnotherProtocol => Some(Up::Hello(Hello {
                protocol: PROTOCOL + 1,
                agent_id: vec![77; 16].into(),
                ..Hello::default()
            })),
            Stranger::Babbles => None,
        };
        let packet = Packet::Message(FromAgent { message }.encode_to_vec());
        self.at(self.now, Happening::Arrives(at, Way::Up, packet));
    }

    /// Begins with the content of a log.
    fn take_up(&mut self, nth: usize, request: RunRequest) {
        let run = request.run;
        let coordinator = &mut self.coordinators[nth];
        let log = coordinator.disk.logs.entry(run).or_default();
        let error_ns = self.random.below(2 * CALENDAR_ERROR) as i64 - CALENDAR_ERROR as i64;
        log.go_by(&coordinator.clock, self.now, error_ns);
        let directed = coordinator.runs.entry(run).or_default();
        directed.model = log.model();
        directed.epoch = request.epoch;
        // A run that has not started chooses its agents anew.
        if directed.model.start_at().is_some() {
            directed.indices = log.members().into_iter().zip(0..).collect();
            directed.monitors = log.monitors();
        }
        let past = Box::new(directed.model.clone());
        self.note(|| {
            format!(
                "coordinator {nth} takes {run:?} up, epoch {}",
                request.epoch
            )
        });
        self.fleet_on(nth, FleetEvent::Resume(request, past));
    }
}
