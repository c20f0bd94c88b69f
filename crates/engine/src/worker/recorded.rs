//! Replay of connections: the requests of a connection of the log go over one of ours, in the
//! log's order, and it is closed after the last.

use super::arrivals::QUEUE;
use super::{Worker, WorkerPhase};
use crate::arrival::WaitingArrival;
use measure::Kind;

impl Worker {
    /// Sends a request over the connection that stands for its own in the log, or lets it wait for
    /// that: for requests before it, or for a seat.
    #[cold]
    pub(super) fn dispatch_recorded(&mut self, request: WaitingArrival) {
        let Some(recorded) = self.source.recorded() else {
            return;
        };
        let seat = if recorded.waiting() < QUEUE {
            recorded.add(request).or_else(|| self.seat_oldest())
        } else {
            let seat = recorded.pass_over(request.arrival.seq);
            self.not_sent(request, Kind::NotSent, request.noticed_at);
            seat
        };
        if let Some(seat) = seat {
            self.serve_recorded(seat);
        }
    }

    /// Gives a seat to the connection that has waited longest for one, if the worker has a free one
    /// or may add one.
    fn seat_oldest(&mut self) -> Option<u32> {
        let free = self.source.recorded()?.take_free_seat();
        let seat = free.or_else(|| self.add_seat().map(|slot| self.seats.seat_of(slot)))?;
        self.source.recorded()?.give(seat).then_some(seat)
    }

    /// Looks after the connection of `seat`, whose state has changed.
    #[cold]
    pub(super) fn serve_recorded(&mut self, seat: u32) {
        let recorded = self.source.recorded();
        if !recorded.is_some_and(|recorded| recorded.begin_serving(seat)) {
            return;
        }
        while let Some(due) = self
            .source
            .recorded()
            .and_then(|recorded| recorded.next_due())
        {
            self.begin_recorded(due);
            self.end_recorded(due);
        }
    }

    /// Begins requests that wait for the connection of `seat`, as many as it takes.
    fn begin_recorded(&mut self, seat: u32) {
        while let Some(slot) = self.seats.vacancy(seat)
            && self.may_begin(self.clock.now())
            && let Some(next) = self
                .source
                .recorded()
                .and_then(|recorded| recorded.next(seat))
        {
            let now = self.clock.now();
            self.begin(slot, next.arrival, Some(next.noticed_at), now);
        }
        let recorded = self.source.recorded();
        if recorded.is_some_and(|recorded| recorded.is_awaited(seat)) {
            for slot in self.seats.of_seat(seat) {
                self.seats.park(slot);
            }
        }
    }

    /// Closes the connection of `seat` if its last request is over, and gives the seat to the next.
    fn end_recorded(&mut self, seat: u32) {
        if self.phase != WorkerPhase::Firing || self.seats.is_seat_busy(seat) {
            return;
        }
        let recorded = self.source.recorded();
        if recorded.is_some_and(|recorded| recorded.end(seat)) {
            self.close(seat);
            if self
                .source
                .recorded()
                .is_some_and(|recorded| recorded.give(seat))
            {
                self.serve_recorded(seat);
            }
        }
    }
}
