//! What a worker records, and its way to the collector: one interval after the other, by swap.

use super::handover::{Handover, WorkerFigures};
use crate::slot::Flight;
use measure::{Recorder, Spare};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError};

/// The recorder of a worker and the channel that its intervals leave by.
///
/// Everything of a second is recorded before the second is cut: whoever records rolls first.
pub(super) struct Ledger {
    pub(super) recorder: Recorder,
    worker: usize,
    handover: SyncSender<Handover>,
    spares: Receiver<Spare>,
    /// What the collector has not taken yet.
    backlog: VecDeque<Handover>,
}

impl Ledger {
    pub(super) fn new(
        recorder: Recorder,
        worker: usize,
        handover: SyncSender<Handover>,
        spares: Receiver<Spare>,
    ) -> Ledger {
        Ledger {
            recorder,
            worker,
            handover,
            spares,
            backlog: VecDeque::new(),
        }
    }

    /// Cuts the interval that `now` lies beyond, before anything of a later second is recorded.
    #[inline]
    pub(super) fn roll(&mut self, now: u64) {
        while now >= self.recorder.boundary() {
            self.cut(now);
        }
    }

    /// The worker's first act was at `at`, on the monotonic clock.
    pub(super) fn begin(&mut self, at: u64) {
        let worker = self.worker;
        self.tell(Handover::Began { worker, at });
    }

    /// Nothing begins any more.
    pub(super) fn drain(&mut self) {
        let worker = self.worker;
        self.tell(Handover::Draining { worker });
    }

    /// The operation goes to this address: counted as started there, wherever it may have gone
    /// before.
    pub(super) fn go_to(&mut self, flight: &mut Flight, address: u16) {
        let before = flight.id;
        flight.id.address = address;
        if flight.counted && before != flight.id {
            self.recorder.moved(before, flight.id);
        }
        self.count_start(flight);
    }

    /// Counts the operation as started, once, under the address it goes to; one that never had
    /// one, under none.
    pub(super) fn count_start(&mut self, flight: &mut Flight) {
        if !std::mem::replace(&mut flight.counted, true) {
            self.recorder.started(flight.id);
        }
    }

    /// The worker has ended at `now`: all that is left goes to the collector.
    pub(super) fn end(mut self, now: u64, figures: WorkerFigures) {
        self.roll(now);
        self.cut(now);
        let worker = self.worker;
        self.backlog.push_back(Handover::Ended { worker, figures });
        for last in self.backlog {
            // The collector lives until every worker has ended; blocking here delays nothing any
            // more.
            let _ = self.handover.send(last);
        }
    }

    #[cold]
    fn cut(&mut self, now: u64) {
        let spare = self.spares.try_recv().ok();
        let (worker, number) = (self.worker, self.recorder.interval());
        let interval = self.recorder.cut(now, spare);
        self.tell(Handover::Interval {
            worker,
            number,
            interval,
        });
    }

    /// Gives the collector what it takes; the rest waits here rather than the load there.
    fn tell(&mut self, message: Handover) {
        self.backlog.push_back(message);
        while let Some(next) = self.backlog.pop_front() {
            if let Err(TrySendError::Full(back)) = self.handover.try_send(next) {
                self.backlog.push_front(back);
                return;
            }
        }
    }
}
