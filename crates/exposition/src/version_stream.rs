//! Server-sent events that say which version of a page is the newest, and no more: a slow viewer
//! misses numbers, but holds no memory.
//! <https://html.spec.whatwg.org/multipage/server-sent-events.html>

use super::latest_run::{Follower, ShownRun};
use hyper::body::{Body, Bytes, Frame};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// How often the newest number is repeated: silence means that the connection is dead. The page's
/// script waits three times as long (`SILENCE_MS`).
const SAY_EVERY: Duration = Duration::from_secs(3);

/// The events for a follower, one after the other.
pub(crate) struct VersionStream {
    next: NextEvent,
}

type NextEvent = Pin<Box<dyn Future<Output = Option<(Bytes, Follower)>> + Send>>;

impl VersionStream {
    /// Begins with the version that there is.
    pub(crate) fn new(follower: Follower) -> VersionStream {
        VersionStream {
            next: Box::pin(next_event(follower)),
        }
    }
}

impl Body for VersionStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = ready!(self.next.as_mut().poll(context));
        Poll::Ready(next.map(|(event, follower)| {
            self.next = Box::pin(next_event(follower));
            Ok(Frame::data(event))
        }))
    }
}

/// Waits for the next event; `None` if no run is shown any more.
async fn next_event(mut follower: Follower) -> Option<(Bytes, Follower)> {
    match tokio::time::timeout(SAY_EVERY, follower.shown.changed()).await {
        Ok(Err(_)) => None,
        Ok(Ok(())) | Err(_) => {
            let event = event(&follower.shown.borrow_and_update());
            Some((event, follower))
        }
    }
}

fn event(shown: &ShownRun) -> Bytes {
    let kind = if shown.is_over { "event: over\n" } else { "" };
    Bytes::from(format!("{kind}data: {}\n\n", shown.version))
}
