//! Open loop: which connection an arrival goes to, and the arrivals that wait for one.

use super::{BEGUN_AT_ONCE, Cut, Worker, WorkerPhase};
use crate::arrival::{Arrival, Waiting, WaitingArrival};
use measure::Kind;

/// Most arrivals that wait for a connection; further ones are not sent.
pub(super) const QUEUE: usize = 65_536;
/// The loop wakes microseconds after the end, and still begins what was due before it. A process
/// that was stopped wakes seconds after the end, and begins nothing.
const GRACE_NS: u64 = 10_000_000;

impl Worker {
    /// Serves waiting arrivals and takes those that are due already: a burst of answers must not
    /// hold them up.
    pub(super) fn keep_schedule(&mut self) {
        if !self.queue.is_empty() {
            self.serve_queue();
            self.send_frames();
        }
        if let Some(due) = self.source.next_arrival() {
            let now = self.clock.now();
            if due <= now {
                self.take_arrivals(now);
                self.send_frames();
            }
        }
    }

    /// Gives due arrivals to slots while the run lasts: all of them at its end, otherwise a batch.
    /// A worker that overslept the end leaves them to the drain, which does not send them.
    pub(super) fn take_arrivals(&mut self, now: u64) {
        let last = now >= self.timeline.end_at;
        let mut taken = 0;
        while self.may_begin(now)
            && (last || taken < BEGUN_AT_ONCE)
            && let Some(arrival) = self.source.take_arrival(now)
        {
            taken += 1;
            self.dispatch(arrival);
        }
    }

    /// Tries the most recently idle connection, then a new one, then the queue; otherwise the
    /// arrival is not sent.
    fn dispatch(&mut self, arrival: Arrival) {
        let noticed_at = self.clock.now();
        let slot = if self.queue.is_empty() {
            self.pick_slot()
        } else {
            None
        };
        let waiting = WaitingArrival {
            arrival,
            noticed_at,
        };
        if let Some(slot) = slot {
            self.begin(slot, arrival, Some(noticed_at), noticed_at);
        } else if self.source.recorded().is_some() {
            self.dispatch_recorded(waiting);
        } else if self.queue.len() < QUEUE {
            self.queue.push_back(Waiting::Arrival(waiting));
        } else {
            self.not_sent(waiting, Kind::NotSent, noticed_at);
        }
    }

    /// Whether anything may begin: the run lasts, and the worker did not oversleep its end.
    pub(super) fn may_begin(&self, now: u64) -> bool {
        let overslept = now > self.timeline.end_at.saturating_add(GRACE_NS);
        self.phase == WorkerPhase::Firing && !overslept
    }

    /// Gives waiting arrivals and steps to slots that have become free.
    #[inline]
    pub(super) fn serve_queue(&mut self) {
        while !self.queue.is_empty()
            && self.phase == WorkerPhase::Firing
            && let Some(slot) = self.pick_slot()
        {
            let now = self.clock.now();
            if !self.may_begin(now) {
                self.seats.offer(slot);
                break; // what waits is left to the drain
            }
            let Some(waiting) = self.queue.pop_front() else {
                break; // it was not empty
            };
            match waiting {
                Waiting::Arrival(it) => self.begin(slot, it.arrival, Some(it.noticed_at), now),
                Waiting::Step { place, since } => {
                    self.begin_pooled_step(slot, (place, since.unwrap_or(now)), now);
                }
            }
        }
        if !self.queue.is_empty() && self.has_pool() {
            self.note_waiting_steps();
        }
    }

    /// Picks a slot for an arrival that may go over any connection.
    pub(super) fn pick_slot(&mut self) -> Option<u32> {
        self.seats.pick().or_else(|| match self.source.recorded() {
            None => self.add_seat(),
            Some(_) => None, // its seats carry the log's connections
        })
    }

    /// Adds a seat for another connection, if the worker may have one. Returns its first slot.
    pub(super) fn add_seat(&mut self) -> Option<u32> {
        let user = self.source.connection_user(self.seats.serving())?;
        let seat = self.seats.add(user);
        let slots = self.seats.of_seat(seat);
        for slot in slots.clone() {
            self.seats.park(slot);
        }
        Some(slots.start)
    }

    /// Ends the arrivals with the plan. Those that still wait are not sent, nor are those that were
    /// due but not noticed yet; this counts as the client's failure. After the lease's end the
    /// latter can be seconds of the plan, if the process was stopped; none of them has waited for a
    /// connection, so they count as `NoLease`.
    pub(super) fn end_arrivals(&mut self, now: u64) {
        for waiting in std::mem::take(&mut self.queue) {
            match waiting {
                Waiting::Arrival(waiting) => self.not_sent(waiting, Kind::NotSent, now),
                Waiting::Step { .. } => {} // its journey has begun, and is abandoned
            }
        }
        let users = self.requests.pool_users.as_mut();
        for waiting in users.map(|users| users.take_waiting()).unwrap_or_default() {
            self.not_sent(waiting, Kind::NotSent, now);
        }
        let recorded = self
            .source
            .recorded()
            .map(|recorded| recorded.take_waiting());
        for waiting in recorded.unwrap_or_default() {
            self.not_sent(waiting, Kind::NotSent, now);
        }
        let unseen = match self.cut {
            Some(Cut::LeaseExpired) => Kind::NoLease,
            Some(Cut::Stopped) | None => Kind::NotSent,
        };
        while let Some(arrival) = self.source.take_arrival(now) {
            let noticed_at = now;
            let late = WaitingArrival {
                arrival,
                noticed_at,
            };
            self.not_sent(late, unseen, now);
        }
        self.source.end_arrivals();
    }

    /// From when no operation can begin any more, run clock, as far as that is known.
    #[inline]
    pub(super) fn nothing_begins_from(&self) -> u64 {
        let journeys = self.journeys.as_ref();
        let is_idle = journeys.is_none_or(|journeys| journeys.under_way() == 0);
        if self.queue.is_empty() && is_idle {
            self.timeline.end_at.min(self.source.dry_from())
        } else {
            self.timeline.end_at
        }
    }

    /// Records an arrival that is never sent.
    pub(super) fn not_sent(&mut self, waiting: WaitingArrival, kind: Kind, now: u64) {
        let request = match &self.journeys {
            None => self.script.first(waiting.arrival.seq),
            Some(journeys) => {
                let cell = journeys.cell(waiting.arrival, 0); // an arrival has no user yet
                self.ledger.recorder.count_journey_not_sent(cell);
                journeys.first_request(cell)
            }
        };
        let checks = self.requests.checks(request);
        let is_streamed = checks.is_some_and(|checks| checks.is_streamed());
        self.ledger
            .not_sent((request, is_streamed), waiting, kind, now);
    }
}
