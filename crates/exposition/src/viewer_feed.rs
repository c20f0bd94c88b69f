//! Passes the documents of a run under way to those who watch it, at their pace. The channel is
//! [`LatestRun`], in which a newer document replaces the last one.

use super::latest_run::{LatestRun, ShownTo};
use super::renewal::Renewal;
use analysis::Document;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Showing, with the page that is made for it, may take 1/`SHOW_SHARE` of the time.
const SHOW_SHARE: u32 = 20;

/// How often a run is shown.
#[derive(Debug, Clone, Copy)]
pub struct ShowTimes {
    /// To browsers that follow it: less than a second, so that each second is shown once it is
    /// there.
    pub to_browsers: Duration,
    /// To exporters, if no browser follows it.
    pub to_exporters: Duration,
}

impl ShowTimes {
    /// Those of every command.
    pub const USUAL: ShowTimes = ShowTimes {
        to_browsers: Duration::from_millis(800),
        to_exporters: Duration::from_secs(3),
    };
}

/// Passes a run's documents to viewers.
#[derive(Debug)]
pub struct ViewerFeed {
    latest: LatestRun,
    times: ShowTimes,
    shown: Renewal,
}

impl ViewerFeed {
    /// Passes documents to what `latest` shows.
    #[must_use]
    pub fn new(latest: LatestRun, times: ShowTimes) -> ViewerFeed {
        ViewerFeed {
            latest,
            times,
            shown: Renewal::outstanding(),
        }
    }

    /// Notes that another document could be made.
    pub fn outdate(&mut self) {
        self.shown.outdate();
    }

    /// When another document is wanted; `None` if what is shown is up to date.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        let (every, page_took) = match self.latest.shown_to() {
            ShownTo::Browsers { page_took } => (self.times.to_browsers, page_took),
            ShownTo::Exporters => (self.times.to_exporters, Duration::ZERO),
        };
        let afforded = (self.shown.took() + page_took) * SHOW_SHARE;
        self.shown.due_after(every.max(afforded))
    }

    /// Shows a run before anything is known of it, unless the run before is shown.
    pub fn show_first(&self, document: Arc<Document>) {
        self.latest.show(document);
    }

    /// Shows a document; making it began at `begun`.
    pub fn show(&mut self, document: Arc<Document>, begun: Instant) {
        self.latest.show(document);
        self.shown.renew(begun);
    }

    /// Shows the run's last document.
    pub fn show_last(&self, document: &Document) {
        self.latest.show_last(Arc::new(document.clone()));
    }
}
