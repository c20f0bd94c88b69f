//! The workers that a second waits for, and how a worker joins a run that is under way.

use crate::clock::SECOND_NS;
use crate::key_log::KeySink;
use crate::source::Bookmarks;
use crate::worker::Handover;
use measure::Spare;
use std::collections::BTreeSet;
use std::sync::mpsc::{Sender, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The workers of a run, as seen by the collector and by code that adds workers. Workers never use
/// it.
#[derive(Debug, Clone)]
pub(crate) struct Attendance(Arc<Mutex<Book>>);

#[derive(Debug)]
struct Book {
    workers: Vec<Attendee>,
    /// Workers that still begin operations.
    firing: BTreeSet<usize>,
    /// All seconds below have been reported, or are about to be.
    told_below: u32,
    /// `None` once nothing begins any more: a worker that joined then would come too late.
    entrance: Option<Entrance>,
}

#[derive(Debug)]
struct Attendee {
    /// All its intervals below this number have arrived.
    complete_below: u32,
    /// Returns the memory of its merged intervals.
    spares: Sender<Spare>,
}

/// Everything that a worker needs to join.
#[derive(Debug, Clone)]
pub(crate) struct Entrance {
    pub(crate) handover: SyncSender<Handover>,
    pub(crate) sink: Option<KeySink>,
    /// The arrivals drawn so far, up to the seconds reported or fewer.
    pub(crate) bookmarks: Bookmarks,
}

/// Whether any worker still fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    Some,
    Nobody,
}

impl Attendance {
    /// Registers workers from 0 on, all of them firing, with the channels that return their memory.
    pub(super) fn new(spares: Vec<Sender<Spare>>) -> Attendance {
        let attendance = Attendance(Arc::new(Mutex::new(Book {
            workers: Vec::new(),
            firing: BTreeSet::new(),
            told_below: 0,
            entrance: None,
        })));
        attendance.book().add(spares);
        attendance
    }

    /// Lets workers join, until nothing begins any more.
    pub(crate) fn open(&self, entrance: Entrance) {
        self.book().entrance = Some(entrance);
    }

    /// The entrance for more workers; `None` once nothing begins any more.
    pub(crate) fn entrance(&self) -> Option<Entrance> {
        self.book().entrance.clone()
    }

    /// Adds workers with the next numbers, either all of them or, if it is too late, none. Returns
    /// the number of their first interval: a second that has been reported cannot change any more.
    pub(crate) fn join(&self, spares: Vec<Sender<Spare>>) -> Option<u32> {
        let mut book = self.book();
        book.entrance.is_some().then(|| book.add(spares))
    }

    /// Notes that an interval of the worker has been merged.
    pub(super) fn took(&self, worker: usize, number: u32, spare: Spare) {
        let attendee = &mut self.book().workers[worker];
        // A worker that has ended needs no memory back.
        let _ = attendee.spares.send(spare);
        attendee.complete_below = number + 1;
    }

    /// Notes that the worker hands nothing over any more.
    pub(super) fn ended(&self, worker: usize) {
        self.book().workers[worker].complete_below = u32::MAX;
    }

    /// Notes that the worker begins no more operations. `None` if that was known already.
    pub(super) fn drained(&self, worker: usize) -> Option<Left> {
        let mut book = self.book();
        if !book.firing.remove(&worker) {
            return None;
        }
        if book.firing.is_empty() {
            book.entrance = None;
            Some(Left::Nobody)
        } else {
            Some(Left::Some)
        }
    }

    /// Returns the second below which all are complete, and counts those as reported.
    pub(super) fn complete_below(&self) -> u32 {
        let mut book = self.book();
        let complete = book.workers.iter().map(|worker| worker.complete_below);
        book.told_below = complete.min().unwrap_or(0);
        book.told_below
    }

    /// Draws the arrivals of the seconds below `told`, but for the last two, so that a worker that
    /// joins has few to draw: what it fires may have been due for a second, and a little longer
    /// until it has joined.
    pub(super) fn draw_arrivals(&self, told: u32) {
        let Some(Entrance { mut bookmarks, .. }) = self.entrance() else {
            return; // no worker joins any more
        };
        // Outside the lock: at high rates this takes milliseconds.
        bookmarks.advance_to(u64::from(told.saturating_sub(2)) * SECOND_NS);
        if let Some(entrance) = &mut self.book().entrance {
            entrance.bookmarks = bookmarks;
        }
    }

    /// How many workers the run has had.
    pub(super) fn workers(&self) -> usize {
        self.book().workers.len()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        // Nothing that holds the book can panic halfway.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn add(&mut self, spares: Vec<Sender<Spare>>) -> u32 {
        for spares in spares {
            self.firing.insert(self.workers.len());
            self.workers.push(Attendee {
                complete_below: self.told_below,
                spares,
            });
        }
        self.told_below
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Duty, LoadSource, Timeline};
    use plan::{NoFiles, Owner, Plan};
    use std::sync::mpsc::{channel, sync_channel};

    fn spares(number: usize) -> Vec<Sender<Spare>> {
        (0..number).map(|_| channel().0).collect()
    }

    fn open(attendance: &Attendance) {
        let (handover, _) = sync_channel(1);
        attendance.open(Entrance {
            handover,
            sink: None,
            bookmarks: Bookmarks::default(),
        });
    }

    #[test]
    fn who_joins_late_finds_the_random_arrivals_of_the_last_second() {
        let load = "load = { rate = '50/s', arrivals = 'poisson', duration = '1h' }";
        let text = format!("target.url = 'http://127.0.0.1/'\n{load}");
        let plan = Plan::parse(&text, &mut NoFiles).unwrap();
        let attendance = Attendance::new(spares(1));
        let (handover, _) = sync_channel(1);
        attendance.open(Entrance {
            handover,
            sink: None,
            bookmarks: Bookmarks::new(&plan),
        });
        attendance.draw_arrivals(5);
        let first = |bookmarks| {
            let duty = Duty {
                portion: Owner::ALONE.into(),
                from: 4 * SECOND_NS,
                bookmarks,
            };
            LoadSource::new(&plan, &duty, Timeline::new(&plan)).next_arrival()
        };
        let drawn = attendance.entrance().unwrap().bookmarks;
        assert_eq!(first(drawn), first(Bookmarks::new(&plan)));
    }

    #[test]
    fn who_joins_begins_with_the_first_second_that_is_not_told_and_is_waited_for() {
        let attendance = Attendance::new(spares(2));
        open(&attendance);
        attendance.took(0, 3, Spare::default());
        attendance.took(1, 2, Spare::default());
        assert_eq!(attendance.complete_below(), 3);
        attendance.took(1, 7, Spare::default());
        // Seconds up to 3 are complete, but not reported yet: a worker that joins can still write
        // them.
        assert_eq!(attendance.join(spares(1)), Some(3));
        assert_eq!((attendance.complete_below(), attendance.workers()), (3, 3));
        attendance.took(2, 3, Spare::default());
        assert_eq!(attendance.complete_below(), 4);
    }

    #[test]
    fn nobody_joins_once_nothing_begins_any_more() {
        let attendance = Attendance::new(spares(1));
        assert_eq!(attendance.join(spares(1)), None, "not open yet");
        open(&attendance);
        assert_eq!(attendance.join(spares(1)), Some(0));
        assert_eq!(attendance.drained(0), Some(Left::Some));
        assert!(attendance.entrance().is_some(), "one fires still");
        assert_eq!(attendance.drained(1), Some(Left::Nobody));
        assert_eq!(attendance.drained(1), None, "that is known");
        assert!(attendance.entrance().is_none());
        assert_eq!(attendance.join(spares(1)), None);
    }
}
