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
        /// The name.
        host: String,
        /// The resolver's message.
        reason: String,
    },
    /// This agent's policy forbids the target.
    #[error(
        "target: {address} (for {host}) is not among the addresses this agent may fire at; start \
         it with --allow {address} if you are entitled to load that machine"
    )]
    NotAllowed {
        /// Host in the plan.
        host: String,
        /// Address that it resolves to.
        address: std::net::IpAddr,
    },
    /// No connection can be made from a source address.
    #[error(
        "connection.source_addresses: {address} is not an address of this machine; leave it out, \
         or add it (ip address add {address} dev …)"
    )]
    ForeignSource {
        /// The address in the plan.
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
        /// This agent's share.
        asked: String,
        /// The most that the agent allows.
        ceiling: String,
        /// Flag that sets the ceiling.
        flag: &'static str,
    },
    /// The agent limits its rate, and the plan has none.
    #[error(
        "load.connections: a closed loop sends as fast as it is answered, and this agent bounds \
         its rate (--max-rate {ceiling}); write load.rate = \"{}\" or less in place of \
         load.connections, which makes an open loop, or start the agent without --max-rate \
         (--max-connections bounds a closed loop)",
        for_all(*ceiling, *agents)
    )]
    NoRate {
        /// The rate that this agent allows.
        ceiling: Rate,
        /// Agents in the run.
        agents: u32,
    },
    /// The share has more connections than the process may have open files.
    #[error(
        "{field}: this agent's share is {asked}, and it may open {limit} files; raise the hard \
         limit (ulimit -Hn, LimitNOFILE=), or use more agents"
    )]
    OpenFiles {
        /// Field of the plan that bounds connections.
        field: &'static str,
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
        /// Cells of both together, in warm-up and measured part.
        cells: usize,
        /// The limit on cells.
        most: usize,
    },
    /// The plan wants secrets written, and this agent does not write any.
    #[error(
        "tls.key_log: this agent writes no secrets of connections; start it, or `coordinator \
         start --local`, with --key-log DIR, or write key_log = \"off\""
    )]
    KeysNotAllowed,
    /// The file for secrets cannot be created.
    #[error(
        "tls.key_log: cannot make the file {path} ({reason}); name another folder by --key-log"
    )]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// The operating system refuses something that every run needs.
    #[error("cannot set up a load thread: {0}")]
    System(#[from] std::io::Error),
}

/// The rate of a plan in which each agent's share is `ceiling`.
fn for_all(ceiling: Rate, agents: u32) -> Rate {
    Rate::per_second(ceiling.as_per_second() * f64::from(agents.max(1))).unwrap_or(ceiling)
}
