//! Coordinators' processes: how they begin a run, what their fleets ask for, and the only writer of
//! the log.

use crate::case::SECOND;
use crate::clock::MachineClock;
use crate::coordinator::{Coordinator, Writing};
use crate::disk::Disk;
use crate::network::Way;
use crate::random::Random;
use crate::sabotage::{Invariant, Sabotage};
use crate::world::{Happening, World, brief};
use control::{
    Audience, CoordinatorId, Digest, Fleet, FleetAction, FleetEvent, RunEvent, RunFile, RunId,
    RunRequest, Versions,
};
use proto::{FromCoordinator, from_coordinator};
use std::time::Duration;

/// Limits on what may wait to be stored for one agent when something more comes: a window.
const BACKLOG_MAX: usize = 33;
const BACKLOG_MAX_BYTES: usize = 4 << 20;

impl World {
    /// Starts a coordinator, on the clock of the previous one if that is of the same boot.
    pub fn found_coordinator(&mut self, disk: Disk, clock: Option<MachineClock>) -> usize {
        let generation = self.coordinators.len() as u64 + 1;
        let clock = clock.unwrap_or_else(|| draw_clock(&mut self.random));
        let mut id = [9; 16];
        id[..8].copy_from_slice(&generation.to_be_bytes());
        let mut clock_id = [8; 16];
        clock_id[..8].copy_from_slice(&clock.id().to_be_bytes());
        let fleet = Fleet::new(CoordinatorId(id), versions()).with_clock(clock_id);
        let coordinator = Coordinator::new(fleet, clock, disk, generation);
        self.coordinators.push(coordinator);
        self.headless_since = None;
        let nth = self.coordinators.len() - 1;
        self.at(self.now, Happening::FleetTick(nth));
        nth
    }

    pub fn begin_run(&mut self, nth: usize) {
        self.runs += 1;
        let request = self.request(RunId([self.runs; 16]), 1);
        let coordinator = &mut self.coordinators[nth];
        coordinator.run = Some(request.run);
        coordinator.outcome = None;
        let log = coordinator.disk.logs.entry(request.run).or_default();
        log.go_by(&coordinator.clock);
        self.fleet_on(nth, FleetEvent::Run(request));
    }

    pub fn request(&mut self, run: RunId, epoch: u64) -> RunRequest {
        let plan = "plan".to_owned();
        let file = self.case.file_bytes.map(|bytes| {
            let content = vec![42; bytes];
            RunFile {
                sha256: Digest::from_content(&content),
                content: proto::Bytes::from(content).into(),
                audience: Audience::All,
            }
        });
        let firing = u64::from(self.case.shape.steps) * crate::agent::STEP;
        RunRequest {
            run,
            name: "simulated".into(),
            plan_digest: Digest::from_content(plan.as_bytes()),
            plan: plan.into(),
            files: file.into_iter().collect(),
            minted: Vec::new(),
            agents: self.case.agents as u32,
            firing: Some(Duration::from_nanos(firing)),
            drain: Duration::from_secs(1),
            epoch,
            rules: self.case.rules.clone(),
            force: false,
        }
    }

    pub fn fleet_on(&mut self, nth: usize, event: FleetEvent) {
        if !self.coordinators[nth].alive {
            return;
        }
        let now = self.coordinators[nth].clock.fleet_time(self.now);
        for action in self.coordinators[nth].fleet.on(now, event) {
            match action {
                FleetAction::Send(at, message) => self.send_down(nth, at, message),
                FleetAction::SendFiles(at, files) => files.for_each(|part| {
                    let message = Some(from_coordinator::Message::File(part));
                    self.send_down(nth, at, FromCoordinator { message });
                }),
                FleetAction::Close(at) => self.end(at, Way::Down, "closed there"),
                FleetAction::Deliver(event, receipt) => self.deliver(nth, event, receipt),
            }
        }
    }

    pub fn deliver(&mut self, nth: usize, event: RunEvent, receipt: Option<control::Receipt>) {
        self.note(|| format!("coordinator {nth} tells {}", brief(&event)));
        let Some(run) = self.coordinators[nth].run else {
            let what = format!("without a run: {}", brief(&event));
            return self.truth.broken(Invariant::EventsMakeSense, what);
        };
        if self.coordinators[nth].outcome.is_some() {
            let what = format!("after the end: {}", brief(&event));
            self.truth.broken(Invariant::EventsMakeSense, what);
        }
        self.told.push((self.now, nth, event.clone()));
        self.learn(nth, run, &event);
        let twice = self.sabotage == Some(Sabotage::TellsAnEndTwice)
            && matches!(event, RunEvent::Ended { .. });
        if twice {
            self.coordinators[nth].hand(run, event.clone(), None);
        }
        let coordinator = &mut self.coordinators[nth];
        let (events, bytes) = coordinator.hand(run, event, receipt);
        let is_idle = matches!(coordinator.writing, Writing::Idle);
        if events > BACKLOG_MAX || bytes > BACKLOG_MAX_BYTES {
            let what = format!("{events} events of one agent wait, {bytes} bytes");
            self.truth.broken(Invariant::BoundedBacklog, what);
        }
        if is_idle {
            self.coordinators[nth].writing = Writing::Due;
            let at = self.now + self.random.below(SECOND / 20);
            self.at(at, Happening::Write(nth));
        }
    }

    /// Keeps what the truth needs from an event.
    pub fn learn(&mut self, nth: usize, run: RunId, event: &RunEvent) {
        let truth = self.truth.runs.entry(run).or_default();
        match event {
            RunEvent::Assembled { agents } => {
                truth.members = agents.iter().map(|facts| facts.id).collect();
            }
            RunEvent::Gone { agent, .. } => self.coordinators[nth].away.extend([*agent]),
            RunEvent::Back { agent } => {
                self.coordinators[nth].away.remove(agent);
            }
            RunEvent::Lost { agent, .. } | RunEvent::Problem { agent, .. } => {
                let coordinator = &self.coordinators[nth];
                let is_it = |(_, index): &(_, &u32)| *index == agent;
                let id = coordinator.indices.iter().find(is_it).map(|(id, _)| *id);
                truth.given_up.extend(id);
                truth
                    .lost_away
                    .extend(id.filter(|_| coordinator.away.contains(agent)));
            }
            _ => {}
        }
    }

    pub fn write(&mut self, nth: usize) {
        let coordinator = &mut self.coordinators[nth];
        if self.now < coordinator.disk.full_until {
            return self.at(self.now + SECOND, Happening::Write(nth));
        }
        let mut receipts = Vec::new();
        for handed in coordinator.waiting.drain(..) {
            let log = coordinator.disk.logs.entry(handed.run).or_default();
            let is_interval = matches!(handed.event, RunEvent::Interval { .. });
            let tampers = is_interval && self.random.percent(5);
            let times = match self.sabotage {
                Some(Sabotage::WritesAnIntervalTwice) if tampers => 2,
                Some(Sabotage::DropsARecord) if tampers => 0,
                _ => 1,
            };
            log.append(std::iter::repeat_n(handed.event.clone(), times));
            receipts.extend(handed.receipt.map(|receipt| (receipt, handed.event)));
        }
        let logs = coordinator.disk.logs.iter();
        let records = logs.map(|(run, log)| (*run, log.events.len())).collect();
        let at_once = match self.sabotage {
            Some(Sabotage::AcknowledgesBeforeTheSync) => std::mem::take(&mut receipts),
            _ => Vec::new(),
        };
        coordinator.writing = Writing::Syncing { records, receipts };
        let most = match coordinator.disk.slow_until {
            (until, sync_ns) if self.now < until => sync_ns,
            _ => self.case.sync_ns,
        };
        let synced_at = self.now + most / 4 + self.random.below(most);
        self.at(synced_at, Happening::Synced(nth));
        for (receipt, _) in at_once {
            self.fleet_on(nth, FleetEvent::Delivered(receipt));
        }
    }

    pub fn synced(&mut self, nth: usize) {
        let coordinator = &mut self.coordinators[nth];
        let Writing::Syncing { records, receipts } = std::mem::take(&mut coordinator.writing)
        else {
            return;
        };
        for (run, records) in records {
            coordinator.disk.logs.entry(run).or_default().sync(records);
        }
        if !coordinator.waiting.is_empty() {
            coordinator.writing = Writing::Due;
            self.at(self.now, Happening::Write(nth));
        }
        for (receipt, event) in receipts {
            self.coordinators[nth].settle(&event);
            self.fleet_on(nth, FleetEvent::Delivered(receipt));
        }
    }
}

pub fn draw_clock(random: &mut Random) -> MachineClock {
    // Two clocks drift apart by at most 100 ppm, which is what `control` assumes.
    let drift_ppm = random.below(101) as i64 - 50;
    let mono = random.below(1_000 * SECOND);
    MachineClock::new(mono, mono + random.below(1_000 * SECOND), drift_ppm)
}

fn versions() -> Versions {
    Versions {
        program: "1".into(),
        encoding: 0,
        language: 0,
    }
}
