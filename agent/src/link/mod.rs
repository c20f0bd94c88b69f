//! The agent's end of the control plane: one stream to the coordinator, dialled again for as long
//! as the agent stays. Knows nothing of load: orders go out to whoever fires, reports come back.

mod address;
mod clocks;
mod dial;
mod driver;
mod spool;
mod upstream;
mod verifier;

pub use address::{AddressError, CoordinatorAddress};
pub use control::News;
pub use driver::{LinkError, run};

use control::{Order, Report, Role, Stay, Token};
use proto::Bytes;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::mpsc;

/// Orders that may wait for the runner. A run needs a handful, and one lease a second.
pub const ORDERS_MAX: usize = 2_048;

/// Reports that may wait for the link; when it cannot take more (see `control::HELD_MAX_BYTES` and
/// the spool), the runner's encoder waits, and never a worker.
pub const REPORTS_MAX: usize = 16;

/// Where to join, and as whom.
#[derive(Debug, Clone)]
pub struct LinkConfig {
    /// Where the coordinator listens.
    pub coordinator: CoordinatorAddress,
    /// What `start` printed there.
    pub token: Token,
    /// What the agent says of itself.
    pub identity: AgentIdentity,
    /// What it keeps of a run until the coordinator has it.
    pub keeping: Keeping,
    /// When it ends by itself.
    pub stay: Stay,
}

/// For how long, and where, an agent keeps what its coordinator has not taken.
#[derive(Debug, Clone)]
pub struct Keeping {
    /// So long after the end of a run.
    pub keep: Duration,
    /// Folder for what is more than memory holds.
    pub spool: PathBuf,
}

impl Default for Keeping {
    fn default() -> Keeping {
        Keeping {
            keep: control::KEEP,
            spool: std::env::temp_dir(),
        }
    }
}

/// What an agent says of itself; the link adds the id of its process, and the version of its
/// program.
#[derive(Debug, Clone)]
pub struct AgentIdentity {
    /// Host name, or what `--name` said.
    pub name: String,
    /// What `--label` said.
    pub labels: BTreeMap<String, String>,
    /// Load threads it would use.
    pub workers: u32,
    /// Host facts, encoded; at most 64 KiB.
    pub host: Bytes,
    /// Version of the encoding of its reports.
    pub encoding: u32,
    /// Version of the language of the plans that it reads.
    pub language: u32,
    /// What it does in a run.
    pub role: Role,
    /// Its machine's calibration, encoded; empty where there is none; at most 16 KiB.
    pub calibration: Bytes,
}

/// Why the link is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quit {
    /// Somebody wants it.
    Asked,
    /// The terminal is gone: of interest only while no run is held. With one, its coordinator
    /// counts on the agent, and nobody is missing at the terminal.
    Hangup,
}

/// What whoever fires holds: orders come out of it, reports go into it.
#[derive(Debug)]
pub struct RunnerEnd {
    /// Ends when the link has ended.
    pub orders: mpsc::Receiver<Order>,
    /// Closed when the link has ended.
    pub reports: mpsc::Sender<Report>,
}

/// The link's side of the same.
#[derive(Debug)]
pub struct LinkEnd {
    orders: mpsc::Sender<Order>,
    reports: mpsc::Receiver<Report>,
}

/// A link and a runner, joined by bounded channels.
#[must_use]
pub fn pair() -> (LinkEnd, RunnerEnd) {
    let (orders_in, orders) = mpsc::channel(ORDERS_MAX);
    let (reports, reports_out) = mpsc::channel(REPORTS_MAX);
    (
        LinkEnd {
            orders: orders_in,
            reports: reports_out,
        },
        RunnerEnd { orders, reports },
    )
}
