//! WebSockets of operations: what has come over them, what is sent, and how they end.

use super::lanes::failed;
use super::{Worker, WorkerPhase};
use crate::connection::{Cancelled, TransferFault};
use crate::websocket::{
    FrameKind, FrameMask, GOING_AWAY, NO_CODE, STALL_NS, SocketNews, SocketStep, put_close,
    put_frame,
};
use measure::{CellId, FailureStage, Kind, OperationEnd, WebSocketFact, WebSocketFault};

/// Bytes of messages that are put together before they are written: a peer that reads slowly shows
/// then, and no more is put behind what it does not take.
const WRITTEN_AT_ONCE: u64 = 64 << 10;

impl Worker {
    /// Something came over the slot's socket with the read at `at`.
    pub(super) fn on_socket_news(&mut self, slot: u32, at: u64) {
        let lane = self.seats.lane_of(slot);
        let Some((connection, operation)) = self.seats.both(slot) else {
            return; // its operation has timed out in the same turn
        };
        let (id, random) = (operation.id, operation.random);
        let Some(socket) = connection.socket(lane) else {
            return;
        };
        let recorder = &mut self.ledger.recorder;
        match socket.open(random, at) {
            Ok(true) => {
                connection.serve_socket();
                recorder.count_websocket(id, WebSocketFact::Opened, 1, at);
            }
            Ok(false) => {}
            Err(fault) => return self.fail_socket(slot, Kind::WebSocketFault(fault)),
        }
        let Some(socket) = connection.socket(lane) else {
            return;
        };
        let news = socket.take_news(at);
        recorder.count_websocket(id, WebSocketFact::Received, news.received, at);
        for due in &news.answered {
            recorder.message_answered(id, *due, at);
        }
        let answered = news.answered.len() as u64;
        recorder.count_websocket(id, WebSocketFact::Answered, answered, at);
        if let Some(sent_at) = news.ponged {
            recorder.ping_answered(id, sent_at, at);
        }
        if let Some(code) = news.closed {
            recorder.count_websocket(id, WebSocketFact::Closed(code), 1, at);
        }
        self.go_on_with_socket(slot, news);
    }

    fn go_on_with_socket(&mut self, slot: u32, news: SocketNews) {
        if let Some(fault) = news.fault {
            return self.fail_socket(slot, Kind::WebSocketFault(fault));
        }
        if let Some(code) = news.closed {
            return self.on_socket_closed(slot, code);
        }
        let now = self.clock.now();
        if self.leaves_sockets() {
            self.leave_socket(slot, now);
        }
        self.drive_socket(slot, now);
    }

    /// Whether sockets under way are closed because the load is over.
    fn leaves_sockets(&self) -> bool {
        let has_ended = self.phase != WorkerPhase::Firing;
        // If a number of operations ends the load, they are used to their end.
        has_ended && (self.cut.is_some() || self.timeline.end_at != u64::MAX)
    }

    /// The load is over: closes all sockets under way, once what was sent is answered.
    pub(super) fn close_sockets(&mut self, now: u64) {
        if !self.requests.has_sockets() || !self.leaves_sockets() {
            return;
        }
        for slot in 0..self.seats.slots() {
            self.leave_socket(slot, now);
            self.drive_socket(slot, now);
        }
    }

    fn leave_socket(&mut self, slot: u32, now: u64) {
        let lane = self.seats.lane_of(slot);
        if let Some((connection, _)) = self.seats.both(slot)
            && let Some(socket) = connection.socket(lane)
        {
            socket.leave(now);
        }
    }

    /// The slot's deadline has passed at `now`. Returns whether it was that of an open socket.
    pub(super) fn on_socket_time(&mut self, slot: u32, now: u64) -> bool {
        let lane = self.seats.lane_of(slot);
        let Some((connection, _)) = self.seats.both(slot) else {
            return false;
        };
        let is_open = connection.socket(lane).is_some_and(|it| it.is_open());
        if is_open {
            self.drive_socket(slot, now);
        }
        is_open
    }

    /// Sends what is due over the slot's socket at `now`, and waits for what is next.
    fn drive_socket(&mut self, slot: u32, now: u64) {
        let (seat, lane) = (self.seats.seat_of(slot), self.seats.lane_of(slot));
        let timeout = self.deadlines.request_ns();
        loop {
            let Some((connection, operation)) = self.seats.both(slot) else {
                return;
            };
            let (id, has_unsent) = (operation.id, connection.has_unsent());
            let Some(socket) = connection.socket(lane).filter(|it| it.is_open()) else {
                return;
            };
            let has_unsent = has_unsent || !socket.outbox.is_empty();
            let ping = (!has_unsent).then(|| socket.take_ping()).flatten();
            if let Some(payload) = ping.filter(|_| !socket.is_closing()) {
                self.put_short(slot, FrameKind::Pong, &payload);
                continue;
            }
            let has_ping = socket.has_ping();
            match socket.next(now, timeout, has_unsent) {
                SocketStep::Send { number, due } => {
                    if let Err(fault) = self.send_message(slot, (number, due), now) {
                        return self.fail_socket(slot, Kind::WebSocketFault(fault));
                    }
                    if self.sender.outgoing_bytes(seat) >= WRITTEN_AT_ONCE && !self.flush(seat) {
                        return;
                    }
                }
                SocketStep::Ping => {
                    let payload = socket.note_ping(now);
                    self.put_short(slot, FrameKind::Ping, &payload);
                    let recorder = &mut self.ledger.recorder;
                    recorder.count_websocket(id, WebSocketFact::Pinged, 1, now);
                }
                SocketStep::Close(code) => {
                    if code == GOING_AWAY {
                        let recorder = &mut self.ledger.recorder;
                        recorder.count_websocket(id, WebSocketFact::CutByEnd, 1, now);
                    }
                    self.send_close(slot, (Some(code), false), now);
                }
                SocketStep::WaitUntil(at) => {
                    let at = if has_ping { at.min(now + STALL_NS) } else { at };
                    self.deadlines.look_at(slot, at);
                    break;
                }
                SocketStep::Unanswered => {
                    let fault = WebSocketFault::Unanswered;
                    return self.fail_socket(slot, Kind::WebSocketFault(fault));
                }
                SocketStep::NoPong => {
                    let fault = WebSocketFault::NoPong;
                    return self.fail_socket(slot, Kind::WebSocketFault(fault));
                }
                SocketStep::Stalled => return self.fail_socket(slot, Kind::TimeOut),
            }
        }
        if self.sender.has_outgoing(seat) {
            self.flush(seat);
        }
    }

    /// Puts message `number`, which was `due`, behind what is going out.
    fn send_message(
        &mut self,
        slot: u32,
        (number, due): (u32, u64),
        now: u64,
    ) -> Result<(), WebSocketFault> {
        let (seat, lane) = (self.seats.seat_of(slot), self.seats.lane_of(slot));
        let user = self.seats.seat(seat).user;
        let (plain, outgoing) = self.sender.buffers(seat);
        let Some((connection, operation)) = self.seats.both(slot) else {
            return Ok(());
        };
        let (id, requests) = (operation.id, &self.requests);
        let Some(texts) = &requests.request_of(operation).socket else {
            return Ok(()); // a plan sends nothing without them
        };
        let Some(socket) = connection.socket(lane) else {
            return Ok(());
        };
        let kind = match texts.is_binary {
            true => FrameKind::Binary,
            false => FrameKind::Text,
        };
        let mut noted = Ok(());
        let (mask, socket) = socket.parts();
        put_frame(
            (kind, mask),
            plain,
            |out| texts.write(number, || requests.values(user, operation), out),
            |payload| noted = socket.note((due, now), payload),
        );
        noted?;
        let sent = connection.send_over_socket(lane, (plain, false), outgoing);
        self.ledger.roll(now);
        let recorder = &mut self.ledger.recorder;
        recorder.count_websocket(id, WebSocketFact::Sent, 1, now);
        self.after_sending(seat, sent);
        Ok(())
    }

    /// Goes on after something was `sent` over a socket of the seat, maybe with frames.
    fn after_sending(&mut self, seat: u32, sent: Result<bool, TransferFault>) {
        match sent {
            Ok(true) => self.send_with_frames(seat),
            Ok(false) => {}
            Err(fault) => self.lose(seat, fault),
        }
    }

    /// Puts a ping or a pong behind what is going out.
    fn put_short(&mut self, slot: u32, kind: FrameKind, payload: &[u8]) {
        self.put_control(slot, false, |mask, out| {
            let write = |out: &mut Vec<u8>| out.extend_from_slice(payload);
            put_frame((kind, mask), out, write, |_| ());
        });
    }

    /// Records what the messages and the ping of a socket have waited that failed at `now`, with
    /// its operation: an answer would have taken longer.
    #[cold]
    pub(super) fn note_missed_messages(&mut self, slot: u32, id: CellId, now: u64) {
        let (seat, lane) = (self.seats.seat_of(slot), self.seats.lane_of(slot));
        let connection = self.seats.connection(seat);
        let watch = connection.and_then(|connection| connection.watch(lane));
        let Some(socket) = watch.and_then(|watch| watch.socket()) else {
            return;
        };
        for due in socket.missed(now) {
            self.ledger.recorder.message_missed(id, due, now);
        }
        if let Some(sent_at) = socket.ping_sent_at() {
            self.ledger.recorder.ping_missed(id, sent_at, now);
        }
    }

    /// Sends a close frame, the last one if it answers that of the server.
    fn send_close(&mut self, slot: u32, (code, is_answer): (Option<u16>, bool), now: u64) {
        self.put_control(slot, is_answer, |mask, out| put_close(code, mask, out));
        let lane = self.seats.lane_of(slot);
        if let Some((connection, _)) = self.seats.both(slot)
            && let Some(socket) = connection.socket(lane)
        {
            socket.note_closed(now);
        }
    }

    /// Puts a control frame behind what is going out. `is_last` if nothing follows.
    fn put_control(
        &mut self,
        slot: u32,
        is_last: bool,
        put: impl FnOnce(&mut FrameMask, &mut Vec<u8>),
    ) {
        let (seat, lane) = (self.seats.seat_of(slot), self.seats.lane_of(slot));
        let (plain, outgoing) = self.sender.buffers(seat);
        let Some((connection, _)) = self.seats.both(slot) else {
            return;
        };
        let Some(socket) = connection.socket(lane) else {
            return;
        };
        put(&mut socket.mask, plain);
        let sent = connection.send_over_socket(lane, (plain, is_last), outgoing);
        self.after_sending(seat, sent);
    }

    /// The server has closed with `code`: in answer to our close, or first, which is echoed.
    fn on_socket_closed(&mut self, slot: u32, code: u16) {
        let (seat, lane) = (self.seats.seat_of(slot), self.seats.lane_of(slot));
        let now = self.clock.now();
        let Some((connection, _)) = self.seats.both(slot) else {
            return;
        };
        let is_ours = connection.socket(lane).is_some_and(|it| it.is_closed());
        if is_ours {
            return self.end_socket(slot, OperationEnd::Ok, now);
        }
        let answer = (code != NO_CODE).then_some(code);
        self.send_close(slot, (answer, true), now);
        if self.sender.has_outgoing(seat) {
            self.flush(seat);
        }
        self.end_socket(
            slot,
            failed(FailureStage::WebSocket, Kind::Close(code)),
            now,
        );
    }

    fn fail_socket(&mut self, slot: u32, kind: Kind) {
        let now = self.clock.now();
        self.end_socket(slot, failed(FailureStage::WebSocket, kind), now);
    }

    /// Ends the slot's operation, and its connection, if nothing can follow on that.
    fn end_socket(&mut self, slot: u32, end: OperationEnd, now: u64) {
        let (seat, lane) = (self.seats.seat_of(slot), self.seats.lane_of(slot));
        self.ledger.roll(now);
        // Checks of the answer's head count, if nothing else is wrong.
        let end = match end {
            OperationEnd::Ok => self.end_watch(slot, None, now),
            end => end,
        };
        self.record(slot, end, now);
        self.seats.forget_failures(seat);
        let connection = self.seats.connection(seat);
        match connection.map(|connection| connection.end_socket(lane)) {
            Some(Cancelled::Lane) => self.send_with_frames(seat),
            Some(Cancelled::Connection) | None => self.close(seat),
        }
        // The connection is left as it is: the read that ended this one may have ended others.
        self.go_on(slot, now);
    }
}
