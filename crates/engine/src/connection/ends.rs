//! How the lanes of a connection end, and what becomes of it then.

use super::state::{ConnectionState, Outlook};
use super::{Http, WorkerConnection};
use crate::http2;
use measure::Kind;
use plan::Close;

/// The next step for a connection on which an operation has had its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterAnswer {
    /// It remains in use, or is closed elsewhere.
    Stays,
    /// It has closed already.
    Gone,
    /// The server is expected to close it, and the slot waits for that.
    ServerCloses,
    /// We close it.
    Close,
}

/// What an abandoned request takes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cancelled {
    /// Its lane alone, which is free again.
    Lane,
    /// The whole connection.
    Connection,
}

/// What the end of a connection means for the answer on a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaneEnd {
    /// It completes the answer.
    Whole,
    /// The answer is lost, for this reason.
    Lost(Kind),
}

impl WorkerConnection {
    /// Abandons the lane's request at its time-out; it was sent at `sent_at`, or waits.
    pub(crate) fn cancel(&mut self, lane: u32, sent_at: Option<u64>) -> Cancelled {
        let Http::Two(session) = &mut self.http else {
            return Cancelled::Connection;
        };
        match sent_at {
            // The server has not sent its settings, so nothing can be sent before it does.
            None if session.awaits_settings() => return Cancelled::Connection,
            None => session.draining |= session.is_stuck(),
            Some(_) if !session.is_settled() => return Cancelled::Connection,
            Some(sent_at) => {
                session.cancel(lane);
                // Nothing at all has come since, or no stream is allowed: further operations try
                // another connection.
                let is_silent = self.heard_at < sent_at;
                let is_shut = session.active() == 0 && !session.accepts();
                session.draining |= is_silent || is_shut;
            }
        }
        Cancelled::Lane
    }

    /// Gives up the rest of the lane's answer, which has had all the events that are wanted.
    pub(crate) fn cut(&mut self, lane: u32) -> Cancelled {
        self.has_served = true;
        match &mut self.http {
            Http::One(_) => Cancelled::Connection,
            Http::Two(session) => {
                session.cancel(lane);
                Cancelled::Lane
            }
        }
    }

    /// The connection has ended, for the reason `kind`: returns what that means for the answer on
    /// this lane.
    pub(crate) fn end_lane(&mut self, lane: u32, kind: Kind) -> LaneEnd {
        let is_meant = self.is_end_meant();
        let is_in_body = match &mut self.http {
            Http::One(lane) => {
                // A close frame says whether the end of a socket was meant.
                let is_meant = is_meant || lane.has_socket();
                if kind == Kind::Eof && is_meant && lane.end() {
                    // The peer has closed already, so there is no end to wait for.
                    self.state = ConnectionState::Ended;
                    return LaneEnd::Whole;
                }
                lane.is_in_body()
            }
            Http::Two(session) => session.answer(lane).status.is_some(),
        };
        LaneEnd::Lost(match kind {
            Kind::Eof if is_in_body => Kind::ShortBody,
            kind => kind,
        })
    }

    /// The reason for which the connection ended, where the peer has announced another one.
    pub(crate) fn refine(&self, kind: Kind) -> Kind {
        match (kind, self.going_away()) {
            (Kind::Eof, Some(code)) if code != http2::NO_ERROR => Kind::GoAway(code),
            (kind, _) => kind,
        }
    }

    /// Notes that an operation has had its answer. Returns what becomes of the connection, under
    /// the plan's rule of who closes it.
    #[inline]
    pub(crate) fn after_answer(&mut self, close: Close) -> AfterAnswer {
        self.has_served = true;
        let lane = match &self.http {
            Http::One(lane) => lane,
            Http::Two(_) => return AfterAnswer::Stays, // its other lanes may go on
        };
        if matches!(
            self.state,
            ConnectionState::Confirming | ConnectionState::Ended
        ) {
            return AfterAnswer::Gone;
        }
        match self.is_full() {
            false if !self.is_spoilt() => AfterAnswer::Stays,
            true if close == Close::Server && !lane.is_unsolicited() => AfterAnswer::ServerCloses,
            true | false => AfterAnswer::Close,
        }
    }

    /// Whether the request can be sent once more on it after an answer that asks for that.
    pub(crate) fn can_ask_again(&self) -> bool {
        self.is_open() && !self.is_spoilt()
    }

    /// Whether no request may follow its latest answer, even if it has not had all its requests.
    #[inline]
    fn is_spoilt(&self) -> bool {
        let is_spoilt = matches!(&self.http, Http::One(lane) if lane.is_spoilt());
        is_spoilt || self.outlook != Outlook::Stands || self.has_unsent()
    }

    /// Marks it as of no use to further requests: what follows the last answers was not asked for.
    pub(crate) fn spoil(&mut self) {
        self.outlook.end();
        if let Http::One(lane) = &mut self.http {
            lane.spoil();
        }
    }
}
