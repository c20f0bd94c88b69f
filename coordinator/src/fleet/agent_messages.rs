//! The messages that one agent sends; its hello makes it a member.

use super::lobby::StreamPlace;
use proto::FromAgent;
use proto::from_agent::Message;
use std::sync::Weak;
use tonic::{Status, Streaming};

/// The request stream of one agent.
pub(super) struct AgentMessages {
    incoming: Streaming<FromAgent>,
    /// `None` once the first message has come.
    place: Option<Weak<StreamPlace>>,
}

impl AgentMessages {
    pub(super) fn new(incoming: Streaming<FromAgent>, place: Weak<StreamPlace>) -> AgentMessages {
        AgentMessages {
            incoming,
            place: Some(place),
        }
    }

    /// Returns the next message; `None` after the last.
    ///
    /// # Errors
    /// The stream broke, or there is no place for one more agent.
    pub(super) async fn message(&mut self) -> Result<Option<FromAgent>, Status> {
        let message = self.incoming.message().await?;
        let place = self.place.take().and_then(|place| place.upgrade());
        if let (Some(place), Some(message)) = (place, &message)
            && matches!(message.message, Some(Message::Hello(_)))
        {
            place
                .greet()
                .map_err(|full| Status::resource_exhausted(full.to_string()))?;
        }
        Ok(message)
    }
}
