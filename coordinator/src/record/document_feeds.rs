//! Passes on the documents of a run under way: to the folder, and to those who watch. Each has a
//! pace of its own that the other does not change, and no document is made that neither wants.

use super::kept_run::KeptRun;
use super::stored_fact::StoredFact;
use analysis::{Document, RunState};
use exposition::{Renewal, ViewerFeed};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Saving may take 1/`SAVE_SHARE` of the time: `run.log` has everything already, and hardly anyone
/// reads a result before the end.
const SAVE_SHARE: u32 = 100;

/// A result is replaced when the record has grown by 1/`SAVE_GROWTH`: it is written whole, and a
/// long run would otherwise write gigabytes of it.
const SAVE_GROWTH: u32 = 4;

/// Roughly the greatest age of a saved result, if saving it is cheap.
const SAVE_PAUSE_MAX: Duration = Duration::from_secs(600);

/// When documents are made.
#[derive(Debug, Clone, Copy)]
pub(super) struct FeedTimes {
    /// The shortest time between two saves.
    pub(super) save_every: Duration,
    /// All agents deliver a second at about the same time. A document is made after that, when
    /// nothing has arrived for this long, so that no second waits to be merged while a large one is
    /// made.
    pub(super) quiet: Duration,
    /// If there is always something to do, a document is made this much later.
    pub(super) late_max: Duration,
}

impl FeedTimes {
    pub(super) const USUAL: FeedTimes = FeedTimes {
        save_every: Duration::from_secs(3),
        quiet: Duration::from_millis(100),
        late_max: Duration::from_secs(3),
    };

    /// The pause after a save that took `took`, when the record was `length` long.
    fn save_pause(&self, length: Duration, took: Duration) -> Duration {
        let grown = (length / SAVE_GROWTH).min(SAVE_PAUSE_MAX);
        self.save_every.max(grown).max(took * SAVE_SHARE)
    }
}

/// To whom documents go.
#[derive(Debug)]
pub(super) struct DocumentFeeds {
    times: FeedTimes,
    since: Instant,
    saved: Renewal,
    /// `None` if the run is shown to no one.
    viewers: Option<ViewerFeed>,
}

impl DocumentFeeds {
    pub(super) fn new(times: FeedTimes, viewers: Option<ViewerFeed>) -> DocumentFeeds {
        DocumentFeeds {
            times,
            since: Instant::now(),
            // What a log holds was taken in a moment ago.
            saved: Renewal::outstanding(),
            viewers,
        }
    }

    /// Shows viewers what there is when the record begins.
    pub(super) fn begin(&self, kept: &KeptRun) {
        let viewers = self.viewers.iter();
        viewers.for_each(|viewers| {
            viewers.show_first(Arc::new(kept.document(RunState::Incomplete)));
        });
    }

    /// Notes that the record has changed. Makes a document if one is overdue.
    pub(super) fn outdate(&mut self, kept: &mut KeptRun) {
        self.saved.outdate();
        self.viewers.iter_mut().for_each(ViewerFeed::outdate);
        let is_late = |due| Instant::now() >= due + self.times.late_max;
        if self.due(kept).is_some_and(is_late) {
            self.feed(kept);
        }
    }

    /// Waits for the next fact. If a document is due and no fact comes, makes it first.
    pub(super) fn next_fact(
        &mut self,
        kept: &mut KeptRun,
        facts: &Receiver<StoredFact>,
    ) -> Option<StoredFact> {
        while let Some(due) = self.due(kept) {
            let until_due = due.saturating_duration_since(Instant::now());
            match facts.recv_timeout(until_due.max(self.times.quiet)) {
                Ok(fact) => return Some(fact),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => self.feed(kept),
            }
        }
        facts.recv().ok()
    }

    /// Shows the last document; it is saved by then.
    pub(super) fn finish(&self, document: &Document) {
        let viewers = self.viewers.iter();
        viewers.for_each(|viewers| viewers.show_last(document));
    }

    /// When the next document is wanted.
    fn due(&self, kept: &KeptRun) -> Option<Instant> {
        let show_due = self.viewers.as_ref().and_then(ViewerFeed::due);
        self.save_due(kept).into_iter().chain(show_due).min()
    }

    /// `None` without a folder.
    fn save_due(&self, kept: &KeptRun) -> Option<Instant> {
        let length = self.saved.made() - self.since;
        let pause = self.times.save_pause(length, self.saved.took());
        let due = self.saved.due_after(pause);
        due.filter(|_| kept.has_files())
    }

    /// Makes a document for those that are due.
    fn feed(&mut self, kept: &mut KeptRun) {
        let begun = Instant::now();
        let is_due = |due: Option<Instant>| due.is_some_and(|due| begun >= due);
        let is_saved = is_due(self.save_due(kept));
        let viewers = self.viewers.as_mut();
        let viewers = viewers.filter(|viewers| is_due(viewers.due()));
        if !is_saved && viewers.is_none() {
            return;
        }
        let document = Arc::new(kept.document(RunState::Incomplete));
        // First, so that a slow disk does not count as the price of showing.
        if let Some(viewers) = viewers {
            viewers.show(Arc::clone(&document), begun);
        }
        if is_saved {
            kept.save(&document);
            self.saved.renew(begun);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_is_saved_two_hundred_times_in_a_day_at_most() {
        let saves_in = |length: Duration, took: Duration| {
            let (mut at, mut saves) = (Duration::ZERO, 0);
            while at < length {
                at += took + FeedTimes::USUAL.save_pause(at, took);
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
}
