//! A coordinator's disk: a log of records for each run, of which only what was synced certainly
//! survives a power failure.

use crate::clock::MachineClock;
use crate::random::Random;
use control::{AgentId, FleetTime, Observer, RunEvent, RunId, RunModel};
use proto::ack::Stored;
use std::collections::{BTreeMap, HashSet};

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
    /// When each of them was reported, by the clock of its coordinator.
    told_at: Vec<FleetTime>,
    /// How many of them, from the first, are durable.
    synced: usize,
    stored: BTreeMap<Observer, HashSet<Stored>>,
    /// How often the run was taken up.
    pub epoch: u64,
    writers: Vec<LogWriter>,
}

/// A coordinator that writes the log from an event on.
#[derive(Debug, Clone)]
struct LogWriter {
    from: usize,
    clock: MachineClock,
    /// How far its clock is ahead of the writer's before it, as far as the calendar says.
    ahead_ns: i64,
}

impl RunLog {
    /// Writes an event that was reported at `told_at`; it is durable only once synced.
    pub fn append(&mut self, event: RunEvent, told_at: FleetTime) {
        self.events.push(event);
        self.told_at.push(told_at);
    }

    /// Makes everything up to the record with number `records` durable.
    pub fn sync(&mut self, records: usize) {
        let records = records.min(self.events.len());
        for event in &self.events[self.synced.min(records)..records] {
            if let Some((by, stored)) = stored_name(event) {
                self.stored.entry(by).or_default().insert(stored);
            }
        }
        self.synced = self.synced.max(records);
    }

    /// Uses this clock for events that are written from now on. Instants of another clock are
    /// converted to it by the calendar, which is off by `calendar_error_ns`.
    pub fn go_by(&mut self, clock: &MachineClock, now: u64, calendar_error_ns: i64) {
        let before = self.writers.last().map(|writer| writer.clock.mono(now));
        let is_other = |there: &u64| *there != clock.mono(now);
        let ahead_ns = before.filter(is_other).map_or(0, |there| {
            clock.mono(now).cast_signed() - there.cast_signed() + calendar_error_ns
        });
        self.writers.push(LogWriter {
            from: self.events.len(),
            clock: clock.clone(),
            ahead_ns,
        });
    }

    /// The clock of an event.
    pub fn clock_of(&self, event: usize) -> &MachineClock {
        let mut writers = self.writers.iter().rev();
        let writer = writers.find(|writer| writer.from <= event);
        &writer.expect("a coordinator wrote it").clock
    }

    /// The run as the log tells it, with all instants by the clock of its last writer.
    pub fn model(&self) -> RunModel {
        let mut model = RunModel::default();
        let mut writers = self.writers.iter().peekable();
        writers.next();
        for place in 0..=self.events.len() {
            while let Some(writer) = writers.next_if(|writer| writer.from <= place) {
                model.shift(writer.ahead_ns);
                model.take_up();
            }
            if let Some(event) = self.events.get(place) {
                model.take(event, self.told_at[place]);
            }
        }
        model
    }

    pub fn is_synced(&self) -> bool {
        self.synced == self.events.len()
    }

    pub fn is_stored(&self, by: Observer, stored: Stored) -> bool {
        let known = self.stored.get(&by);
        known.is_some_and(|known| known.contains(&stored))
    }

    /// Loses power: a beginning of what was not synced is kept, and a torn record does not
    /// count.
    pub fn lose_power(&mut self, random: &mut Random) {
        let unsynced = (self.events.len() - self.synced) as u64;
        let left = self.synced + random.below(unsynced + 1) as usize;
        self.events.truncate(left);
        self.told_at.truncate(left);
        for writer in &mut self.writers {
            writer.from = writer.from.min(left);
        }
    }

    /// Syncs the log, as a process that opens it again does before it trusts it.
    pub fn reopen(&mut self) {
        self.sync(self.events.len());
    }

    /// The monitors, by their numbers.
    pub fn monitors(&self) -> Vec<AgentId> {
        let monitor = |event: &RunEvent| match event {
            RunEvent::Watching { monitor } => Some(monitor.id),
            _ => None,
        };
        self.events.iter().filter_map(monitor).collect()
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

/// What an event stores of an agent's data, as its acknowledgement names it.
pub fn stored_name(event: &RunEvent) -> Option<(Observer, Stored)> {
    match *event {
        RunEvent::Interval {
            agent, interval, ..
        } => Some((Observer::Agent(agent), Stored::Interval(interval))),
        RunEvent::Totals {
            agent, intervals, ..
        } => Some((Observer::Agent(agent), Stored::Totals(intervals))),
        RunEvent::Observed { by, second, .. } => Some((by, Stored::Second(second))),
        RunEvent::ProfilePart { monitor, part, .. } => {
            Some((Observer::Monitor(monitor), Stored::ProfilePart(part)))
        }
        _ => None,
    }
}
