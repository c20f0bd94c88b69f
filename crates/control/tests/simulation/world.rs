//! Coordinators, agents, the network between them, and one true time.

use crate::agent::Host;
use crate::case::{BrokenRule, Case, Ending, SECOND};
use crate::coordinator::Coordinator;
use crate::disk::Disk;
use crate::network::{Network, Packet, Path, Way};
use crate::processes::draw_clock;
use crate::random::Random;
use crate::sabotage::{Invariant, Sabotage};
use crate::truth::{Truth, Violation};
use control::{ConnectionId, FleetEvent, RunEvent, Stop, TICK};
use std::collections::{BTreeMap, VecDeque};

/// Happenings that are shown, unless SIMULATION_TRACE gives another number.
const TRACE: usize = 50;

/// A run is over this long after the last fault, without any help.
const PATIENCE: u64 = 300 * SECOND;

pub enum Happening {
    Wake(usize),
    FleetTick(usize),
    Arrives(ConnectionId, Way, Packet),
    Opens(ConnectionId),
    Dialled(usize, u32),
    DialFails(usize, u32, &'static str),
    Write(usize),
    Synced(usize),
    Strikes(usize),
    /// The coordinator that ended is restarted.
    Restarts(usize, Ending),
    /// An older coordinator is ended.
    GivesWay(usize),
    /// A transport ends a stream that is silent.
    Missed(ConnectionId, Way),
    AgentBoots(usize),
}

pub struct World {
    pub now: u64,
    pub case: Case,
    pub random: Random,
    pub sabotage: Option<Sabotage>,
    pub hosts: Vec<Host>,
    pub coordinators: Vec<Coordinator>,
    pub network: Network,
    queue: BTreeMap<(u64, u64), Happening>,
    queued: u64,
    /// The place in the queue of what happens now.
    happens: u64,
    pub truth: Truth,
    /// When the last coordinator ended, if there is none now.
    pub headless_since: Option<u64>,
    /// Whether two coordinators existed at once.
    pub split: bool,
    /// Agents that break the protocol at their next chance.
    pub broken_rules: BTreeMap<usize, BrokenRule>,
    /// Whether a machine slept, so that its monotonic clock is not what was measured.
    pub slept: bool,
    pub runs: u8,
    /// Every event of every coordinator, and when it was reported.
    pub told: Vec<(u64, usize, RunEvent)>,
    last_fault_ends_at: u64,
    trace: Option<VecDeque<String>>,
    trace_max: usize,
}

impl World {
    pub fn new(case: Case, sabotage: Option<Sabotage>, tracing: bool) -> World {
        let mut random = Random(case.seed);
        let hosts = (0..case.machines()).map(|_| Host::new(draw_clock(&mut random)));
        let hosts: Vec<Host> = hosts.collect();
        // The last path is that of strangers.
        let paths = vec![Path::default(); case.machines() + 1];
        let ends = case.faults.iter().map(|(at, fault)| at + fault.lasts());
        let last_fault_ends_at = ends.max().unwrap_or(0);
        let mut world = World {
            now: 1,
            random,
            sabotage,
            hosts,
            coordinators: Vec::new(),
            network: Network::new(paths),
            queue: BTreeMap::new(),
            queued: 0,
            happens: 0,
            truth: Truth::default(),
            headless_since: None,
            split: false,
            broken_rules: BTreeMap::new(),
            slept: false,
            runs: 0,
            told: Vec::new(),
            last_fault_ends_at,
            trace: tracing.then(VecDeque::new),
            trace_max: crate::setting("SIMULATION_TRACE").map_or(TRACE, |most| most as usize),
            case,
        };
        world.found_coordinator(Disk::default(), None);
        (0..world.hosts.len()).for_each(|slot| world.boot_agent(slot));
        for nth in 0..world.case.faults.len() {
            let at = world.case.faults[nth].0;
            world.at(at, Happening::Strikes(nth));
        }
        world.begin_runs(0);
        world
    }

    /// Runs until everything is over. Returns the rule that was broken, if one was.
    pub fn run(&mut self) -> Option<Violation> {
        let patience = PATIENCE + u64::from(self.case.plan_seconds) * SECOND;
        let mut until = self.last_fault_ends_at + patience;
        while self.truth.violation.is_none() {
            if self.is_over() {
                self.judge();
                if self.truth.violation.is_some() || self.runs / self.case.at_once >= self.case.runs
                {
                    break;
                }
                self.case.faults.clear();
                let Some(newest) = self.newest_alive() else {
                    break;
                };
                self.begin_runs(newest);
                until = self.now + patience;
            }
            if self.now > until {
                let what = self.unfinished();
                self.truth.broken(Invariant::NobodyHangs, what);
            }
            self.step();
        }
        self.truth.violation.clone()
    }

    /// Whether nothing more is expected.
    fn is_over(&self) -> bool {
        if self.now < self.last_fault_ends_at {
            return false;
        }
        if let Some(since) = self.headless_since {
            // Long enough to see that firing ends.
            return self.now > since + self.lease_ns() + 5 * SECOND;
        }
        let mut alive = self
            .coordinators
            .iter()
            .filter(|coordinator| coordinator.alive);
        alive.all(|alive| alive.fleet.is_idle() && alive.is_stored())
    }

    fn unfinished(&self) -> String {
        let alive = self
            .coordinators
            .iter()
            .filter(|coordinator| coordinator.alive);
        let state = |coordinator: &Coordinator| {
            let last = coordinator.disk.logs.values().find(|log| !log.is_done());
            format!(
                "generation {}: idle {}, stored {}, {} events, the last {:?}",
                coordinator.generation,
                coordinator.fleet.is_idle(),
                coordinator.is_stored(),
                last.map_or(0, |log| log.events.len()),
                last.and_then(|log| log.events.last()).map(brief)
            )
        };
        alive.map(state).collect::<Vec<_>>().join("; ")
    }

    pub fn lease_ns(&self) -> u64 {
        self.case.rules.lease.as_nanos() as u64
    }

    pub fn newest_alive(&self) -> Option<usize> {
        (0..self.coordinators.len())
            .rev()
            .find(|&nth| self.coordinators[nth].alive)
    }

    pub fn at(&mut self, at: u64, happening: Happening) {
        self.queued += 1;
        self.queue
            .insert((at.max(self.now), self.queued), happening);
    }

    /// Puts off what happens now. It keeps its place among what happens at the same time then, so
    /// that no message of a stream overtakes another.
    pub fn put_off(&mut self, until: u64, happening: Happening) {
        self.queue.insert((until, self.happens), happening);
    }

    /// The last happenings, for finding the cause.
    pub fn last_happenings(&self) -> impl Iterator<Item = &String> {
        self.trace.iter().flatten()
    }

    pub fn note(&mut self, what: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            let what = what();
            // These would hide the rest by their number.
            if what.contains(": Beat(") || what.contains(": Grant(") {
                return;
            }
            if trace.len() == self.trace_max {
                trace.pop_front();
            }
            let seconds = self.now as f64 / SECOND as f64;
            trace.push_back(format!("{seconds:10.6} {what}"));
        }
    }

    pub fn step(&mut self) {
        let next = self.queue.pop_first();
        let ((at, nth), happening) = next.expect("a coordinator always ticks");
        self.happens = nth;
        self.now = self.now.max(at);
        match happening {
            Happening::Wake(slot) => self.wake(slot),
            Happening::FleetTick(nth) => self.fleet_tick(nth),
            Happening::Arrives(at, way, packet) => self.arrives(at, way, packet),
            Happening::Opens(at) => self.opens(at),
            Happening::Dialled(slot, incarnation) => self.dialled(slot, incarnation),
            Happening::DialFails(slot, incarnation, why) => {
                self.dial_fails(slot, incarnation, why);
            }
            Happening::Write(nth) => self.unless_frozen(nth, Happening::Write(nth), World::write),
            Happening::Synced(nth) => {
                self.unless_frozen(nth, Happening::Synced(nth), World::synced);
            }
            Happening::Strikes(nth) => {
                let (_, fault) = self.case.faults[nth].clone();
                self.strike(fault);
            }
            Happening::Restarts(nth, how) => self.restart(nth, how),
            Happening::GivesWay(nth) => self.give_way(nth),
            Happening::Missed(at, way) => self.missed(at, way),
            Happening::AgentBoots(slot) => match &self.hosts[slot].agent {
                None => self.boot_agent(slot),
                Some(agent) if agent.quits => {
                    self.at(self.now + SECOND, Happening::AgentBoots(slot));
                }
                Some(_) => {}
            },
        }
    }

    /// A process that is frozen does it when it thaws; one that is gone never does.
    fn unless_frozen(&mut self, nth: usize, later: Happening, act: fn(&mut World, usize)) {
        let coordinator = &self.coordinators[nth];
        if !coordinator.alive {
            return;
        }
        match coordinator.frozen_until {
            thaws_at if thaws_at > self.now => self.at(thaws_at, later),
            _ => act(self, nth),
        }
    }

    fn fleet_tick(&mut self, nth: usize) {
        let coordinator = &self.coordinators[nth];
        if coordinator.alive && coordinator.frozen_until > self.now {
            // Its timer expires when it thaws, before what came later than this is read.
            return self.at(coordinator.frozen_until, Happening::FleetTick(nth));
        }
        // Something must keep counting the time when no coordinator is left.
        if self.sabotage != Some(Sabotage::StopsTicking) || self.now <= 3 * SECOND {
            self.fleet_on(nth, FleetEvent::Tick);
            // Every two seconds or so.
            if (self.now / TICK.as_nanos() as u64).is_multiple_of(8) {
                self.renew_tokens(nth);
            }
        }
        if self.coordinators[nth].alive || nth + 1 == self.coordinators.len() {
            self.at(self.now + TICK.as_nanos() as u64, Happening::FleetTick(nth));
        }
    }

    /// Stops the first run that is not over, wherever it is directed.
    pub fn stop(&mut self, how: Stop) {
        for nth in 0..self.coordinators.len() {
            let mut runs = self.coordinators[nth].runs.iter();
            if let Some((run, _)) = runs.find(|(_, run)| run.outcome.is_none()) {
                let run = *run;
                self.fleet_on(nth, FleetEvent::Stop(run, how));
            }
        }
    }
}

/// Longest line for a value, in bytes.
const BRIEF: usize = 300;

pub fn brief(what: &impl std::fmt::Debug) -> String {
    let mut text = format!("{what:?}");
    if text.len() > BRIEF {
        let end = (0..=BRIEF).rev().find(|&end| text.is_char_boundary(end));
        text.truncate(end.unwrap_or(0));
        text.push('…');
    }
    text
}
