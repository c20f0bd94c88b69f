//! A coordinator's process: its fleet, its clock, its disk, and the only writer of its log.

use crate::clock::MachineClock;
use crate::disk::{Disk, stored_name};
use control::{AgentId, Fleet, Receipt, RunEvent, RunId, RunOutcome};
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
    pub run: Option<RunId>,
    /// Index of each agent in the current run.
    pub indices: BTreeMap<AgentId, u32>,
    /// Agents of that run whose streams are gone, by index.
    pub away: BTreeSet<u32>,
    pub outcome: Option<RunOutcome>,
    /// Events that the fleet has handed over, and that are not written yet.
    pub waiting: Vec<Handed>,
    pub writing: Writing,
    /// What waits to be stored, by the agent's index: number of events and their bytes.
    pub backlog: BTreeMap<u32, (usize, usize)>,
}

/// An event on its way to the log.
#[derive(Debug)]
pub struct Handed {
    pub run: RunId,
    pub event: RunEvent,
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
        receipts: Vec<(Receipt, RunEvent)>,
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
            run: None,
            indices: BTreeMap::new(),
            away: BTreeSet::new(),
            outcome: None,
            waiting: Vec::new(),
            writing: Writing::Idle,
            backlog: BTreeMap::new(),
        }
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
        event: RunEvent,
        receipt: Option<Receipt>,
    ) -> (usize, usize) {
        if let RunEvent::Assembled { agents } = &event {
            let ids = agents
                .iter()
                .zip(0..)
                .map(|(facts, index)| (facts.id, index));
            self.indices = ids.collect();
            self.away.clear();
        }
        if let RunEvent::Done { outcome } = event {
            self.outcome = Some(outcome);
        }
        let backlog = match (&receipt, stored_name(&event)) {
            (Some(_), Some((agent, ..))) => {
                let backlog = self.backlog.entry(agent).or_default();
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
            receipt,
        });
        backlog
    }

    /// Notes that an event is durable.
    pub fn settle(&mut self, event: &RunEvent) {
        if let Some((agent, ..)) = stored_name(event) {
            let backlog = self.backlog.entry(agent).or_default();
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
