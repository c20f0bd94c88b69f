//! The storing thread: what happened is on the disk before it is acknowledged, and goes on to the
//! keeper after that.

use super::decode_pool::DecodePool;
use super::keeper::KeeperJob;
use super::storage::{DiskFailure, DiskWait, DiskWaited, GivenUp, seconds};
use crate::fleet::ReceiptSender;
use crate::io_words::in_words;
use crate::run_folder::{FactKind, LoggedFact, RunLog};
use crate::utc::Utc;
use analysis::RunState;
use control::{Receipt, RunEvent};
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

/// A message to the record.
#[derive(Debug)]
pub(super) enum RecordJob {
    Take(Utc, RunEvent, Option<Receipt>),
    Note(String),
    ServerCpu(Duration),
    Finish(Utc, RunState),
}

/// Stores what happens.
pub(super) struct LogThread {
    /// `None` without a folder, or after storing was given up.
    pub(super) log: Option<RunLog>,
    pub(super) jobs: mpsc::Receiver<RecordJob>,
    pub(super) receipts: ReceiptSender,
    pub(super) decoders: DecodePool,
    pub(super) keeper: SyncSender<KeeperJob>,
    pub(super) disk: DiskWait,
    /// Seconds of agents that were taken but are not stored yet.
    pub(super) waiting: Arc<AtomicUsize>,
}

/// Jobs that are stored in one go.
#[derive(Default)]
struct RecordBatch {
    jobs: Vec<RecordJob>,
    receipts: Vec<Receipt>,
}

impl LogThread {
    /// Stores until the end is recorded, or the record is no longer wanted.
    pub(super) fn run(mut self) {
        let mut next_batch_at = Instant::now();
        while let Some(job) = self.jobs.blocking_recv() {
            let batch = self.gather(job, next_batch_at);
            next_batch_at = Instant::now() + GATHER;
            let is_last = matches!(batch.jobs.last(), Some(RecordJob::Finish(..)));
            if let Err((failure, waited)) = self.store() {
                self.leave_unstored(&failure, waited);
            }
            self.waiting.fetch_sub(batch.intervals(), Ordering::Relaxed);
            self.receipts.stored_blocking(batch.receipts);
            if !batch.jobs.into_iter().all(|job| self.pass_on(job)) || is_last {
                return;
            }
        }
    }

    /// Gathers `first` and everything that waits behind it; nothing comes after the end.
    fn gather(&mut self, first: RecordJob, not_before: Instant) -> RecordBatch {
        let is_end = matches!(first, RecordJob::Finish(..));
        if self.log.is_some() && !is_end {
            std::thread::sleep(not_before.saturating_duration_since(Instant::now()));
        }
        let mut batch = RecordBatch::default();
        let mut next = Some(first);
        while let Some(job) = next {
            self.stage(&job);
            batch.add(job);
            let is_full = self
                .log
                .as_ref()
                .is_some_and(|log| log.staged_bytes() >= BATCH_BYTES);
            if is_full || matches!(batch.jobs.last(), Some(RecordJob::Finish(..))) {
                break;
            }
            next = self.jobs.try_recv().ok();
        }
        batch
    }

    fn stage(&mut self, job: &RecordJob) {
        let Some(log) = &mut self.log else {
            return; // nothing is stored without a folder
        };
        let (at, what) = match job {
            RecordJob::Take(at, event, _) => (*at, FactKind::Event(event.clone())),
            RecordJob::Note(sentence) => (Utc::now(), FactKind::Note(sentence.clone())),
            RecordJob::ServerCpu(used) => (Utc::now(), FactKind::ServerCpu(*used)),
            RecordJob::Finish(at, state) => (*at, FactKind::Finished(*state)),
        };
        log.stage(&LoggedFact { at, what });
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
        let sentence = format!("{}; {waiting} waited to be stored", failure.why);
        // A keeper that is gone has reported why.
        let _ = self.keeper.send(KeeperJob::Unstored(sentence));
    }

    /// Passes a job on, and returns whether the keeper takes more.
    fn pass_on(&self, job: RecordJob) -> bool {
        let job = match job {
            RecordJob::Take(
                _,
                RunEvent::Interval {
                    agent,
                    interval,
                    encoded,
                },
                _,
            ) => {
                let snapshot = self.decoders.decode(encoded);
                KeeperJob::Interval(agent, interval, snapshot)
            }
            RecordJob::Take(at, event, _) => KeeperJob::Event(at, event),
            RecordJob::Note(sentence) => KeeperJob::Note(sentence),
            RecordJob::ServerCpu(used) => KeeperJob::ServerCpu(used),
            RecordJob::Finish(at, state) => KeeperJob::Finish(at, state),
        };
        self.keeper.send(job).is_ok()
    }
}

impl RecordBatch {
    fn add(&mut self, job: RecordJob) {
        if let RecordJob::Take(_, _, Some(receipt)) = &job {
            self.receipts.push(*receipt);
        }
        self.jobs.push(job);
    }

    fn intervals(&self) -> usize {
        self.jobs.iter().filter(|job| job.is_interval()).count()
    }
}

impl RecordJob {
    pub(super) fn is_interval(&self) -> bool {
        matches!(self, RecordJob::Take(_, RunEvent::Interval { .. }, _))
    }
}
