//! The storing thread: what happened is on the disk before it is acknowledged, and goes on to the
//! keeper after that.

use super::decode_pool::DecodePool;
use super::storage::{DiskFailure, DiskWait, DiskWaited, GivenUp, seconds};
use super::stored_fact::StoredFact;
use crate::fleet::ReceiptSender;
use control::Receipt;
use run_folder::{LoggedFact, RunLog, in_words};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// The shortest pause between two batches: a large fleet delivers all the time, and writing to the
/// disk has a price of its own. An event that comes alone is written at once.
const GATHER: Duration = Duration::from_millis(50);

/// A batch is written once it is this large, even if more is waiting.
const BATCH_BYTES: usize = 1 << 20;

/// A fact that is to be stored.
#[derive(Debug)]
pub(super) struct NewFact {
    pub(super) fact: LoggedFact,
    /// Returned once the fact is stored.
    pub(super) receipt: Option<Receipt>,
}

/// Stores what happens.
pub(super) struct LogThread {
    /// `None` without a folder, or after storing was given up.
    pub(super) log: Option<RunLog>,
    pub(super) facts: mpsc::Receiver<NewFact>,
    pub(super) receipts: ReceiptSender,
    pub(super) decoders: DecodePool,
    pub(super) keeper: SyncSender<StoredFact>,
    pub(super) disk: DiskWait,
    /// Seconds of agents that were taken but are not stored yet.
    pub(super) waiting: Arc<AtomicUsize>,
}

/// Facts that are stored in one go.
#[derive(Default)]
struct RecordBatch {
    facts: Vec<LoggedFact>,
    receipts: Vec<Receipt>,
}

impl LogThread {
    /// Stores until the end is recorded, or the record is no longer wanted.
    pub(super) fn run(mut self) {
        let mut next_batch_at = Instant::now();
        while let Some(fact) = self.facts.blocking_recv() {
            let batch = self.gather(fact, next_batch_at);
            next_batch_at = Instant::now() + GATHER;
            let is_last = batch.is_last();
            if let Err((failure, waited)) = self.store() {
                self.leave_unstored(&failure, waited);
            }
            self.waiting.fetch_sub(batch.intervals(), Ordering::Relaxed);
            self.receipts.stored_blocking(batch.receipts);
            if !batch.facts.into_iter().all(|fact| self.pass_on(fact)) || is_last {
                return;
            }
        }
    }

    /// Gathers `first` and everything that waits behind it; nothing comes after the end.
    fn gather(&mut self, first: NewFact, not_before: Instant) -> RecordBatch {
        if self.log.is_some() && !first.fact.what.is_end() {
            std::thread::sleep(not_before.saturating_duration_since(Instant::now()));
        }
        let mut batch = RecordBatch::default();
        let mut next = Some(first);
        while let Some(fact) = next {
            // Nothing is stored without a folder.
            let log = self.log.iter_mut();
            log.for_each(|log| log.stage(&fact.fact));
            batch.add(fact);
            let log = self.log.as_ref();
            if log.is_some_and(|log| log.staged_bytes() >= BATCH_BYTES) || batch.is_last() {
                break;
            }
            next = self.facts.try_recv().ok();
        }
        batch
    }

    /// Waits for the disk to take the batch, as long as that makes sense; otherwise says why it did
    /// not.
    fn store(&mut self) -> Result<(), (DiskFailure, DiskWaited)> {
        let Some(log) = &mut self.log else {
            return Ok(());
        };
        let since = Instant::now();
        loop {
            let Err(error) = log.check_place().and_then(|()| log.commit()) else {
                self.disk.goes_on();
                return Ok(());
            };
            let failure = DiskFailure {
                why: format!("{}: {}", log.path().display(), in_words(&error)),
                is_folder_gone: error.kind() == io::ErrorKind::NotFound,
            };
            let waiting = self.waiting.load(Ordering::Relaxed);
            match self.disk.wait(since, &failure, waiting) {
                DiskWaited::Again => {}
                waited => return Err((failure, waited)),
            }
        }
    }

    /// Gives up storing. The rest is known only to the result that is printed. Agents keep it for a
    /// coordinator that resumes the run, unless the folder was removed: a user who did that wants
    /// nothing stored, and there is nothing to resume.
    fn leave_unstored(&mut self, failure: &DiskFailure, waited: DiskWaited) {
        self.log = None;
        let is_out_of_time = waited == DiskWaited::OutOfTime;
        let given_up = match failure.is_folder_gone && is_out_of_time {
            true => GivenUp::Released,
            false => GivenUp::Kept,
        };
        if given_up == GivenUp::Kept {
            self.receipts = ReceiptSender::nowhere();
        }
        if is_out_of_time {
            self.disk.give_up(given_up);
        }
        let waiting = seconds(self.waiting.load(Ordering::Relaxed));
        let why = format!("{}; {waiting} waited to be stored", failure.why);
        self.disk.leave_unstored(why);
    }

    /// Passes a fact on, and returns whether the keeper takes more.
    fn pass_on(&self, fact: LoggedFact) -> bool {
        let fact = StoredFact::new(fact, &self.decoders);
        self.keeper.send(fact).is_ok()
    }
}

impl RecordBatch {
    fn add(&mut self, fact: NewFact) {
        self.receipts.extend(fact.receipt);
        self.facts.push(fact.fact);
    }

    /// Whether the run's end is in it, which nothing follows.
    fn is_last(&self) -> bool {
        self.facts.last().is_some_and(|fact| fact.what.is_end())
    }

    fn intervals(&self) -> usize {
        let facts = self.facts.iter();
        facts.filter(|fact| fact.what.is_interval()).count()
    }
}
