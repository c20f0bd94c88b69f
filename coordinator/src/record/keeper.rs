//! The merging thread: it takes what is stored, in order, and keeps the record, its files and the
//! live figures up to date.

use super::document_feeds::DocumentFeeds;
use super::finished_record::FinishedRecord;
use super::kept_run::KeptRun;
use super::storage::DiskWait;
use super::stored_fact::StoredFact;
use analysis::Live;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Figures to show are computed when there is nothing else to do, or after this time at the latest.
const SHOW_AT_LEAST_EVERY: Duration = Duration::from_millis(500);

/// Keeps a record until the end; `None` if it is no longer wanted. What there is has been saved
/// then.
pub(super) fn keep(
    mut kept: KeptRun,
    mut feeds: DocumentFeeds,
    facts: &Receiver<StoredFact>,
    live: watch::Sender<Option<Live>>,
    disk: &DiskWait,
) -> Option<FinishedRecord> {
    let mut live = LiveFigures::new(live);
    loop {
        let fact = match facts.try_recv() {
            Ok(fact) => fact,
            Err(TryRecvError::Disconnected) => break,
            Err(TryRecvError::Empty) => {
                live.show(&kept);
                let Some(fact) = feeds.next_fact(&mut kept, facts) else {
                    break;
                };
                fact
            }
        };
        if let Some((at, state)) = kept.take(fact) {
            let finished = kept.finish(at, state, Some(disk));
            feeds.finish(&finished.document);
            return Some(finished);
        }
        live.outdate(&kept);
        feeds.outdate(&mut kept);
    }
    kept.abandon();
    None
}

/// Shows the figures of the latest second.
struct LiveFigures {
    live: watch::Sender<Option<Live>>,
    shown_at: Instant,
    is_current: bool,
}

impl LiveFigures {
    fn new(live: watch::Sender<Option<Live>>) -> LiveFigures {
        LiveFigures {
            live,
            shown_at: Instant::now(),
            is_current: true,
        }
    }

    /// Notes that the record has changed. Shows it if that is overdue.
    fn outdate(&mut self, kept: &KeptRun) {
        self.is_current = false;
        if self.shown_at.elapsed() >= SHOW_AT_LEAST_EVERY {
            self.show(kept);
        }
    }

    fn show(&mut self, kept: &KeptRun) {
        if !self.is_current {
            self.live.send_replace(kept.live());
            (self.shown_at, self.is_current) = (Instant::now(), true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::decode_pool::DecodePool;
    use crate::record::document_feeds::FeedTimes;
    use crate::record::storage::StorageTimes;
    use crate::sample_run::{folder, operation, planned, start_events};
    use analysis::RunState;
    use control::{AgentFacts, AgentId, FleetTime, RunEvent};
    use exposition::{LatestRun, ShowTimes, ViewerFeed};
    use run_folder::{FactKind, LoggedFact, RESULT, Utc};
    use std::path::{Path, PathBuf};
    use std::sync::mpsc::{SyncSender, sync_channel};
    use std::thread::JoinHandle;
    use tempfile::TempDir;

    const PLAN: &str = "target.builtin = true\nload = { connections = 2, duration = \"1h\" }\n";
    const LONG: Duration = Duration::from_secs(3_600);
    const PATIENCE: Duration = Duration::from_secs(30);

    struct Keeping {
        facts: SyncSender<StoredFact>,
        decoders: DecodePool,
        keeper: JoinHandle<Option<FinishedRecord>>,
        result: PathBuf,
        latest: LatestRun,
        sent: u32,
        _base: TempDir,
    }

    impl Keeping {
        /// Keeps the record of a run with one agent that has started.
        fn start(times: FeedTimes, show_every: Duration) -> Keeping {
            let base = tempfile::tempdir().unwrap();
            let (run, folder) = (planned(PLAN, 1), folder(base.path()));
            let result = folder.path().join(RESULT);
            let latest = LatestRun::new();
            let mut kept = KeptRun::new(run, Some(folder));
            let agents = vec![AgentFacts::new(AgentId([0; 16]), "a")];
            for event in start_events(agents, FleetTime(1), Duration::ZERO) {
                kept.take_event(Utc::now(), &event);
            }
            let (facts, waiting) = sync_channel(1);
            let (shown, _) = watch::channel(None);
            let disk = DiskWait::new(StorageTimes::USUAL);
            let show_times = ShowTimes {
                to_browsers: show_every,
                to_exporters: LONG,
            };
            let viewers = ViewerFeed::new(latest.clone(), show_times);
            let feeds = DocumentFeeds::new(times, Some(viewers));
            Keeping {
                keeper: std::thread::spawn(move || keep(kept, feeds, &waiting, shown, &disk)),
                facts,
                decoders: DecodePool::start().unwrap(),
                result,
                latest,
                sent: 0,
                _base: base,
            }
        }

        /// Delivers one more operation.
        fn deliver(&mut self) {
            let interval = RunEvent::Interval {
                agent: 0,
                interval: self.sent,
                encoded: operation(self.sent).encode().into(),
            };
            self.send(FactKind::Event(interval));
            self.sent += 1;
        }

        fn send(&self, what: FactKind) {
            let at = Utc::now();
            let fact = StoredFact::new(LoggedFact { at, what }, &self.decoders);
            self.facts.send(fact).unwrap();
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
            drop(self.facts);
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
        let times = FeedTimes {
            save_every: Duration::from_millis(50),
            quiet,
            late_max: LONG,
        };
        let held_back = (0..20).any(|_| {
            let mut keeping = Keeping::start(times, LONG);
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
        let mut keeping = Keeping::start(
            FeedTimes {
                save_every: Duration::from_millis(200),
                quiet: Duration::from_millis(1),
                late_max: LONG,
            },
            LONG,
        );
        keeping.deliver();
        assert!(is_soon(|| keeping.saved() == 1));
        keeping.deliver();
        assert!(is_soon(|| keeping.saved() == 2));
        keeping.end();
    }

    #[test]
    fn result_is_saved_late_where_it_is_never_quiet() {
        let mut keeping = Keeping::start(
            FeedTimes {
                save_every: Duration::from_millis(50),
                quiet: LONG,
                late_max: Duration::from_millis(100),
            },
            LONG,
        );
        assert!(is_soon(|| {
            keeping.deliver();
            keeping.saved() > 0
        }));
        keeping.end();
    }

    #[test]
    fn result_is_not_saved_more_often_than_it_is_wanted() {
        let mut keeping = Keeping::start(
            FeedTimes {
                save_every: LONG,
                quiet: Duration::from_millis(1),
                late_max: Duration::ZERO,
            },
            LONG,
        );
        keeping.deliver_for(Duration::from_millis(200));
        assert_eq!(keeping.saved(), 0);
        keeping.end();
    }

    #[test]
    fn run_that_somebody_follows_is_shown_without_being_saved() {
        let mut keeping = Keeping::start(
            FeedTimes {
                save_every: LONG,
                quiet: Duration::from_millis(1),
                late_max: LONG,
            },
            Duration::from_millis(10),
        );
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

    #[test]
    fn last_document_is_saved_and_shown() {
        let mut keeping = Keeping::start(FeedTimes::USUAL, LONG);
        keeping.deliver();
        keeping.send(FactKind::Finished(RunState::Complete));
        let finished = keeping.keeper.join().unwrap().expect("it ended");
        let shown = keeping.latest.shown().document;
        assert_eq!(shown.as_deref(), Some(&finished.document));
        assert_eq!(saved(&keeping.result), 1);
    }
}
