//! What is sent to the coordinator: messages first, and intervals as there is room.

use proto::{FromAgent, IntervalPart, from_agent};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;
use tonic::codegen::tokio_stream::Stream;

/// Messages that can wait, apart from intervals: beats, and a few per run. A stream that is this
/// far behind is dead.
const MESSAGES_MAX: usize = 64;

/// Parts of intervals that can wait. Only one, so that a beat waits for as little as possible.
const PARTS_MAX: usize = 1;

/// The sending side of one stream.
#[derive(Debug)]
pub(super) struct UpstreamSender {
    pub(super) messages: mpsc::Sender<FromAgent>,
    pub(super) parts: mpsc::Sender<IntervalPart>,
}

/// The request stream; ends when its [`UpstreamSender`] is dropped.
#[derive(Debug)]
pub(super) struct Upstream {
    messages: mpsc::Receiver<FromAgent>,
    parts: mpsc::Receiver<IntervalPart>,
}

/// The two ends of one stream.
pub(super) fn upstream() -> (UpstreamSender, Upstream) {
    let (messages, messages_out) = mpsc::channel(MESSAGES_MAX);
    let (parts, parts_out) = mpsc::channel(PARTS_MAX);
    (
        UpstreamSender { messages, parts },
        Upstream {
            messages: messages_out,
            parts: parts_out,
        },
    )
}

impl Stream for Upstream {
    type Item = FromAgent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<FromAgent>> {
        match self.messages.poll_recv(context) {
            Poll::Ready(message) => Poll::Ready(message),
            Poll::Pending => match self.parts.poll_recv(context) {
                Poll::Ready(Some(part)) => Poll::Ready(Some(FromAgent {
                    message: Some(from_agent::Message::Interval(part)),
                })),
                // Both senders are dropped together, and the messages' side reports the end.
                Poll::Ready(None) | Poll::Pending => Poll::Pending,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::{Beat, from_agent::Message};

    /// What the stream yields now; `None` if it would wait.
    fn next(stream: &mut Upstream) -> Option<Option<FromAgent>> {
        let mut context = Context::from_waker(std::task::Waker::noop());
        match Pin::new(stream).poll_next(&mut context) {
            Poll::Ready(message) => Some(message),
            Poll::Pending => None,
        }
    }

    fn beat() -> FromAgent {
        FromAgent {
            message: Some(Message::Beat(Beat::default())),
        }
    }

    #[test]
    fn beat_goes_before_a_part_that_waits() {
        let (sender, mut stream) = upstream();
        sender.parts.try_send(IntervalPart::default()).unwrap();
        sender.messages.try_send(beat()).unwrap();
        assert_eq!(next(&mut stream), Some(Some(beat())));
        let part = FromAgent {
            message: Some(Message::Interval(IntervalPart::default())),
        };
        assert_eq!(next(&mut stream), Some(Some(part)));
        assert_eq!(next(&mut stream), None);
    }

    #[test]
    fn parts_are_held_back_until_one_is_taken() {
        let (sender, mut stream) = upstream();
        sender.parts.try_send(IntervalPart::default()).unwrap();
        assert!(sender.parts.try_send(IntervalPart::default()).is_err());
        assert!(next(&mut stream).is_some());
        sender.parts.try_send(IntervalPart::default()).unwrap();
    }

    #[test]
    fn stream_ends_with_its_sender_once_all_messages_are_out() {
        let (sender, mut stream) = upstream();
        sender.messages.try_send(beat()).unwrap();
        drop(sender);
        assert_eq!(next(&mut stream), Some(Some(beat())));
        assert_eq!(next(&mut stream), Some(None));
    }
}
