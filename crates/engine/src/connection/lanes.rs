//! A connection's lanes: which of them can begin, what is sent on them, and what has come.

use super::state::{ConnectionState, Outlook};
use super::{Cancelled, Http, TransferFault, WorkerConnection};
use crate::checks::AnswerWatch;
use crate::live_operation::LiveOperation;
use crate::plan_requests::PlanRequests;
use crate::request::Http1Request;
use crate::response::ReceivedResponse;
use crate::websocket::SocketSession;
use measure::{Kind, WebSocketFault};
use plan::Close;

/// How a request leaves that was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestDeparture {
    /// At once: no other lane has anything to send with it.
    AtOnce,
    /// Together with the requests of other lanes, when frames are sent next.
    Together,
    /// Its head leaves in one of these ways, and its body waits for leave, `within` nanoseconds.
    HeadFirst { within: u64 },
}

impl WorkerConnection {
    /// Whether several lanes share it. An operation's end is then no reason to close it.
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.http, Http::Two(_))
    }

    /// Whether it has had all its requests.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.requests_begun >= self.requests_each
    }

    /// Whether an operation can begin on it now.
    #[inline]
    pub(crate) fn takes(&self) -> bool {
        match &self.http {
            Http::One(_) => self.broken().is_none(),
            Http::Two(session) => {
                let stands = self.state == ConnectionState::Open && self.outlook == Outlook::Stands;
                // If the peer allows no stream, an operation begins and waits for one, so that its
                // time-out runs.
                stands && !self.is_full() && (session.accepts() || session.is_stuck())
            }
        }
    }

    /// Whether the peer allows another request now.
    #[inline]
    pub(crate) fn accepts(&self) -> bool {
        match &self.http {
            Http::One(_) => true,
            Http::Two(session) => session.accepts(),
        }
    }

    /// Whether the peer allows no requests at all for now.
    pub(crate) fn is_stuck(&self) -> bool {
        matches!(&self.http, Http::Two(session) if session.is_stuck())
    }

    /// Whether the peer allows fewer lanes than there are.
    #[inline]
    pub(crate) fn is_limited(&self) -> bool {
        matches!(&self.http, Http::Two(session) if session.is_limited())
    }

    /// Whether the server has announced that it goes away before it answered anything.
    pub(crate) fn is_useless(&self) -> bool {
        !self.has_served && self.going_away().is_some()
    }

    /// Whether an operation has had its answer, or its handshake, on it.
    pub(crate) fn has_served(&self) -> bool {
        self.has_served
    }

    pub(super) fn going_away(&self) -> Option<u32> {
        match &self.http {
            Http::One(_) => None,
            Http::Two(session) => session.go_away(),
        }
    }

    /// Whether it takes no more operations and has none under way.
    pub(crate) fn is_over(&self) -> bool {
        self.takes_no_more() == Some(0)
    }

    /// Whether it takes no more operations while some are under way.
    pub(crate) fn is_draining(&self) -> bool {
        let has_operations = self.takes_no_more().is_some_and(|active| active > 0);
        has_operations && self.outlook == Outlook::Stands
    }

    /// How many operations are under way on an open connection that takes no more.
    fn takes_no_more(&self) -> Option<usize> {
        let Http::Two(session) = &self.http else {
            return None; // it is closed with its last answer
        };
        let takes_no_more = session.draining || session.is_spent() || self.is_full();
        let is_open = self.state == ConnectionState::Open;
        (is_open && takes_no_more).then(|| session.active())
    }

    /// Writes the operation's request into `plain` and begins it on the lane; what leaves at once
    /// goes to `outgoing`. It has begun even if this fails.
    #[inline]
    pub(crate) fn begin(
        &mut self,
        lane: u32,
        requests: &PlanRequests,
        (user, operation): (u64, &LiveOperation),
        (plain, outgoing): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<RequestDeparture, TransferFault> {
        let request = requests.request_of(operation);
        if let Http::Two(session) = &mut self.http {
            let body = requests.write_http2(user, operation, plain);
            let mut departure = RequestDeparture::Together;
            match &request.checks {
                None => session.open(lane, plain, body, request.is_head),
                Some(checks) => {
                    if checks.wants_socket() && !session.opens_sockets() {
                        let fault = Kind::WebSocketFault(WebSocketFault::NotOffered);
                        return Err(TransferFault::Http(fault));
                    }
                    let waits = session.open_watched(lane, plain, body, (request.is_head, checks));
                    if let Some(within) = checks.continue_within().filter(|_| waits) {
                        departure = RequestDeparture::HeadFirst { within };
                    }
                }
            }
            self.note_begun(lane);
            return Ok(departure);
        }
        let upload = requests.write_http1(self.is_next_closing(requests), user, operation, plain);
        let (mut ahead, mut departure) = (Ok(()), RequestDeparture::AtOnce);
        if let Http::One(lane) = &mut self.http {
            ahead = lane.expect(request.is_head, request.checks.as_ref());
            if upload.is_some() {
                lane.keep_upload(upload);
                departure = self.note_upload(request);
            }
        }
        self.note_begun(lane);
        self.transport.wrap(plain, outgoing)?;
        ahead.map(|()| departure).map_err(TransferFault::Http)
    }

    /// Notes that the body of the request that was just begun, or the rest of it, follows.
    #[cold]
    fn note_upload(&mut self, request: &Http1Request) -> RequestDeparture {
        // The rest of a connection's only request would otherwise wait for an acknowledgement.
        if self.requests_each == 1 {
            self.transport.send_at_once();
        }
        let checks = request.checks.as_ref();
        match (
            checks.and_then(|checks| checks.continue_within()),
            &mut self.http,
        ) {
            (Some(within), Http::One(lane)) => {
                lane.hold_body();
                RequestDeparture::HeadFirst { within }
            }
            _ => RequestDeparture::AtOnce,
        }
    }

    /// Stops waiting for leave to send the body of the lane's request. Returns whether it waited.
    pub(crate) fn stop_waiting(&mut self, lane: u32) -> bool {
        match &mut self.http {
            Http::One(lane) => {
                let watch = lane.watch();
                watch.is_some_and(|watch| watch.body_leave().give_up())
            }
            Http::Two(session) => session.stop_waiting(lane),
        }
    }

    /// Writes the operation's request into `plain`, to go out as early data. Returns whether all of
    /// it fits.
    pub(crate) fn write_early(
        &self,
        requests: &PlanRequests,
        (user, operation): (u64, &LiveOperation),
        plain: &mut Vec<u8>,
    ) -> bool {
        let closes = self.is_next_closing(requests);
        requests
            .write_http1(closes, user, operation, plain)
            .is_none()
    }

    /// Notes that the lane's request went out as early data.
    pub(crate) fn note_early(&mut self, lane: u32, request: &Http1Request) {
        if let Http::One(lane) = &mut self.http {
            // Nothing has come before the hello went out.
            let _ = lane.expect(request.is_head, request.checks.as_ref());
        }
        self.note_begun(lane);
    }

    /// Whether the next request is the last one, and says so to the server.
    #[inline]
    fn is_next_closing(&self, requests: &PlanRequests) -> bool {
        let is_last = self.requests_begun.saturating_add(1) >= self.requests_each;
        is_last && requests.close() == Close::Server
    }

    #[inline]
    fn note_begun(&mut self, lane: u32) {
        self.requests_begun += 1;
        self.unwritten.push(lane);
    }

    /// Forgets the lane's request, which is going to be sent again on this connection.
    pub(crate) fn withdraw(&mut self, lane: u32) {
        self.requests_begun -= 1;
        self.unwritten.retain(|&unwritten| unwritten != lane);
        if let Http::One(lane) = &mut self.http {
            lane.withdraw();
        }
    }

    /// Takes a lane whose request was being written and has been encrypted whole: nothing of it is
    /// held back by our upload window or by HTTP/2's flow control. Valid while nothing is unsent.
    /// Lanes before `from` are known to be held back; those that are found to be are added.
    #[inline]
    pub(crate) fn pop_written(&mut self, from: &mut usize) -> Option<u32> {
        let http = &self.http;
        let is_whole = |&lane: &u32| match http {
            Http::One(lane) => !lane.has_upload(),
            Http::Two(session) => session.is_sent(lane),
        };
        *from += self.unwritten.get(*from..)?.iter().position(is_whole)?;
        Some(self.unwritten.swap_remove(*from))
    }

    /// The part that has arrived of the lane's latest answer.
    #[inline]
    pub(crate) fn answer(&self, lane: u32) -> ReceivedResponse {
        match &self.http {
            Http::One(lane) => lane.answer(),
            Http::Two(session) => session.answer(lane),
        }
    }

    /// What watches the lane's latest answer, if its request wants that.
    pub(crate) fn watch(&mut self, lane: u32) -> Option<&mut AnswerWatch> {
        match &mut self.http {
            Http::One(lane) => lane.watch(),
            Http::Two(session) => session.answer_watch(lane),
        }
    }

    /// The socket that the lane's answer has opened.
    pub(crate) fn socket(&mut self, lane: u32) -> Option<&mut SocketSession> {
        self.watch(lane).and_then(AnswerWatch::socket)
    }

    /// A socket has been opened over it, over which small messages are to leave at once.
    pub(crate) fn serve_socket(&mut self) {
        self.has_served = true;
        if self.requests_each == 1 {
            self.transport.send_at_once();
        }
    }

    /// Sends `plain` over the lane's socket, by way of `outgoing` or with other frames; `are_last`
    /// if nothing follows. Returns whether it leaves with frames.
    pub(crate) fn send_over_socket(
        &mut self,
        lane: u32,
        (plain, are_last): (&[u8], bool),
        outgoing: &mut Vec<u8>,
    ) -> Result<bool, TransferFault> {
        match &mut self.http {
            Http::One(_) => self.transport.wrap(plain, outgoing)?,
            Http::Two(session) => session.send_over_socket(lane, plain, are_last),
        }
        Ok(self.is_shared())
    }

    /// Ends the lane's socket.
    pub(crate) fn end_socket(&mut self, lane: u32) -> Cancelled {
        match &mut self.http {
            Http::One(_) => Cancelled::Connection,
            Http::Two(session) => {
                session.end_socket(lane);
                Cancelled::Lane
            }
        }
    }

    /// Whether more can come of the lane's answer.
    pub(crate) fn is_under_way(&self, lane: u32) -> bool {
        match &self.http {
            Http::One(lane) => !lane.is_whole(),
            Http::Two(session) => session.is_under_way(lane),
        }
    }

    /// Whether HTTP/2 frames wait to be encrypted.
    #[inline]
    pub(crate) fn has_frames(&self) -> bool {
        matches!(&self.http, Http::Two(session) if !session.out.is_empty())
    }

    /// Encrypts waiting frames into `outgoing`, after filling them up with bodies that flow-control
    /// windows have released.
    pub(crate) fn wrap_bodies(&mut self, outgoing: &mut Vec<u8>) -> Result<(), TransferFault> {
        if let Http::Two(session) = &mut self.http {
            session.send_bodies();
        }
        self.wrap_frames(outgoing)
    }

    /// Encrypts waiting frames into `outgoing`.
    pub(crate) fn wrap_frames(&mut self, outgoing: &mut Vec<u8>) -> Result<(), TransferFault> {
        let Http::Two(session) = &mut self.http else {
            return Ok(());
        };
        if session.out.is_empty() {
            return Ok(());
        }
        let mut frames = session.take_out();
        let wrapped = self.transport.wrap(&frames, outgoing);
        frames.clear();
        if let Http::Two(session) = &mut self.http {
            session.out = frames; // the buffer is used again
        }
        Ok(wrapped?)
    }

    /// Encrypts the next window of a large HTTP/1.1 request, by way of `plain`. Returns whether
    /// there was one.
    pub(crate) fn wrap_window(
        &mut self,
        (plain, outgoing): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<bool, TransferFault> {
        let Http::One(lane) = &mut self.http else {
            return Ok(false);
        };
        if !lane.next_window(plain) {
            return Ok(false);
        }
        self.transport.wrap(plain, outgoing)?;
        Ok(true)
    }

    /// Whether more of a large HTTP/1.1 request follows.
    #[inline]
    pub(crate) fn has_upload(&self) -> bool {
        matches!(&self.http, Http::One(lane) if lane.has_upload())
    }
}
