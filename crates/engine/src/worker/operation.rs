//! The life of an operation: begin, send, end, and what its slot does next.

use super::{BEGUN_AT_ONCE, QUEUE, WaitingArrival, Worker, WorkerPhase};
use crate::body::BodyUpload;
use crate::connection::{ConnectionStage, Http};
use crate::key_log::OperationEnding;
use crate::response::ReceivedResponse;
use crate::slot::{Early, Flight, Role};
use crate::source::{Arrival, LoadSource, nanoseconds};
use crate::template::Values;
use measure::{CellId, Failure, FailureStage, Kind, Operation, OperationEnd, Period};
use plan::Close;
use std::time::Duration;

/// The loop wakes microseconds after the end, and what was due before it is still begun then; a
/// process that was stopped wakes seconds after it, and begins nothing.
const GRACE_NS: u64 = 10_000_000;
/// The server wants the request once the handshake is done (RFC 8470 §5.2).
const TOO_EARLY: u16 = 425;
/// First and longest wait of a user after a failed opening.
const BACK_OFF_FIRST_NS: u64 = 10_000_000;
const BACK_OFF_LONGEST_NS: u64 = 1_000_000_000;

impl Worker {
    /// Closed loop: the user of `slot` begins its next operation, waits for its connection, or
    /// rests until its next span.
    pub(super) fn begin_as_user(&mut self, slot: u32, now: u64) {
        if self.phase != WorkerPhase::Firing
            || now >= self.timeline.end_at
            || self.slots.is_taken(slot)
        {
            return;
        }
        if self.slots.must_wait(slot) {
            self.slots.slot(slot).parked = true;
            return;
        }
        if !self.is_active(slot, now) {
            return;
        }
        let LoadSource::Closed(users) = &mut self.source else {
            return;
        };
        let period = self.timeline.period(now);
        let Some(seq) = users.take(period) else {
            return self.retire(slot);
        };
        self.begin(
            slot,
            Arrival {
                seq,
                intended_at: now,
                period,
            },
            None,
            now,
        );
    }

    /// Whether the user may begin now; where not, its connection is closed and its next span
    /// awaited.
    fn is_active(&mut self, slot: u32, now: u64) -> bool {
        let number = self.slots.seat_of(slot);
        let seat = self.slots.seat(number);
        if now < seat.active_until {
            return true;
        }
        let LoadSource::Closed(users) = &self.source else {
            return true;
        };
        match users.span(number, now) {
            Some(span) if span.start <= now => seat.active_until = span.end,
            Some(span) => {
                self.retire(slot);
                self.pauses.set(slot, span.start);
                return false;
            }
            None => {
                self.retire(slot);
                return false;
            }
        }
        true
    }

    /// The user has nothing to do in this slot: its connection is closed, where no other one has.
    fn retire(&mut self, slot: u32) {
        let seat = self.slots.seat_of(slot);
        if self.slots.connection(seat).is_some() && !self.slots.is_busy(seat) {
            self.close(seat);
        }
    }

    /// Open loop: gives due arrivals to slots, while the run lasts. At its end all that are due,
    /// else a batch; what a worker that overslept the end finds is left to the drain, and not sent.
    pub(super) fn take_arrivals(&mut self, now: u64) {
        let last = now >= self.timeline.end_at;
        let overslept = now > self.timeline.end_at.saturating_add(GRACE_NS);
        let mut taken = 0;
        while self.phase == WorkerPhase::Firing && !overslept && (last || taken < BEGUN_AT_ONCE) {
            let LoadSource::Open(arrivals) = &mut self.source else {
                return;
            };
            let Some(arrival) = arrivals.take(now) else {
                return;
            };
            taken += 1;
            self.dispatch(arrival);
        }
    }

    /// The most recently idle connection, else a new one, else the queue, else not sent.
    fn dispatch(&mut self, arrival: Arrival) {
        let now = self.clock.now();
        let slot = if self.queue.is_empty() {
            self.pick_slot()
        } else {
            None
        };
        if let Some(slot) = slot {
            self.begin(slot, arrival, Some(now), now);
        } else if self.queue.len() < QUEUE {
            self.queue.push_back(WaitingArrival {
                arrival,
                noticed_at: now,
            });
        } else {
            self.not_sent(
                WaitingArrival {
                    arrival,
                    noticed_at: now,
                },
                now,
            );
        }
    }

    /// Gives waiting arrivals to slots that have become free.
    pub(super) fn serve_queue(&mut self) {
        while self.phase == WorkerPhase::Firing && !self.queue.is_empty() {
            let Some(slot) = self.pick_slot() else { return };
            let Some(WaitingArrival {
                arrival,
                noticed_at,
            }) = self.queue.pop_front()
            else {
                return;
            };
            let now = self.clock.now();
            self.begin(slot, arrival, Some(noticed_at), now);
        }
    }

    pub(super) fn pick_slot(&mut self) -> Option<u32> {
        while let Some(slot) = self.idle.pop() {
            self.slots.slot(slot).stacked = false;
            if self.slots.is_idle(slot) {
                return Some(slot);
            }
            self.put_aside(slot);
        }
        while let Some(seat) = self.free.pop() {
            self.slots.seat(seat).is_listed = false;
            let slot = self.slots.of_seat(seat).start;
            if self.slots.connection(seat).is_none()
                && !self.slots.must_wait(slot)
                && !self.slots.is_flying(slot)
            {
                return Some(slot);
            }
        }
        self.add_seat()
    }

    /// Another connection of the open loop, where it may have one.
    fn add_seat(&mut self) -> Option<u32> {
        let LoadSource::Open(arrivals) = &self.source else {
            return None;
        };
        let seat = self.slots.add(arrivals.user(self.slots.serving())?);
        let slots = self.slots.of_seat(seat);
        slots
            .clone()
            .for_each(|slot| self.slots.slot(slot).parked = true);
        Some(slots.start)
    }

    /// Open loop: a slot that cannot send now waits until its connection can; a seat without one
    /// can have another.
    fn put_aside(&mut self, slot: u32) {
        if self.slots.is_flying(slot) {
            return;
        }
        self.slots.slot(slot).parked = true;
        let number = self.slots.seat_of(slot);
        let seat = self.slots.seat(number);
        if seat.connection.is_none()
            && seat.opener.is_none()
            && !std::mem::replace(&mut seat.is_listed, true)
        {
            self.free.push(number);
        }
    }

    /// Begins an operation on `slot`, over its seat's connection where that has one. `noticed_at`
    /// is when the loop saw that an arrival of an open loop was due.
    fn begin(&mut self, slot: u32, arrival: Arrival, noticed_at: Option<u64>, now: u64) {
        self.ledger.roll(now);
        self.ledger.recorder.begun(now);
        let Arrival {
            seq,
            intended_at,
            period,
        } = arrival;
        let request = self.requests.at(seq);
        self.in_flight += 1;
        let seat = self.slots.seat_of(slot);
        let address = self
            .slots
            .connection(seat)
            .map(|connection| connection.id.address);
        let id = CellId {
            period,
            request,
            address: address.unwrap_or(0),
        };
        let random = self.random.bits();
        self.pauses.clear(slot);
        let place = self.slots.slot(slot);
        place.parked = false;
        place.flight = Some(Flight {
            noticed_at,
            ..Flight::new(id, seq, random, intended_at, now)
        });
        if address.is_some() {
            self.reuse(slot, now)
        } else {
            self.open(slot, now)
        }
    }

    fn reuse(&mut self, slot: u32, now: u64) {
        if let Some((connection, flight)) = self.slots.both(slot) {
            flight.reused = true;
            connection.id = flight.id;
            self.ledger.count_start(flight);
            self.ledger.recorder.reused(flight.id);
        }
        self.send_request(slot, now);
    }

    /// Sends the slot's request over the open connection of its seat.
    pub(super) fn send_request(&mut self, slot: u32, now: u64) {
        if self.frames.is_some() {
            self.send_stream(slot, now)
        } else {
            self.send_alone(slot, now)
        }
    }

    /// HTTP/1.1, where slot and seat are one.
    fn send_alone(&mut self, slot: u32, now: u64) {
        let upload = self.write_alone(slot);
        self.note_sent(slot, now);
        let Some(connection) = self.slots.connection(slot) else {
            return;
        };
        if upload.is_some() && self.rules.requests_each == 1 {
            connection.socket.send_at_once();
        }
        connection.upload = upload;
        let wrapped = self.sender.wrap(slot, connection);
        self.deadlines.await_answer(slot, now);
        match wrapped {
            Ok(()) if self.flush(slot) => self.upload(slot),
            Ok(()) => {}
            Err(fault) => self.on_fault(slot, fault),
        }
    }

    /// Writes the slot's request, the next of its connection, into `plain`; what is left of it,
    /// where it is large.
    pub(super) fn write_alone(&mut self, slot: u32) -> Option<BodyUpload> {
        let closes = self.rules.close == Close::Server;
        let user = self.slots.seat(slot).user;
        let (connection, flight) = self.slots.both(slot)?;
        let is_last = connection.is_next_last();
        let values = Values {
            user,
            seq: flight.seq,
            random: flight.random,
        };
        self.requests.request(flight.id.request).write(
            closes && is_last,
            values,
            self.sender.plain(),
        )
    }

    /// The request in `plain` is on its way.
    pub(super) fn note_sent(&mut self, slot: u32, now: u64) {
        let Some((connection, flight)) = self.slots.both(slot) else {
            return;
        };
        let Http::One(response) = &mut connection.http else {
            return;
        };
        connection.requests_begun += 1;
        response.expect(self.requests.request(flight.id.request).is_head);
        flight.sent_at = Some(now);
        connection.unwritten.push(slot);
    }

    /// The response is whole: judged by what the plan expects.
    pub(super) fn on_response(&mut self, slot: u32) {
        let now = self.clock.now();
        let lane = self.slots.lane_of(slot);
        let Some((connection, flight)) = self.slots.both(slot) else {
            return;
        };
        let expect = &self.requests.request(flight.id.request).expect;
        let answer = connection.answer(lane);
        let status = answer.status.unwrap_or(0);
        let is_too_early = status == TOO_EARLY && flight.early == Early::Went;
        let kind = if is_too_early && !expect.status.contains(status) {
            return self.retry_after_handshake(slot, now);
        } else if !expect.status.contains(status) {
            Some(Kind::Status(status))
        } else if expect.bytes.is_some_and(|bytes| bytes != answer.body_bytes) {
            Some(Kind::BodyLength)
        } else {
            None
        };
        let verdict = kind.map_or(OperationEnd::Ok, |kind| {
            OperationEnd::Failed(Failure {
                stage: FailureStage::Http,
                kind,
            })
        });
        self.succeed(slot, verdict, now);
    }

    /// The operation has its answer, wanted or not: recorded, and the connection goes on or is
    /// closed.
    pub(super) fn succeed(&mut self, slot: u32, verdict: OperationEnd, now: u64) {
        self.record(slot, verdict, now);
        let close = self.rules.close;
        let seat = self.slots.seat_of(slot);
        self.slots.seat(seat).failures = 0;
        let Some(connection) = self.slots.connection(seat) else {
            return self.go_on(slot, now);
        };
        connection.has_served = true;
        let Http::One(_) = &connection.http else {
            return self.go_on(slot, now);
        };
        let (full, spoilt) = (connection.is_full(), connection.is_spoilt());
        if connection.stage == ConnectionStage::Ending {
            self.slots.seat(seat).connection = None;
            return self.go_on(slot, now);
        }
        if !self.rules.is_handshake_only() && !full && !spoilt {
            return self.go_on(slot, now);
        }
        if close == Close::Server && full && !connection.unsolicited {
            // The slot is busy until the server has closed; the operation itself is over.
            (connection.stage, connection.ending_at) = (ConnectionStage::Ending, now);
            self.deadlines.await_answer(slot, now);
            return;
        }
        self.close(seat);
        self.go_on(slot, now);
    }

    /// The operation failed, and its connection is of no use any more, to none of the seat's
    /// operations.
    pub(super) fn fail(&mut self, slot: u32, stage: FailureStage, kind: Kind, now: u64) {
        let Some(flight) = self.slots.flight(slot) else {
            return;
        };
        let opened = flight.ready_at.is_some() || flight.reused || flight.resent;
        let id = flight.id;
        let seat = self.slots.seat_of(slot);
        // A server that accepts connections and breaks every one at once is let alone, too; a
        // time-out has waited already.
        let served = self
            .slots
            .connection(seat)
            .is_some_and(|connection| connection.has_served);
        let is_useless = !opened
            || (!served && kind != Kind::TimeOut && self.slots.seat(seat).role == Role::Serving);
        let failed: Vec<u32> = self
            .slots
            .of_seat(seat)
            .filter(|&slot| self.slots.is_flying(slot))
            .collect();
        failed.iter().for_each(|&slot| {
            self.record(slot, OperationEnd::Failed(Failure { stage, kind }), now)
        });
        self.give_up(seat);
        self.slots.seat(seat).opener = None;
        if is_useless && matches!(self.source, LoadSource::Closed(_)) {
            failed
                .into_iter()
                .for_each(|slot| self.slots.slot(slot).parked = true);
            return self.back_off(slot, id, now);
        }
        failed.into_iter().for_each(|slot| self.go_on(slot, now));
        self.wake(seat, now);
    }

    /// A user whose connection could not be opened, or broke before it served, waits: 10 ms
    /// doubling to 1 s, jittered.
    pub(super) fn back_off(&mut self, slot: u32, id: CellId, now: u64) {
        if self.phase != WorkerPhase::Firing {
            return;
        }
        let number = self.slots.seat_of(slot);
        let seat = self.slots.seat(number);
        let longest = (BACK_OFF_FIRST_NS << seat.failures.min(16)).min(BACK_OFF_LONGEST_NS);
        seat.failures += 1;
        seat.waiter = Some(slot);
        let wait = self.random.between(longest / 2, longest);
        self.ledger.recorder.backed_off(id, wait);
        self.pauses.set(slot, now + wait);
    }

    pub(super) fn record(&mut self, slot: u32, verdict: OperationEnd, now: u64) {
        let (seat, lane) = (self.slots.seat_of(slot), self.slots.lane_of(slot));
        let Some(mut flight) = self.slots.slot(slot).flight.take() else {
            return;
        };
        self.ledger.count_start(&mut flight);
        self.in_flight -= 1;
        self.deadlines.clear(slot);
        let mut answer = ReceivedResponse::default();
        if let Some(connection) = self.slots.connection(seat) {
            if let Some(tls) = &mut connection.tls {
                tls.operation_ended(|| ending(&flight, verdict, now));
            }
            if flight.sent_at.is_some() {
                answer = connection.answer(lane);
            }
        }
        let operation = Operation {
            key: flight.id,
            intended_at: flight.intended_at,
            noticed_at: flight.noticed_at,
            begun_at: flight.begun_at,
            tried_at: flight.tried_at,
            ready_at: flight.ready_at,
            sent_at: flight.sent_at,
            written_at: flight.written_at,
            first_byte_at: flight.first_byte_at,
            done_at: now,
            dns: flight.dns,
            connect: flight.connect,
            handshake: flight.handshake,
            end: verdict,
            status: answer.status,
            payload_bytes: answer.body_bytes.saturating_sub(flight.payload_counted),
        };
        self.ledger.roll(now);
        self.ledger.recorder.ended(&operation);
    }

    /// The slot is free: its user's next operation now or after a pause; in an open loop it waits
    /// for an arrival.
    pub(super) fn go_on(&mut self, slot: u32, now: u64) {
        if self.frames.is_some() {
            let seat = self.slots.seat_of(slot);
            if self.slots.seat(seat).role != Role::Serving {
                return self.leave_draining(slot, now);
            }
            self.pass_stream_on(slot, now);
        }
        if self.phase != WorkerPhase::Firing {
            return;
        }
        match &self.source {
            LoadSource::Closed(users) => match users.think_time {
                None => self.begin_as_user(slot, now),
                Some(pause) => {
                    let wait = self
                        .random
                        .between(nanoseconds(pause.min), nanoseconds(pause.max));
                    self.pauses.set(slot, now + wait);
                }
            },
            LoadSource::Open(_) => self.stack(slot),
        }
    }

    /// Open loop: the slot waits for an arrival.
    fn stack(&mut self, slot: u32) {
        if !self.slots.is_idle(slot) {
            return self.put_aside(slot);
        }
        if !std::mem::replace(&mut self.slots.slot(slot).stacked, true) {
            self.idle.push(slot);
        }
    }

    /// Closes the seat's connection as the plan says.
    pub(super) fn close(&mut self, seat: u32) {
        let Some(mut connection) = self.slots.seat(seat).connection.take() else {
            return;
        };
        if self.rules.close == Close::Rst {
            connection.socket.reset_on_close();
        } else if self.sender.is_allowed() {
            self.sender.forget();
            connection.notify_close(self.sender.outgoing(seat));
            let now = self.clock.now();
            let bytes = self.sender.send_last(seat, &mut connection);
            self.ledger
                .recorder
                .wire_bytes(connection.id, now, bytes, 0);
        }
    }

    /// Drops the seat's connection without a word; where the plan closes by a reset, this is one
    /// too.
    pub(super) fn give_up(&mut self, seat: u32) {
        let Some(connection) = self.slots.seat(seat).connection.take() else {
            return;
        };
        if self.rules.close == Close::Rst {
            connection.socket.reset_on_close();
        }
    }

    /// An operation's time is up.
    pub(super) fn time_out(&mut self, slot: u32, now: u64) {
        let seat = self.slots.seat_of(slot);
        if self.slots.is_flying(slot) {
            let opens = self.slots.seat(seat).opener == Some(slot);
            if self.frames.is_some() && !self.rules.is_handshake_only() && !opens {
                return self.cancel_stream(slot, now);
            }
            let stage = self.stage_of(slot);
            return self.fail(slot, stage, Kind::TimeOut, now);
        }
        // The server did not close a connection that was over; nothing depends on it but the user's
        // next one.
        self.ledger.roll(now);
        if let Some(connection) = self.slots.connection(seat) {
            self.ledger.recorder.end_awaited(
                connection.id,
                now.saturating_sub(connection.ending_at),
                false,
            );
        }
        self.give_up(seat);
        self.go_on(slot, now);
    }

    /// Where the slot's operation is.
    pub(super) fn stage_of(&mut self, slot: u32) -> FailureStage {
        let seat = self.slots.seat_of(slot);
        if self.waits(slot) {
            return FailureStage::Stream;
        }
        let resolving = self
            .slots
            .flight(slot)
            .is_some_and(|flight| flight.resolving);
        match self
            .slots
            .connection(seat)
            .map(|connection| connection.stage)
        {
            None if resolving => FailureStage::Dns,
            None | Some(ConnectionStage::Connecting) => FailureStage::Connect,
            Some(ConnectionStage::Handshaking) => FailureStage::Tls,
            Some(ConnectionStage::Open | ConnectionStage::Ending)
                if self.rules.is_handshake_only() =>
            {
                FailureStage::Tls
            }
            Some(ConnectionStage::Open | ConnectionStage::Ending) => FailureStage::Http,
        }
    }

    /// Whether the slot's operation waits for a stream of HTTP/2: for one to become free, or for a
    /// connection that another operation opens.
    pub(super) fn waits(&mut self, slot: u32) -> bool {
        let seat = self.slots.seat_of(slot);
        let opens = self.slots.seat(seat).opener == Some(slot);
        self.frames.is_some()
            && !self.rules.is_handshake_only()
            && !opens
            && self
                .slots
                .flight(slot)
                .is_some_and(|flight| flight.sent_at.is_none())
    }

    pub(super) fn flight(&mut self, slot: u32) -> &mut Flight {
        self.slots
            .flight(slot)
            .expect("called for a slot whose operation was just begun")
    }

    /// The server closed an open connection as we sent on it: once more on a new one, instants
    /// unchanged (RFC 9112 §9.3.1).
    pub(super) fn retry_on_new_connection(&mut self, slot: u32, now: u64) {
        self.slots.seat(slot).connection = None;
        let flight = self.flight(slot);
        flight.begin_retry(now);
        let id = flight.id;
        self.ledger.recorder.reused_closed(id);
        self.open(slot, now);
    }
}

/// What a key log asks of an operation.
fn ending(flight: &Flight, verdict: OperationEnd, now: u64) -> OperationEnding {
    match verdict {
        _ if flight.id.period == Period::WarmUp => OperationEnding::WarmUp,
        OperationEnd::Failed(_) => OperationEnding::Failed,
        OperationEnd::Ok | OperationEnd::OkUnconfirmed => {
            OperationEnding::Ok(Duration::from_nanos(now.saturating_sub(flight.begun_at)))
        }
    }
}
