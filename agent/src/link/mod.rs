//! The agent's side of the control plane: one stream to the coordinator, dialled again for as long
//! as the agent stays. It knows nothing about load: it passes orders to the runner, and gets
//! reports back.

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

use crate::stored_files::CacheFolder;
use control::{Order, Report, Role, Stay, Token};
use proto::Bytes;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::mpsc;

/// Orders that can wait for the runner. A run needs a handful, and one lease per second.
pub const ORDERS_MAX: usize = 2_048;

/// Reports that can wait for the link. If it cannot take more (see `control::HELD_MAX_BYTES` and
/// the spool), the runner's encoder waits, but never a worker.
pub const REPORTS_MAX: usize = 16;

/// Where to join, and as whom.
#[derive(Debug, Clone)]
pub struct LinkConfig {
    /// Where the coordinator listens.
    pub coordinator: CoordinatorAddress,
    /// The token that `start` printed there.
    pub token: Token,
    /// What the agent says about itself.
    pub identity: AgentIdentity,
    /// How it keeps the data of a run until the coordinator has it.
    pub keeping: Keeping,
    /// When it ends by itself.
    pub stay: Stay,
}

/// How long, and where, an agent keeps what its coordinator has not taken, and files of plans.
#[derive(Debug, Clone)]
pub struct Keeping {
    /// How long after the end of a run.
    pub keep: Duration,
    /// Folder for what exceeds memory.
    pub spool: PathBuf,
    /// Files of plans that it keeps for later runs.
    pub files: Option<CacheFolder>,
}

impl Default for Keeping {
    fn default() -> Keeping {
        Keeping {
            keep: control::KEEP,
            spool: std::env::temp_dir(),
            files: None,
        }
    }
}

/// What an agent says about itself. The link adds the id of its process and the version of its
/// program.
#[derive(Debug, Clone)]
pub struct AgentIdentity {
    /// The host name, or the value of `--name`.
    pub name: String,
    /// The values of `--label`.
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
    /// Its machine's calibration, encoded, at most 16 KiB; empty if there is none.
    pub calibration: Bytes,
}

/// Why the link is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quit {
    /// The user, or a signal, asks for it.
    Asked,
    /// The terminal is gone. This counts only while no run is held: during a run the coordinator
    /// relies on the agent, and it does not need a terminal.
    Hangup,
}

/// The runner's end of the link: it receives orders and sends reports.
#[derive(Debug)]
pub struct RunnerEnd {
    /// Closed when the link has ended.
    pub orders: mpsc::Receiver<Order>,
    /// Closed when the link has ended.
    pub reports: mpsc::Sender<Report>,
}

/// The link's end of the same channels.
#[derive(Debug)]
pub struct LinkEnd {
    orders: mpsc::Sender<Order>,
    reports: mpsc::Receiver<Report>,
}

/// Creates both ends of a link and a runner, joined by bounded channels.
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
