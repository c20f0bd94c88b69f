//! A coordinator's disk: a log of records for each run, of which only what was synced certainly
//! survives a power failure.

use crate::clock::MachineClock;
use crate::random::Random;
use control::{AgentId, FleetTime, RunEvent, RunHistory, RunId};
use std::collections::{BTreeMap, BTreeSet};

/// Name of an agent's interval or totals in a log: the agent, the number, and whether it is totals.
pub type StoredName = (u32, u32, bool);

/// Everything on one disk.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    pub logs: BTreeMap<RunId, RunLog>,
    pub full_until: u64,
    /// Until when a sync takes longer, and how long it takes.
    pub slow_until: (u64, u64),
}

/// The log of one run.
#[derive(Debug, Clone, Default)]
pub struct RunLog {
    pub events: Vec<RunEvent>,
    /// How many of them, from the first, are durable.
    synced: usize,
    stored: BTreeSet<StoredName>,
    /// How often the run was taken up.
    pub epoch: u64,
    /// The clocks of the events, each from the event with this number on.
    clocks: Vec<(usize, MachineClock)>,
}

impl RunLog {
    /// Writes events, which are durable only once synced.
    pub fn append(&mut self, events: impl IntoIterator<Item = RunEvent>) {
        self.events.extend(events);
    }

    /// Makes everything up to the record with number `records` durable.
    pub fn sync(&mut self, records: usize) {
        let records = records.min(self.events.len());
        for event in &self.events[self.synced.min(records)..records] {
            self.stored.extend(stored_name(event));
        }
        self.synced = self.synced.max(records);
    }

    /// Uses this clock for events that are written from now on.
    pub fn go_by(&mut self, clock: &MachineClock) {
        self.clocks.push((self.events.len(), clock.clone()));
    }

    /// The clock of an event.
    pub fn clock_of(&self, event: usize) -> &MachineClock {
        let from = self.clocks.iter().rev().find(|(from, _)| *from <= event);
        &from.expect("a coordinator wrote it").1
    }

    /// The history that the events give, with all instants by the current clock. Between two clocks
    /// they are converted by the calendar, which is off by `calendar_error_ns`.
    pub fn history(&self, now: u64, calendar_error_ns: i64) -> RunHistory {
        let mut history = RunHistory::default();
        let mut clocks = self.clocks.iter();
        let mut clock = clocks.next();
        for place in 0..=self.events.len() {
            while let (Some((_, there)), Some((from, here))) = (clock, clocks.as_slice().first()) {
                if *from > place {
                    break;
                }
                let (there, here) = (there.mono(now), here.mono(now));
                if here != there {
                    let here = here.saturating_add_signed(calendar_error_ns);
                    history.shift(|at| FleetTime((at.0 + here).saturating_sub(there)));
                }
                clock = clocks.next();
            }
            if let Some(event) = self.events.get(place) {
                history.take(event);
            }
        }
        history
    }

    pub fn is_synced(&self) -> bool {
        self.synced == self.events.len()
    }

    pub fn is_stored(&self, name: StoredName) -> bool {
        self.stored.contains(&name)
    }

    /// Loses power: a beginning of what was not synced is kept, and a torn record does not
    /// count.
    pub fn lose_power(&mut self, random: &mut Random) {
        let unsynced = (self.events.len() - self.synced) as u64;
        let left = self.synced + random.below(unsynced + 1) as usize;
        self.events.truncate(left);
        self.clocks
            .iter_mut()
            .for_each(|(from, _)| *from = (*from).min(left));
    }

    /// Syncs the log, as a process that opens it again does before it trusts it.
    pub fn reopen(&mut self) {
        self.sync(self.events.len());
    }

    /// The agents of the last start, because a run can begin anew until something is fired.
    pub fn members(&self) -> Vec<AgentId> {
        let assembled = self.events.iter().rev().find_map(|event| match event {
            RunEvent::Assembled { agents } => Some(agents),
            _ => None,
        });
        let agents = assembled.into_iter().flatten();
        agents.map(|facts| facts.id).collect()
    }

    /// Whether a start instant was announced that was not withdrawn, and that is durable.
    pub fn is_sure_of_the_start(&self) -> bool {
        let is_about = |event: &&RunEvent| {
            matches!(event, RunEvent::Armed { .. } | RunEvent::Postponed { .. })
        };
        let last = self.events.iter().rposition(|event| is_about(&event));
        let is_start = |place: usize| matches!(self.events[place], RunEvent::Armed { .. });
        // A later withdrawal or announcement counts only once it is durable too; until then it is
        // open.
        last.is_some_and(|place| place < self.synced && is_start(place))
    }

    pub fn is_done(&self) -> bool {
        matches!(self.events.last(), Some(RunEvent::Done { .. }))
    }
}

pub fn stored_name(event: &RunEvent) -> Option<StoredName> {
    match event {
        RunEvent::Interval {
            agent, interval, ..
        } => Some((*agent, *interval, false)),
        RunEvent::Totals {
            agent, intervals, ..
        } => Some((*agent, *intervals, true)),
        _ => None,
    }
}
