//! Conversions between messages and the types of this crate.

use crate::{ClockReading, EndCause, RunId};
use proto::ack::Stored;
use proto::{Ack, Clock, FromAgent, FromCoordinator, from_agent, from_coordinator};

pub(crate) fn from_agent(message: from_agent::Message) -> FromAgent {
    FromAgent {
        message: Some(message),
    }
}

pub(crate) fn from_coordinator(message: from_coordinator::Message) -> FromCoordinator {
    FromCoordinator {
        message: Some(message),
    }
}

/// Acknowledges what is stored of a run.
pub(crate) fn ack(run: RunId, stored: Stored) -> from_coordinator::Message {
    from_coordinator::Message::Ack(Ack {
        run_id: run.to_wire(),
        stored: Some(stored),
    })
}

pub(crate) fn clock(clock: Option<Clock>) -> Option<ClockReading> {
    clock.map(|clock| ClockReading {
        offset_ns: clock.offset_ns,
        bound_ns: clock.bound_ns,
    })
}

pub(crate) fn end_cause_to_wire(cause: EndCause) -> (proto::EndCause, String) {
    match cause {
        EndCause::Plan => (proto::EndCause::Plan, String::new()),
        EndCause::Stopped => (proto::EndCause::Stopped, String::new()),
        EndCause::LeaseExpired => (proto::EndCause::LeaseExpired, String::new()),
        EndCause::Failed(text) => (proto::EndCause::Failed, cut(text)),
    }
}

pub(crate) fn end_cause(cause: i32, text: &str) -> EndCause {
    match proto::EndCause::try_from(cause) {
        Ok(proto::EndCause::Plan) => EndCause::Plan,
        Ok(proto::EndCause::Stopped) => EndCause::Stopped,
        Ok(proto::EndCause::LeaseExpired) => EndCause::LeaseExpired,
        Ok(proto::EndCause::Failed) => EndCause::Failed(text.to_owned()),
        Ok(proto::EndCause::Unknown) | Err(_) => {
            EndCause::Failed(format!("for a reason unknown here ({cause}): {text}"))
        }
    }
}

/// Event of the note by which an agent says that it will answer the plan later.
pub(crate) const BUSY: &str = "busy";

/// Longest sentence that is sent, so that no message comes near its size limit.
const TEXT_MAX_BYTES: usize = 16 << 10;

/// Cuts a text that is too long to send.
pub(crate) fn cut(mut text: String) -> String {
    if text.len() > TEXT_MAX_BYTES {
        let end = (0..=TEXT_MAX_BYTES)
            .rev()
            .find(|&end| text.is_char_boundary(end))
            .unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_come_back_as_they_went() {
        for cause in [
            EndCause::Plan,
            EndCause::Stopped,
            EndCause::LeaseExpired,
            EndCause::Failed("why".into()),
        ] {
            let (number, text) = end_cause_to_wire(cause.clone());
            assert_eq!(end_cause(number.into(), &text), cause);
        }
        assert!(matches!(end_cause(77, ""), EndCause::Failed(_)));
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        let text = cut("ü".repeat(TEXT_MAX_BYTES));
        assert!(text.len() <= TEXT_MAX_BYTES + '…'.len_utf8() && text.ends_with("ü…"));
        assert_eq!(cut("short".into()), "short");
    }
}
