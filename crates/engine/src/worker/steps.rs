//! Journeys: how a slot goes from one step to the next.

use super::{Worker, WorkerPhase};
use crate::arrival::{Arrival, WaitingArrival};
use crate::checks::AnswerWatch;
use crate::journeys::{EndedJourney, StepOutcome};
use crate::live_operation::LiveOperation;
use crate::values::Values;
use measure::{CellId, Kind, OperationEnd};
use std::ops::Range;

impl Worker {
    /// Begins the journey that is due as `arrival` on `slot`, with its first step.
    #[cold]
    pub(super) fn begin_journey(
        &mut self,
        slot: u32,
        arrival: Arrival,
        noticed_at: Option<u64>,
        now: u64,
    ) {
        self.ledger.roll(now);
        if self.has_pool() {
            let noticed_at = noticed_at.unwrap_or(now);
            let waiting = WaitingArrival {
                arrival,
                noticed_at,
            };
            return self.begin_pooled(slot, waiting, now);
        }
        let user = self.seats.user(self.seats.seat_of(slot));
        self.begin_journey_of((slot, user), arrival);
        match self.step_due_at(slot) {
            // The steps before that pause have been made by its user before.
            Some(due_at) if due_at > now => self.pauses.set(slot, due_at),
            // One that waited for its connection during that pause was noticed before it was due.
            Some(due_at) => {
                let noticed_at = noticed_at.map(|at| at.max(due_at));
                self.begin_step((slot, slot), noticed_at, now);
            }
            None => {} // a journey that has begun has a step
        }
    }

    /// Begins the journey of a user, made at `place`.
    pub(super) fn begin_journey_of(&mut self, (place, user): (u32, u64), arrival: Arrival) {
        if let Some(journeys) = &mut self.journeys {
            let memories = &mut self.requests.memories;
            journeys.begin((place, user), arrival, memories, &mut self.ledger.recorder);
        }
    }

    /// Puts off the next step of the seat's journey by the time that it waited for the end of its
    /// connection, which is in no response time. Journeys that share connections did not wait:
    /// their steps went over others.
    #[cold]
    pub(super) fn put_off_step(&mut self, seat: u32, waited: u64) {
        let slot = self.seats.of_seat(seat).start;
        let has_pool = self.has_pool();
        if let Some(journeys) = self.journeys.as_mut().filter(|_| !has_pool) {
            journeys.put_off(slot, waited);
        }
    }

    /// When the next step of the slot's journey is due, if there is one.
    #[inline(always)]
    pub(super) fn step_due_at(&self, slot: u32) -> Option<u64> {
        self.journeys.as_ref()?.due_at(slot)
    }

    /// Begins the step that is due on `slot`, unless that has to wait for its connection.
    #[cold]
    pub(super) fn continue_journey(&mut self, slot: u32, now: u64) {
        if !self.may_begin(now) || self.seats.is_taken(slot) {
            return;
        }
        if self.seats.must_wait(slot) {
            return self.seats.park(slot);
        }
        let noticed_at = (!self.has_users()).then_some(now);
        self.begin_step((slot, slot), noticed_at, now);
    }

    /// Begins the step that is due at `place` over `slot`, which is the same unless journeys share
    /// connections.
    pub(super) fn begin_step(
        &mut self,
        (slot, place): (u32, u32),
        noticed_at: Option<u64>,
        now: u64,
    ) {
        self.ledger.roll(now);
        let journeys = self.journeys.as_mut();
        let due = journeys.and_then(|journeys| {
            let recorder = &mut self.ledger.recorder;
            journeys.begin_step(place, now, recorder)
        });
        let Some(due) = due else {
            return; // it is called for a step that is due
        };
        let seat = self.seats.seat_of(slot);
        let connection = self.seats.connection(seat);
        let address = connection.map(|connection| connection.id().address);
        let id = CellId {
            period: self.timeline.period(due.due_at),
            request: due.request,
            address: address.unwrap_or(0),
        };
        let mut operation = LiveOperation::new(id, due.seq, due.random, due.due_at, now);
        operation.noticed_at = noticed_at;
        if !self.has_pool() {
            self.pauses.clear(slot);
        }
        self.start(slot, operation, now);
    }

    /// Where the journey of the slot's operation is made: at the slot whose user or arrival makes
    /// it, or if journeys share connections at the place of its user.
    pub(super) fn journey_place(&self, slot: u32) -> u32 {
        let users = self.requests.pool_users.as_ref();
        let maker = users.and_then(|users| users.maker(self.journey_of(slot)?));
        maker.map_or_else(|| self.seats.user_slot(slot), |maker| maker.place)
    }

    /// The number of the journey whose step the slot's operation is.
    fn journey_of(&self, slot: u32) -> Option<u64> {
        let operation = self.seats.operation(slot)?;
        Some(Values::number(operation.id.period, operation.seq))
    }

    /// An operation of `journey`, which is made at `place`, has ended so.
    #[cold]
    pub(super) fn end_step(&mut self, (journey, place): (u64, u32), end: OperationEnd, now: u64) {
        let outcome = match end {
            OperationEnd::Ok | OperationEnd::OkUnconfirmed => StepOutcome::Ok,
            OperationEnd::Failed(failure) if failure.kind == Kind::Cut => StepOutcome::Cut,
            OperationEnd::Failed(_) => StepOutcome::Failed,
        };
        if let Some(journeys) = &mut self.journeys {
            let memories = &mut self.requests.memories;
            journeys.end_step(place, (outcome, now), memories, &mut self.ledger.recorder);
        }
        if let Some(users) = &mut self.requests.pool_users {
            users.forget_failures(place);
            self.go_on_pooled(journey, place, now);
        }
    }

    /// Gives the cookies that the slot's answer sets to its journey, if that keeps any. Those of
    /// other origins, to which a redirect has led, are not kept.
    pub(super) fn keep_cookies(&mut self, slot: u32) {
        let Some(journeys) = &self.journeys else {
            return;
        };
        let (seat, lane) = (self.seats.seat_of(slot), self.seats.lane_of(slot));
        let place = self.journey_place(slot);
        let (user, origin) = (self.seats.user(seat), self.seats.origin(seat));
        let Some((connection, operation)) = self.seats.both(slot) else {
            return;
        };
        let cookies = connection.watch(lane).map(AnswerWatch::take_cookies);
        if let Some(cookies) = cookies.filter(|cookies| !cookies.is_empty())
            && journeys.keeps_cookies(place)
            && origin == 0
        {
            self.requests.set_cookies(user, operation, &cookies);
        }
    }

    /// Goes on with the slot's journey, to the next step or its pause. Returns what is left to do
    /// if the journey has ended, or if there is none.
    #[cold]
    pub(super) fn leave_journey(&mut self, slot: u32, now: u64) -> Option<EndedJourney> {
        if self.has_pool() {
            return Some(EndedJourney::default()); // the slot has no journey of its own
        }
        if let Some(due_at) = self.step_due_at(slot) {
            if self.phase != WorkerPhase::Firing {
                self.abandon_journeys(slot..slot + 1, now);
            } else if due_at > now {
                self.pauses.set(slot, due_at);
            } else {
                self.continue_journey(slot, now);
            }
            return None;
        }
        let ended = self.journeys.as_mut()?.take_ended(slot);
        let seat = self.seats.seat_of(slot);
        if ended.closes && !self.seats.is_seat_busy(seat) {
            self.close(seat);
            if self.connector.has_others() {
                self.close_abroad(seat);
            }
        }
        Some(ended)
    }

    /// Abandons all journeys whose next step has not begun.
    pub(super) fn abandon_all_journeys(&mut self, now: u64) {
        let places = self.journeys.as_ref().map_or(0, |all| all.places());
        self.abandon_journeys(0..places, now);
    }

    /// Abandons the journeys at these places whose next step has not begun: no further step will.
    pub(super) fn abandon_journeys(&mut self, places: Range<u32>, now: u64) {
        if let Some(journeys) = &mut self.journeys {
            self.ledger.roll(now);
            let memories = &mut self.requests.memories;
            journeys.abandon(places, now, memories, &mut self.ledger.recorder);
        }
    }
}
