//! Checks what must be true when everything is over.

use crate::agent::{self, STEP};
use crate::coordinator::Coordinator;
use crate::disk::RunLog;
use crate::sabotage::Invariant;
use crate::truth::{AgentTruth, Fired, NEAR, RunTruth, Violation};
use crate::world::{World, brief};
use control::{
    AgentId, EndCause, FleetTime, MISSING_MAX, Observer, RunEvent, RunId, RunModel, RunOutcome,
    RunStage,
};
use std::collections::{BTreeMap, BTreeSet};

/// The first agents of a run begin within this of the instant that was named, so a step can be on
/// either side of it.
const SLACK: u64 = STEP;

impl World {
    /// Compares what the logs say with what happened.
    pub fn judge(&mut self) {
        let mut broken = Vec::new();
        for coordinator in &self.coordinators {
            for (run, log) in &coordinator.disk.logs {
                let judged = JudgedLog::new(*run, log, self);
                broken.extend(judged.and_then(|judged| judged.check()).err());
            }
        }
        let alive = |nth: &usize| self.coordinators[*nth].alive;
        let alive: Vec<usize> = (0..self.coordinators.len()).filter(alive).collect();
        for nth in &alive {
            let coordinator = &self.coordinators[*nth];
            for (run, directed) in &coordinator.runs {
                let checked = self.check_model(*run, &directed.model, coordinator);
                broken.extend(checked.err());
            }
        }
        if let Some(violation) = broken.into_iter().next() {
            self.truth.broken(violation.invariant, violation.what);
        }
        alive.into_iter().for_each(|nth| self.compare_models(nth));
    }

    /// Checks that a coordinator's log gives the model that its events gave when they came.
    pub fn compare_models(&mut self, nth: usize) {
        let coordinator = &self.coordinators[nth];
        if let Some((as_it_came, by_log)) = coordinator.differing_models() {
            let what = format!("as they came {as_it_came:?}, by the log {by_log:?}");
            self.truth.broken(Invariant::LogGivesTheModel, what);
        }
    }

    /// Compares what a coordinator's model says of its agents with what they did.
    fn check_model(&self, run: RunId, model: &RunModel, coordinator: &Coordinator) -> Judged {
        let Some(truth) = self.truth.runs.get(&run) else {
            return Ok(());
        };
        let RunStage::Over { outcome, .. } = model.stage() else {
            return Ok(());
        };
        // A run can end before its agents are chosen.
        if model.start_at().is_none() {
            return holds(!model.has_begun(), Invariant::ModelIsTrue, || {
                "an agent began, and no instant was named".to_owned()
            });
        }
        let nothing = AgentTruth::default();
        for agent in model.agents() {
            let did = truth.agents.get(&agent.facts().id).unwrap_or(&nothing);
            let facts = [
                (
                    "that it is over",
                    outcome != RunOutcome::Ran || agent.end().is_some() || agent.loss().is_some(),
                ),
                // A session knows better than its runner what stopped it.
                (
                    "its end",
                    agent.end() != Some(&EndCause::Plan) || did.ended == Some(EndCause::Plan),
                ),
                (
                    "its beginning",
                    (agent.began()).is_none_or(|began| self.has_begun(began, did, coordinator)),
                ),
                // Until it ends, an agent can break the protocol by any number.
                (
                    "its totals",
                    agent
                        .end()
                        .and(agent.totals())
                        .is_none_or(|totals| did.totals == Some(totals)),
                ),
                ("its intervals", agent.intervals() <= did.made.len()),
            ];
            for (name, is_true) in facts {
                holds(is_true, Invariant::ModelIsTrue, || {
                    format!("{name}, {outcome:?}: {}, and {}", brief(agent), brief(did))
                })?;
            }
        }
        Ok(())
    }

    /// Whether an agent began when a coordinator's model says so.
    fn has_begun(
        &self,
        (at, bound_ns): (FleetTime, u64),
        did: &AgentTruth,
        coordinator: &Coordinator,
    ) -> bool {
        let at = coordinator.clock.true_time(at.0);
        let is_near = |began_at: u64| began_at.abs_diff(at) <= bound_ns + SLACK;
        did.began_at.is_some_and(|at| self.slept || is_near(at))
    }
}

/// The events of a log, sorted.
struct JudgedLog<'a> {
    run: RunId,
    members: Vec<AgentId>,
    truth: &'a RunTruth,
    log: &'a RunLog,
    events: &'a [RunEvent],
    intervals: BTreeMap<u32, BTreeSet<u32>>,
    /// The last second of each machine.
    seconds: BTreeMap<Observer, u32>,
    monitors: Vec<AgentId>,
    /// The parts of each monitor's profile: their number, and what is in them.
    profiles: BTreeMap<u32, (u32, Vec<u8>)>,
    totals: BTreeSet<u32>,
    ends: BTreeMap<u32, (&'a EndCause, &'a [u32])>,
    lost: BTreeSet<u32>,
    outcome: Option<RunOutcome>,
    split: bool,
    slept: bool,
    steps: u32,
}

type Judged<T = ()> = Result<T, Violation>;

fn broken<T>(invariant: Invariant, what: impl Into<String>) -> Judged<T> {
    let what = what.into();
    Err(Violation { invariant, what })
}

fn holds(holds: bool, invariant: Invariant, what: impl FnOnce() -> String) -> Judged {
    match holds {
        true => Ok(()),
        false => broken(invariant, what()),
    }
}

impl<'a> JudgedLog<'a> {
    fn new(run: RunId, log: &'a RunLog, world: &'a World) -> Judged<JudgedLog<'a>> {
        let Some(truth) = world.truth.runs.get(&run) else {
            return broken(
                Invariant::EventsMakeSense,
                "the log of a run that never was",
            );
        };
        let mut judged = JudgedLog {
            run,
            members: log.members(),
            truth,
            log,
            events: &log.events,
            intervals: BTreeMap::new(),
            seconds: BTreeMap::new(),
            monitors: log.monitors(),
            profiles: BTreeMap::new(),
            totals: BTreeSet::new(),
            ends: BTreeMap::new(),
            lost: BTreeSet::new(),
            outcome: None,
            split: world.split,
            slept: world.slept,
            steps: world.case.shape.steps,
        };
        for event in &log.events {
            judged.read(event)?;
        }
        Ok(judged)
    }

    fn read(&mut self, event: &'a RunEvent) -> Judged {
        if self.outcome.is_some() {
            return broken(
                Invariant::EventsMakeSense,
                format!("{event:?} after the end"),
            );
        }
        match event {
            RunEvent::Interval {
                agent,
                interval,
                encoded,
            } => {
                if !self.intervals.entry(*agent).or_default().insert(*interval) {
                    let what = format!("interval {interval} of agent {agent} is there twice");
                    return broken(Invariant::CountedOnce, what);
                }
                let made = self
                    .agent(*agent)
                    .and_then(|truth| truth.made.get(interval));
                let what = || format!("interval {interval} of agent {agent} was made otherwise");
                holds(made == Some(encoded), Invariant::CountedOnce, what)?;
            }
            RunEvent::Observed {
                by,
                second,
                encoded,
            } => {
                let last = self.seconds.insert(*by, *second);
                let is_next = last.is_none_or(|last| last < *second);
                let what = || format!("second {second} of {by:?} follows {last:?}");
                holds(is_next, Invariant::CountedOnce, what)?;
                // With two coordinators at once, the other one's log has some of them. A monitor
                // may come late, and watch another run meanwhile.
                let is_whole = self.split
                    || matches!(by, Observer::Monitor(_))
                    || *second == last.map_or(0, |last| last + 1);
                holds(is_whole, Invariant::CompleteOrNamed, what)?;
                let truth = self.observer(*by);
                let made = truth.and_then(|truth| truth.observed.get(second));
                let what = || format!("second {second} of {by:?} was observed otherwise");
                holds(made == Some(encoded), Invariant::CountedOnce, what)?;
            }
            RunEvent::ProfilePart {
                monitor,
                part,
                content,
                ..
            } => {
                let (parts, profile) = self.profiles.entry(*monitor).or_default();
                let what = || format!("part {part} of monitor {monitor}'s profile is out of place");
                holds(part == parts, Invariant::CountedOnce, what)?;
                *parts += 1;
                profile.extend_from_slice(content);
                let is_as_taken = agent::profile(self.run).starts_with(profile);
                let what = || format!("monitor {monitor} took another profile");
                holds(is_as_taken, Invariant::CountedOnce, what)?;
            }
            // A run can begin anew until something is fired.
            RunEvent::Assembled { .. } => self.lost.clear(),
            RunEvent::Totals { agent, .. } => {
                let is_first = self.totals.insert(*agent);
                let what = || format!("the totals of agent {agent} are there twice");
                holds(is_first, Invariant::CountedOnce, what)?;
            }
            RunEvent::Ended {
                agent,
                cause,
                missing,
                ..
            } => {
                let is_first = self.ends.insert(*agent, (cause, missing)).is_none();
                let what = || format!("agent {agent} ended twice");
                holds(is_first, Invariant::EventsMakeSense, what)?;
            }
            RunEvent::Lost { agent, .. } => {
                let is_first = self.lost.insert(*agent);
                let what = || format!("agent {agent} is lost twice");
                holds(is_first, Invariant::EventsMakeSense, what)?;
            }
            RunEvent::Done { outcome } => self.outcome = Some(*outcome),
            _ => {}
        }
        Ok(())
    }

    fn agent(&self, index: u32) -> Option<&'a AgentTruth> {
        self.observer(Observer::Agent(index))
    }

    fn observer(&self, by: Observer) -> Option<&'a AgentTruth> {
        let id = match by {
            Observer::Agent(index) => self.members.get(index as usize),
            Observer::Monitor(number) => self.monitors.get(number as usize),
        };
        self.truth.agents.get(id?)
    }

    fn check(&self) -> Judged {
        for (&agent, &(_, missing)) in &self.ends {
            self.check_end(agent, missing)?;
        }
        if self.outcome != Some(RunOutcome::Ran) {
            return Ok(());
        }
        for agent in 0..self.members.len() as u32 {
            if !self.ends.contains_key(&agent) && !self.lost.contains(&agent) {
                let what = format!("it is over, and nothing says how agent {agent} ended");
                return broken(Invariant::CompleteOrNamed, what);
            }
        }
        self.check_skew()?;
        if self.split {
            // The other coordinator's log has part of the truth.
            return Ok(());
        }
        self.check_shares()
    }

    /// Checks that everything an agent made is here or named as missing, once it has ended.
    fn check_end(&self, agent: u32, missing: &[u32]) -> Judged {
        let truth = self.agent(agent);
        let empty = BTreeSet::new();
        let here = self.intervals.get(&agent).unwrap_or(&empty);
        if self.split && !self.totals.contains(&agent) {
            // The other coordinator has the rest. Without totals, a result says that it may be
            // incomplete.
            return Ok(());
        }
        let made = truth.map(|truth| truth.made.keys()).into_iter().flatten();
        for interval in made {
            let named = missing.contains(interval) || missing.len() >= MISSING_MAX;
            if !here.contains(interval) && !named {
                let what =
                    format!("interval {interval} of agent {agent} is neither there nor missed");
                return broken(Invariant::CompleteOrNamed, what);
            }
        }
        let fires = truth.is_some_and(|truth| truth.began_at.is_some() && truth.ended.is_none());
        if fires {
            let what = format!("agent {agent} ended, and its runner did not");
            return broken(Invariant::EventsMakeSense, what);
        }
        Ok(())
    }

    /// Checks that agents began as far apart as was reported. The clock of a machine that slept is
    /// different.
    fn check_skew(&self) -> Judged {
        let told = self.events.iter().find_map(|event| match event {
            RunEvent::Started { skew } => Some(*skew),
            _ => None,
        });
        let began = self.members.iter().zip(0..).filter_map(|(id, index)| {
            let truth = self.truth.agents.get(id)?;
            truth.began_at.filter(|_| self.says_that_it_began(index))
        });
        let began: Vec<u64> = began.collect();
        let (Some(skew), Some(first), Some(last)) = (told, began.iter().min(), began.iter().max())
        else {
            return Ok(());
        };
        let truth = last - first;
        if !self.slept
            && began.len() as u32 == skew.agents
            && skew.skew_ns.abs_diff(truth) > skew.bound_ns
        {
            let what = format!("{skew:?} was told, and the truth is {truth} ns");
            return broken(Invariant::SkewIsTold, what);
        }
        Ok(())
    }

    fn says_that_it_began(&self, index: u32) -> bool {
        self.events.iter().any(|event| match event {
            RunEvent::Began { agent, .. } => *agent == index,
            _ => false,
        })
    }

    /// Checks that every step of every share was fired by an agent, unless the log says otherwise.
    fn check_shares(&self) -> Judged {
        let Some(start_at) = self.start_at() else {
            return Ok(());
        };
        for step in 0..self.steps {
            let at = start_at + u64::from(step) * STEP;
            if self.is_excused(at) {
                continue;
            }
            let fired = self.truth.steps.get(step as usize);
            let fired = fired.map_or(&[][..], Vec::as_slice);
            for agent in 0..self.members.len() as u32 {
                let parts = fired.iter().filter(|fired| fired.agent_index == agent);
                let sum: f64 = parts.map(Fired::size).sum();
                if sum < 1.0 - NEAR {
                    let what = format!(
                        "at step {step} only {sum} of the share of agent {agent} was fired, and \
                         nothing says so"
                    );
                    return broken(Invariant::NoShareForgotten, what);
                }
            }
        }
        Ok(())
    }

    /// The start instant, in true time.
    fn start_at(&self) -> Option<u64> {
        let mut last_first = self.events.iter().enumerate().rev();
        last_first.find_map(|(place, event)| match event {
            RunEvent::Armed { start_at, .. } => Some(self.true_time(place, *start_at)),
            _ => None,
        })
    }

    fn true_time(&self, event: usize, at: FleetTime) -> u64 {
        self.log.clock_of(event).true_time(at.0)
    }

    /// Whether the log says that the plan is not kept at this instant: an agent is gone for good
    /// and no other agent has its share yet, or it was reported that its share cannot be fired.
    fn is_excused(&self, at: u64) -> bool {
        let stopped_early = self
            .ends
            .iter()
            .filter(|(_, (cause, _))| **cause != EndCause::Plan);
        let mut gone = stopped_early.map(|(agent, _)| agent).chain(&self.lost);
        let is_dealt = |agent: &u32| {
            let mut events = self.events.iter().enumerate();
            events.any(|(place, event)| match event {
                RunEvent::Redistributed {
                    agent: of, from, ..
                } => of == agent && self.true_time(place, *from) + SLACK <= at,
                _ => false,
            })
        };
        let nobody_is_there = |event: &RunEvent| match event {
            RunEvent::Note { agent, event, .. } => agent.is_none() && event == "share",
            _ => false,
        };
        self.events.iter().any(nobody_is_there)
            || gone.any(|agent| !is_dealt(agent))
            || self.is_open(at)
    }

    /// Whether an agent was to fire a part of a lost agent's share, and does not say that it does.
    fn is_open(&self, at: u64) -> bool {
        let mut events = self.events.iter().enumerate();
        events.any(|(place, event)| match event {
            RunEvent::Redistributed { agent, to, from } => {
                self.true_time(place, *from) <= at + SLACK
                    && to.iter().any(|heir| !self.fires(*agent, *heir, at))
            }
            _ => false,
        })
    }

    fn fires(&self, lost: u32, heir: u32, at: u64) -> bool {
        let mut events = self.events.iter().enumerate();
        events.any(|(place, event)| match event {
            RunEvent::TakenOver { agent, by, from } => {
                (*agent, *by) == (lost, heir)
                    && from.is_some_and(|from| self.true_time(place, from) + SLACK <= at)
            }
            _ => false,
        })
    }
}
