//! Coordinators' processes: how they begin a run, what their fleets ask for, and the only writer of
//! the log.

use crate::agent::token_text;
use crate::case::SECOND;
use crate::clock::MachineClock;
use crate::coordinator::{Coordinator, Writing};
use crate::disk::Disk;
use crate::network::Way;
use crate::random::Random;
use crate::sabotage::{Invariant, Sabotage};
use crate::world::{Happening, World, brief};
use control::{
    AgentId, Audience, CoordinatorId, Digest, Fleet, FleetAction, FleetEvent, FleetToken, RunEvent,
    RunFile, RunId, RunRequest, TokenReport, Versions,
};
use proto::{FromCoordinator, from_coordinator};
use std::time::Duration;

/// Limits on what may wait to be stored for one agent when something more comes: a window, and a
/// second of its machine.
const BACKLOG_MAX: usize = 34;
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

    /// Begins runs that go on at once, on disjoint agents.
    pub fn begin_runs(&mut self, nth: usize) {
        (0..self.case.at_once).for_each(|_| self.begin_run(nth));
    }

    fn begin_run(&mut self, nth: usize) {
        self.runs += 1;
        let request = self.request(RunId([self.runs; 16]), 1);
        let coordinator = &mut self.coordinators[nth];
        coordinator.runs.entry(request.run).or_default().epoch = request.epoch;
        let log = coordinator.disk.logs.entry(request.run).or_default();
        log.go_by(&coordinator.clock, self.now, 0);
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
                is_storable: false,
            }
        });
        let firing = u64::from(self.case.shape.steps) * crate::agent::STEP;
        RunRequest {
            run,
            name: "simulated".into(),
            plan_digest: Digest::from_content(plan.as_bytes()),
            plan: plan.into(),
            files: file.into_iter().collect(),
            unsent_bytes: 0,
            minted: Vec::new(),
            agents: self.case.agents as u32 / u32::from(self.case.at_once),
            firing: Some(Duration::from_nanos(firing)),
            drain: Duration::from_secs(1),
            epoch,
            rules: self.case.rules.clone(),
            force: false,
            tokens: vec![token(epoch, 0)],
        }
    }

    /// Renews the tokens of the runs that a coordinator directs.
    pub fn renew_tokens(&mut self, nth: usize) {
        let coordinator = &mut self.coordinators[nth];
        coordinator.renewals += 1;
        let number = coordinator.renewals;
        let runs: Vec<RunId> = coordinator.runs.keys().copied().collect();
        for run in runs {
            let epoch = self.coordinators[nth].runs[&run].epoch;
            let report = TokenReport::Came(token(epoch, number));
            self.fleet_on(nth, FleetEvent::Token(run, report));
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
                FleetAction::Deliver(run, event, receipt) => {
                    let (run, event) = self.misdirect(nth, run, event);
                    self.deliver(nth, run, event, receipt);
                }
            }
        }
    }

    /// Breaks what keeps runs apart, if this is asked for.
    fn misdirect(&self, nth: usize, run: RunId, mut event: RunEvent) -> (RunId, RunEvent) {
        let runs = &self.coordinators[nth].runs;
        let mut others = runs
            .iter()
            .filter(|(id, other)| **id != run && other.outcome.is_none());
        let Some((other, directed)) = others.next() else {
            return (run, event);
        };
        match (self.sabotage, &mut event) {
            (Some(Sabotage::DeliversToTheOtherRun), RunEvent::Interval { .. }) => (*other, event),
            (Some(Sabotage::ChoosesABusyAgent), RunEvent::Assembled { agents }) => {
                let busy = directed.indices.keys().next();
                busy.into_iter().for_each(|busy| agents[0].id = *busy);
                (run, event)
            }
            _ => (run, event),
        }
    }

    pub fn deliver(
        &mut self,
        nth: usize,
        run: RunId,
        event: RunEvent,
        receipt: Option<control::Receipt>,
    ) {
        self.note(|| {
            format!(
                "coordinator {nth} tells of {:x}: {}",
                run.0[0],
                brief(&event)
            )
        });
        let Some(directed) = self.coordinators[nth].runs.get(&run) else {
            let what = format!("without a run: {}", brief(&event));
            return self.truth.broken(Invariant::EventsMakeSense, what);
        };
        if directed.outcome.is_some() {
            let what = format!("after the end: {}", brief(&event));
            self.truth.broken(Invariant::EventsMakeSense, what);
        }
        self.told.push((self.now, nth, event.clone()));
        self.learn(nth, run, &event);
        let twice = self.sabotage == Some(Sabotage::TellsAnEndTwice)
            && matches!(event, RunEvent::Ended { .. });
        let told_at = self.coordinators[nth].clock.fleet_time(self.now);
        if twice {
            self.coordinators[nth].hand(run, (event.clone(), told_at), None);
        }
        let coordinator = &mut self.coordinators[nth];
        let is_missed = match self.sabotage {
            Some(Sabotage::ModelMissesAnEnd) => matches!(event, RunEvent::Ended { .. }),
            Some(Sabotage::ModelMissesABeginning) => matches!(event, RunEvent::Began { .. }),
            _ => false,
        };
        if !is_missed {
            let directed = coordinator.runs.entry(run).or_default();
            directed.model.take(&event, told_at);
        }
        let (events, bytes) = coordinator.hand(run, (event, told_at), receipt);
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
        let directed = self.coordinators[nth].runs.entry(run).or_default();
        let truth = self.truth.runs.entry(run).or_default();
        match event {
            RunEvent::Assembled { agents } => {
                truth.members = agents.iter().map(|facts| facts.id).collect();
                let coordinator = &self.coordinators[nth];
                let is_busy = |id: &&AgentId| coordinator.is_busy_elsewhere(run, **id);
                if let Some(busy) = truth.members.iter().find(is_busy) {
                    let what = format!("{busy:?} is chosen for {run:?}, and serves another run");
                    self.truth.broken(Invariant::AgentServesOneRun, what);
                }
            }
            RunEvent::Gone { agent, .. } => directed.away.extend([*agent]),
            RunEvent::Back { agent } => {
                directed.away.remove(agent);
            }
            RunEvent::Lost { agent, .. } | RunEvent::Problem { agent, .. } => {
                let is_it = |(_, index): &(_, &u32)| *index == agent;
                let id = directed.indices.iter().find(is_it).map(|(id, _)| *id);
                truth.given_up.extend(id);
                truth
                    .lost_away
                    .extend(id.filter(|_| directed.away.contains(agent)));
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
            let times = match (self.sabotage, &handed.event) {
                (Some(Sabotage::WritesAnIntervalTwice), RunEvent::Interval { .. })
                | (Some(Sabotage::WritesASecondTwice), RunEvent::Observed { .. }) => 2,
                (Some(Sabotage::DropsARecord), RunEvent::Interval { .. })
                | (Some(Sabotage::DropsASecond), RunEvent::Observed { .. }) => 0,
                _ => 1,
            };
            let times = if times != 1 && self.random.percent(5) {
                times
            } else {
                1
            };
            for _ in 0..times {
                log.append(handed.event.clone(), handed.told_at);
            }
            let run = handed.run;
            receipts.extend(handed.receipt.map(|receipt| (receipt, run, handed.event)));
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
        for (receipt, ..) in at_once {
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
        for (receipt, run, event) in receipts {
            self.coordinators[nth].settle(run, &event);
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

fn token(epoch: u64, number: u64) -> FleetToken {
    FleetToken {
        place: 0,
        text: token_text(epoch, number).into(),
        expires_at: None,
    }
}
