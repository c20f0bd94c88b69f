//! Journeys that share connections: each of their steps goes over any that is free, and waits in
//! turn if none is.

use super::arrivals::QUEUE;
use super::{Worker, WorkerPhase};
use crate::arrival::{Arrival, Waiting, WaitingArrival};
use crate::source::UserSpan;
use crate::values::Values;
use measure::{CellId, Kind};

/// Arrivals that can be queued behind a step before the queue is looked at again: those that have
/// waited for users whose journeys one read has ended.
const QUEUED_AT_ONCE: usize = 256;

impl Worker {
    /// Whether journeys share connections.
    pub(super) fn has_pool(&self) -> bool {
        self.requests.pool_users.is_some()
    }

    /// Begins the journey that is due as `waiting`, with its first step over `slot`. It waits if
    /// each user makes another one.
    pub(super) fn begin_pooled(&mut self, slot: u32, waiting: WaitingArrival, now: u64) {
        let arrival = waiting.arrival;
        let journey = Values::number(arrival.period, arrival.seq);
        let Some(users) = &mut self.requests.pool_users else {
            return;
        };
        let Some(user) = users.take(journey) else {
            let is_full = users.waiting() >= QUEUE;
            if is_full {
                self.not_sent(waiting, Kind::NotSent, now);
            } else {
                users.wait(waiting);
            }
            return self.seats.offer(slot);
        };
        self.begin_journey_of((user.place, user.number), arrival);
        match self.step_due_at(user.place) {
            Some(due_at) if due_at > now => {
                self.pauses.set(user.place, due_at);
                self.seats.offer(slot);
            }
            // One that waited for its user during that pause was noticed before it was due.
            Some(due_at) => {
                let noticed_at = waiting.noticed_at.max(due_at);
                self.begin_step((slot, user.place), Some(noticed_at), now);
            }
            None => self.seats.offer(slot), // a journey that has begun has a step
        }
    }

    /// Begins the step that is due for the user at `place` over `slot`.
    pub(super) fn begin_pooled_step(
        &mut self,
        slot: u32,
        (place, noticed_at): (u32, u64),
        now: u64,
    ) {
        if self.step_due_at(place).is_some() {
            self.begin_step((slot, place), Some(noticed_at), now);
        } else {
            self.seats.offer(slot);
        }
    }

    /// Lets virtual users who share connections wait for their first spans.
    pub(super) fn await_sharing_users(&mut self) {
        for (place, (_, begin)) in (0..).zip(self.source.users()) {
            if let Some(begin) = begin {
                self.pauses.set(place, begin);
            }
        }
    }

    /// A pause of the user at `place` is over: its next step is due, or the next journey of a
    /// virtual user.
    #[cold]
    pub(super) fn on_pooled_pause_over(&mut self, place: u32, now: u64) {
        if self.step_due_at(place).is_some() {
            self.on_pooled_step_due(place, now);
        } else {
            self.begin_as_sharing_user(place, now);
        }
    }

    /// Makes the virtual user at `place` begin its next journey, or rest until its next span.
    fn begin_as_sharing_user(&mut self, place: u32, now: u64) {
        if self.phase != WorkerPhase::Firing || now >= self.timeline.end_at {
            return;
        }
        match self.source.span(place, now) {
            UserSpan::Now { .. } => {}
            UserSpan::Later { from } => return self.pauses.set(place, from),
            UserSpan::Never => return,
        }
        let period = self.timeline.period(now);
        let Some(seq) = self.source.next_of_user(period, now) else {
            return;
        };
        let users = self.requests.pool_users.as_mut();
        let user = users.and_then(|users| users.begin(Values::number(period, seq), place));
        let Some(user) = user else {
            return; // places are those of users
        };
        let arrival = Arrival {
            seq,
            intended_at: now,
            period,
        };
        self.ledger.roll(now);
        self.begin_journey_of((place, user.number), arrival);
        match self.step_due_at(place) {
            Some(due_at) if due_at > now => self.pauses.set(place, due_at),
            Some(_) => self.on_pooled_step_due(place, now),
            None => {} // a journey that has begun has a step
        }
    }

    /// The next step of the user at `place` is due.
    fn on_pooled_step_due(&mut self, place: u32, now: u64) {
        if !self.may_begin(now) {
            return; // its journey is abandoned
        }
        self.serve_queue(); // what was due before goes first
        let is_first = self.queue.is_empty();
        let slot = if is_first { self.pick_slot() } else { None };
        match slot {
            Some(slot) => self.begin_pooled_step(slot, (place, now), now),
            None => self.queue.push_back(Waiting::Step {
                place,
                since: Some(now),
            }),
        }
    }

    /// A step of a `journey`, of the user at `place`, has ended at `now`: the next one waits for
    /// its instant and a connection. At the journey's end its user is free.
    #[cold]
    pub(super) fn go_on_pooled(&mut self, journey: u64, place: u32, now: u64) {
        match self.step_due_at(place) {
            Some(_) if self.phase != WorkerPhase::Firing => {
                self.abandon_journeys(place..place + 1, now);
            }
            Some(due_at) if due_at > now => self.pauses.set(place, due_at),
            // The slot of the step that has ended is not free yet.
            Some(_) => self.queue.push_back(Waiting::Step { place, since: None }),
            None => self.end_pooled(journey, place, now),
        }
    }

    /// A `journey` of the user at `place` has ended: the user makes another one after its pause, or
    /// is free for one that arrives.
    fn end_pooled(&mut self, journey: u64, place: u32, now: u64) {
        let Some(users) = &mut self.requests.pool_users else {
            return;
        };
        if let Some(pause_ns) = self.script.pause_of_sharing(&mut self.random) {
            users.end(journey);
            let journeys = self.journeys.as_mut();
            let ended = journeys.map_or_else(Default::default, |all| all.take_ended(place));
            self.pauses.set(place, now + pause_ns + ended.pause_ns);
        } else if let Some(next) = users.leave(journey) {
            self.queue_by_its_instant(next);
        }
    }

    /// The virtual users whose journeys these slots' operations belong to, if users share
    /// connections: their places, and how many useless connections in a row they had before.
    #[cold]
    pub(super) fn users_who_share(&self, slots: &[u32]) -> Vec<(u32, u32)> {
        let users = self.requests.pool_users.as_ref();
        let Some(users) = users.filter(|_| self.script.has_sharing_users()) else {
            return Vec::new();
        };
        let user = |&slot: &u32| {
            let place = self.journey_place(slot);
            (place, users.failures(place))
        };
        slots.iter().map(user).collect()
    }

    /// Makes users pause whose connection could not be opened, or broke before it served. Their
    /// journeys have failed with it, so nothing else waits for the end of a pause.
    #[cold]
    pub(super) fn back_off_sharing(&mut self, users: Vec<(u32, u32)>, id: CellId, now: u64) {
        if self.phase != WorkerPhase::Firing {
            return;
        }
        for (place, failures) in users {
            debug_assert!(self.step_due_at(place).is_none(), "its journey has ended");
            if let Some(users) = &mut self.requests.pool_users {
                users.set_failures(place, failures + 1);
            }
            self.pause_after_failures(place, failures, id, now);
        }
    }

    /// Puts an arrival that has waited for a user in front of what was due later.
    fn queue_by_its_instant(&mut self, arrival: WaitingArrival) {
        let due_at = arrival.arrival.intended_at;
        let is_later = |waiting: &Waiting| match waiting {
            Waiting::Arrival(other) => other.arrival.intended_at > due_at,
            Waiting::Step { place, .. } => self.step_due_at(*place).is_none_or(|at| at > due_at),
        };
        let at = self.queue.iter().position(is_later);
        let at = at.unwrap_or(self.queue.len());
        self.queue.insert(at, Waiting::Arrival(arrival));
    }

    /// Notes that no connection is free for the steps that were queued last.
    #[cold]
    pub(super) fn note_waiting_steps(&mut self) {
        let now = self.clock.now();
        let mut arrivals = 0;
        for waiting in self.queue.iter_mut().rev() {
            match waiting {
                Waiting::Step { since, .. } if since.is_none() => *since = Some(now),
                Waiting::Step { .. } => break, // those before it have been noted
                Waiting::Arrival(_) if arrivals == QUEUED_AT_ONCE => break,
                Waiting::Arrival(_) => arrivals += 1,
            }
        }
    }
}
