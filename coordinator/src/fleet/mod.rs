//! The coordinator's end of the control plane: agents dial in, one task owns what is known of them,
//! and the caller gets each run as a stream of events. Knows nothing of what the intervals say.

mod acceptor;
mod authority;
mod downstream;
mod enrolment;
mod fleet_task;
mod handle;
mod quitting;
mod service;

pub use authority::AuthorityError;
pub use enrolment::{Enrolment, EnrolmentError};
pub use handle::{FleetHandle, RunEvents, RunRefused};

use control::CoordinatorId;
use fleet_task::FleetTask;
use secret::{NoRandomness, random};
use service::Attachments;
use std::io;
use std::net::SocketAddr;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

/// Opens a port for agents.
///
/// # Errors
/// When the address is taken, or is not one of this machine's.
pub async fn bind(address: SocketAddr) -> Result<TcpListener, FleetError> {
    TcpListener::bind(address)
        .await
        .map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => FleetError::PortInUse { address },
            _ => FleetError::Bind { address, error },
        })
}

/// Lets agents that hold the enrolment's token join on this listener. Must be called within a tokio
/// runtime; what it starts ends with [`FleetHandle::shut_down`].
///
/// # Errors
/// When the listener has no address, or the system no random numbers.
pub fn listen(listener: TcpListener, enrolment: &Enrolment) -> Result<FleetHandle, FleetError> {
    let address = listener.local_addr().map_err(FleetError::Listener)?;
    let id = CoordinatorId(random()?);
    let (quit, quitting) = watch::channel(false);
    let (commands, commands_out) = mpsc::channel(handle::COMMANDS_MAX);
    let (attachments, attached) = Attachments::new(enrolment.token().secret().clone());
    let connections = acceptor::accept(listener, enrolment.tls(), quitting.clone());
    let server = tokio::spawn(service::serve(
        connections.io,
        attachments,
        quitting.clone(),
    ));
    let fleet_task = tokio::spawn(FleetTask::new(id, attached, commands_out, quitting).run());
    Ok(FleetHandle {
        address,
        commands,
        quit,
        tasks: vec![connections.task, server, fleet_task],
    })
}

/// Why no agent can join.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// Somebody listens there.
    #[error(
        "cannot listen on {address}: another program does, maybe another coordinator; choose \
         another port by --listen"
    )]
    PortInUse {
        /// Address that was asked for.
        address: SocketAddr,
    },
    /// Not an address of this machine, or a port that needs privileges.
    #[error(
        "cannot listen on {address}: {error}; choose an address of this machine and a port above \
         1023 by --listen"
    )]
    Bind {
        /// Address that was asked for.
        address: SocketAddr,
        /// What the system says.
        error: io::Error,
    },
    /// It was closed.
    #[error("cannot use the listener: {0}")]
    Listener(io::Error),
    /// Nothing to make the coordinator's number of.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}
