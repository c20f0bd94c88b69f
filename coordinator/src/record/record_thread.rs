//! The record while the run is under way: storing, decoding and merging have threads of their own,
//! so that none of it holds up the control plane.
//!
//! ```text
//! events ─▶ log thread ─▶ disk ─▶ receipts
//!               └▶ decode pool ─▶ keeper ─▶ record ─▶ documents ─▶ result.json
//!                                      │                      └▶ viewers, at their own pace
//!                                      └▶ histograms.hlog, events.jsonl, live figures
//! ```

#[cfg(test)]
mod tests;

use super::decode_pool::DecodePool;
use super::document_feeds::{DocumentFeeds, FeedTimes};
use super::finished_record::FinishedRecord;
use super::keeper::keep;
use super::kept_run::KeptRun;
use super::life_sign::LifeSign;
use super::log_thread::{LogThread, NewFact};
use super::replay;
use super::storage::{DiskWait, StorageTimes, StorageTrouble};
use super::stored_fact::{FactContent, StoredFact};
use crate::fleet::ReceiptSender;
use crate::planned_run::PlannedRun;
use analysis::{Live, RunState};
use anyhow::Context as _;
use control::{Receipt, RunEvent};
use exposition::{LatestRun, ShowTimes, ViewerFeed};
use run_folder::{FactKind, LogReader, LoggedFact, ResumedRun, RunFolder, RunLog, Utc};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// Room for events that wait to be stored: some seconds of a hundred agents. If even that is not
/// enough, agents keep what is not acknowledged.
const WAITING_MAX: usize = 512;

/// Room for events that are stored and wait to be merged. If that is not enough, storing waits, and
/// so do acknowledgements.
const STORED_MAX: usize = 1024;

/// The record of a run under way.
#[derive(Debug)]
pub(crate) struct RecordThread {
    facts: mpsc::Sender<NewFact>,
    live: watch::Receiver<Option<Live>>,
    disk: DiskWait,
    /// Seconds of agents that are not stored yet.
    waiting: Arc<AtomicUsize>,
    /// `None` if there is no log.
    _life_sign: Option<LifeSign>,
    log_thread: JoinHandle<()>,
    keeper: JoinHandle<Option<FinishedRecord>>,
}

/// A record as another coordinator left it.
#[derive(Debug)]
pub(crate) struct LeftRecord {
    /// The run's folder.
    pub(crate) folder: PathBuf,
    /// Its log, held since it was first read: no other process has written it since.
    pub(crate) log: RunLog,
    /// The coordinator that goes on with it.
    pub(crate) resumed: ResumedRun,
}

/// The state that the keeper of a record begins with.
struct RecordBeginning {
    kept: KeptRun,
    feeds: DocumentFeeds,
    /// Facts of the log, to be taken in before anything new. They have a pool of their own, since a
    /// pool's promises are waited for in one order. `None` for a run that begins.
    stored: Option<(LogReader, DecodePool)>,
    /// Logged before anything else.
    first: LoggedFact,
}

/// Permission to give the record one event, for which there is room.
pub(crate) struct RecordPermit<'a> {
    room: mpsc::Permit<'a, NewFact>,
    waiting: &'a AtomicUsize,
}

/// The last things to record when the run is over.
#[derive(Debug)]
pub(crate) struct RecordRest {
    /// Events of its end that are still to be recorded.
    pub(crate) events: Vec<RunEvent>,
    /// Sentences for the result.
    pub(crate) notes: Vec<String>,
    /// CPU time that the built-in target used.
    pub(crate) server_cpu: Option<Duration>,
    /// How the run ended.
    pub(crate) state: RunState,
}

/// A record that is being finished.
#[derive(Debug)]
pub(crate) struct FinishingRecord {
    task: tokio::task::JoinHandle<FinishedRecord>,
    disk: DiskWait,
}

impl RecordThread {
    /// Begins a record, and its log in `folder`.
    ///
    /// # Errors
    /// The log cannot be written, or the system has no thread.
    pub(crate) fn start(
        run: PlannedRun,
        folder: Option<RunFolder>,
        receipts: ReceiptSender,
        latest: Option<LatestRun>,
    ) -> anyhow::Result<RecordThread> {
        RecordThread::begin(run, folder, receipts, latest, StorageTimes::USUAL)
    }

    fn begin(
        run: PlannedRun,
        mut folder: Option<RunFolder>,
        receipts: ReceiptSender,
        latest: Option<LatestRun>,
        times: StorageTimes,
    ) -> anyhow::Result<RecordThread> {
        let log = folder
            .as_mut()
            .map(|folder| folder.begin_log(run.id))
            .transpose()?;
        let first = LoggedFact {
            at: run.created,
            what: FactKind::Begun(run.to_log()),
        };
        let beginning = RecordBeginning {
            kept: KeptRun::new(run, folder),
            feeds: feeds(latest),
            stored: None,
            first,
        };
        RecordThread::go_on(beginning, log, receipts, times)
    }

    /// Resumes the record of a run whose coordinator died. From the return on, what agents deliver
    /// is stored; meanwhile everything in the log is taken in again, and the other files are made
    /// again from it.
    ///
    /// # Errors
    /// As [`RecordThread::start`].
    pub(crate) fn resume(
        left: LeftRecord,
        run: PlannedRun,
        receipts: ReceiptSender,
        latest: Option<LatestRun>,
    ) -> anyhow::Result<RecordThread> {
        let LeftRecord {
            folder,
            log,
            resumed,
        } = left;
        let folder = RunFolder::reopen(&folder, &log)?;
        let beginning = RecordBeginning {
            stored: Some((log.stored()?, decode_pool()?)),
            kept: KeptRun::new(run, Some(folder)),
            feeds: feeds(latest),
            first: LoggedFact {
                at: Utc::now(),
                what: FactKind::Resumed(resumed),
            },
        };
        RecordThread::go_on(beginning, Some(log), receipts, StorageTimes::USUAL)
    }

    /// Starts the threads of a record.
    ///
    /// # Errors
    /// As [`RecordThread::start`].
    fn go_on(
        beginning: RecordBeginning,
        mut log: Option<RunLog>,
        receipts: ReceiptSender,
        times: StorageTimes,
    ) -> anyhow::Result<RecordThread> {
        if let Some(log) = &mut log {
            log.stage(&beginning.first);
            log.commit()
                .with_context(|| format!("cannot write {}", log.path().display()))?;
        }
        let life_sign = log.as_ref().map(|log| LifeSign::start(log.path()));
        let life_sign = life_sign
            .transpose()
            .context("cannot keep the log's time")?;
        if beginning.stored.is_none() {
            beginning.feeds.begin(&beginning.kept);
        }
        let (facts, waiting) = mpsc::channel(WAITING_MAX);
        let (shown, live) = watch::channel(None);
        let (keeper, stored) = sync_channel(STORED_MAX);
        let unstored = Arc::new(AtomicUsize::new(0));
        let disk = DiskWait::new(times);
        let last_disk = disk.clone();
        let log_thread = LogThread {
            log,
            facts: waiting,
            receipts,
            decoders: decode_pool()?,
            keeper,
            disk: disk.clone(),
            waiting: Arc::clone(&unstored),
        };
        Ok(RecordThread {
            facts,
            live,
            disk: disk.clone(),
            waiting: unstored,
            _life_sign: life_sign,
            log_thread: spawn("run-log", move || log_thread.run())?,
            keeper: spawn("record", move || {
                let (kept, feeds) = beginning.catch_up();
                keep(kept, feeds, &stored, shown, &last_disk)
            })?,
        })
    }

    /// Waits until one more event can be taken.
    pub(crate) async fn permit(&self) -> RecordPermit<'_> {
        let room = self.facts.reserve().await;
        RecordPermit {
            room: room.expect("the thread takes facts until it is asked to finish"),
            waiting: &self.waiting,
        }
    }

    /// Figures of the latest second.
    pub(crate) fn live(&self) -> Option<Live> {
        self.live.borrow().clone()
    }

    /// Why nothing is stored, if storing is held up.
    pub(crate) fn trouble(&self) -> Option<StorageTrouble> {
        self.disk.trouble()
    }

    /// Ends the record.
    pub(crate) fn finish(self, rest: RecordRest) -> FinishingRecord {
        FinishingRecord {
            disk: self.disk.clone(),
            task: tokio::spawn(self.until_finished(rest)),
        }
    }

    async fn until_finished(self, rest: RecordRest) -> FinishedRecord {
        let events = rest.events.into_iter().map(FactKind::Event);
        let notes = rest.notes.into_iter().map(FactKind::Note);
        let last = events
            .chain(notes)
            .chain(rest.server_cpu.map(FactKind::ServerCpu))
            .chain([FactKind::Finished(rest.state)]);
        for what in last {
            let new = NewFact {
                fact: LoggedFact::now(what),
                receipt: None,
            };
            // A thread that panicked takes no more facts; joining it shows the panic.
            let _ = self.facts.send(new).await;
        }
        drop(self.facts);
        let (log_thread, keeper) = (self.log_thread, self.keeper);
        let joined = tokio::task::spawn_blocking(|| (log_thread.join(), keeper.join()))
            .await
            .expect("joining a thread does not panic");
        match joined {
            (Ok(()), Ok(finished)) => finished.expect("the thread was asked to finish"),
            (Err(panic), _) | (_, Err(panic)) => std::panic::resume_unwind(panic),
        }
    }
}

impl RecordBeginning {
    /// The record with everything that is stored. Viewers see none of it before all of it: counts
    /// that fall to 0 would be taken for those of another run.
    fn catch_up(mut self) -> (KeptRun, DocumentFeeds) {
        let is_taken_up = self.stored.is_some();
        if let Some((mut stored, decoders)) = self.stored {
            let taken = replay::take_in(&mut self.kept, &mut stored, &decoders);
            // The whole log could be read a moment ago; now the system fails to read it.
            if let Err(error) = taken {
                self.kept.note(format!(
                    "{error}; what is stored behind that is not counted here: make the result \
                     again by report --remake"
                ));
            }
        }
        let first = StoredFact {
            at: self.first.at,
            what: FactContent::Whole(Box::new(self.first.what)),
        };
        self.kept.take(first);
        if is_taken_up {
            self.feeds.begin(&self.kept);
        }
        (self.kept, self.feeds)
    }
}

impl RecordPermit<'_> {
    /// Takes an event; the receipt is returned once the event is stored.
    pub(crate) fn take(self, event: RunEvent, receipt: Option<Receipt>) {
        let fact = LoggedFact::now(FactKind::Event(event));
        if fact.what.is_interval() {
            self.waiting.fetch_add(1, Ordering::Relaxed);
        }
        self.room.send(NewFact { fact, receipt });
    }
}

impl FinishingRecord {
    /// Waits until all of it is written. May be dropped and called again until it returns.
    pub(crate) async fn finished(&mut self) -> FinishedRecord {
        match (&mut self.task).await {
            Ok(finished) => finished,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Why nothing is stored, if storing is held up.
    pub(crate) fn trouble(&self) -> Option<StorageTrouble> {
        self.disk.trouble()
    }

    /// Stops waiting for a disk that takes nothing.
    pub(crate) fn give_up(&self) {
        self.disk.end();
    }
}

fn feeds(latest: Option<LatestRun>) -> DocumentFeeds {
    let viewers = latest.map(|latest| ViewerFeed::new(latest, ShowTimes::USUAL));
    DocumentFeeds::new(FeedTimes::USUAL, viewers)
}

fn decode_pool() -> anyhow::Result<DecodePool> {
    DecodePool::start().context("cannot start a thread")
}

fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> anyhow::Result<JoinHandle<T>> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(body)
        .context("cannot start a thread")
}
