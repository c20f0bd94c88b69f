//! Makes the agent's intervals of its workers': beside the load, on a thread of its own.

use crate::engine::SpareSender;
use crate::key_log::{self, KeysWritten};
use crate::worker::{Handover, WorkerFigures};
use measure::{Interval, Snapshot};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::Receiver;

/// What a run tells.
#[derive(Debug)]
pub enum Event {
    /// Every worker has begun, or died of a defect; the first event. Missing where none began.
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
        /// What each worker spent; nothing of one that died of a defect, whose last seconds are then missing too.
        workers: Vec<Option<WorkerFigures>>,
    },
}

/// Merges the workers' intervals second by second; a second is complete when every worker has gone beyond it.
pub(crate) struct Collector {
    handed: Receiver<Handover>,
    spares: Vec<SpareSender>,
    /// Workers that have not begun yet, and when the last one did.
    waiting: BTreeSet<usize>,
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
            waiting: (0..workers).collect(),
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
            match handover {
                Handover::Began { worker, at } => self.begin(worker, at, &mut on_event),
                Handover::Died { worker } => {
                    self.complete_below[worker] = u32::MAX;
                    self.begin(worker, 0, &mut on_event);
                }
                Handover::Interval { worker, number, interval } => self.take(worker, number, interval),
                Handover::Ended { worker, figures } => {
                    self.complete_below[worker] = u32::MAX;
                    self.figures[worker] = Some(figures);
                }
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

    /// The worker has begun, or never will: a run that none has begun did not begin.
    fn begin(&mut self, worker: usize, at: u64, on_event: &mut impl FnMut(Event)) {
        self.began_at = self.began_at.max(at);
        if self.waiting.remove(&worker) && self.waiting.is_empty() && self.began_at > 0 {
            on_event(Event::Began { at: self.began_at });
        }
    }

    fn take(&mut self, worker: usize, number: u32, interval: Interval) {
        let spare = interval.merge_into(self.pending.entry(number).or_default());
        // A worker that has ended wants nothing back.
        let _ = self.spares[worker].send(spare);
        self.complete_below[worker] = number + 1;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::last_word::LastWord;
    use measure::{CellId, Period, Recorder};
    use std::sync::mpsc::{channel, sync_channel};
    use std::time::Duration;

    #[test]
    fn worker_that_dies_holds_nothing_of_the_others_back() {
        for begins_before in [true, false] {
            let (handover, handed) = sync_channel(16);
            let (events, seen) = channel();
            let spares = (0..2).map(|_| channel().0).collect();
            let collector = Collector::new(2, handed, spares, None);
            let collecting = std::thread::spawn(move || collector.run(|event| events.send(event).unwrap()));
            handover.send(Handover::Began { worker: 0, at: 7 }).unwrap();
            let dying = handover.clone();
            let died = std::thread::spawn(move || {
                let _last_word = LastWord { worker: 1, handover: dying.clone() };
                if begins_before {
                    dying.send(Handover::Began { worker: 1, at: 5 }).unwrap();
                }
                panic!("a defect, as the test wants it");
            });
            assert!(died.join().is_err());
            let mut recorder = Recorder::new(1);
            recorder.started(CellId { period: Period::Measured, request: 0, address: 0 });
            let interval = recorder.cut(1_000_000_000, None);
            handover.send(Handover::Interval { worker: 0, number: 0, interval }).unwrap();
            let next = || seen.recv_timeout(Duration::from_secs(5)).unwrap();
            assert!(matches!(next(), Event::Began { at: 7 }), "begins before: {begins_before}");
            assert!(matches!(next(), Event::Interval { number: 0, .. }), "while worker 0 goes on");
            drop(handover);
            assert!(matches!(next(), Event::Ended { workers, .. } if workers == [None, None]));
            collecting.join().unwrap();
        }
    }
}
