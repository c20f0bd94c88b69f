//! The gRPC service: checks that an agent that attaches knows the secret, and hands the two ends of
//! each stream to the fleet's task.

use super::acceptor::AgentIo;
use super::agent_messages::AgentMessages;
use super::downstream::{Downstream, DownstreamItem};
use super::lobby::Pass;
use super::quitting::quit;
use control::{ConnectionId, JoinSecret};
use proto::control_server::{Control, ControlServer};
use proto::{FromAgent, MESSAGE_MAX_BYTES};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tonic::codegen::tokio_stream::Stream;
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};

/// A connection that is silent for this long is asked for a sign of life, and closed after as long
/// again. Together that is more than the longest lease: it is for the fleet to decide which agents
/// are silent, and how long to wait for them.
const KEEPALIVE: Duration = Duration::from_secs(control::LEASE_MAX.as_secs() / 2 + 5);

/// Room for streams that wait for the fleet's task, which takes them at once.
const ATTACHED_MAX: usize = 16;

/// Most streams of one connection; an agent has one, and for a moment two.
const STREAMS_MAX: u32 = 4;

/// How far an agent may send ahead of what was read. A beat waits behind that, and must arrive well
/// within a lease if the link carries 50 kB/s. With a round trip of 100 ms it still lets more than
/// a megabyte a second through.
const WINDOW_BYTES: u32 = 128 << 10;

/// How long connections may stay open once the fleet ends; then they are cut.
const FAREWELL_MAX: Duration = Duration::from_secs(2);

/// An agent that has proved itself.
pub(super) struct Attached {
    pub(super) at: ConnectionId,
    pub(super) incoming: AgentMessages,
    pub(super) outgoing: mpsc::Sender<DownstreamItem>,
}

/// Attaches agents that know the secret.
pub(super) struct Attachments {
    secret: JoinSecret,
    last: AtomicU64,
    attached: mpsc::Sender<Attached>,
}

impl Attachments {
    pub(super) fn new(secret: JoinSecret) -> (Attachments, mpsc::Receiver<Attached>) {
        let (attached, receiver) = mpsc::channel(ATTACHED_MAX);
        (
            Attachments {
                secret,
                last: AtomicU64::new(0),
                attached,
            },
            receiver,
        )
    }

    fn check<T>(&self, request: &Request<T>) -> Result<(), Status> {
        let authorization = request
            .metadata()
            .get("authorization")
            .and_then(|value| value.to_str().ok());
        if authorization.is_some_and(|authorization| self.secret.is_proved_by(authorization)) {
            return Ok(());
        }
        Err(Status::unauthenticated(
            "the secret is not this coordinator's",
        ))
    }
}

#[tonic::async_trait]
impl Control for Attachments {
    type AttachStream = Downstream;

    async fn attach(
        &self,
        request: Request<Streaming<FromAgent>>,
    ) -> Result<Response<Downstream>, Status> {
        self.check(&request)?;
        let at = ConnectionId(self.last.fetch_add(1, Ordering::Relaxed));
        let pass = request.extensions().get::<Pass>();
        let pass = pass.ok_or_else(|| Status::internal("a connection without a pass"))?;
        let place = pass
            .prove()
            .map_err(|full| Status::resource_exhausted(full.to_string()))?;
        let greeting = Arc::downgrade(&place);
        let (outgoing, stream) = Downstream::new(place);
        let attached = Attached {
            at,
            incoming: AgentMessages::new(request.into_inner(), greeting),
            outgoing,
        };
        self.attached
            .send(attached)
            .await
            .map_err(|_| Status::unavailable("the coordinator is ending"))?;
        Ok(Response::new(stream))
    }
}

/// Serves connections until `quitting`, then gives them a while to end in good order.
pub(super) async fn serve(
    connections: mpsc::Receiver<io::Result<AgentIo>>,
    attachments: Attachments,
    mut quitting: watch::Receiver<bool>,
) {
    let service = ControlServer::new(attachments)
        .max_decoding_message_size(MESSAGE_MAX_BYTES)
        .max_encoding_message_size(MESSAGE_MAX_BYTES);
    let mut asked = quitting.clone();
    let serving = Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE))
        .max_concurrent_streams(STREAMS_MAX)
        .initial_stream_window_size(WINDOW_BYTES)
        .serve_with_incoming_shutdown(service, Incoming(connections), async move {
            quit(&mut asked).await;
        });
    let deadline = async {
        quit(&mut quitting).await;
        tokio::time::sleep(FAREWELL_MAX).await;
    };
    tokio::select! {
        _ = serving => {}
        () = deadline => {}
    }
}

struct Incoming(mpsc::Receiver<io::Result<AgentIo>>);

impl Stream for Incoming {
    type Item = io::Result<AgentIo>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}
