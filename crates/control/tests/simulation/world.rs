//! The coordinator, its agents, what lies between them, and one true time.

use crate::machine::Machine;
use crate::network::{Network, Random};
use control::{
    ConnectionId, CoordinatorId, Digest, Disconnection, Finality, Fleet, FleetAction, FleetEvent,
    FleetTime, LEASE, Receipt, RunEvent, RunId, RunRequest, SessionAction, SessionEvent, Stop,
    TICK,
};
use proto::{FromAgent, FromCoordinator, from_agent, from_coordinator};
use std::collections::BTreeMap;
use std::time::Duration;

const SECOND: u64 = 1_000_000_000;
const PLAN_SECONDS: u64 = 8;

/// What goes wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    None,
    /// Connections drop, and now and then dialling fails.
    Drops,
    /// The coordinator is gone for good at some time.
    CoordinatorDies,
    /// Somebody stops the run at some time.
    Stop,
    /// Agent 0 sends a part that does not follow the one before, on every stream of the first run.
    Violation,
    /// Agent 0 is cut off in the run, and cannot dial for a while.
    Away,
    /// Agents upload so many bytes a second, totals of 8 MiB, and from the plan's end on
    /// connections drop every 3 seconds.
    Narrow {
        bytes_per_second: u64,
    },
}

enum Happening {
    FleetTick,
    ToFleet(ConnectionId, FromAgent),
    ToAgent(usize, ConnectionId, FromCoordinator),
    Dialled(usize),
    FleetHearsEnd(ConnectionId),
    AgentHearsEnd(usize, ConnectionId),
    CallerTakes(Receipt),
    Drop,
    Death,
    StopRun(Stop),
    CutOff(usize),
}

pub struct World {
    now: u64,
    random: Random,
    trouble: Trouble,
    fleet: Fleet,
    fleet_clock: u64,
    died_at: Option<u64>,
    machines: Vec<Machine>,
    network: Network,
    queue: BTreeMap<(u64, u64), Happening>,
    queued: u64,
    runs: u8,
    /// No dialling of agent 0 succeeds before.
    pub away_until: u64,
    pub streams: u64,
    pub events: Vec<RunEvent>,
    /// True time of each event.
    pub times: Vec<u64>,
}

impl World {
    pub fn new(seed: u64, agents: usize, trouble: Trouble) -> World {
        let mut random = Random(seed);
        let machines = (0..agents)
            .map(|number| Machine::new(number, random.below(1_000 * SECOND), PLAN_SECONDS))
            .collect();
        let fleet = Fleet::new(CoordinatorId([9; 16]), "1".into());
        let fleet_clock = random.below(1_000 * SECOND);
        let mut world = World {
            now: 1,
            random,
            trouble,
            fleet,
            fleet_clock,
            died_at: None,
            machines,
            network: Network::default(),
            queue: BTreeMap::new(),
            queued: 0,
            runs: 0,
            away_until: 0,
            streams: 0,
            events: Vec::new(),
            times: Vec::new(),
        };
        world.at(1, Happening::FleetTick);
        world.plan_trouble();
        world.begin_next_run();
        world
    }

    pub fn begin_next_run(&mut self) {
        self.events.clear();
        self.times.clear();
        self.runs += 1;
        let plan = "plan".to_owned();
        let request = RunRequest {
            run: RunId([self.runs; 16]),
            name: "simulated".into(),
            plan_digest: Digest::from_content(plan.as_bytes()),
            plan: plan.into(),
            files: vec![],
            minted: Vec::new(),
            agents: self.machines.len() as u32,
            firing: Some(Duration::from_secs(PLAN_SECONDS)),
            drain: Duration::from_secs(1),
        };
        self.fleet_on(FleetEvent::Run(request));
    }

    /// Goes on until the run is done, at most so many seconds of true time; a dead coordinator's
    /// run never is.
    pub fn run_to_end(&mut self, seconds: u64) {
        let until = self.now + seconds * SECOND;
        while self.now < until && !matches!(self.events.last(), Some(RunEvent::Done { .. })) {
            self.step();
        }
    }

    pub fn plan_seconds(&self) -> usize {
        PLAN_SECONDS as usize
    }

    pub fn died_at(&self) -> Option<u64> {
        self.died_at
    }

    pub fn last_fired_at(&self) -> Vec<(usize, u64)> {
        self.machines
            .iter()
            .map(|machine| machine.last_fired_at)
            .enumerate()
            .collect()
    }

    pub fn made_by(&self, index: u32) -> Vec<(u32, Vec<u8>)> {
        self.machines
            .iter()
            .find(|machine| machine.index == index)
            .expect("an index of this run")
            .made
            .clone()
    }

    pub fn true_skew_ns(&self) -> u64 {
        let began = || self.machines.iter().map(|machine| machine.began_at);
        began().max().unwrap_or(0) - began().min().unwrap_or(0)
    }

    fn plan_trouble(&mut self) {
        match self.trouble {
            Trouble::None | Trouble::Violation => {}
            Trouble::Away => {
                let at = (3 + self.random.below(6)) * SECOND;
                self.away_until = at + self.random.below(90 * SECOND);
                self.at(at, Happening::CutOff(0));
            }
            Trouble::Narrow { .. } => {
                self.machines
                    .iter_mut()
                    .for_each(|machine| machine.totals_bytes = 8 << 20);
                (4..60).for_each(|nth| self.at(nth * 3 * SECOND, Happening::Drop));
            }
            Trouble::Drops => {
                for _ in 0..1 + self.random.below(12) {
                    let at = self.random.below(25 * SECOND);
                    self.at(at, Happening::Drop);
                }
            }
            Trouble::CoordinatorDies => {
                let at = 1 + self.random.below(14 * SECOND);
                self.at(at, Happening::Death);
            }
            Trouble::Stop => {
                let at = 1 + self.random.below(14 * SECOND);
                let how = if self.random.below(2) == 0 {
                    Stop::Now
                } else {
                    Stop::Drain
                };
                self.at(at, Happening::StopRun(how));
            }
        }
    }

    fn at(&mut self, at: u64, happening: Happening) {
        self.queued += 1;
        self.queue
            .insert((at.max(self.now), self.queued), happening);
    }

    /// The next thing that happens anywhere.
    fn step(&mut self) {
        let queued = self
            .queue
            .first_key_value()
            .map_or(u64::MAX, |((at, _), _)| *at);
        let wake = |machine: &Machine| {
            let session = machine.true_time(machine.session.wake_at(machine.clocks(self.now)));
            session.min(machine.runner_wakes_at().unwrap_or(u64::MAX))
        };
        let next = self
            .machines
            .iter()
            .map(wake)
            .enumerate()
            .min_by_key(|(_, at)| *at);
        match next {
            Some((number, at)) if at <= queued => {
                self.now = self.now.max(at);
                self.wake(number);
            }
            _ => {
                let ((at, _), happening) = self.queue.pop_first().expect("the fleet always ticks");
                self.now = self.now.max(at);
                self.happen(happening);
            }
        }
    }

    fn wake(&mut self, number: usize) {
        for report in self.machines[number].step(self.now) {
            self.agent_on(number, SessionEvent::Reported(report));
        }
        self.agent_on(number, SessionEvent::Tick);
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::FleetTick => {
                self.fleet_on(FleetEvent::Tick);
                self.at(self.now + TICK.as_nanos() as u64, Happening::FleetTick);
            }
            Happening::ToFleet(at, message) => self.fleet_on(FleetEvent::Received(at, message)),
            Happening::ToAgent(agent, at, message)
                if self.machines[agent].connection == Some(at) =>
            {
                self.agent_on(agent, SessionEvent::Received(message));
            }
            Happening::ToAgent(..) => {}
            Happening::Dialled(agent) => self.dialled(agent),
            Happening::FleetHearsEnd(at) => self.fleet_on(FleetEvent::Closed(at, "cut".into())),
            Happening::AgentHearsEnd(agent, at) => {
                if self.machines[agent].connection == Some(at) {
                    self.machines[agent].connection = None;
                    self.agent_on(agent, SessionEvent::Disconnected(retry("cut")));
                }
            }
            Happening::CallerTakes(receipt) => self.fleet_on(FleetEvent::Delivered(receipt)),
            Happening::Drop => {
                let agent = self.random.below(self.machines.len() as u64) as usize;
                self.network
                    .of(agent)
                    .into_iter()
                    .for_each(|at| self.cut(at));
            }
            Happening::CutOff(agent) => self
                .network
                .of(agent)
                .into_iter()
                .for_each(|at| self.cut(at)),
            Happening::Death => {
                self.died_at = Some(self.now);
                let open: Vec<ConnectionId> = self.network.open.keys().copied().collect();
                open.into_iter().for_each(|at| self.cut(at));
            }
            Happening::StopRun(how) => self.fleet_on(FleetEvent::Stop(how)),
        }
    }

    fn dialled(&mut self, agent: usize) {
        let is_away = agent == 0 && self.now < self.away_until && self.now > 3 * SECOND;
        let fails = self.died_at.is_some()
            || is_away
            || (self.trouble == Trouble::Drops && self.random.below(4) == 0);
        if fails {
            return self.agent_on(agent, SessionEvent::Disconnected(retry("refused")));
        }
        let at = self.network.open(agent, &mut self.random);
        self.streams += 1;
        self.machines[agent].connection = Some(at);
        self.fleet_on(FleetEvent::Opened(at));
        self.agent_on(agent, SessionEvent::Connected);
    }

    /// Neither side is told at once; sometimes one is not told at all and must find out.
    fn cut(&mut self, at: ConnectionId) {
        let Some(connection) = self.network.open.remove(&at) else {
            return;
        };
        let untold = self.random.below(6);
        if untold != 0 {
            let heard_at = self.now + self.random.below(SECOND);
            self.at(heard_at, Happening::FleetHearsEnd(at));
        }
        if untold != 1 {
            let heard_at = self.now + self.random.below(SECOND);
            self.at(heard_at, Happening::AgentHearsEnd(connection.agent, at));
        }
    }

    fn fleet_on(&mut self, event: FleetEvent) {
        if self.died_at.is_some() {
            return;
        }
        for action in self.fleet.on(FleetTime(self.now + self.fleet_clock), event) {
            match action {
                FleetAction::Send(at, message) => self.send_down(at, message),
                FleetAction::SendFiles(at, files) => files.for_each(|part| {
                    self.send_down(
                        at,
                        FromCoordinator {
                            message: Some(from_coordinator::Message::File(part)),
                        },
                    );
                }),
                FleetAction::Close(at) => self.cut(at),
                FleetAction::Deliver(event, receipt) => self.deliver(event, receipt),
            }
        }
    }

    fn deliver(&mut self, event: RunEvent, receipt: Option<Receipt>) {
        assert!(
            !matches!(self.events.last(), Some(RunEvent::Done { .. })),
            "{event:?} after the end"
        );
        self.events.push(event);
        self.times.push(self.now);
        if let Some(receipt) = receipt {
            let taken_at = self.now + self.random.below(LEASE.as_nanos() as u64 / 5);
            self.at(taken_at, Happening::CallerTakes(receipt));
        }
    }

    fn send_down(&mut self, at: ConnectionId, message: FromCoordinator) {
        if let Some((agent, arrives_at)) = self.network.down(self.now, at, &mut self.random) {
            self.at(arrives_at, Happening::ToAgent(agent, at, message));
        }
    }

    fn agent_on(&mut self, agent: usize, event: SessionEvent) {
        let actions = self.machines[agent].on(self.now, event);
        for action in actions {
            match action {
                SessionAction::Connect => {
                    let dialled_at = self.now + self.random.below(SECOND / 10);
                    self.at(dialled_at, Happening::Dialled(agent));
                }
                SessionAction::Send(message) => self.send_up(agent, message),
                SessionAction::Disconnect => {
                    if let Some(at) = self.machines[agent].connection.take() {
                        self.cut(at);
                    }
                }
                SessionAction::Order(order) => self.machines[agent].order(self.now, order),
                SessionAction::Say(_) => {}
                SessionAction::Quit(why) => panic!("agent {agent} quits: {why:?}"),
            }
        }
        while let Some(mut part) = self.machines[agent].session.next_part() {
            if self.trouble == Trouble::Violation && agent == 0 && self.runs == 1 {
                part.part += 1;
            }
            self.send_up(
                agent,
                FromAgent {
                    message: Some(from_agent::Message::Interval(part)),
                },
            );
        }
    }

    fn send_up(&mut self, agent: usize, message: FromAgent) {
        let Some(at) = self.machines[agent].connection else {
            return;
        };
        let sending_ns = match (self.trouble, &message.message) {
            (Trouble::Narrow { bytes_per_second }, Some(from_agent::Message::Interval(part))) => {
                part.content.len() as u64 * SECOND / bytes_per_second
            }
            _ => 0,
        };
        if let Some(arrives_at) = self.network.up(self.now, at, sending_ns, &mut self.random) {
            self.at(arrives_at, Happening::ToFleet(at, message));
        }
    }
}

fn retry(why: &str) -> Disconnection {
    Disconnection {
        why: why.into(),
        finality: Finality::Retry,
    }
}
