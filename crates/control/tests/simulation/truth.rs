//! What really happens, whatever any process believes, and the rules that it must keep at each
//! step.

use crate::agent::Shot;
use crate::sabotage::Invariant;
use control::{AgentId, Boot, EndCause, RunId, SharePath};
use proto::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// A rule that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub invariant: Invariant,
    pub what: String,
}

/// All runs of a case.
#[derive(Debug, Default)]
pub struct Truth {
    pub runs: BTreeMap<RunId, RunTruth>,
    /// When each agent sent which beat.
    beats: BTreeMap<AgentId, BTreeMap<u64, Boot>>,
    /// The first rule that was broken.
    pub violation: Option<Violation>,
}

#[derive(Debug, Default)]
pub struct RunTruth {
    pub members: Vec<AgentId>,
    pub agents: BTreeMap<AgentId, AgentTruth>,
    /// Agents that a coordinator has given up.
    pub given_up: BTreeSet<AgentId>,
    /// Those among them that were away, and cannot be stopped.
    pub lost_away: BTreeSet<AgentId>,
    pub has_fired: bool,
    /// Which parts of which shares were fired at each step of the plan, and by which agent.
    pub steps: Vec<Vec<Fired>>,
}

/// What one agent did in one run.
#[derive(Debug, Default)]
pub struct AgentTruth {
    pub made: BTreeMap<u32, Bytes>,
    /// What it observed of its machine, by seconds.
    pub observed: BTreeMap<u32, Bytes>,
    pub totals: Option<u32>,
    pub ended: Option<EndCause>,
    /// True time of its first instant, even if it reached it late.
    pub began_at: Option<u64>,
    pub last_fired_at: u64,
    /// The end of the last lease that a coordinator granted to it.
    allowed_until: Boot,
    armed: bool,
    /// The newest coordinator that it heard of.
    newest_heard: u64,
}

#[derive(Debug, Clone)]
pub struct Fired {
    pub agent_index: u32,
    /// Where the part of the share begins and ends, from 0 to 1.
    pub from: f64,
    pub to: f64,
    /// Shown if it is fired twice.
    #[expect(dead_code, reason = "it is in the debug text")]
    by: AgentId,
}

/// Parts are fractions; a difference this small is none.
pub const NEAR: f64 = 1e-9;

impl Truth {
    pub fn broken(&mut self, invariant: Invariant, what: impl Into<String>) {
        let what = what.into();
        self.violation.get_or_insert(Violation { invariant, what });
    }

    pub fn agent(&mut self, run: RunId, id: AgentId) -> &mut AgentTruth {
        let run = self.runs.entry(run).or_default();
        run.agents.entry(id).or_default()
    }

    pub fn beat_sent(&mut self, id: AgentId, sequence: u64, boot: Boot) {
        let beats = self.beats.entry(id).or_default();
        beats.insert(sequence, boot);
        if beats.len() > 100 {
            beats.pop_first();
        }
    }

    /// Notes that a coordinator answers a beat with a lease.
    pub fn lease_granted(&mut self, run: RunId, id: AgentId, sequence: u64, lease_ns: u64) {
        let beats = self.beats.get(&id);
        if let Some(sent) = beats.and_then(|beats| beats.get(&sequence)).copied() {
            let until = Boot(sent.0.saturating_add(lease_ns));
            let agent = self.agent(run, id);
            agent.allowed_until = agent.allowed_until.max(until);
        }
    }

    pub fn armed(&mut self, run: RunId, id: AgentId) {
        self.agent(run, id).armed = true;
    }

    /// Notes that an agent hears a coordinator speak of a run. Returns the newest one that it heard
    /// of before.
    pub fn heard(&mut self, run: RunId, id: AgentId, coordinator: u64) -> u64 {
        let agent = self.agent(run, id);
        let before = agent.newest_heard;
        agent.newest_heard = before.max(coordinator);
        before
    }

    pub fn newest_heard(&mut self, run: RunId, id: AgentId) -> u64 {
        self.agent(run, id).newest_heard
    }

    /// Notes that an agent fires. With two coordinators at once, a share may have two owners.
    pub fn fired(&mut self, now: u64, boot: Boot, id: AgentId, shot: &Shot, split: bool) {
        let agent = self.agent(shot.run, id);
        agent.last_fired_at = now;
        if boot >= agent.allowed_until {
            let what = format!(
                "{id:?} fires step {} at {boot:?}; its last lease ends at {:?}",
                shot.step, agent.allowed_until
            );
            self.broken(Invariant::FireNeedsLease, what);
        }
        if !split {
            self.check_all_armed(shot.run);
            self.check_share(id, shot);
            self.check_lost(id, shot);
        }
    }

    fn check_all_armed(&mut self, run: RunId) {
        let truth = self.runs.get_mut(&run).expect("it fires");
        if std::mem::replace(&mut truth.has_fired, true) {
            return;
        }
        let unarmed = truth.members.iter().find(|member| {
            let is_armed = truth.agents.get(member).is_some_and(|agent| agent.armed);
            !is_armed && !truth.given_up.contains(member)
        });
        if let Some(unarmed) = unarmed {
            let what = format!("somebody fires, and {unarmed:?} does not know the start instant");
            self.broken(Invariant::AllArmedOrNobodyFires, what);
        }
    }

    fn check_lost(&mut self, id: AgentId, shot: &Shot) {
        if self.runs[&shot.run].lost_away.contains(&id) {
            let what = format!("{id:?} fires, and was given up while it was away");
            self.broken(Invariant::LostFiresNoMore, what);
        }
    }

    fn check_share(&mut self, id: AgentId, shot: &Shot) {
        let truth = self.runs.get_mut(&shot.run).expect("it fires");
        let step = shot.step as usize;
        if truth.steps.len() <= step {
            truth.steps.resize_with(step + 1, Vec::new);
        }
        for share in &shot.shares {
            let fired = Fired::new(share, id);
            let twice = truth.steps[step].iter().find(|other| other.meets(&fired));
            if let Some(other) = twice.cloned() {
                let what = format!("at step {step} both: {fired:?} and {other:?}");
                return self.broken(Invariant::NoShareTwice, what);
            }
            truth.steps[step].push(fired);
        }
    }
}

impl Fired {
    fn new(share: &SharePath, by: AgentId) -> Fired {
        let (mut from, mut length) = (0.0, 1.0);
        for &(part, parts) in &share.parts {
            length /= f64::from(parts);
            from += length * f64::from(part);
        }
        Fired {
            agent_index: share.agent_index,
            from,
            to: from + length,
            by,
        }
    }

    pub fn size(&self) -> f64 {
        self.to - self.from
    }

    fn meets(&self, other: &Fired) -> bool {
        self.agent_index == other.agent_index
            && self.from + NEAR < other.to
            && other.from + NEAR < self.to
    }
}
