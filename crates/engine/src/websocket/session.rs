//! One socket: what has come, what is due, and what it waits for. It is told the time.

use super::handshake::UpgradeFields;
use super::message_reader::{MessageReader, PeerFrame};
use super::{FrameMask, GOING_AWAY, NO_CODE, NORMAL};
use measure::{Kind, WebSocketFault, nanoseconds};
use plan::{MessageAnswer, SocketEnd, WebSocket};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;

/// How long a socket that cannot take more waits before it is tried again, nanoseconds.
const STALL_NS: u64 = 5_000_000;

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
        /// The run ends.
        is_leaving: bool,
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
    /// What the latest ping of the server carried.
    pub(crate) ping: Option<Vec<u8>>,
    /// The code with which the server has closed; 1005 if it gave none.
    pub(crate) closed: Option<u16>,
    pub(crate) fault: Option<WebSocketFault>,
}

/// What is to be done next for a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SocketStep {
    /// Send message `number`, which was due at `due`.
    Send { number: u32, due: u64 },
    /// Send a close frame with this code.
    Close(u16),
    /// Nothing before this instant.
    WaitUntil(u64),
    /// The time of a message that was due at `due` is up, or that of our close frame.
    Unanswered { due: Option<u64> },
    /// The peer takes no more of what is sent.
    Stalled,
}

impl SocketSession {
    /// A socket that the server has accepted with these header fields.
    pub(crate) fn new<'f>(
        plan: &Arc<WebSocket>,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
    ) -> SocketSession {
        SocketSession {
            plan: Arc::clone(plan),
            state: SocketState::Accepted(UpgradeFields::new(fields)),
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
            ..
        } = self;
        // What comes after our close frame answers nothing that is measured.
        let is_closing = matches!(state, SocketState::Closing { .. });
        let fed = reader.feed(bytes, &mut |arrival| match arrival {
            PeerFrame::Message(message) => {
                news.received += 1;
                if !is_closing && let Some(due) = messages.answered_by(message) {
                    news.answered.push(due);
                }
            }
            PeerFrame::Ping(payload) => news.ping = Some(payload.to_vec()),
            PeerFrame::Pong => {}
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
        self.state = SocketState::Open {
            at,
            is_leaving: false,
        };
        self.answered_at = at;
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

    /// The run ends: it is closed next.
    pub(crate) fn leave(&mut self) {
        if let SocketState::Open { is_leaving, .. } = &mut self.state {
            *is_leaving = true;
        }
    }

    /// What is to be done for it at `now`. `has_unsent` if what was sent before waits for the
    /// peer, which may let wait for `timeout` nanoseconds.
    pub(crate) fn next(&self, now: u64, timeout: u64, has_unsent: bool) -> SocketStep {
        let (at, is_leaving) = match self.state {
            SocketState::Accepted(_) | SocketState::Closed => {
                return SocketStep::WaitUntil(u64::MAX);
            }
            SocketState::Open { at, is_leaving } => (at, is_leaving),
            SocketState::Closing { since } if since + timeout <= now => {
                return SocketStep::Unanswered { due: None };
            }
            SocketState::Closing { since } => return SocketStep::WaitUntil(since + timeout),
        };
        if is_leaving {
            return SocketStep::Close(GOING_AWAY);
        }
        let oldest = self.messages.awaited.front();
        if let Some(oldest) = oldest.filter(|oldest| oldest.sent_at + timeout <= now) {
            return SocketStep::Unanswered {
                due: Some(oldest.due),
            };
        }
        let up_at = oldest.map(|oldest| oldest.sent_at + timeout);
        let due = self.next_due(at);
        let ends_at = match self.plan.until {
            SocketEnd::Messages(_) => None,
            SocketEnd::Held(time) => Some(at + nanoseconds(time)),
        };
        let is_held = ends_at.is_none_or(|ends_at| now < ends_at);
        let due = due.filter(|&due| is_held && ends_at.is_none_or(|ends_at| due < ends_at));
        let is_over = match ends_at {
            Some(_) => !is_held,
            None => due.is_none() && self.is_sent(),
        };
        match due {
            _ if is_over && oldest.is_none() => SocketStep::Close(NORMAL),
            Some(due) if due <= now && has_unsent && due + timeout <= now => SocketStep::Stalled,
            Some(due) if due <= now && has_unsent => SocketStep::WaitUntil(now + STALL_NS),
            Some(due) if due <= now => SocketStep::Send {
                number: self.messages.sent,
                due,
            },
            _ => {
                let ends_at = ends_at.filter(|_| is_held);
                let instants = [due, up_at, ends_at].into_iter().flatten();
                SocketStep::WaitUntil(instants.fold(u64::MAX, u64::min))
            }
        }
    }

    fn is_sent(&self) -> bool {
        matches!(self.plan.until, SocketEnd::Messages(number) if self.messages.sent >= number)
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
