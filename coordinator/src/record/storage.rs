//! What is to be said of a disk that does not take the log, and how long it is waited for.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The log does not take what there is: nothing is acknowledged, and agents keep it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StorageTrouble {
    /// Since when.
    pub(crate) since: Instant,
    /// Which file, and what the system says.
    pub(crate) why: String,
    /// Seconds of agents that wait here; agents hold more.
    pub(crate) waiting: usize,
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

/// Says when storing stops and when it goes on, each once.
#[derive(Debug, Default)]
pub(crate) struct StorageNews {
    told: Option<Instant>,
}

impl StorageNews {
    /// What is news of it now.
    pub(crate) fn line(&mut self, trouble: Option<&StorageTrouble>) -> Option<String> {
        match (trouble, self.told) {
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

/// Whether the log is still waited for.
#[derive(Debug, Default)]
pub(super) struct StoragePatience {
    is_over: Mutex<bool>,
    over: Condvar,
}

impl StoragePatience {
    /// From now on a log that takes nothing is left as it is.
    pub(super) fn end(&self) {
        *self.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.over.notify_all();
    }

    /// Waits so long, or until nobody waits any more; whether somebody does.
    pub(super) fn wait(&self, duration: Duration) -> bool {
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
}
