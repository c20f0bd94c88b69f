//! Checks what must be true when everything is over.

use crate::agent::STEP;
use crate::disk::RunLog;
use crate::sabotage::Invariant;
use crate::truth::{Fired, NEAR, RunTruth, Violation};
use crate::world::World;
use control::{AgentId, EndCause, FleetTime, MISSING_MAX, RunEvent, RunId, RunOutcome};
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
        if let Some(violation) = broken.into_iter().next() {
            self.truth.broken(violation.invariant, violation.what);
        }
    }
}

/// The events of a log, sorted.
struct JudgedLog<'a> {
    members: Vec<AgentId>,
    truth: &'a RunTruth,
    log: &'a RunLog,
    events: &'a [RunEvent],
    intervals: BTreeMap<u32, BTreeSet<u32>>,
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
            members: log.members(),
            truth,
            log,
            events: &log.events,
            intervals: BTreeMap::new(),
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
                let id = self.members.get(*agent as usize);
                let truth = id.and_then(|id| self.truth.agents.get(id));
                let made = truth.and_then(|truth| truth.made.get(interval));
                if made != Some(encoded) {
                    let what = format!("interval {interval} of agent {agent} was made otherwise");
                    return broken(Invariant::CountedOnce, what);
                }
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
        let id = &self.members[agent as usize];
        let truth = self.truth.agents.get(id);
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
