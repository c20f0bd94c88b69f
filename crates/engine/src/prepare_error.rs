//! Why a plan cannot be run on this machine.

use crate::tls::TlsError;
use plan::Rate;
use std::path::PathBuf;

/// Why a plan cannot be run here.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The target's name has no address.
    #[error(
        "target.url: the name {host} does not resolve ({reason}); check it, or give \
         target.addresses"
    )]
    Resolve {
        /// Name.
        host: String,
        /// What the resolver says.
        reason: String,
    },
    /// This agent may not fire there.
    #[error(
        "target: {address} (for {host}) is not among the addresses this agent may fire at; start \
         it with --allow {address} if you are entitled to load that machine"
    )]
    NotAllowed {
        /// Host of the plan.
        host: String,
        /// Address it resolves to.
        address: std::net::IpAddr,
    },
    /// No connection can be made from there.
    #[error(
        "connection.source_addresses: {address} is not an address of this machine; leave it out, \
         or add it (ip address add {address} dev …)"
    )]
    ForeignSource {
        /// Of the plan.
        address: std::net::IpAddr,
    },
    /// The plan asks for more than the agent's ceilings.
    #[error(
        "{field}: this agent's share of {asked} is above its own ceiling of {ceiling}; use more \
         agents, ask for less, or raise {flag} on the agent"
    )]
    AboveCeiling {
        /// Field of the plan.
        field: &'static str,
        /// What this agent would have to do.
        asked: String,
        /// What it allows.
        ceiling: String,
        /// Flag that sets the ceiling.
        flag: &'static str,
    },
    /// The agent bounds its rate, and the plan has none.
    #[error(
        "load.connections: a closed loop sends as fast as it is answered, and this agent bounds \
         its rate (--max-rate {ceiling}); write load.rate = \"{}\" or less in place of \
         load.connections, which makes an open loop, or start the agent without --max-rate \
         (--max-connections bounds a closed loop)",
        for_all(*ceiling, *agents)
    )]
    NoRate {
        /// What this agent allows.
        ceiling: Rate,
        /// Agents in the run.
        agents: u32,
    },
    /// More connections than the process may have open files.
    #[error(
        "load.connections: this agent's share is {asked}, and it may open {limit} files; raise \
         the hard limit (ulimit -Hn, LimitNOFILE=), or use more agents"
    )]
    OpenFiles {
        /// Connections of the share.
        asked: u32,
        /// Hard limit of open files.
        limit: u64,
    },
    /// More cells than a run may have.
    #[error(
        "request: {requests} requests at {addresses} addresses are kept apart as {cells} cells, \
         and a run has {most} at most; use fewer requests, or fewer addresses"
    )]
    TooManyCells {
        /// Requests of the plan.
        requests: usize,
        /// Addresses of the target.
        addresses: usize,
        /// Cells of both, in warm-up and measured part.
        cells: usize,
        /// Bound on them.
        most: usize,
    },
    /// The plan wants secrets written, and this agent does not.
    #[error(
        "tls.key_log: this agent writes no secrets of connections; start it, or `coordinator \
         start --local`, with --key-log DIR, or write key_log = \"off\""
    )]
    KeysNotAllowed,
    /// The file for secrets cannot be made.
    #[error(
        "tls.key_log: cannot make the file {path} ({reason}); name another folder by --key-log"
    )]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// The operating system refuses something that every run needs.
    #[error("cannot set up a load thread: {0}")]
    System(#[from] std::io::Error),
}

/// The rate of a plan of which each of its agents has this much.
fn for_all(ceiling: Rate, agents: u32) -> Rate {
    Rate::per_second(ceiling.as_per_second() * f64::from(agents.max(1))).unwrap_or(ceiling)
}
