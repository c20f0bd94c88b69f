//! How connections end under their operations: by the peer, by a fault, or by a failed send.
//!
//! What is noticed while sending waits in a queue until the event at hand has been handled, so that
//! no connection goes away under the code that sends on it.

use super::lanes::failed;
use super::{Cut, Worker, WorkerPhase};
use crate::connection::{LaneEnd, TransferFault};
use crate::connection_key::ConnectionKey;
use crate::seat::SeatRole;
use measure::{Failure, FailureStage, Kind, OperationEnd};

/// A loss that was noticed while sending.
pub(super) enum Loss {
    /// Nothing can be sent on this connection any more.
    Connection(ConnectionKey, TransferFault),
    /// The lease has expired: nothing can be sent at all.
    Lease,
}

/// The effect of a connection's end on one of its operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OperationLoss {
    /// It has not been sent, or will be sent once more.
    GoesOn,
    /// It has failed.
    Failed,
}

impl Worker {
    /// Acts on losses that were noticed while the last event was handled.
    #[inline]
    pub(super) fn settle(&mut self) {
        if !self.losses.is_empty() {
            self.settle_losses();
        }
    }

    #[cold]
    fn settle_losses(&mut self) {
        while let Some(loss) = self.losses.pop_front() {
            match loss {
                Loss::Lease => {
                    let now = self.clock.now();
                    self.cut_all(Cut::LeaseExpired, now);
                }
                Loss::Connection(key, fault) => self.on_send_failed(key, fault),
            }
        }
    }

    /// Nothing may be sent any more: no further operation begins, and those under way are cut once
    /// the event at hand has been handled.
    #[cold]
    pub(super) fn lose_lease(&mut self, now: u64) {
        if self.cut != Some(Cut::LeaseExpired) {
            self.cut_short(Cut::LeaseExpired, now);
            self.losses.push_back(Loss::Lease);
        }
    }

    /// A request could not be encrypted. An alert leaves now, since its buffer is needed by others.
    #[cold]
    pub(super) fn lose(&mut self, seat: u32, fault: TransferFault) {
        self.say_alert(seat);
        let key = self.seats.key(seat);
        if let Some(connection) = self.seats.connection(seat) {
            let (TransferFault::Socket(kind)
            | TransferFault::Tls(kind)
            | TransferFault::Http(kind)) = fault;
            connection.break_by(kind);
        }
        self.losses.push_back(Loss::Connection(key, fault));
    }

    /// Handles a failed send. A reset does not overtake what the peer sent before it: an early
    /// answer or an alert counts before the failure.
    fn on_send_failed(&mut self, key: ConnectionKey, fault: TransferFault) {
        if let TransferFault::Socket(_) = fault {
            self.read(key, true);
        }
        if self.seats.stands(key) {
            self.on_fault(key.seat, fault);
        }
    }

    /// Handles the peer closing its side.
    pub(super) fn on_end(&mut self, seat: u32) {
        let now = self.clock.now();
        self.ledger.roll(now);
        let slot = self.seats.of_seat(seat).start;
        let opening_slot = self.seats.seat(seat).opening_slot();
        let Some(connection) = self.seats.connection(seat) else {
            return;
        };
        if let Some(kind) = connection.broken() {
            self.on_lost(seat, kind, now)
        } else if connection.is_connecting() {
            let slot = opening_slot.unwrap_or(slot);
            self.fail(slot, FailureStage::Connect, Kind::Reset, now)
        } else if connection.is_confirming() {
            self.succeed(slot, OperationEnd::Ok, now)
        } else {
            self.on_lost(seat, Kind::Eof, now)
        }
    }

    /// A read or write failed.
    pub(super) fn on_fault(&mut self, seat: u32, fault: TransferFault) {
        let now = self.clock.now();
        self.ledger.roll(now);
        let (stage, kind) = match fault {
            TransferFault::Tls(kind) => (FailureStage::Tls, kind),
            TransferFault::Http(kind) if kind.is_of_websocket() => (FailureStage::WebSocket, kind),
            TransferFault::Http(kind) => (FailureStage::Http, kind),
            TransferFault::Socket(kind) => return self.on_lost(seat, kind, now),
        };
        self.say_alert(seat);
        let connection = self.seats.connection(seat);
        let is_open = connection.is_some_and(|one| one.is_open());
        match self.seats.busy_slot(seat) {
            // Treated like an end of TCP: the peer's message may have crossed a request.
            Some(_) if is_open && stage == FailureStage::Tls => {
                self.on_open_lost(seat, Failure { stage, kind }, now)
            }
            Some(slot) => self.fail(slot, stage, kind, now),
            None => self.lose_idle(seat, now),
        }
    }

    /// Counts answers that came in the same read as the fault that ends the connection, before the
    /// fault; no more operations begin on it.
    pub(super) fn on_last_answers(&mut self, key: ConnectionKey) {
        let at = self.clock.now();
        let connection = self.seats.standing(key);
        if let Some(connection) = connection.filter(|connection| connection.is_open()) {
            connection.spoil();
            // Said before the answers end their connection.
            self.say_alert(key.seat);
            self.take_lane_events(key, at);
        }
    }

    /// Sends what TLS and HTTP/2 still have to say before the connection goes: an alert, a GOAWAY.
    pub(super) fn say_alert(&mut self, seat: u32) {
        if self.sender.is_allowed()
            && let Some(connection) = self.seats.connection(seat)
        {
            // If TLS has failed the frames are not sent.
            let _ = connection.wrap_frames(self.sender.outgoing(seat));
            let now = self.clock.now();
            let bytes = self.sender.send_last(seat, connection);
            let id = connection.id();
            self.ledger.recorder.wire_bytes(id, now, bytes, 0);
        }
        self.sender.forget();
    }

    /// The seat's connection ended: end of stream or a reset.
    fn on_lost(&mut self, seat: u32, kind: Kind, now: u64) {
        if !self.seats.is_seat_busy(seat) {
            return self.lose_idle(seat, now);
        }
        let connection = self.seats.connection(seat);
        if let Some(connection) = connection.filter(|one| one.is_open()) {
            let stage = connection.stage();
            return self.on_open_lost(seat, Failure { stage, kind }, now);
        }
        let first = self.seats.of_seat(seat).start;
        let slot = self.seats.seat(seat).opening_slot().unwrap_or(first);
        let stage = self.stage_of(slot);
        self.fail(slot, stage, kind, now);
    }

    /// An open connection ended under the seat's operations.
    fn on_open_lost(&mut self, seat: u32, failure: Failure, now: u64) {
        let connection = self.seats.connection(seat);
        if connection.is_some_and(|connection| connection.is_shared()) {
            self.on_lanes_lost(seat, failure, now);
        } else {
            self.on_only_lane_lost(self.seats.of_seat(seat).start, failure, now);
        }
    }

    /// The connection ended under its only operation, which is sent again if the server may never
    /// have seen it.
    fn on_only_lane_lost(&mut self, slot: u32, failure: Failure, now: u64) {
        let lane = self.seats.lane_of(slot);
        let connection = self.seats.connection(self.seats.seat_of(slot));
        let end = connection.map(|connection| connection.end_lane(lane, failure.kind));
        match end.unwrap_or(LaneEnd::Lost(failure.kind)) {
            LaneEnd::Whole => self.on_response(slot, now),
            LaneEnd::Lost(_) if self.may_send_again(slot, now) => {
                self.retry_on_new_connection(slot, now)
            }
            LaneEnd::Lost(kind) => self.fail(slot, failure.stage, kind, now),
        }
    }

    /// The connection ended under several operations. Those that the server cannot have worked on
    /// are sent once more on a new one, with unchanged instants; the others have failed.
    fn on_lanes_lost(&mut self, seat: u32, failure: Failure, now: u64) {
        let connection = self.seats.connection(seat);
        let kind = connection.map_or(failure.kind, |one| one.refine(failure.kind));
        let failure = Failure { kind, ..failure };
        let connection = self.seats.connection(seat);
        let useless = connection.filter(|connection| !connection.has_served());
        let useless = useless.map(|connection| connection.id());
        let (mut lost, mut sharing) = (Vec::new(), Vec::new());
        for slot in self.seats.of_seat(seat) {
            let user = match useless {
                Some(_) => self.users_who_share(&[slot]),
                None => Vec::new(),
            };
            if self.lose_operation(slot, failure, now) == OperationLoss::Failed {
                lost.push(slot);
                sharing.extend(user);
            }
        }
        self.seats.seat(seat).connection = None;
        if let Some(id) = useless {
            self.back_off_sharing(sharing, id, now);
        }
        if let (Some(id), Some(&slot)) = (useless, lost.first()) {
            if self.backs_off_at(seat) {
                // What they would pause for begins after the back-off.
                lost.into_iter().for_each(|slot| self.seats.park(slot));
                return self.back_off(slot, id, now);
            }
            self.back_off_at_home(slot, id, now);
        }
        if !useless.is_some_and(|id| self.open_later(seat, id, now)) {
            self.wake(seat, now);
        }
        for slot in lost {
            self.go_on(slot, now);
        }
    }

    /// Whether a user of this seat pauses if its connection has served nothing.
    fn backs_off_at(&mut self, seat: u32) -> bool {
        let is_firing = self.phase == WorkerPhase::Firing;
        let is_serving = self.seats.seat(seat).role == SeatRole::Serving;
        is_firing && is_serving && self.has_users()
    }

    /// Decides what the end of the connection means for the slot's operation, if it has one;
    /// records it if it failed.
    fn lose_operation(&mut self, slot: u32, failure: Failure, now: u64) -> OperationLoss {
        let lane = self.seats.lane_of(slot);
        let may_send_again = self.may_send_again(slot, now);
        let Some((connection, operation)) = self.seats.both(slot) else {
            return OperationLoss::GoesOn;
        };
        if !operation.is_sent() {
            return OperationLoss::GoesOn;
        }
        if may_send_again {
            operation.retry(now);
            self.ledger.recorder.count_closed_under_reuse(operation.id);
            self.await_lane(slot);
            return OperationLoss::GoesOn;
        }
        let kind = match connection.end_lane(lane, failure.kind) {
            LaneEnd::Lost(kind) => kind,
            LaneEnd::Whole => failure.kind,
        };
        self.record(slot, failed(failure.stage, kind), now);
        OperationLoss::Failed
    }

    /// Whether the slot's operation, whose connection has ended, may be sent once more. That holds
    /// if the server cannot have worked on it, or only could if it closes connections within a few
    /// milliseconds of a request, and if a repetition does no harm (RFC 9110 §9.2.2).
    fn may_send_again(&mut self, slot: u32, now: u64) -> bool {
        let Some((connection, operation)) = self.seats.both(slot) else {
            return false; // both exist until the loss has been handled
        };
        self.requests.is_idempotent(operation)
            && operation.may_have_crossed_the_end()
            && operation
                .sent()
                .is_some_and(|sent| connection.is_unseen(sent, now))
    }

    /// The server closed an open connection as we sent on it: sends the request once more on a new
    /// one, with unchanged instants (RFC 9112 §9.3.1).
    fn retry_on_new_connection(&mut self, slot: u32, now: u64) {
        let seat = self.seats.seat_of(slot);
        self.seats.seat(seat).connection = None;
        let operation = self.begun(slot);
        operation.retry(now);
        let id = operation.id;
        self.ledger.recorder.count_closed_under_reuse(id);
        self.open(slot, now);
    }

    fn lose_idle(&mut self, seat: u32, now: u64) {
        let lost = self.seats.seat(seat).connection.take();
        let waited = lost.and_then(|one| Some((one.id(), one.end_awaited_ns(now)?)));
        if let Some((id, waited)) = waited {
            self.connection_timers.clear(seat);
            self.ledger.recorder.end_awaited(id, waited, true);
            self.put_off_step(seat, waited);
        }
        self.on_idle_lost(seat, waited.is_some(), now);
    }

    /// Handles the end of a connection without an operation: an idle one, which is opened again
    /// when it is needed, or one that was `awaited` to end.
    pub(super) fn on_idle_lost(&mut self, seat: u32, awaited: bool, now: u64) {
        if awaited {
            self.go_on(self.seats.of_seat(seat).start, now);
        }
        self.wake(seat, now);
    }
}
