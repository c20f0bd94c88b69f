//! The stream to one agent: messages first, files when there is room.

use super::lobby::StreamPlace;
use control::FileParts;
use proto::{FromCoordinator, from_coordinator};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::mpsc;
use tonic::Status;
use tonic::codegen::tokio_stream::Stream;

/// Most messages that wait for one agent, not counting files. A healthy agent gets a grant a
/// second, and an acknowledgement for each interval; one that is this far behind is cut off. The
/// shares of all agents of a zone can be dealt at once.
pub(super) const ITEMS_MAX: usize = 256 + control::TAKEN_OVER_MAX;

/// Something for an agent.
#[derive(Debug)]
pub(super) enum DownstreamItem {
    /// Sent before any file.
    Message(Box<FromCoordinator>),
    /// Replaces files that wait.
    Files(FileParts),
    /// The stream ends, and the coordinator stays.
    DialAgain,
}

/// The response stream of one agent. It ends when the fleet's task drops its sender and all
/// messages are out.
pub(super) struct Downstream {
    receiver: mpsc::Receiver<DownstreamItem>,
    files: Option<FileParts>,
    /// The agent is a member as long as this stream to it exists.
    _place: Arc<StreamPlace>,
}

impl Downstream {
    pub(super) fn new(place: Arc<StreamPlace>) -> (mpsc::Sender<DownstreamItem>, Downstream) {
        let (sender, receiver) = mpsc::channel(ITEMS_MAX);
        (
            sender,
            Downstream {
                receiver,
                files: None,
                _place: place,
            },
        )
    }

    fn next_file_part(&mut self) -> Option<FromCoordinator> {
        let part = self.files.as_mut()?.next()?;
        Some(FromCoordinator {
            message: Some(from_coordinator::Message::File(part)),
        })
    }
}

impl Stream for Downstream {
    type Item = Result<FromCoordinator, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match self.receiver.poll_recv(context) {
                Poll::Ready(Some(DownstreamItem::Message(message))) => {
                    return Poll::Ready(Some(Ok(*message)));
                }
                Poll::Ready(Some(DownstreamItem::Files(files))) => self.files = Some(files),
                Poll::Ready(Some(DownstreamItem::DialAgain)) => {
                    let why = "the coordinator closed it; this agent dials again";
                    return Poll::Ready(Some(Err(Status::aborted(why))));
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => {
                    // A part is made only when nothing else waits: files give way to grants.
                    let part = self.next_file_part();
                    return part.map_or(Poll::Pending, |part| Poll::Ready(Some(Ok(part))));
                }
            }
        }
    }
}
