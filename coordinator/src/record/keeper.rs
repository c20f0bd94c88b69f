//! The thread that merges: it takes what is stored, in order, and keeps result, logs of figures and
//! live figures up to date.

use super::decode_pool::DecodePromise;
use super::finished_record::FinishedRecord;
use super::recorded_run::RecordedRun;
use crate::utc::Utc;
use analysis::{Live, RunState};
use control::RunEvent;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How often the result in the folder is replaced.
const SAVE_EVERY: Duration = Duration::from_secs(3);

/// Figures to be shown are computed when there is nothing else to do, or after so long.
const SHOW_AT_LEAST_EVERY: Duration = Duration::from_millis(500);

/// All agents deliver a second at about the same time. The result is saved after that, when nothing
/// has come for so long, so that no second waits to be merged until a large result is written.
const QUIET: Duration = Duration::from_millis(100);

/// Where there is always something to do, the result is saved so much later.
const SAVE_LATE_MAX: Duration = Duration::from_secs(3);

/// Saving may take this part of the time, so that a long run with many agents is not spent on it.
const SAVE_SHARE: u32 = 20;

/// What the keeper is told.
#[derive(Debug)]
pub(super) enum KeeperJob {
    /// An agent delivered a second, which is being decoded.
    Interval(u32, u32, DecodePromise),
    Event(Utc, RunEvent),
    Note(String),
    ServerCpu(Duration),
    /// From now on nothing is stored; why.
    Unstored(String),
    Finish(Utc, RunState),
}

/// Merges until the end; nothing, where whoever wanted the record is gone: what there is was saved.
pub(super) fn keep(
    mut record: RecordedRun,
    jobs: &Receiver<KeeperJob>,
    live: &watch::Sender<Option<Live>>,
) -> Option<FinishedRecord> {
    let mut next_save = Instant::now() + SAVE_EVERY;
    let mut shown_at = Instant::now();
    let mut is_shown = true;
    loop {
        let job = match jobs.try_recv() {
            Ok(job) => job,
            Err(TryRecvError::Disconnected) => break,
            Err(TryRecvError::Empty) => {
                if !is_shown {
                    live.send_replace(record.live());
                    (shown_at, is_shown) = (Instant::now(), true);
                }
                let Some(job) = next_job(&mut record, jobs, &mut next_save) else {
                    break;
                };
                job
            }
        };
        match job {
            KeeperJob::Finish(at, state) => return Some(record.finish(at, state)),
            KeeperJob::Note(sentence) => record.note(sentence),
            KeeperJob::ServerCpu(used) => record.server_cpu(used),
            KeeperJob::Unstored(why) => record.unstored(why),
            KeeperJob::Event(at, event) => record.take(at, &event),
            KeeperJob::Interval(agent, interval, snapshot) => {
                record.interval(agent, interval, snapshot.wait());
                is_shown = false;
            }
        }
        if !is_shown && shown_at.elapsed() >= SHOW_AT_LEAST_EVERY {
            live.send_replace(record.live());
            (shown_at, is_shown) = (Instant::now(), true);
        }
        if Instant::now() >= next_save + SAVE_LATE_MAX {
            next_save = save(&mut record);
        }
    }
    record.abandon();
    None
}

/// Waits for the next job, and saves before that where it is time and nothing comes.
fn next_job(
    record: &mut RecordedRun,
    jobs: &Receiver<KeeperJob>,
    next_save: &mut Instant,
) -> Option<KeeperJob> {
    if Instant::now() >= *next_save {
        match jobs.recv_timeout(QUIET) {
            Ok(job) => return Some(job),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => *next_save = save(record),
        }
    }
    jobs.recv().ok()
}

/// When to save again.
fn save(record: &mut RecordedRun) -> Instant {
    let begun = Instant::now();
    record.save(RunState::Incomplete);
    Instant::now() + SAVE_EVERY.max(begun.elapsed() * SAVE_SHARE)
}
