//! Makes the agent's intervals of its workers': beside the load, on a thread of its own.

use crate::engine::SpareSender;
use crate::key_log::{self, KeysWritten};
use crate::worker::{Handover, WorkerFigures};
use measure::Snapshot;
use std::collections::BTreeMap;
use std::sync::mpsc::Receiver;

/// What a run tells.
#[derive(Debug)]
pub enum Event {
    /// Every worker has begun; the first event.
    Began {
        /// When the last of them did, nanoseconds of the monotonic clock.
        at: u64,
    },
    /// A second of the run clock is complete and will not change. Numbers are consecutive from 0.
    Interval {
        /// Second of the run clock.
        number: u32,
        /// What was recorded in it by all workers.
        snapshot: Snapshot,
    },
    /// All secrets that the plan wants are written; just before the end, where it wants any.
    KeysWritten(KeysWritten),
    /// The run is over; the last event.
    Ended {
        /// Sum of all intervals.
        totals: Snapshot,
        /// What each worker spent; nothing of one that died of a defect, whose last second is then missing too.
        workers: Vec<Option<WorkerFigures>>,
    },
}

/// Merges the workers' intervals second by second; a second is complete when every worker has gone beyond it.
pub(crate) struct Collector {
    handed: Receiver<Handover>,
    spares: Vec<SpareSender>,
    /// Workers that have not begun yet, and when the last one did.
    waiting: usize,
    began_at: u64,
    /// By worker: all its intervals below this number are here.
    complete_below: Vec<u32>,
    figures: Vec<Option<WorkerFigures>>,
    pending: BTreeMap<u32, Snapshot>,
    next: u32,
    totals: Snapshot,
    /// Tells what came of the key log.
    keys: Option<Receiver<KeysWritten>>,
}

impl Collector {
    pub(crate) fn new(
        workers: usize,
        handed: Receiver<Handover>,
        spares: Vec<SpareSender>,
        keys: Option<Receiver<KeysWritten>>,
    ) -> Collector {
        Collector {
            handed,
            spares,
            waiting: workers,
            began_at: 0,
            complete_below: vec![0; workers],
            figures: vec![None; workers],
            pending: BTreeMap::new(),
            next: 0,
            totals: Snapshot::default(),
            keys,
        }
    }

    /// Runs until every worker has ended.
    pub(crate) fn run(mut self, mut on_event: impl FnMut(Event)) {
        while let Ok(handover) = self.handed.recv() {
            if let Handover::Began { at } = handover {
                self.begin(at, &mut on_event);
            } else {
                self.take(handover);
            }
            let complete = self.complete_below.iter().copied().min().unwrap_or(0);
            self.emit_below(complete, &mut on_event);
        }
        let last = self.pending.last_key_value().map_or(self.next, |(number, _)| number + 1);
        self.emit_below(last, &mut on_event);
        if let Some(keys) = &self.keys {
            on_event(Event::KeysWritten(key_log::outcome(keys)));
        }
        on_event(Event::Ended { totals: self.totals, workers: self.figures });
    }

    fn begin(&mut self, at: u64, on_event: &mut impl FnMut(Event)) {
        self.began_at = self.began_at.max(at);
        self.waiting -= 1;
        if self.waiting == 0 {
            on_event(Event::Began { at: self.began_at });
        }
    }

    fn take(&mut self, handover: Handover) {
        match handover {
            Handover::Began { .. } => {}
            Handover::Interval { worker, number, interval } => {
                let spare = interval.merge_into(self.pending.entry(number).or_default());
                // A worker that has ended wants nothing back.
                let _ = self.spares[worker].send(spare);
                self.complete_below[worker] = number + 1;
            }
            Handover::Ended { worker, figures } => {
                self.complete_below[worker] = u32::MAX;
                self.figures[worker] = Some(figures);
            }
        }
    }

    fn emit_below(&mut self, complete: u32, on_event: &mut impl FnMut(Event)) {
        let last = self.pending.last_key_value().map_or(0, |(number, _)| number + 1);
        while self.next < complete.min(last) {
            let snapshot = self.pending.remove(&self.next).unwrap_or_default();
            self.totals.merge(&snapshot);
            on_event(Event::Interval { number: self.next, snapshot });
            self.next += 1;
        }
    }
}
