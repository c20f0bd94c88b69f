//! Reports a disk that does not take the log, and decides how long to wait for it.

use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// The log cannot be written: nothing is acknowledged, and agents keep it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StorageTrouble {
    /// When it began.
    pub(crate) since: Instant,
    /// Which file, and the system's reason.
    pub(crate) why: String,
    /// Seconds of agents that wait here; agents hold more.
    pub(crate) waiting: usize,
    /// Set once the disk is no longer waited for.
    pub(crate) given_up: Option<GivenUp>,
}

/// The fate of data that is not stored once a disk is no longer waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GivenUp {
    /// Agents keep it for a coordinator that resumes the run.
    Kept,
    /// There is nothing to resume, and agents are released.
    Released,
    /// The log has it, but files that are made from it are not up to date.
    Logged,
}

impl GivenUp {
    fn in_words(self) -> &'static str {
        match self {
            GivenUp::Kept => {
                "agents on other machines keep what is not stored; make room, and go on by --resume"
            }
            GivenUp::Released => "nothing of the run is stored any more",
            GivenUp::Logged => "make room, and write the files again by report --remake",
        }
    }
}

impl StorageTrouble {
    /// Describes it in few columns, for a place that shows it as long as it lasts.
    pub(crate) fn in_short(&self) -> String {
        let since = self.since.elapsed().as_secs();
        format!(
            "{}; {} wait, for {since} s",
            self.why,
            seconds(self.waiting)
        )
    }
}

impl StorageTrouble {
    /// Says that the disk is no longer waited for, if that is so.
    pub(crate) fn end(&self) -> Option<String> {
        let what = self.given_up?.in_words();
        let waited = self.since.elapsed().as_secs();
        Some(format!(
            "gave up storing after {waited} s: {}; {what}",
            self.why
        ))
    }
}

/// Reports when storing stops and when it goes on, each once.
#[derive(Debug, Default)]
pub(crate) struct StorageNews {
    told: Option<Instant>,
    /// Whether the end of the wait was reported: nothing is stored after it.
    is_over: bool,
}

impl StorageNews {
    /// Returns what is new, if anything.
    pub(crate) fn line(&mut self, trouble: Option<&StorageTrouble>) -> Option<String> {
        if self.is_over {
            return None;
        }
        match (trouble, self.told) {
            (Some(trouble), _) if trouble.given_up.is_some() => {
                self.is_over = true;
                Some(trouble.end()?)
            }
            (Some(trouble), None) => {
                self.told = Some(trouble.since);
                Some(format!(
                    "cannot store: {}; agents keep what is not stored; make room, or put the \
                     folder back (waiting here: {})",
                    trouble.why,
                    seconds(trouble.waiting)
                ))
            }
            (None, Some(since)) => {
                self.told = None;
                Some(format!(
                    "storing again, after {} s",
                    since.elapsed().as_secs()
                ))
            }
            _ => None,
        }
    }
}

/// For example `3 seconds of agents`.
pub(super) fn seconds(number: usize) -> String {
    match number {
        1 => "1 second of an agent".to_owned(),
        number => format!("{number} seconds of agents"),
    }
}

/// How long a disk is waited for.
#[derive(Debug, Clone, Copy)]
pub(super) struct StorageTimes {
    /// For a full disk: a user may make room, and agents keep what is not stored.
    pub(super) room: Duration,
    /// For a folder that was removed: it may have been moved by mistake.
    pub(super) folder: Duration,
    /// The pause between two tries.
    pub(super) retry: Duration,
}

impl StorageTimes {
    pub(super) const USUAL: StorageTimes = StorageTimes {
        room: Duration::from_secs(600),
        folder: Duration::from_secs(10),
        retry: Duration::from_secs(1),
    };
}

/// Waits for a disk that takes nothing, and reports it. Log thread and keeper share it.
#[derive(Debug, Clone)]
pub(super) struct DiskWait {
    trouble: watch::Sender<Option<StorageTrouble>>,
    patience: Arc<StoragePatience>,
    /// Why nothing is stored from now on, once that is so.
    unstored: Arc<OnceLock<String>>,
    times: StorageTimes,
}

/// Why a file cannot be written.
#[derive(Debug, Clone)]
pub(super) struct DiskFailure {
    pub(super) why: String,
    pub(super) is_folder_gone: bool,
}

/// Whether to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiskWaited {
    Again,
    /// The time for this kind of failure is over.
    OutOfTime,
    /// The wait was ended from outside.
    NotWanted,
}

impl DiskWait {
    pub(super) fn new(times: StorageTimes) -> DiskWait {
        DiskWait {
            trouble: watch::Sender::new(None),
            patience: Arc::default(),
            unstored: Arc::default(),
            times,
        }
    }

    /// Why nothing is stored, if storing is held up.
    pub(super) fn trouble(&self) -> Option<StorageTrouble> {
        self.trouble.borrow().clone()
    }

    /// The same as it changes.
    #[cfg(test)]
    pub(super) fn changes(&self) -> watch::Receiver<Option<StorageTrouble>> {
        self.trouble.subscribe()
    }

    /// Ends every wait for a disk that takes nothing, from now on.
    pub(super) fn end(&self) {
        self.patience.end();
    }

    /// Notes that nothing is stored from now on, and why.
    pub(super) fn leave_unstored(&self, why: String) {
        // The first reason stays: nothing is tried after it.
        let _ = self.unstored.set(why);
    }

    /// Why the log did not take everything; `None` if it did.
    pub(super) fn unstored(&self) -> Option<String> {
        self.unstored.get().cloned()
    }

    /// Reports the failure of what has been tried since `since`, and waits for the next try.
    pub(super) fn wait(&self, since: Instant, failure: &DiskFailure, waiting: usize) -> DiskWaited {
        self.trouble.send_replace(Some(StorageTrouble {
            since,
            why: failure.why.clone(),
            waiting,
            given_up: None,
        }));
        let longest = match failure.is_folder_gone {
            true => self.times.folder,
            false => self.times.room,
        };
        if since.elapsed() >= longest {
            return DiskWaited::OutOfTime;
        }
        match self.patience.wait(self.times.retry) {
            true => DiskWaited::Again,
            false => DiskWaited::NotWanted,
        }
    }

    /// Clears the trouble, since the disk takes writes. What was given up stays reported.
    pub(super) fn goes_on(&self) {
        self.trouble
            .send_if_modified(|trouble| trouble.take_if(|it| it.given_up.is_none()).is_some());
    }

    /// Reports that storing was given up.
    pub(super) fn give_up(&self, what: GivenUp) {
        self.trouble.send_if_modified(|trouble| {
            let trouble = trouble.iter_mut();
            trouble.for_each(|trouble| trouble.given_up = Some(what));
            true
        });
    }
}

/// Whether a disk is still waited for.
#[derive(Debug, Default)]
struct StoragePatience {
    is_over: Mutex<bool>,
    over: Condvar,
}

impl StoragePatience {
    /// Ends every wait, from now on.
    fn end(&self) {
        *self.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.over.notify_all();
    }

    /// Waits for `duration`, or until waits are ended; returns whether they were not.
    fn wait(&self, duration: Duration) -> bool {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .over
            .wait_timeout_while(is_over, duration, |is_over| !*is_over);
        let (is_over, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !*is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_told_once_when_it_begins_and_once_when_it_is_over() {
        let trouble = |waiting| StorageTrouble {
            since: Instant::now(),
            why: "run.log: no space left on device".to_owned(),
            waiting,
            given_up: None,
        };
        let mut news = StorageNews::default();
        assert_eq!(news.line(None), None);
        let line = news.line(Some(&trouble(1))).unwrap();
        assert!(
            line.starts_with("cannot store: run.log: no space left on device; agents keep")
                && line.ends_with("(waiting here: 1 second of an agent)"),
            "{line}"
        );
        assert_eq!(news.line(Some(&trouble(5))), None);
        assert_eq!(news.line(None).unwrap(), "storing again, after 0 s");
        assert_eq!(news.line(None), None);
    }

    #[test]
    fn end_of_the_wait_is_told_once_and_nothing_after_it() {
        let trouble = |given_up| StorageTrouble {
            since: Instant::now(),
            why: "run.log: no space left on device".to_owned(),
            waiting: 1,
            given_up,
        };
        let mut news = StorageNews::default();
        assert!(news.line(Some(&trouble(None))).is_some());
        let line = news.line(Some(&trouble(Some(GivenUp::Kept)))).unwrap();
        assert!(
            line.starts_with("gave up storing after 0 s: run.log: no space left on device; agents")
                && line.contains("on other machines")
                && line.contains("--resume"),
            "{line}"
        );
        assert_eq!(news.line(Some(&trouble(Some(GivenUp::Kept)))), None);
        assert_eq!(news.line(None), None, "nothing is stored again");
    }
}
