//! The merging thread: it takes what is stored, in order, and keeps the result, the logs of figures
//! and the live figures up to date.

use super::decode_pool::DecodePromise;
use super::finished_record::FinishedRecord;
use super::recorded_run::RecordedRun;
use super::storage::DiskWait;
use crate::exposition::ShownTo;
use crate::utc::Utc;
use analysis::{Live, RunState};
use control::RunEvent;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Figures to show are computed when there is nothing else to do, or after this time at the latest.
const SHOW_AT_LEAST_EVERY: Duration = Duration::from_millis(500);

/// Saving may take 1/`SAVE_SHARE` of the time: `run.log` has everything already, and hardly anyone
/// reads a result before the end.
const SAVE_SHARE: u32 = 100;

/// A result is replaced when the record has grown by 1/`SAVE_GROWTH`: it is written whole, and a
/// long run would otherwise write gigabytes of it.
const SAVE_GROWTH: u32 = 4;

/// Roughly the greatest age of a saved result, if saving it is cheap.
const SAVE_PAUSE_MAX: Duration = Duration::from_secs(600);

/// Showing, with the page that is made for it, may take 1/`SHOW_SHARE` of the time.
const SHOW_SHARE: u32 = 20;

/// When the result in the folder is replaced, and when it is shown to viewers.
#[derive(Debug, Clone, Copy)]
pub(super) struct SaveTimes {
    /// The shortest time between two saves. Exporters are shown the result as often, if no browser
    /// follows the run.
    every: Duration,
    /// All agents deliver a second at about the same time. The result is saved after that, when
    /// nothing has arrived for this long, so that no second waits to be merged while a large result
    /// is written.
    quiet: Duration,
    /// If there is always something to do, the result is saved this much later.
    late_max: Duration,
    /// The shortest time between two showings to browsers that follow the run: less than a second,
    /// so that each second is shown once it is there.
    show_every: Duration,
}

impl SaveTimes {
    pub(super) const USUAL: SaveTimes = SaveTimes {
        every: Duration::from_secs(3),
        quiet: Duration::from_millis(100),
        late_max: Duration::from_secs(3),
        show_every: Duration::from_millis(800),
    };

    /// The pause after a save that took `took`, when the record was `length` long.
    fn save_pause(&self, length: Duration, took: Duration) -> Duration {
        let grown = (length / SAVE_GROWTH).min(SAVE_PAUSE_MAX);
        self.every.max(grown).max(took * SAVE_SHARE)
    }
}

/// A message to the keeper.
#[derive(Debug)]
pub(super) enum KeeperJob {
    /// An agent delivered a second, which is being decoded.
    Interval(u32, u32, DecodePromise),
    Event(Utc, RunEvent),
    Note(String),
    ServerCpu(Duration),
    /// Nothing is stored from now on, for this reason.
    Unstored(String),
    Finish(Utc, RunState),
}

/// Merges until the end; `None` if the record is no longer wanted. What there is has been saved
/// then.
pub(super) fn keep(
    mut record: RecordedRun,
    jobs: &Receiver<KeeperJob>,
    live: &watch::Sender<Option<Live>>,
    times: SaveTimes,
    disk: &DiskWait,
) -> Option<FinishedRecord> {
    let mut saving = Saving::new(times);
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
                let Some(job) = saving.next_job(&mut record, jobs) else {
                    break;
                };
                job
            }
        };
        match job {
            KeeperJob::Finish(at, state) => return Some(record.finish_on(at, state, Some(disk))),
            KeeperJob::Note(sentence) => record.note(sentence),
            KeeperJob::ServerCpu(used) => record.server_cpu(used),
            KeeperJob::Unstored(why) => record.unstored(why),
            KeeperJob::Event(at, event) => {
                record.take(at, &event);
                is_shown = false;
            }
            KeeperJob::Interval(agent, interval, snapshot) => {
                record.interval(agent, interval, snapshot.wait());
                is_shown = false;
            }
        }
        if !is_shown && shown_at.elapsed() >= SHOW_AT_LEAST_EVERY {
            live.send_replace(record.live());
            (shown_at, is_shown) = (Instant::now(), true);
        }
        saving.changed(&mut record);
    }
    record.abandon();
    None
}

/// Saves the result and shows it to viewers when it is time. The two are independent: viewers do
/// not decide what is written.
struct Saving {
    times: SaveTimes,
    since: Instant,
    saved: Renewal,
    shown: Renewal,
}

/// Something that is made again and again.
struct Renewal {
    made: Instant,
    took: Duration,
    is_done: bool,
}

impl Renewal {
    /// Not made yet: what a log holds was taken in a moment ago.
    fn outstanding() -> Renewal {
        Renewal {
            made: Instant::now(),
            took: Duration::ZERO,
            is_done: false,
        }
    }

    fn make(&mut self, make: impl FnOnce()) {
        let begun = Instant::now();
        make();
        let made = Instant::now();
        *self = Renewal {
            made,
            took: made - begun,
            is_done: true,
        };
    }

    /// When to make it again: `pause` after the last time; `None` if nothing changed since.
    fn after(&self, pause: Duration) -> Option<Instant> {
        (!self.is_done).then(|| self.made + pause)
    }
}

impl Saving {
    fn new(times: SaveTimes) -> Saving {
        Saving {
            times,
            since: Instant::now(),
            saved: Renewal::outstanding(),
            shown: Renewal::outstanding(),
        }
    }

    /// Notes that the record has changed.
    fn changed(&mut self, record: &mut RecordedRun) {
        self.saved.is_done = false;
        self.shown.is_done = false;
        let is_late = |due| Instant::now() >= due + self.times.late_max;
        if self.due(record).is_some_and(is_late) {
            self.renew(record);
        }
    }

    /// Waits for the next job. If something is due and no job comes, saves or shows first.
    fn next_job(
        &mut self,
        record: &mut RecordedRun,
        jobs: &Receiver<KeeperJob>,
    ) -> Option<KeeperJob> {
        while let Some(due) = self.due(record) {
            let until_due = due.saturating_duration_since(Instant::now());
            match jobs.recv_timeout(until_due.max(self.times.quiet)) {
                Ok(job) => return Some(job),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => self.renew(record),
            }
        }
        jobs.recv().ok()
    }

    /// When to save or show next.
    fn due(&self, record: &RecordedRun) -> Option<Instant> {
        self.save_due()
            .into_iter()
            .chain(self.show_due(record))
            .min()
    }

    fn save_due(&self) -> Option<Instant> {
        let length = self.saved.made - self.since;
        let pause = self.times.save_pause(length, self.saved.took);
        self.saved.after(pause)
    }

    /// `None` if there is no viewer.
    fn show_due(&self, record: &RecordedRun) -> Option<Instant> {
        let (every, page_took) = match record.shown_to()? {
            ShownTo::Browsers { page_took } => (self.times.show_every, page_took),
            ShownTo::Exporters => (self.times.every, Duration::ZERO),
        };
        let afforded = (self.shown.took + page_took) * SHOW_SHARE;
        self.shown.after(every.max(afforded))
    }

    fn renew(&mut self, record: &mut RecordedRun) {
        let now = Instant::now();
        if self.save_due().is_some_and(|due| now >= due) {
            self.saved.make(|| record.save(RunState::Incomplete));
        }
        if self.show_due(record).is_some_and(|due| now >= due) {
            self.shown.make(|| record.show());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exposition::LatestRun;
    use crate::planned_run::PlannedRun;
    use crate::record::storage::StorageTimes;
    use crate::run_folder::{FolderName, RESULT, RunFolder};
    use control::{AgentFacts, AgentId, FleetTime};
    use measure::{CellKey, Period, Snapshot};
    use plan::Plan;
    use std::path::{Path, PathBuf};
    use std::sync::mpsc::{SyncSender, sync_channel};
    use std::thread::JoinHandle;
    use tempfile::TempDir;

    const PLAN: &str = "target.builtin = true\nload = { connections = 2, duration = \"1h\" }\n";
    const LONG: Duration = Duration::from_secs(3_600);
    const PATIENCE: Duration = Duration::from_secs(30);

    struct Keeping {
        jobs: SyncSender<KeeperJob>,
        keeper: JoinHandle<Option<FinishedRecord>>,
        result: PathBuf,
        latest: LatestRun,
        sent: u32,
        _base: TempDir,
    }

    impl Keeping {
        /// Keeps the record of a run with one agent that has started.
        fn start(times: SaveTimes) -> Keeping {
            let base = tempfile::tempdir().unwrap();
            let plan = Plan::parse(PLAN, &mut crate::plan_file::Folder(".".into())).unwrap();
            let run = PlannedRun::new(plan, PLAN.to_owned(), 1, String::new()).unwrap();
            let folder = RunFolder::create(
                base.path(),
                &FolderName::Stamped(Utc::now(), "plan".to_owned()),
                PLAN,
            )
            .unwrap();
            let result = folder.path().join(RESULT);
            let latest = LatestRun::new();
            let mut record = RecordedRun::new(run, Some(folder)).shown(Some(latest.clone()));
            let agent = AgentFacts::new(AgentId([0; 16]), "a");
            let assembled = RunEvent::Assembled {
                agents: vec![agent],
            };
            let armed = RunEvent::Armed {
                start_at: FleetTime(1),
                start_in: Duration::ZERO,
            };
            record.take(Utc::now(), &assembled);
            record.take(Utc::now(), &armed);
            let (jobs, waiting) = sync_channel(1);
            let (shown, _) = watch::channel(None);
            let disk = DiskWait::new(StorageTimes::USUAL);
            Keeping {
                keeper: std::thread::spawn(move || keep(record, &waiting, &shown, times, &disk)),
                jobs,
                result,
                latest,
                sent: 0,
                _base: base,
            }
        }

        /// Delivers one more operation.
        fn deliver(&mut self) {
            let key = CellKey {
                period: Period::Measured,
                request: 0,
                address: None,
            };
            let mut snapshot = Snapshot::default();
            snapshot.cells.entry(key).or_default().counters.ok = 1;
            let interval = RunEvent::Interval {
                agent: 0,
                interval: self.sent,
                encoded: snapshot.encode().into(),
            };
            self.jobs
                .send(KeeperJob::Event(Utc::now(), interval))
                .unwrap();
            self.sent += 1;
        }

        /// Delivers for `duration`; returns the longest gap between deliveries.
        fn deliver_for(&mut self, duration: Duration) -> Duration {
            let (begun, mut longest, mut last) = (Instant::now(), Duration::ZERO, Instant::now());
            while begun.elapsed() < duration {
                self.deliver();
                longest = longest.max(last.elapsed());
                last = Instant::now();
                std::thread::sleep(Duration::from_millis(5));
            }
            longest
        }

        fn saved(&self) -> u64 {
            saved(&self.result)
        }

        /// Operations in the result that is shown.
        fn shown(&self) -> u64 {
            let shown = self.latest.shown().document;
            shown.map_or(0, |document| document.measured.operations.ok)
        }

        fn end(self) {
            drop(self.jobs);
            assert!(self.keeper.join().unwrap().is_none());
        }
    }

    /// Operations in the result on the disk.
    fn saved(result: &Path) -> u64 {
        let document = report::read(&std::fs::read(result).unwrap()).unwrap();
        document.measured.operations.ok
    }

    fn is_soon(mut done: impl FnMut() -> bool) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if done() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }

    #[test]
    fn result_is_saved_when_it_is_quiet_and_not_while_agents_deliver() {
        let quiet = Duration::from_millis(400);
        let times = SaveTimes {
            every: Duration::from_millis(50),
            quiet,
            late_max: LONG,
            show_every: LONG,
        };
        let held_back = (0..20).any(|_| {
            let mut keeping = Keeping::start(times);
            let longest = keeping.deliver_for(quiet * 2);
            let saved = keeping.saved();
            let all = u64::from(keeping.sent);
            assert!(is_soon(|| keeping.saved() == all), "it is quiet by now");
            keeping.end();
            // On a busy machine there may have been a quiet time before.
            let is_told = longest < quiet / 2;
            assert!(!is_told || saved == 0, "{saved} of {all}");
            is_told
        });
        assert!(held_back, "the machine is too busy to tell");
    }

    #[test]
    fn last_that_comes_is_saved_though_nothing_follows() {
        let mut keeping = Keeping::start(SaveTimes {
            every: Duration::from_millis(200),
            quiet: Duration::from_millis(1),
            late_max: LONG,
            show_every: LONG,
        });
        keeping.deliver();
        assert!(is_soon(|| keeping.saved() == 1));
        keeping.deliver();
        assert!(is_soon(|| keeping.saved() == 2));
        keeping.end();
    }

    #[test]
    fn result_is_saved_late_where_it_is_never_quiet() {
        let mut keeping = Keeping::start(SaveTimes {
            every: Duration::from_millis(50),
            quiet: LONG,
            late_max: Duration::from_millis(100),
            show_every: LONG,
        });
        assert!(is_soon(|| {
            keeping.deliver();
            keeping.saved() > 0
        }));
        keeping.end();
    }

    #[test]
    fn result_is_not_saved_more_often_than_it_is_wanted() {
        let mut keeping = Keeping::start(SaveTimes {
            every: LONG,
            quiet: Duration::from_millis(1),
            late_max: Duration::ZERO,
            show_every: LONG,
        });
        keeping.deliver_for(Duration::from_millis(200));
        assert_eq!(keeping.saved(), 0);
        keeping.end();
    }

    #[test]
    fn result_is_saved_two_hundred_times_in_a_day_at_most() {
        let saves_in = |length: Duration, took: Duration| {
            let (mut at, mut saves) = (Duration::ZERO, 0);
            while at < length {
                at += took + SaveTimes::USUAL.save_pause(at, took);
                saves += 1;
            }
            saves
        };
        let [minute, hour, day] = [60, 3_600, 86_400].map(Duration::from_secs);
        let cheap = Duration::from_millis(20);
        let saves = [minute, hour, day].map(|length| saves_in(length, cheap));
        assert_eq!(saves, [12, 30, 168]);
        // If saving is slow, it may take one part in a hundred of the time.
        assert!(saves_in(day, Duration::from_secs(60)) <= 15);
    }

    #[test]
    fn run_that_somebody_follows_is_shown_without_being_saved() {
        let mut keeping = Keeping::start(SaveTimes {
            every: LONG,
            quiet: Duration::from_millis(1),
            late_max: LONG,
            show_every: Duration::from_millis(10),
        });
        keeping.deliver_for(Duration::from_millis(200));
        assert_eq!(keeping.shown(), 0, "nobody follows");
        let follower = keeping.latest.follow().unwrap();
        keeping.deliver();
        let all = u64::from(keeping.sent);
        assert!(is_soon(|| keeping.shown() == all));
        drop(follower);
        keeping.deliver_for(Duration::from_millis(200));
        // One delivered before the follower was gone may have been shown.
        assert!(keeping.shown() <= all + 1);
        assert_eq!(keeping.saved(), 0);
        keeping.end();
    }
}
