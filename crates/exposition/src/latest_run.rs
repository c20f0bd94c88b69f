//! Holds a run's latest document, and knows who follows it.

use analysis::{Document, RunState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Most followers of a run at once.
pub(crate) const FOLLOWERS_MAX: usize = 200;

/// How long the end waits for followers to have seen it: each gets a last page, which takes a
/// second to make after a long run.
const FAREWELL_MAX: Duration = Duration::from_secs(5);

/// Holds a run's latest document.
#[derive(Debug, Clone)]
pub struct LatestRun {
    shown: watch::Sender<ShownRun>,
    /// Each follower holds one of these.
    places: Arc<Semaphore>,
    /// CPU time that the last page took to make.
    page_ns: Arc<AtomicU64>,
}

/// The run as it is shown now.
#[derive(Debug, Clone, Default)]
pub struct ShownRun {
    /// Counts up; another number means another document. It is the time at which the document came,
    /// in milliseconds since 1970, so that a page notices a new coordinator at an old address.
    pub version: u64,
    /// `None` before the first run.
    pub document: Option<Arc<Document>>,
    /// Whether no other document follows.
    pub(crate) is_over: bool,
}

/// A follower of a run: as long as there is one, documents come more often.
#[derive(Debug)]
pub struct Follower {
    /// The run as it is shown; it counts as new at first.
    pub(crate) shown: watch::Receiver<ShownRun>,
    _place: OwnedSemaphorePermit,
}

/// The kinds of viewers that a run has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShownTo {
    /// At least one browser follows it, and gets a page for each document.
    Browsers {
        /// CPU time that the last page took to make.
        page_took: Duration,
    },
    /// Only scrapes and pushes, which take what there is.
    Exporters,
}

impl ShownRun {
    fn put(&mut self, document: Arc<Document>) {
        self.version = millis_since_1970().max(self.version.saturating_add(1));
        self.document = Some(document);
    }
}

impl Default for LatestRun {
    fn default() -> LatestRun {
        LatestRun::new()
    }
}

impl LatestRun {
    /// Shows nothing yet.
    #[must_use]
    pub fn new() -> LatestRun {
        let shown = ShownRun {
            version: millis_since_1970(),
            ..ShownRun::default()
        };
        LatestRun {
            shown: watch::Sender::new(shown),
            places: Arc::new(Semaphore::new(FOLLOWERS_MAX)),
            page_ns: Arc::default(),
        }
    }

    /// Shows a newer document. Before its first second a run says less than the result of the run
    /// before, which then stays.
    pub(crate) fn show(&self, document: Arc<Document>) {
        let has_begun = !document.series.rows.is_empty();
        let says_something = has_begun || document.run.state != RunState::Incomplete;
        self.shown.send_if_modified(|shown| {
            let is_wanted = says_something || shown.document.is_none();
            if is_wanted {
                shown.put(document);
            }
            is_wanted
        });
    }

    /// The kind of viewers that the run has now.
    pub(crate) fn shown_to(&self) -> ShownTo {
        let is_followed = self.places.available_permits() < FOLLOWERS_MAX;
        if is_followed {
            ShownTo::Browsers {
                page_took: Duration::from_nanos(self.page_ns.load(Ordering::Relaxed)),
            }
        } else {
            ShownTo::Exporters
        }
    }

    /// Shows a run's last document, even if the run never began.
    pub(crate) fn show_last(&self, document: Arc<Document>) {
        self.shown.send_modify(|shown| shown.put(document));
    }

    /// The run as it is shown now.
    #[must_use]
    pub fn shown(&self) -> ShownRun {
        self.shown.borrow().clone()
    }

    /// Follows the run; `None` if it has too many followers.
    #[must_use]
    pub fn follow(&self) -> Option<Follower> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let mut shown = self.shown.subscribe();
        shown.mark_changed();
        Some(Follower {
            shown,
            _place: place,
        })
    }

    pub(crate) fn page_took(&self, duration: Duration) {
        let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.page_ns.store(ns, Ordering::Relaxed);
    }

    /// Notifies followers that nothing more comes, and waits a moment for them to leave.
    pub(crate) async fn end(&self) {
        self.shown.send_modify(|shown| shown.is_over = true);
        let all = self.places.acquire_many(FOLLOWERS_MAX as u32);
        // Those that have not left by then are not waited for.
        let _ = tokio::time::timeout(FAREWELL_MAX, all).await;
    }
}

/// The system's time since the beginning of 1970; zero if the clock is set to an earlier time.
pub(crate) fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

fn millis_since_1970() -> u64 {
    u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX)
}
