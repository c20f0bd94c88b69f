//! The thread that keeps the record: decoding, merging and writing never hold up the control plane.

use super::finished_record::FinishedRecord;
use super::recorded_run::RecordedRun;
use crate::planned_run::PlannedRun;
use crate::run_folder::RunFolder;
use crate::utc::Utc;
use analysis::{Live, RunState};
use control::RunEvent;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};

/// Events that wait to be recorded: some seconds of a hundred agents. Where even that is not
/// enough, agents keep what is not acknowledged.
const WAITING_MAX: usize = 512;

/// How often the result in the folder is replaced.
const SAVE_EVERY: Duration = Duration::from_secs(3);

/// Figures to be shown are computed when there is nothing else to do, or after so long.
const SHOW_AT_LEAST_EVERY: Duration = Duration::from_millis(500);

/// Saving may take this part of the time, so that a long run with many agents is not spent on it.
const SAVE_SHARE: u32 = 20;

/// The thread that keeps the record.
#[derive(Debug)]
pub(crate) struct RecordThread {
    jobs: mpsc::Sender<RecordJob>,
    live: watch::Receiver<Option<Live>>,
    thread: JoinHandle<Option<FinishedRecord>>,
}

/// Leave to give the record one event: there is room for it.
pub(crate) struct RecordPermit<'a>(mpsc::Permit<'a, RecordJob>);

#[derive(Debug)]
enum RecordJob {
    Take(Utc, RunEvent),
    Note(String),
    ServerCpu(Duration),
    Finish(Utc, RunState),
}

impl RecordThread {
    /// Begins a record.
    pub(crate) fn start(
        run: PlannedRun,
        folder: Option<RunFolder>,
    ) -> std::io::Result<RecordThread> {
        let (jobs, waiting) = mpsc::channel(WAITING_MAX);
        let (shown, live) = watch::channel(None);
        let body = move || keep(RecordedRun::new(run, folder), waiting, &shown);
        let thread = std::thread::Builder::new()
            .name("record".to_owned())
            .spawn(body)?;
        Ok(RecordThread { jobs, live, thread })
    }

    /// Waits until one more event can be taken.
    pub(crate) async fn permit(&self) -> RecordPermit<'_> {
        RecordPermit(
            self.jobs
                .reserve()
                .await
                .expect("the thread takes jobs until it is asked to finish"),
        )
    }

    /// Figures of the latest second.
    pub(crate) fn live(&self) -> Option<Live> {
        self.live.borrow().clone()
    }

    /// Ends the record: waits for all of it to be written.
    pub(crate) async fn finish(
        self,
        state: RunState,
        notes: Vec<String>,
        server_cpu: Option<Duration>,
    ) -> FinishedRecord {
        let RecordThread { jobs, thread, .. } = self;
        let notes = notes.into_iter().map(RecordJob::Note);
        let last = notes
            .chain(server_cpu.map(RecordJob::ServerCpu))
            .chain([RecordJob::Finish(Utc::now(), state)]);
        for job in last {
            // A thread that panicked takes no more; joining it tells.
            let _ = jobs.send(job).await;
        }
        let joined = tokio::task::spawn_blocking(|| thread.join())
            .await
            .expect("joining a thread does not panic");
        match joined {
            Ok(finished) => finished.expect("the thread was asked to finish"),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl RecordPermit<'_> {
    /// Takes an event in.
    pub(crate) fn take(self, event: RunEvent) {
        self.0.send(RecordJob::Take(Utc::now(), event));
    }
}

/// Nothing, where whoever wanted the record is gone; what there is was saved.
fn keep(
    mut record: RecordedRun,
    mut jobs: mpsc::Receiver<RecordJob>,
    live: &watch::Sender<Option<Live>>,
) -> Option<FinishedRecord> {
    let mut next_save = Instant::now() + SAVE_EVERY;
    // Figures are computed where nothing waits, and at least now and then where something does.
    let mut shown_at = Instant::now();
    while let Some(job) = jobs.blocking_recv() {
        match job {
            RecordJob::Finish(at, state) => return Some(record.finish(at, state)),
            RecordJob::Note(sentence) => record.note(sentence),
            RecordJob::ServerCpu(used) => record.server_cpu(used),
            RecordJob::Take(at, event) => {
                let is_interval = matches!(event, RunEvent::Interval { .. });
                record.take(at, &event);
                if is_interval && (jobs.is_empty() || shown_at.elapsed() >= SHOW_AT_LEAST_EVERY) {
                    live.send_replace(record.live());
                    shown_at = Instant::now();
                }
            }
        }
        if Instant::now() >= next_save {
            next_save = save(&mut record);
        }
    }
    record.abandon();
    None
}

/// When to save again.
fn save(record: &mut RecordedRun) -> Instant {
    let begun = Instant::now();
    record.save(RunState::Incomplete);
    Instant::now() + SAVE_EVERY.max(begun.elapsed() * SAVE_SHARE)
}
