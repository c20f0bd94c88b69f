//! A coordinator's process: its fleet, its clock, its disk, and the only writer of its log.

use crate::clock::MachineClock;
use crate::disk::{Disk, stored_name};
use control::{
    AgentId, Fleet, FleetTime, Observer, Receipt, RunEvent, RunId, RunModel, RunOutcome,
};
use std::collections::{BTreeMap, BTreeSet};

/// One process of a coordinator.
#[derive(Debug)]
pub struct Coordinator {
    pub fleet: Fleet,
    pub clock: MachineClock,
    pub disk: Disk,
    /// Counts the processes of a case, whatever their epochs.
    pub generation: u64,
    pub alive: bool,
    pub frozen_until: u64,
    /// No agent reaches it before this.
    pub unreachable_until: u64,
    pub runs: BTreeMap<RunId, DirectedRun>,
    /// Events that the fleet has handed over, and that are not written yet.
    pub waiting: Vec<Handed>,
    pub writing: Writing,
    /// What waits to be stored, by run and agent: number of events and their bytes.
    pub backlog: BTreeMap<(RunId, Observer), (usize, usize)>,
    /// How often it has renewed the tokens of its runs.
    pub renewals: u64,
}

/// A run that a coordinator directs, or did.
#[derive(Debug, Default)]
pub struct DirectedRun {
    /// Index of each of its agents.
    pub indices: BTreeMap<AgentId, u32>,
    /// By their numbers.
    pub monitors: Vec<AgentId>,
    /// Agents whose streams are gone, by index.
    pub away: BTreeSet<u32>,
    pub outcome: Option<RunOutcome>,
    /// That with which it asked the fleet for the run.
    pub epoch: u64,
    /// The run as its events tell it.
    pub model: RunModel,
}

impl DirectedRun {
    pub fn observer(&self, id: AgentId) -> Option<Observer> {
        let agent = self.indices.get(&id).copied().map(Observer::Agent);
        let monitor = || self.monitors.iter().position(|monitor| *monitor == id);
        agent.or_else(|| Some(Observer::Monitor(monitor()? as u32)))
    }
}

/// An event on its way to the log.
#[derive(Debug)]
pub struct Handed {
    pub run: RunId,
    pub event: RunEvent,
    pub told_at: FleetTime,
    pub receipt: Option<Receipt>,
}

/// State of the writer.
#[derive(Debug, Default)]
pub enum Writing {
    #[default]
    Idle,
    /// Something is waiting, and is written soon.
    Due,
    /// These numbers of records are written to the logs of these runs, and become durable.
    Syncing {
        records: BTreeMap<RunId, usize>,
        receipts: Vec<(Receipt, RunId, RunEvent)>,
    },
}

impl Coordinator {
    pub fn new(fleet: Fleet, clock: MachineClock, disk: Disk, generation: u64) -> Coordinator {
        Coordinator {
            fleet,
            clock,
            disk,
            generation,
            alive: true,
            frozen_until: 0,
            unreachable_until: 0,
            runs: BTreeMap::new(),
            waiting: Vec::new(),
            writing: Writing::Idle,
            backlog: BTreeMap::new(),
            renewals: 0,
        }
    }

    /// Agents of other runs that this one directs and that are not over.
    pub fn is_busy_elsewhere(&self, run: RunId, agent: AgentId) -> bool {
        let mut others = self.runs.iter().filter(|(other, _)| **other != run);
        others.any(|(_, other)| other.outcome.is_none() && other.indices.contains_key(&agent))
    }

    /// Whether everything that was reported is durable.
    pub fn is_stored(&self) -> bool {
        self.waiting.is_empty() && self.disk.logs.values().all(|log| log.is_synced())
    }

    /// Notes that an event is waiting. Returns how many of its agent are waiting now, and how many
    /// bytes were waiting before.
    pub fn hand(
        &mut self,
        run: RunId,
        (event, told_at): (RunEvent, FleetTime),
        receipt: Option<Receipt>,
    ) -> (usize, usize) {
        let directed = self.runs.entry(run).or_default();
        if let RunEvent::Assembled { agents } = &event {
            let ids = agents
                .iter()
                .zip(0..)
                .map(|(facts, index)| (facts.id, index));
            directed.indices = ids.collect();
            directed.away.clear();
        }
        if let RunEvent::Watching { monitor } = &event {
            directed.monitors.push(monitor.id);
        }
        if let RunEvent::Done { outcome } = event {
            directed.outcome = Some(outcome);
        }
        let backlog = match (&receipt, stored_name(&event)) {
            (Some(_), Some((by, _))) => {
                let backlog = self.backlog.entry((run, by)).or_default();
                let before = backlog.1;
                backlog.0 += 1;
                backlog.1 += size(&event);
                (backlog.0, before)
            }
            _ => (0, 0),
        };
        self.waiting.push(Handed {
            run,
            event,
            told_at,
            receipt,
        });
        backlog
    }

    /// Returns a run as its events told it when they came, and as its log tells it with what still
    /// waits to be written, if there is one for which these differ.
    pub fn differing_models(&self) -> Option<(&RunModel, RunModel)> {
        self.runs.iter().find_map(|(run, directed)| {
            let mut model = self.disk.logs.get(run)?.model();
            for handed in self.waiting.iter().filter(|handed| handed.run == *run) {
                model.take(&handed.event, handed.told_at);
            }
            (model != directed.model).then_some((&directed.model, model))
        })
    }

    /// Notes that an event is durable.
    pub fn settle(&mut self, run: RunId, event: &RunEvent) {
        if let Some((by, _)) = stored_name(event) {
            let backlog = self.backlog.entry((run, by)).or_default();
            backlog.0 = backlog.0.saturating_sub(1);
            backlog.1 = backlog.1.saturating_sub(size(event));
        }
    }
}

fn size(event: &RunEvent) -> usize {
    match event {
        RunEvent::Interval { encoded, .. } | RunEvent::Totals { encoded, .. } => encoded.len(),
        _ => 0,
    }
}
