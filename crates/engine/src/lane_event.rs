//! What a connection reports of its lanes, in the same words for every protocol.

use measure::Kind;

/// An event of a connection. A *lane* carries one request and its answer at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaneEvent {
    /// The handshake is done: the lane that opened the connection can send its request.
    Opened,
    /// Further lanes may begin, which had to wait for the peer's permission.
    Ready,
    /// The peer allows `lanes` lanes at once, fewer than there are, and fewer than before.
    Limited { lanes: u32, is_first: bool },
    /// The server wants the body of the only lane's request, which has waited for that.
    Continued,
    /// An answer has begun to arrive.
    FirstByte { lane: u32 },
    /// Events of a streamed answer have come, before it was complete.
    Events { lane: u32 },
    /// More of an unfinished answer has arrived, or its beginning.
    Progress { lane: u32 },
    /// The answer is complete; no earlier event of it is needed.
    Answered { lane: u32 },
    /// The lane's answer will never be of use; the connection goes on.
    Failed { lane: u32, kind: Kind },
    /// The peer has not processed the request and never will, so it may be sent again. If it is
    /// not, it fails with `kind`.
    Refused { lane: u32, kind: Kind },
    /// The peer accepts no further requests on this connection.
    GoingAway,
    /// Bytes came that no request asked for; nothing can follow them.
    Unsolicited,
    /// The peer has not closed the connection in time, for `waited` nanoseconds.
    Overdue { waited: u64 },
}

impl LaneEvent {
    /// The lane that it is about; `None` if it is about the connection.
    pub(crate) fn lane(self) -> Option<u32> {
        match self {
            LaneEvent::FirstByte { lane }
            | LaneEvent::Events { lane }
            | LaneEvent::Progress { lane }
            | LaneEvent::Answered { lane }
            | LaneEvent::Failed { lane, .. }
            | LaneEvent::Refused { lane, .. } => Some(lane),
            LaneEvent::Opened
            | LaneEvent::Ready
            | LaneEvent::Limited { .. }
            | LaneEvent::Continued
            | LaneEvent::GoingAway
            | LaneEvent::Unsolicited
            | LaneEvent::Overdue { .. } => None,
        }
    }
}
