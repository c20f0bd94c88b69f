//! Open loop: which connection an arrival goes to, and those that wait for one.

use super::{BEGUN_AT_ONCE, Cut, Worker, WorkerPhase};
use crate::source::Arrival;
use measure::Kind;

/// Arrivals that wait for a connection at most; what comes beyond is not sent.
const QUEUE: usize = 65_536;
/// The loop wakes microseconds after the end, and what was due before it is still begun then; a
/// process that was stopped wakes seconds after it, and begins nothing.
const GRACE_NS: u64 = 10_000_000;

/// An arrival that waits for a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct WaitingArrival {
    pub(super) arrival: Arrival,
    /// When the loop saw that it was due.
    pub(super) noticed_at: u64,
}

impl Worker {
    /// Serves who waits for a connection, and takes the arrivals that are due already: a burst of
    /// answers must not hold them up.
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

    /// Gives due arrivals to slots, while the run lasts. At its end all that are due, else a batch;
    /// what a worker that overslept the end finds is left to the drain, and not sent.
    pub(super) fn take_arrivals(&mut self, now: u64) {
        let last = now >= self.timeline.end_at;
        let overslept = now > self.timeline.end_at.saturating_add(GRACE_NS);
        let mut taken = 0;
        while self.phase == WorkerPhase::Firing
            && !overslept
            && (last || taken < BEGUN_AT_ONCE)
            && let Some(arrival) = self.source.take_arrival(now)
        {
            taken += 1;
            self.dispatch(arrival);
        }
    }

    /// The most recently idle connection, else a new one, else the queue, else not sent.
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
        } else if self.queue.len() < QUEUE {
            self.queue.push_back(waiting);
        } else {
            self.not_sent(waiting, Kind::NotSent, noticed_at);
        }
    }

    /// Gives waiting arrivals to slots that have become free.
    pub(super) fn serve_queue(&mut self) {
        while self.phase == WorkerPhase::Firing
            && !self.queue.is_empty()
            && let Some(slot) = self.pick_slot()
            && let Some(waiting) = self.queue.pop_front()
        {
            let now = self.clock.now();
            self.begin(slot, waiting.arrival, Some(waiting.noticed_at), now);
        }
    }

    /// A slot for an arrival.
    pub(super) fn pick_slot(&mut self) -> Option<u32> {
        self.seats.pick().or_else(|| self.add_seat())
    }

    /// Another connection, where the worker may have one.
    fn add_seat(&mut self) -> Option<u32> {
        let user = self.source.connection_user(self.seats.serving())?;
        let seat = self.seats.add(user);
        let slots = self.seats.of_seat(seat);
        for slot in slots.clone() {
            self.seats.park(slot);
        }
        Some(slots.start)
    }

    /// The plan's end: who waits still is not sent, nor is what was due and not looked at yet. That
    /// is the client's failure, and is said. After the lease's end it may be seconds of the plan,
    /// of a process that was stopped, and none of them has waited for a connection.
    pub(super) fn end_arrivals(&mut self, now: u64) {
        for waiting in std::mem::take(&mut self.queue) {
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

    /// From when on no operation can begin any more, run clock, as far as that is known.
    #[inline]
    pub(super) fn nothing_begins_from(&self) -> u64 {
        if self.queue.is_empty() {
            self.timeline.end_at.min(self.source.dry_from())
        } else {
            self.timeline.end_at
        }
    }

    /// An arrival that is never sent.
    fn not_sent(&mut self, waiting: WaitingArrival, kind: Kind, now: u64) {
        let request = self.requests.at(waiting.arrival.seq);
        self.ledger.not_sent(request, waiting, kind, now);
    }
}
