//! One socket: what has come, what is due, and what it waits for. It is told the time.

use super::handshake::{SocketOpening, UpgradeFields};
use super::message_reader::{MessageReader, PeerFrame};
use super::{FrameMask, GOING_AWAY, NO_CODE, NORMAL};
use measure::{Kind, WebSocketFault, nanoseconds};
use plan::{MessageAnswer, SocketEnd, WebSocket};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;

/// How long a socket that cannot take more waits before it is tried again, nanoseconds.
pub(crate) const STALL_NS: u64 = 5_000_000;

/// A socket from the answer to its opening handshake on.
#[derive(Debug)]
pub(crate) struct SocketSession {
    plan: Arc<WebSocket>,
    state: SocketState,
    reader: MessageReader,
    pub(crate) mask: FrameMask,
    messages: SentMessages,
    /// When the latest answer came; the opening, if none has.
    answered_at: u64,
    news: SocketNews,
    has_news: bool,
    /// What the latest ping of the server carried that has no answer.
    ping: Option<Vec<u8>>,
    own_pings: OwnPings,
    /// Over HTTP/2, what waits for the peer's windows.
    pub(crate) outbox: Vec<u8>,
}

/// The pings that were sent over a socket, one after the other. Each carries its number, from 1.
#[derive(Debug, Default)]
struct OwnPings {
    sent: u32,
    /// When the latest one was sent, unless it is answered.
    awaited_since: Option<u64>,
    /// When the next one is due, if the latest is answered.
    next_due: u64,
}

/// The messages that were sent over a socket.
#[derive(Debug)]
pub(crate) struct SentMessages {
    answer: MessageAnswer,
    sent: u32,
    /// Those of them that wait for an answer, in the order in which they were sent.
    awaited: VecDeque<AwaitedAnswer>,
}

#[derive(Debug)]
enum SocketState {
    /// The server has accepted; whether it did so rightly is not known yet.
    Accepted(UpgradeFields),
    Open {
        at: u64,
        /// When the load has ended: from then on no message is sent.
        left_at: Option<u64>,
    },
    /// Our close frame is sent.
    Closing { since: u64 },
    /// The server has closed too.
    Closed,
}

/// A message that was sent and has no answer yet.
#[derive(Debug)]
struct AwaitedAnswer {
    due: u64,
    sent_at: u64,
    /// What its answer is known by, unless any message is one.
    key: Vec<u8>,
}

/// What has come over a socket since it was last asked.
#[derive(Debug, Default)]
pub(crate) struct SocketNews {
    /// Messages, answers or not.
    pub(crate) received: u64,
    /// For each answer, when its message was due.
    pub(crate) answered: Vec<u64>,
    /// When the latest ping of ours was sent, if its pong has come.
    pub(crate) ponged: Option<u64>,
    /// The code with which the server has closed; 1005 if it gave none.
    pub(crate) closed: Option<u16>,
    pub(crate) fault: Option<WebSocketFault>,
}

/// What is to be done next for a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SocketStep {
    /// Send message `number`, which was due at `due`.
    Send { number: u32, due: u64 },
    /// Send a ping.
    Ping,
    /// Send a close frame with this code.
    Close(u16),
    /// Nothing before this instant.
    WaitUntil(u64),
    /// The time of a message is up.
    Unanswered,
    /// The time of a ping is up.
    NoPong,
    /// The peer takes no more of what is sent, or does not answer our close frame.
    Stalled,
}

impl SocketSession {
    /// A socket that the server has accepted with these header fields.
    pub(crate) fn new<'f>(
        plan: &Arc<WebSocket>,
        opening: SocketOpening,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
    ) -> SocketSession {
        SocketSession {
            plan: Arc::clone(plan),
            state: SocketState::Accepted(UpgradeFields::new(opening, fields)),
            reader: MessageReader::default(),
            mask: FrameMask::new(0),
            messages: SentMessages {
                answer: plan.answer.clone(),
                sent: 0,
                awaited: VecDeque::new(),
            },
            answered_at: 0,
            news: SocketNews::default(),
            has_news: true,
            ping: None,
            own_pings: OwnPings::default(),
            outbox: Vec::new(),
        }
    }

    /// Takes bytes that came over it.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        if self.news.fault.is_some() {
            return;
        }
        let SocketSession {
            reader,
            messages,
            news,
            state,
            ping,
            own_pings,
            ..
        } = self;
        // A message that comes after our close frame answers nothing that is measured; a pong does.
        let is_closing = matches!(state, SocketState::Closing { .. });
        let fed = reader.feed(bytes, &mut |arrival| match arrival {
            PeerFrame::Message(message) => {
                news.received += 1;
                if !is_closing && let Some(due) = messages.answered_by(message) {
                    news.answered.push(due);
                }
            }
            // Only the latest one needs an answer (RFC 6455 §5.5.3), so that a peer that reads none
            // makes nothing grow.
            PeerFrame::Ping(payload) => *ping = Some(payload.to_vec()),
            PeerFrame::Pong(payload) => {
                news.ponged = news.ponged.or(own_pings.take_answered_by(payload));
            }
            PeerFrame::Close(code) => news.closed = Some(code.unwrap_or(NO_CODE)),
        });
        self.news.fault = fed.err();
        self.has_news = true;
    }

    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        self.has_news
    }

    /// Takes what has come, with a read at `at`.
    pub(crate) fn take_news(&mut self, at: u64) -> SocketNews {
        self.has_news = false;
        if !self.news.answered.is_empty() {
            self.answered_at = at;
        }
        if self.news.closed.is_some() && self.is_closing() {
            self.state = SocketState::Closed;
        }
        std::mem::take(&mut self.news)
    }

    /// Opens it at `at`, if it was accepted and is not open: for the operation with these `random`
    /// bits. Returns whether that was so; the error is what is wrong with the server's answer.
    pub(crate) fn open(&mut self, random: u64, at: u64) -> Result<bool, WebSocketFault> {
        let SocketState::Accepted(fields) = &self.state else {
            return Ok(false);
        };
        if let Some(fault) = fields.fault(random, &self.plan) {
            return Err(fault);
        }
        self.state = SocketState::Open { at, left_at: None };
        self.answered_at = at;
        self.own_pings.next_due = self.ping_due_after(at, at);
        self.mask = FrameMask::new(random);
        Ok(true)
    }

    /// Whether it has been opened.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.state, SocketState::Accepted(_))
    }

    /// Whether both sides have closed it, we first.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.state, SocketState::Closed)
    }

    /// Whether we have closed it, and the server has not.
    pub(crate) fn is_closing(&self) -> bool {
        matches!(self.state, SocketState::Closing { .. })
    }

    /// The load ends at `now`: no more is sent, and it is closed once what was sent is answered.
    pub(crate) fn leave(&mut self, now: u64) {
        if let SocketState::Open { left_at, .. } = &mut self.state {
            left_at.get_or_insert(now);
        }
    }

    /// Takes the latest ping of the server that has no answer. One that is not taken waits.
    pub(crate) fn take_ping(&mut self) -> Option<Vec<u8>> {
        self.ping.take()
    }

    /// Whether a ping of the server has no answer.
    pub(crate) fn has_ping(&self) -> bool {
        self.ping.is_some()
    }

    /// When the messages were due that have no answer and get none, since the socket has failed at
    /// `now`: those that wait for one, and those that were due and could not be sent.
    pub(crate) fn missed(&self, now: u64) -> Vec<u64> {
        let mut missed: Vec<u64> = self.messages.awaited.iter().map(|it| it.due).collect();
        let SocketState::Open { at, left_at } = self.state else {
            return missed;
        };
        if self.plan.answer == MessageAnswer::Nothing {
            return missed;
        }
        let until = left_at.unwrap_or(now).min(now);
        match self.plan.every {
            Some(every) => {
                let unsent = self.messages.sent..self.most_messages();
                let due = |number| at + u64::from(number) * nanoseconds(every);
                let is_due = |&due: &u64| due <= until && !self.is_closed_by(at, due);
                missed.extend(unsent.map(due).take_while(is_due));
            }
            None => missed.extend(self.next_due(at).filter(|&due| due <= until)),
        }
        missed
    }

    /// When the latest ping was sent, if it has no pong.
    pub(crate) fn ping_sent_at(&self) -> Option<u64> {
        self.own_pings.awaited_since
    }

    /// What is to be done for it at `now`. `has_unsent` if what was sent before waits for the
    /// peer, which may let wait for `timeout` nanoseconds.
    pub(crate) fn next(&self, now: u64, timeout: u64, has_unsent: bool) -> SocketStep {
        let (at, left_at) = match self.state {
            SocketState::Accepted(_) | SocketState::Closed => {
                return SocketStep::WaitUntil(u64::MAX);
            }
            SocketState::Open { at, left_at } => (at, left_at),
            SocketState::Closing { since } if since + timeout <= now => {
                return SocketStep::Stalled;
            }
            SocketState::Closing { since } => return SocketStep::WaitUntil(since + timeout),
        };
        let oldest = self.messages.awaited.front();
        let up_at = oldest.map(|oldest| oldest.sent_at + timeout);
        if up_at.is_some_and(|up_at| up_at <= now) {
            return SocketStep::Unanswered;
        }
        let pong_up_at = self.own_pings.awaited_since.map(|since| since + timeout);
        if pong_up_at.is_some_and(|up_at| up_at <= now) {
            return SocketStep::NoPong;
        }
        if left_at.is_some() {
            return match up_at {
                None => SocketStep::Close(GOING_AWAY),
                Some(up_at) => SocketStep::WaitUntil(up_at),
            };
        }
        let ends_at = self.ends_at(at);
        let is_held = ends_at.is_none_or(|ends_at| now < ends_at);
        let due = self.next_due(at);
        let due = due.filter(|&due| is_held && !self.is_closed_by(at, due));
        let is_over = match ends_at {
            Some(_) => !is_held,
            None => due.is_none() && self.is_sent(),
        };
        let ping_due = (pong_up_at.is_none() && !is_over).then_some(self.own_pings.next_due);
        let first_due = ping_due.into_iter().chain(due).fold(u64::MAX, u64::min);
        match due {
            _ if is_over && oldest.is_none() => SocketStep::Close(NORMAL),
            _ if has_unsent && first_due.saturating_add(timeout) <= now => SocketStep::Stalled,
            _ if has_unsent && first_due <= now => SocketStep::WaitUntil(now + STALL_NS),
            Some(due) if due <= now => SocketStep::Send {
                number: self.messages.sent,
                due,
            },
            _ if first_due <= now => SocketStep::Ping,
            _ => {
                let ends_at = ends_at.filter(|_| is_held);
                let others = [up_at, pong_up_at, ends_at].into_iter().flatten();
                SocketStep::WaitUntil(others.fold(first_due, u64::min))
            }
        }
    }

    /// When the first ping after `now` is due, if those before it count from `from`.
    fn ping_due_after(&self, from: u64, now: u64) -> u64 {
        let Some(every) = self.plan.ping.map(nanoseconds) else {
            return u64::MAX;
        };
        from + ((now - from) / every + 1) * every
    }

    /// Notes that the next ping is sent at `now`; returns what it carries.
    pub(crate) fn note_ping(&mut self, now: u64) -> [u8; 4] {
        let next_due = self.ping_due_after(self.own_pings.next_due, now);
        let sent = self.own_pings.sent.wrapping_add(1);
        self.own_pings = OwnPings {
            sent,
            awaited_since: Some(now),
            next_due,
        };
        sent.to_be_bytes()
    }

    /// When a socket that was opened at `at` is closed, if its time says so.
    fn ends_at(&self, at: u64) -> Option<u64> {
        match self.plan.until {
            SocketEnd::Messages(_) => None,
            SocketEnd::Held(time) => Some(at + nanoseconds(time)),
        }
    }

    /// Whether a socket that was opened at `at` is closed by the time that a message is `due`.
    fn is_closed_by(&self, at: u64, due: u64) -> bool {
        self.ends_at(at).is_some_and(|ends_at| due >= ends_at)
    }

    /// Most messages that are sent over it.
    fn most_messages(&self) -> u32 {
        match self.plan.until {
            SocketEnd::Messages(number) => number,
            SocketEnd::Held(_) => u32::MAX,
        }
    }

    fn is_sent(&self) -> bool {
        self.messages.sent >= self.most_messages()
    }

    /// When the next message is due on a socket that was opened at `at`; `None` if none is yet.
    fn next_due(&self, at: u64) -> Option<u64> {
        if self.plan.messages.is_empty() || self.is_sent() {
            return None;
        }
        match self.plan.every {
            Some(every) => Some(at + u64::from(self.messages.sent) * nanoseconds(every)),
            None => self.messages.awaited.is_empty().then_some(self.answered_at),
        }
    }

    /// What the next message is masked with, and where it is noted.
    pub(crate) fn parts(&mut self) -> (&mut FrameMask, &mut SentMessages) {
        (&mut self.mask, &mut self.messages)
    }

    /// Notes that our close frame is sent at `now`.
    pub(crate) fn note_closed(&mut self, now: u64) {
        self.state = SocketState::Closing { since: now };
    }

    /// It is over: returns what it fails by, `None` if both sides have closed it.
    pub(crate) fn end(&self) -> Option<Kind> {
        match self.state {
            SocketState::Closed => None,
            _ => Some(Kind::WebSocketFault(WebSocketFault::Lost)),
        }
    }
}

impl OwnPings {
    /// A pong has come; returns when the latest ping was sent, if it answers that. One that answers
    /// none is no fault (RFC 6455 §5.5.3).
    fn take_answered_by(&mut self, payload: &[u8]) -> Option<u64> {
        if payload == self.sent.to_be_bytes() {
            self.awaited_since.take()
        } else {
            None
        }
    }
}

impl SentMessages {
    /// Notes that the next message, which was `due`, is sent at `now` with this `payload`. The
    /// error is why it cannot be answered.
    pub(crate) fn note(
        &mut self,
        (due, now): (u64, u64),
        payload: &[u8],
    ) -> Result<(), WebSocketFault> {
        self.sent += 1;
        let key = match &self.answer {
            MessageAnswer::Nothing => return Ok(()),
            MessageAnswer::Next => Vec::new(),
            MessageAnswer::Echo => payload.to_vec(),
            MessageAnswer::Json(pointer) => {
                json_key(payload, pointer).ok_or(WebSocketFault::NoAnswerKey)?
            }
        };
        self.awaited.push_back(AwaitedAnswer {
            due,
            sent_at: now,
            key,
        });
        Ok(())
    }

    /// Takes the message that `message` answers off those that wait; returns when it was due.
    fn answered_by(&mut self, message: &[u8]) -> Option<u64> {
        let mut awaited = self.awaited.iter();
        let place = match &self.answer {
            _ if awaited.len() == 0 => None,
            MessageAnswer::Nothing => None,
            MessageAnswer::Next => Some(0),
            MessageAnswer::Echo => awaited.position(|it| it.key == message),
            MessageAnswer::Json(pointer) => {
                let key = json_key(message, pointer)?;
                awaited.position(|it| it.key == key)
            }
        };
        Some(self.awaited.remove(place?)?.due)
    }
}

/// The value at `pointer` of a message, as text; `None` if it has none.
fn json_key(message: &[u8], pointer: &str) -> Option<Vec<u8>> {
    let value: Value = serde_json::from_slice(message).ok()?;
    value.pointer(pointer).map(|it| it.to_string().into_bytes())
}

#[cfg(test)]
mod tests;
