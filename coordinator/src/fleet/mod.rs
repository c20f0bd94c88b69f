//! The coordinator's end of the control plane: agents dial in, one task owns what is known of them,
//! and the caller gets each run as a stream of events. Knows nothing of what intervals contain.

mod acceptor;
mod agent_messages;
mod authority;
mod downstream;
mod enrolment;
mod fleet_clock;
mod fleet_task;
mod handle;
mod lobby;
mod places;
mod quitting;
mod service;

pub use authority::AuthorityError;
pub use enrolment::{Enrolment, EnrolmentError};
pub(crate) use fleet_clock::{clock_name, now};
pub use handle::{FleetHandle, ReceiptSender, RunEvents, RunRefused, TakenEvent, TokenSender};
pub use places::too_many;

use control::CoordinatorId;
use fleet_task::FleetTask;
use lobby::Lobby;
use places::Places;
use secret::{NoRandomness, random};
use service::Attachments;
use std::io;
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{mpsc, watch};

/// Room for connections that wait to be accepted, as far as the system allows it
/// (net.core.somaxconn): a fleet of thousands that is started by one command dials within a moment.
/// The usual 128 overflow, and an agent whose last segment was dropped waits for an answer that
/// does not come.
const BACKLOG: u32 = 4096;

/// Opens a port for agents.
///
/// # Errors
/// The address is taken, or is not one of this machine's.
pub async fn bind(address: SocketAddr) -> Result<TcpListener, FleetError> {
    listener(address).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => FleetError::PortInUse { address },
        _ => FleetError::Bind { address, error },
    })
}

fn listener(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // Allows a port whose last coordinator has just ended.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Lets agents that hold the enrolment's token join on this listener. Must be called within a tokio
/// runtime; what it starts ends with [`FleetHandle::shut_down`].
///
/// # Errors
/// The listener has no address, or the system has no random numbers.
pub fn listen(listener: TcpListener, enrolment: &Enrolment) -> Result<FleetHandle, FleetError> {
    let address = listener.local_addr().map_err(FleetError::Listener)?;
    let id = CoordinatorId(random()?);
    let (quit, quitting) = watch::channel(false);
    let (commands, commands_out) = mpsc::channel(handle::COMMANDS_MAX);
    let (attachments, attached) = Attachments::new(enrolment.token().secret().clone());
    let connections = acceptor::accept(
        listener,
        enrolment.tls(),
        Lobby::new(Places::here()),
        quitting.clone(),
    );
    let server = tokio::spawn(service::serve(
        connections.io,
        attachments,
        quitting.clone(),
    ));
    let (stored, stored_out) = ReceiptSender::new();
    let task = FleetTask::new(id, attached, commands_out, stored_out, quitting);
    let fleet_task = tokio::spawn(task.run());
    Ok(FleetHandle {
        address,
        commands,
        stored,
        quit,
        tasks: vec![connections.task, server, fleet_task],
    })
}

/// Why no agent can join.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// Another program listens there.
    #[error(
        "cannot listen on {address}: another program does, maybe another coordinator; choose \
         another port by --listen"
    )]
    PortInUse {
        /// The address that was asked for.
        address: SocketAddr,
    },
    /// Not an address of this machine, or a port that needs privileges.
    #[error(
        "cannot listen on {address}: {error}; choose an address of this machine and a port above \
         1023 by --listen"
    )]
    Bind {
        /// The address that was asked for.
        address: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
    /// The listener was closed.
    #[error("cannot use the listener: {0}")]
    Listener(io::Error),
    /// There is no randomness to make the coordinator's number from.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}
