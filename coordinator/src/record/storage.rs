//! What is to be said of a disk that does not take the log, and how long it is waited for.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// The log does not take what there is: nothing is acknowledged, and agents keep it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StorageTrouble {
    /// Since when.
    pub(crate) since: Instant,
    /// Which file, and what the system says.
    pub(crate) why: String,
    /// Seconds of agents that wait here; agents hold more.
    pub(crate) waiting: usize,
    /// It is not waited for any longer.
    pub(crate) given_up: Option<GivenUp>,
}

/// What becomes of what is not stored once a disk is not waited for any longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GivenUp {
    /// Agents keep it for a coordinator that goes on with the run.
    Kept,
    /// There is nothing to go on with, and agents are released.
    Released,
    /// The log has it; the files that are made of it are not what they should be.
    Logged,
}

impl GivenUp {
    fn in_words(self) -> &'static str {
        match self {
            GivenUp::Kept => "agents keep what is not stored; make room, and go on by --resume",
            GivenUp::Released => "nothing of the run is stored any more",
            GivenUp::Logged => "make room, and write the files again by report --remake",
        }
    }
}

impl StorageTrouble {
    /// For a place of few columns, where it stands as long as it lasts.
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
    /// That it is not waited for any longer, if that is so.
    pub(crate) fn end(&self) -> Option<String> {
        let what = self.given_up?.in_words();
        let waited = self.since.elapsed().as_secs();
        Some(format!(
            "gave up storing after {waited} s: {}; {what}",
            self.why
        ))
    }
}

/// Says when storing stops and when it goes on, each once.
#[derive(Debug, Default)]
pub(crate) struct StorageNews {
    told: Option<Instant>,
    /// The end of the wait was told: nothing is stored after it.
    is_over: bool,
}

impl StorageNews {
    /// What is news of it now.
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

/// As in `3 seconds of agents`.
pub(super) fn seconds(number: usize) -> String {
    match number {
        1 => "1 second of an agent".to_owned(),
        number => format!("{number} seconds of agents"),
    }
}

/// How long a disk is waited for.
#[derive(Debug, Clone, Copy)]
pub(super) struct StorageTimes {
    /// A full one: a user may make room, and agents keep what is not stored.
    pub(super) room: Duration,
    /// A folder that was removed may have been moved by mistake.
    pub(super) folder: Duration,
    /// How often it is tried again.
    pub(super) retry: Duration,
}

impl StorageTimes {
    pub(super) const USUAL: StorageTimes = StorageTimes {
        room: Duration::from_secs(600),
        folder: Duration::from_secs(10),
        retry: Duration::from_secs(1),
    };
}

/// Waits for a disk that takes nothing, and tells of it. Log thread and keeper share it.
#[derive(Debug, Clone)]
pub(super) struct DiskWait {
    trouble: watch::Sender<Option<StorageTrouble>>,
    patience: Arc<StoragePatience>,
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
    /// Its time is over.
    OutOfTime,
    /// Nobody waits any more.
    NotWanted,
}

impl DiskWait {
    pub(super) fn new(times: StorageTimes) -> DiskWait {
        DiskWait {
            trouble: watch::Sender::new(None),
            patience: Arc::default(),
            times,
        }
    }

    /// Why nothing is stored, where that is so.
    pub(super) fn trouble(&self) -> Option<StorageTrouble> {
        self.trouble.borrow().clone()
    }

    /// The same as it changes.
    #[cfg(test)]
    pub(super) fn changes(&self) -> watch::Receiver<Option<StorageTrouble>> {
        self.trouble.subscribe()
    }

    /// From now on a disk that takes nothing is left as it is.
    pub(super) fn end(&self) {
        self.patience.end();
    }

    /// Tells the failure of what has been tried since then, and waits for the next try.
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

    /// The disk takes it.
    pub(super) fn goes_on(&self) {
        self.trouble
            .send_if_modified(|trouble| trouble.take_if(|it| it.given_up.is_none()).is_some());
    }

    /// What is told from now on.
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
    /// From now on a log that takes nothing is left as it is.
    fn end(&self) {
        *self.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.over.notify_all();
    }

    /// Waits so long, or until nobody waits any more; whether somebody does.
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
                && line.contains("--resume"),
            "{line}"
        );
        assert_eq!(news.line(Some(&trouble(Some(GivenUp::Kept)))), None);
        assert_eq!(news.line(None), None, "nothing is stored again");
    }
}
