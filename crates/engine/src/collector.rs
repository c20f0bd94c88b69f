//! Merges the workers' intervals into the agent's, on a thread of its own beside the load.

mod attendance;
#[cfg(feature = "rehearsal")]
mod rehearsal;

pub(crate) use attendance::{Attendance, Entrance};

#[cfg(feature = "rehearsal")]
pub use rehearsal::CollectorRehearsal;

use crate::key_log::{self, KeysWritten};
use crate::tokens::Tokens;
use crate::worker::{Handover, WorkerFigures};
use attendance::Left;
use measure::{Interval, Snapshot, Spare, Totals};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, Sender};

/// An event in the course of a run.
#[derive(Debug)]
pub enum Event {
    /// Every worker has begun, or died of a defect. The first event; missing if no worker began.
    Began {
        /// When the last worker began, in nanoseconds of the monotonic clock.
        at: u64,
    },
    /// No new operations begin; those under way may finish.
    Draining,
    /// A second of the run clock is complete and will not change. Numbers are consecutive from 0.
    Interval {
        /// Second of the run clock.
        number: u32,
        /// Everything that all workers recorded in it.
        snapshot: Snapshot,
    },
    /// All secrets that the plan wants are written. Comes just before the end, if the plan has a
    /// key log.
    KeysWritten(KeysWritten),
    /// The run is over; the last event.
    Ended {
        /// Sum of all intervals.
        totals: Totals,
        /// Each worker's figures; `None` for a worker that died of a defect, whose last seconds
        /// are then missing too.
        workers: Vec<Option<WorkerFigures>>,
    },
}

/// Merges the workers' intervals second by second. A second is complete once every worker has
/// passed it.
pub(crate) struct Collector {
    handed: Receiver<Handover>,
    attendance: Attendance,
    /// Workers that have not begun yet, and when the last one did.
    waiting: BTreeSet<usize>,
    began_at: u64,
    figures: BTreeMap<usize, WorkerFigures>,
    pending: BTreeMap<u32, Snapshot>,
    next: u32,
    totals: Totals,
    /// Whether another agent may take over a share. Arrivals are then drawn up to the seconds that
    /// have been reported.
    keeps_bookmarks: bool,
    /// Delivers the outcome of the key log.
    keys: Option<Receiver<KeysWritten>>,
    /// The tokens of the run, and the start instant.
    tokens: (Tokens, u64),
}

impl Collector {
    pub(crate) fn new(
        workers: usize,
        handed: Receiver<Handover>,
        spares: Vec<Sender<Spare>>,
        keys: Option<Receiver<KeysWritten>>,
    ) -> Collector {
        Collector {
            handed,
            attendance: Attendance::new(spares),
            waiting: (0..workers).collect(),
            began_at: 0,
            figures: BTreeMap::new(),
            pending: BTreeMap::new(),
            next: 0,
            totals: Totals::default(),
            keeps_bookmarks: false,
            keys,
            tokens: (Tokens::default(), 0),
        }
    }

    /// Configures it for a plan whose lost shares other agents take over.
    pub(crate) fn keeping_bookmarks(self, keeps_bookmarks: bool) -> Collector {
        Collector {
            keeps_bookmarks,
            ..self
        }
    }

    /// Configures it for a run with these tokens that starts at `start_at` (monotonic clock,
    /// nanoseconds). What became of them is part of its intervals.
    pub(crate) fn counting_tokens(self, tokens: Tokens, start_at: u64) -> Collector {
        Collector {
            tokens: (tokens, start_at),
            ..self
        }
    }

    /// The handle through which more workers join the run.
    pub(crate) fn attendance(&self) -> Attendance {
        self.attendance.clone()
    }

    /// Runs until every worker has ended.
    pub(crate) fn run(mut self, mut on_event: impl FnMut(Event)) {
        while let Ok(handover) = self.handed.recv() {
            match handover {
                Handover::Began { worker, at } => self.begin(worker, at, &mut on_event),
                Handover::Died { worker } => {
                    self.attendance.ended(worker);
                    self.begin(worker, 0, &mut on_event);
                    self.drain(worker, &mut on_event);
                }
                Handover::Draining { worker } => self.drain(worker, &mut on_event),
                Handover::Interval {
                    worker,
                    number,
                    interval,
                } => self.take(worker, number, interval),
                Handover::Ended { worker, figures } => {
                    self.attendance.ended(worker);
                    self.figures.insert(worker, figures);
                }
            }
            let complete = self.attendance.complete_below();
            self.emit_below(complete, &mut on_event);
        }
        let last = self
            .pending
            .last_key_value()
            .map_or(self.next, |(number, _)| number + 1);
        self.emit_below(last, &mut on_event);
        if let Some(keys) = &self.keys {
            on_event(Event::KeysWritten(key_log::outcome(keys)));
        }
        let workers = 0..self.attendance.workers();
        on_event(Event::Ended {
            totals: self.totals,
            workers: workers.map(|worker| self.figures.remove(&worker)).collect(),
        });
    }

    /// The worker has begun, or never will. If no worker begins, neither does the run.
    fn begin(&mut self, worker: usize, at: u64, on_event: &mut impl FnMut(Event)) {
        if !self.waiting.remove(&worker) {
            return; // it joined a run that had begun without it, or died after it began
        }
        self.began_at = self.began_at.max(at);
        // `began_at` is 0 if every worker died before it began.
        if self.waiting.is_empty() && self.began_at > 0 {
            on_event(Event::Began { at: self.began_at });
        }
    }

    /// The worker begins no more operations.
    fn drain(&mut self, worker: usize, on_event: &mut impl FnMut(Event)) {
        if self.attendance.drained(worker) == Some(Left::Nobody) {
            on_event(Event::Draining);
        }
    }

    fn take(&mut self, worker: usize, number: u32, interval: Interval) {
        let merged = self.pending.entry(number).or_default();
        let spare = interval.merge_into(merged);
        self.attendance.took(worker, number, spare);
    }

    fn emit_below(&mut self, complete: u32, on_event: &mut impl FnMut(Event)) {
        let last = self
            .pending
            .last_key_value()
            .map_or(0, |(number, _)| number + 1);
        while self.next < complete.min(last) {
            let mut snapshot = self.pending.remove(&self.next).unwrap_or_default();
            let (tokens, start_at) = &self.tokens;
            tokens.drain_into(*start_at, &mut snapshot.tokens);
            self.totals.add(&snapshot);
            on_event(Event::Interval {
                number: self.next,
                snapshot,
            });
            self.next += 1;
            if self.keeps_bookmarks {
                self.attendance.draw_arrivals(self.next);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::death_notice::DeathNotice;
    use measure::{CellId, Operation, OperationEnd, Period, Recorder};
    use std::sync::mpsc::{channel, sync_channel};
    use std::time::Duration;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn worker_that_dies_holds_nothing_of_the_others_back() {
        for begins_before in [true, false] {
            let (handover, handed) = sync_channel(16);
            let (events, seen) = channel();
            let spares = (0..2).map(|_| channel().0).collect();
            let collector = Collector::new(2, handed, spares, None);
            let collecting =
                std::thread::spawn(move || collector.run(|event| events.send(event).unwrap()));
            handover.send(Handover::Began { worker: 0, at: 7 }).unwrap();
            let dying = handover.clone();
            let died = std::thread::spawn(move || {
                let _last_word = DeathNotice {
                    worker: 1,
                    handover: dying.clone(),
                };
                if begins_before {
                    dying.send(Handover::Began { worker: 1, at: 5 }).unwrap();
                }
                panic!("a defect, as the test wants it");
            });
            assert!(died.join().is_err());
            let mut recorder = Recorder::new(1);
            recorder.count_start(CellId {
                period: Period::Measured,
                request: 0,
                address: 0,
            });
            let interval = recorder.cut(1_000_000_000, None);
            handover
                .send(Handover::Interval {
                    worker: 0,
                    number: 0,
                    interval,
                })
                .unwrap();
            let next = || seen.recv_timeout(Duration::from_secs(5)).unwrap();
            assert!(
                matches!(next(), Event::Began { at: 7 }),
                "begins before: {begins_before}"
            );
            assert!(
                matches!(next(), Event::Interval { number: 0, .. }),
                "while worker 0 goes on"
            );
            drop(handover);
            assert!(matches!(next(), Event::Ended { workers, .. } if workers == [None, None]));
            collecting.join().unwrap();
        }
    }

    /// One operation in second `second` on an open connection, with its own response time.
    fn operation(second: u64) -> Operation {
        let begun_at = second * SECOND;
        let done_at = begun_at + 1_000_000 + second % 100 * 1000;
        Operation {
            key: CellId {
                period: Period::Measured,
                request: 0,
                address: 0,
            },
            intended_at: begun_at,
            noticed_at: Some(begun_at),
            begun_at,
            tried_at: begun_at,
            ready_at: None,
            sent_at: Some(begun_at),
            written_at: Some(begun_at),
            first_byte_at: Some(done_at),
            done_at,
            dns: None,
            connect: None,
            handshake: None,
            end: OperationEnd::Ok,
            status: Some(200),
            payload_bytes: 1,
        }
    }

    /// Returns the encoded size of the totals of a run of `seconds` seconds, in bytes.
    fn bytes_of_totals(seconds: u64) -> usize {
        let (handover, handed) = sync_channel(16);
        let (spares, spared) = channel();
        let (ended, end) = channel();
        let collecting = std::thread::spawn(move || {
            Collector::new(1, handed, vec![spares], None).run(|event| {
                if let Event::Ended { totals, .. } = event {
                    ended.send(totals.encode().len()).unwrap();
                }
            });
        });
        let mut recorder = Recorder::new(1);
        for number in 0..seconds {
            let operation = operation(number);
            recorder.count_start(operation.key);
            recorder.end(&operation);
            let interval = recorder.cut((number + 1) * SECOND, spared.try_recv().ok());
            handover
                .send(Handover::Interval {
                    worker: 0,
                    number: number as u32,
                    interval,
                })
                .unwrap();
        }
        drop(handover);
        collecting.join().unwrap();
        end.recv().unwrap()
    }

    #[test]
    fn totals_of_a_long_run_are_as_large_as_those_of_a_short_one() {
        let (short, long) = (bytes_of_totals(100), bytes_of_totals(10_000));
        assert!(
            long < 2 * short,
            "{short} bytes after 100 s, {long} after 10,000 s"
        );
    }
}
