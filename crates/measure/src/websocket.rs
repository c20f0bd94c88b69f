//! WebSockets (RFC 6455): how a server breaks their rules, and what is counted of them.

use serde::{Deserialize, Serialize};

/// How a server breaks the rules of WebSockets, or what is expected of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum WebSocketFault {
    /// The answer to the opening handshake lacks `upgrade`, or its `sec-websocket-accept` is wrong
    /// (RFC 6455 §4.1).
    BadHandshake,
    /// The server chose a subprotocol that was not offered, or an extension.
    Protocol,
    /// A frame of the server is masked, or has a reserved bit, an unknown opcode or a length that
    /// is not written in the shortest form.
    BadFrame,
    /// A control frame is longer than 125 bytes or fragmented, or its close code is not valid.
    BadControl,
    /// A fragment does not continue a message, or a new one begins within another.
    BadFragment,
    /// A text is not UTF-8.
    NotUtf8,
    /// A message is longer than the client reads.
    MessageTooLarge,
    /// A message has no JSON value at the place by which answers are found.
    NoAnswerKey,
    /// A message was not answered within the time-out.
    Unanswered,
    /// The connection ended without a close frame.
    Lost,
    /// A ping of ours had no pong within the time-out.
    NoPong,
    /// The server's settings do not offer WebSockets over HTTP/2 (RFC 8441 §3).
    NotOffered,
}

impl WebSocketFault {
    /// All of them, with the names that results and thresholds write.
    pub(crate) const NAMES: [(WebSocketFault, &str); 12] = [
        (WebSocketFault::BadHandshake, "bad_handshake"),
        (WebSocketFault::Protocol, "protocol"),
        (WebSocketFault::BadFrame, "bad_frame"),
        (WebSocketFault::BadControl, "bad_control"),
        (WebSocketFault::BadFragment, "bad_fragment"),
        (WebSocketFault::NotUtf8, "not_utf8"),
        (WebSocketFault::MessageTooLarge, "message_too_large"),
        (WebSocketFault::NoAnswerKey, "no_answer_key"),
        (WebSocketFault::Unanswered, "unanswered"),
        (WebSocketFault::Lost, "lost"),
        (WebSocketFault::NoPong, "no_pong"),
        (WebSocketFault::NotOffered, "not_offered"),
    ];
}

/// What is counted of WebSockets, by request. Messages count in the second in which they are sent
/// or come, whatever becomes of their socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum WebSocketFact {
    /// The server has accepted the opening handshake.
    Opened,
    /// A message was sent.
    Sent,
    /// A text or binary message came, an answer or not.
    Received,
    /// A message had its answer.
    Answered,
    /// A socket was closed because the run ended.
    CutByEnd,
    /// The server closed with this code, in answer to our close or by itself; 1005 if it gave none.
    Closed(u16),
    /// A ping of ours was sent.
    Pinged,
    /// It had its pong.
    Ponged,
    /// A message had its answer after the measured part; it is one of those that are answered.
    AnsweredLate,
}
