//! One answer: status, body, framing, delay, and what is wrong with it.

use crate::{Pace, TargetFault};
use std::time::Duration;

/// How requests are answered. The default is 200 with 356 bytes, `Content-Length`, at once.
#[derive(Debug, Clone)]
pub struct TargetAnswer {
    /// Final status, 200 to 999. 204 and 304 have no body and no framing.
    pub status: u16,
    /// Bytes of the body; any size, no more than 64 KiB of it is ever in memory.
    pub body_bytes: u64,
    /// How the end of the body is found.
    pub framing: BodyFraming,
    /// Statuses 100 to 199 sent, in order, before the final head.
    pub interim: Vec<u16>,
    /// Wait between the request's last byte and the final head; `interim` is sent before it. Never
    /// shorter, and longer by no more than a thread takes to wake and write: tens of microseconds.
    /// Zero is no wait at all.
    pub delay: Duration,
    /// What comes after the delay: stalls, or a queue for servers. `interim` is sent before it too.
    pub pace: Pace,
    /// Requests of each connection that are answered soundly before the fault shows.
    pub sound_first: u32,
    /// What is wrong with the answer.
    pub fault: Option<TargetFault>,
}

impl Default for TargetAnswer {
    fn default() -> TargetAnswer {
        TargetAnswer {
            status: 200,
            body_bytes: 356,
            framing: BodyFraming::ContentLength,
            interim: Vec::new(),
            delay: Duration::ZERO,
            pace: Pace::AtOnce,
            sound_first: 0,
            fault: None,
        }
    }
}

impl TargetAnswer {
    /// The default answer with another status.
    #[must_use]
    pub fn status(status: u16) -> TargetAnswer {
        TargetAnswer {
            status,
            ..TargetAnswer::default()
        }
    }

    /// The default answer with a fault.
    #[must_use]
    pub fn faulty(fault: TargetFault) -> TargetAnswer {
        TargetAnswer {
            fault: Some(fault),
            ..TargetAnswer::default()
        }
    }

    /// Whether there can be a wait before the final head.
    pub(crate) fn waits(&self) -> bool {
        !self.delay.is_zero() || self.pace != Pace::AtOnce
    }

    /// Whether RFC 9112 §6.3 allows this status a body.
    pub(crate) fn has_body(&self) -> bool {
        !matches!(self.status, 204 | 304)
    }
}

/// How the end of a body is found (RFC 9112 §6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFraming {
    /// By the field `Content-Length`.
    ContentLength,
    /// By `Transfer-Encoding: chunked`, in chunks of up to 64 KiB.
    Chunked,
    /// By the connection's end; every answer is then the last of its connection.
    EofDelimited,
}
