//! HTTP/1.1 as a protocol of one lane: plaintext in, events out.

use crate::body::BodyUpload;
use crate::checks::{AnswerChecks, AnswerWatch, BodyLeave};
use crate::lane_event::LaneEvent;
use crate::response::{ReceivedResponse, ResponseParser, ResponseSink};
use measure::Kind;
use std::sync::Arc;

/// The only lane of an HTTP/1.1 connection.
#[derive(Default)]
pub(super) struct Http1Lane {
    parser: ResponseParser,
    exchange: LaneExchange,
    /// Plaintext that arrived with the end of the handshake, before the request could be sent.
    ahead: Vec<u8>,
    /// The rest of the request's body.
    upload: Option<BodyUpload>,
    /// The checks of the answer under way, if its request has any.
    watch: Option<Box<AnswerWatch>>,
    /// Bytes arrived that no request had asked for.
    unsolicited: bool,
    /// Leave to send the body arrived, and was not reported yet.
    has_leave: bool,
}

/// How far a request and its answer have got.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum LaneExchange {
    /// No request is under way.
    #[default]
    Idle,
    /// Nothing has arrived of the answer.
    Asked,
    /// Some of the answer has arrived, and was not reported yet.
    Arrived,
    /// The same, with events of a streamed answer.
    Streamed,
    /// The same, with the leave to send the body.
    Continued,
    /// The answer is incomplete, and what has arrived of it was reported.
    Reported,
    /// No request is under way, and none can follow.
    Spoilt,
}

impl Http1Lane {
    /// Gets ready for the answer to the request that is being sent. A server may have answered
    /// before it was asked; what came is taken as if it had come a moment later.
    #[inline]
    pub(super) fn expect(
        &mut self,
        head_only: bool,
        checks: Option<&Arc<AnswerChecks>>,
    ) -> Result<(), Kind> {
        self.parser.expect(head_only);
        self.watch = checks.map(|checks| Box::new(AnswerWatch::new(checks)));
        self.exchange = LaneExchange::Asked;
        if self.ahead.is_empty() {
            return Ok(());
        }
        let ahead = std::mem::take(&mut self.ahead);
        let fed = self.feed(&ahead, false);
        if fed.is_err() {
            // The operation fails once the read at hand is over: no later answer may be its own.
            self.exchange = LaneExchange::Spoilt;
        }
        fed
    }

    /// Takes received plaintext. If it `is_early`, because the handshake has just ended, bytes that
    /// come without a request are kept for the first one.
    #[inline]
    pub(super) fn feed(&mut self, bytes: &[u8], is_early: bool) -> Result<(), Kind> {
        let is_expecting = !matches!(self.exchange, LaneExchange::Idle | LaneExchange::Spoilt);
        if is_early && !is_expecting {
            self.ahead.extend_from_slice(bytes);
            return Ok(());
        }
        // Nothing belongs to an answer that is whole.
        let taken = match self.watch {
            _ if !is_expecting => 0,
            None => self.parser.feed(bytes).map_err(|why| why.kind())?,
            Some(_) => return self.feed_watched(bytes),
        };
        if taken > 0 {
            self.exchange = LaneExchange::Arrived;
        }
        self.unsolicited |= taken < bytes.len();
        Ok(())
    }

    /// Takes received plaintext of an answer under watch.
    #[inline(never)]
    fn feed_watched(&mut self, bytes: &[u8]) -> Result<(), Kind> {
        let Some(watch) = &mut self.watch else {
            return Ok(()); // it is called for such answers only
        };
        let taken = self.parser.feed_past(bytes, &mut **watch);
        let taken = taken.map_err(|why| why.kind())?;
        // A read can bring more after the leave, in several pieces.
        self.has_leave |= watch.body_leave().take_given();
        self.has_leave &= !self.parser.is_whole();
        if watch.has_news() {
            self.exchange = LaneExchange::Streamed;
        } else if self.has_leave {
            self.exchange = LaneExchange::Continued;
        } else if taken > 0 {
            self.exchange = LaneExchange::Arrived;
        }
        self.unsolicited |= taken < bytes.len();
        if *watch.body_leave() == BodyLeave::Refused {
            // The server may wait for the body, so it need not be the one that closes.
            self.spoil();
        }
        Ok(())
    }

    #[inline]
    pub(super) fn poll(&mut self) -> Option<LaneEvent> {
        match self.exchange {
            LaneExchange::Streamed => {
                self.exchange = match self.has_leave {
                    true => LaneExchange::Continued,
                    false => LaneExchange::Arrived,
                };
                Some(LaneEvent::Events { lane: 0 })
            }
            LaneExchange::Continued => {
                self.exchange = LaneExchange::Arrived;
                self.has_leave = false;
                Some(LaneEvent::Continued)
            }
            LaneExchange::Arrived if self.parser.is_whole() => {
                self.exchange = LaneExchange::Idle;
                Some(LaneEvent::Answered { lane: 0 })
            }
            LaneExchange::Arrived => {
                self.exchange = LaneExchange::Reported;
                Some(LaneEvent::Progress { lane: 0 })
            }
            LaneExchange::Idle if self.unsolicited => {
                self.exchange = LaneExchange::Spoilt;
                Some(LaneEvent::Unsolicited)
            }
            LaneExchange::Idle
            | LaneExchange::Asked
            | LaneExchange::Reported
            | LaneExchange::Spoilt => None,
        }
    }

    /// Forgets the request under way, which is going to be sent again. Anything that came
    /// nevertheless does not answer it.
    pub(super) fn withdraw(&mut self) {
        self.unsolicited |= matches!(
            self.exchange,
            LaneExchange::Arrived
                | LaneExchange::Streamed
                | LaneExchange::Continued
                | LaneExchange::Reported
        );
        self.exchange = LaneExchange::Idle;
        self.has_leave = false;
    }

    /// The connection has ended as the peer meant it to. Returns whether that completes the answer.
    pub(super) fn end(&mut self) -> bool {
        self.parser.ended()
    }

    /// Whether an end of the connection would cut a body short.
    pub(super) fn is_in_body(&self) -> bool {
        self.parser.in_body()
    }

    #[inline]
    pub(super) fn answer(&self) -> ReceivedResponse {
        self.parser.answer()
    }

    /// Whether the answer under way is whole.
    pub(super) fn is_whole(&self) -> bool {
        self.parser.is_whole()
    }

    /// What watches the answer, if its request wants that.
    pub(super) fn watch(&mut self) -> Option<&mut AnswerWatch> {
        self.watch.as_deref_mut()
    }

    /// Whether the answer has opened a socket.
    pub(super) fn has_socket(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.has_socket())
    }

    /// Whether no request may follow the answer.
    #[inline]
    pub(super) fn is_spoilt(&self) -> bool {
        !self.parser.keep_alive || self.unsolicited || self.upload.is_some()
    }

    /// Counts on nothing that follows the last answer.
    pub(super) fn spoil(&mut self) {
        self.unsolicited = true;
        if self.exchange == LaneExchange::Idle {
            self.exchange = LaneExchange::Spoilt;
        }
    }

    /// Whether bytes came that no request had asked for.
    pub(super) fn is_unsolicited(&self) -> bool {
        self.unsolicited
    }

    /// Keeps the rest of the request's body.
    #[inline]
    pub(super) fn keep_upload(&mut self, upload: Option<BodyUpload>) {
        self.upload = upload;
    }

    /// Lets the body of the request, which was just begun, wait for leave.
    pub(super) fn hold_body(&mut self) {
        if let Some(watch) = &mut self.watch {
            *watch.body_leave() = BodyLeave::Awaited;
        }
    }

    #[inline]
    pub(super) fn has_upload(&self) -> bool {
        self.upload.is_some()
    }

    /// Appends the next window of the request's body to `plain`. Returns whether there was one.
    pub(super) fn next_window(&mut self, plain: &mut Vec<u8>) -> bool {
        let Some(upload) = &mut self.upload else {
            return false;
        };
        let watch = self.watch.as_mut();
        if watch.is_some_and(|watch| watch.body_leave().is_missing()) {
            return false;
        }
        upload.put_window(plain);
        if upload.left() == 0 {
            self.upload = None;
        }
        true
    }
}

impl ResponseSink for AnswerWatch {
    const IS_WATCHING: bool = true;

    fn takes_upgrade(&self) -> bool {
        self.wants_socket()
    }

    fn take_interim(&mut self, status: u16) {
        AnswerWatch::take_interim(self, status);
    }

    fn take_head(&mut self, status: u16, fields: &[httparse::Header<'_>]) {
        let fields = fields.iter();
        let fields = fields.map(|field| (field.name.as_bytes(), field.value));
        AnswerWatch::take_head(self, status, fields);
    }

    fn take_body(&mut self, bytes: &[u8]) {
        AnswerWatch::take_body(self, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

    #[test]
    fn answer_ahead_of_its_request_counts_and_none_counts_behind_garbage() {
        for (ahead, answered) in [(ANSWER, true), (b"\0\0\r\n\r\n".as_slice(), false)] {
            let mut lane = Http1Lane::default();
            lane.feed(ahead, true).unwrap();
            assert_eq!(lane.expect(false, None).is_ok(), answered);
            // It follows in the same turn, before the loss is acted on.
            lane.feed(ANSWER, false).unwrap();
            let is_answered = matches!(lane.poll(), Some(LaneEvent::Answered { lane: 0 }));
            assert_eq!(is_answered, answered);
        }
    }

    #[test]
    fn leave_to_send_the_body_is_told_whatever_comes_with_it() {
        let mut lane = Http1Lane::default();
        let checks = Arc::new(AnswerChecks::default());
        lane.expect(false, Some(&checks)).unwrap();
        lane.hold_body();
        for head in ["100 Continue", "100 Continue", "103 Early Hints"] {
            let head = format!("HTTP/1.1 {head}\r\n\r\n");
            lane.feed(head.as_bytes(), false).unwrap();
        }
        assert!(matches!(lane.poll(), Some(LaneEvent::Continued)));
        assert!(matches!(lane.poll(), Some(LaneEvent::Progress { lane: 0 })));
        lane.feed(ANSWER, false).unwrap();
        assert!(matches!(lane.poll(), Some(LaneEvent::Answered { lane: 0 })));
    }
}
